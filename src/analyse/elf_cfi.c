/*
 * elf_cfi - where functions begin and end by the unwind tables
 *
 * Stripping takes the symbols but not .eh_frame, since exceptions need it. Its entries (FDE) say which bytes are one
 * function, so samples of one stripped function still go together. libdw gives the row of an address, not the whole
 * entry's range; what is needed is little: .eh_frame_hdr's table is searched, and the entry's range decoded.
 *
 * Every read is checked against the file's size: the file may be anything.
 */
#include "analyse/elf_cfi.h"

#include <elf.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/elf_object.h"
#include "base/arena.h"
#include "base/util.h"

/* Pointer encodings, from the Linux Standard Base. */
enum {
	PE_UDATA2 = 2, PE_UDATA4 = 3, PE_UDATA8 = 4, PE_SDATA2 = 10, PE_SDATA4 = 11, PE_SDATA8 = 12, PE_ABSPTR = 0,
	PE_PCREL = 0x10, PE_DATAREL = 0x30, PE_OMIT = 0xff,
	HDR_TABLE = PE_DATAREL | PE_SDATA4,
	HDR_ENTRY = 8,
};

/* struct cursor - reads at an address; @ok falls and stays false at the first read outside the file */
struct cursor {
	const struct elf_cfi *cfi;
	uint64_t address;
	bool ok;
};

static const uint8_t *bytes_at(const struct elf_cfi *c, uint64_t address, size_t n)
{
	size_t i, count;

	if (elf_getphdrnum(c->elf, &count))
		return NULL;
	for (i = 0; i < count; i++) {
		GElf_Phdr p;
		uint64_t in;

		if (!gelf_getphdr(c->elf, (int)i, &p) || p.p_type != PT_LOAD || address < p.p_vaddr)
			continue;
		in = address - p.p_vaddr;
		if (in < p.p_filesz && n <= p.p_filesz - in && p.p_offset < c->size && in < c->size - p.p_offset &&
		    n <= c->size - p.p_offset - in)
			return c->bytes + p.p_offset + in;
	}
	return NULL;
}

static uint64_t read_uint(struct cursor *c, size_t n)
{
	const uint8_t *p = c->ok ? bytes_at(c->cfi, c->address, n) : NULL;
	uint64_t v = 0;

	c->ok = p;
	if (!p)
		return 0;
	memcpy(&v, p, n);
	c->address += n;
	return v;
}

static void skip_leb(struct cursor *c)
{
	while (read_uint(c, 1) & 0x80)
		;
}

static uint64_t read_encoded(struct cursor *c, uint8_t encoding)
{
	uint64_t at = c->address, v = 0;

	switch (encoding & 0x0f) {
	case PE_UDATA2: v = read_uint(c, 2); break;
	case PE_SDATA2: v = (uint64_t)(int16_t)read_uint(c, 2); break;
	case PE_UDATA4: v = read_uint(c, 4); break;
	case PE_SDATA4: v = (uint64_t)(int32_t)read_uint(c, 4); break;
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8: v = read_uint(c, 8); break;
	default: c->ok = false;
	}
	switch (encoding & 0x70) {
	case 0: break;
	case PE_PCREL: v += at; break;
	case PE_DATAREL: v += c->cfi->header; break;
	default: c->ok = false;
	}
	return v;
}

/* The encoding of addresses in the entries of the CIE at @address; PE_OMIT where it is not known. */
static uint8_t cie_encoding(const struct elf_cfi *cfi, uint64_t address)
{
	struct cursor c = { cfi, address, true };
	uint8_t version, encoding = PE_ABSPTR, letter, augmentation[8] = { 0 };
	size_t i;

	if (read_uint(&c, 4) == UINT32_MAX)
		read_uint(&c, 8);
	read_uint(&c, 4);
	version = (uint8_t)read_uint(&c, 1);
	for (i = 0; (letter = (uint8_t)read_uint(&c, 1)) != 0; i++) {
		if (i == sizeof(augmentation) - 1)
			return PE_OMIT;
		augmentation[i] = letter;
	}
	skip_leb(&c);
	skip_leb(&c);
	version == 1 ? (void)read_uint(&c, 1) : skip_leb(&c);
	if (augmentation[0] == 'z')
		skip_leb(&c);
	else if (augmentation[0])
		return PE_OMIT;
	for (i = 1; augmentation[0] && augmentation[i]; i++) {
		if (augmentation[i] == 'R')
			encoding = (uint8_t)read_uint(&c, 1);
		else if (augmentation[i] == 'L')
			read_uint(&c, 1);
		else if (augmentation[i] == 'P')
			read_encoded(&c, (uint8_t)read_uint(&c, 1) & 0x0f);
	}
	return c.ok ? encoding : PE_OMIT;
}

enum entry_kind { ENTRY_BROKEN, ENTRY_END, ENTRY_CIE, ENTRY_FUNCTION };

/* Decodes the entry at @address; @ret_next (where the next one begins) is set unless it is broken or the last. */
static enum entry_kind read_entry(const struct elf_cfi *cfi, uint64_t address, struct elf_range *ret, uint64_t *ret_next)
{
	struct cursor c = { cfi, address, true };
	uint64_t length = read_uint(&c, 4), at, cie;
	uint8_t encoding;

	if (length == UINT32_MAX)
		length = read_uint(&c, 8);
	if (!c.ok || length > cfi->size)
		return ENTRY_BROKEN;
	if (!length)
		return ENTRY_END;
	at = c.address;
	*ret_next = at + length;
	cie = read_uint(&c, 4);
	if (!cie || !c.ok)
		return c.ok ? ENTRY_CIE : ENTRY_BROKEN;
	encoding = cie_encoding(cfi, at - cie);
	if (encoding == PE_OMIT)
		return ENTRY_BROKEN;
	ret->start = read_encoded(&c, encoding);
	ret->end = ret->start + read_encoded(&c, encoding & 0x0f);
	return c.ok && ret->end >= ret->start ? ENTRY_FUNCTION : ENTRY_BROKEN;
}

static int by_start(const void *a, const void *b)
{
	const struct elf_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Without a table: all entries, one after the other. */
static void read_all(struct elf_cfi *c)
{
	uint64_t at = c->frames;
	uint32_t room = 0;

	while (at < c->frames_end) {
		struct elf_range range = { 0 };
		enum entry_kind kind = read_entry(c, at, &range, &at);

		if (kind == ENTRY_BROKEN || kind == ENTRY_END)
			break;
		if (kind == ENTRY_CIE || range.start == range.end)
			continue;
		if (c->nranges == room) {
			room = room ? room * 2 : 256;
			c->ranges = realloc(c->ranges, room * sizeof(*c->ranges));
			if (!c->ranges)
				arena_no_memory();
		}
		c->ranges[c->nranges++] = range;
	}
	if (c->nranges)
		qsort(c->ranges, c->nranges, sizeof(*c->ranges), by_start);
}

static void read_header(struct elf_cfi *c)
{
	size_t i, count;

	if (elf_getphdrnum(c->elf, &count))
		return;
	for (i = 0; i < count; i++) {
		struct cursor at = { c, 0, true };
		uint64_t head, entries;
		GElf_Phdr p;

		if (!gelf_getphdr(c->elf, (int)i, &p) || p.p_type != PT_GNU_EH_FRAME)
			continue;
		at.address = p.p_vaddr;
		head = read_uint(&at, 4);	/* version, encodings of .eh_frame's address, of the count, of the table */
		if (!at.ok || (head & 0xff) != 1 || head >> 24 != HDR_TABLE || (head >> 16 & 0xff) != PE_UDATA4 ||
		    ((head >> 8 & 0x0f) != PE_SDATA4 && (head >> 8 & 0x0f) != PE_UDATA4))
			return;
		read_uint(&at, 4);
		entries = read_uint(&at, 4);
		if (!at.ok || !entries || !bytes_at(c, at.address, entries * HDR_ENTRY))
			return;
		c->header = p.p_vaddr;
		c->table = at.address;
		c->count = (uint32_t)entries;
		return;
	}
}

void elf_cfi_read(struct elf_cfi *ret, Elf *elf)
{
	const char *ident = elf ? elf_getident(elf, NULL) : NULL;
	struct elf_cfi *c = ret;
	GElf_Shdr shdr;
	Elf_Scn *scn;

	*c = (struct elf_cfi){ 0 };
	if (!ident || ident[EI_CLASS] != ELFCLASS64 || ident[EI_DATA] != ELFDATA2LSB)
		return;
	c->bytes = (const uint8_t *)elf_rawfile(elf, &c->size);
	c->elf = elf;
	if (!c->bytes)
		return;
	read_header(c);
	scn = c->table ? NULL : elf_object_section(elf, ".eh_frame");
	if (!scn || !gelf_getshdr(scn, &shdr) || shdr.sh_size > c->size)
		return;
	c->frames = shdr.sh_addr;
	c->frames_end = shdr.sh_addr + shdr.sh_size;
	read_all(c);
}

void elf_cfi_fini(struct elf_cfi *c)
{
	if (!c)
		return;
	free(c->ranges);
	*c = (struct elf_cfi){ 0 };
}

static enum elf_cfi_outcome find_in_table(const struct elf_cfi *c, uint64_t address, struct elf_range *ret)
{
	const uint8_t *table = bytes_at(c, c->table, (size_t)c->count * HDR_ENTRY);
	uint32_t low = 0, high = c->count;
	struct elf_range range;
	uint64_t next;
	int32_t entry[2];

	while (table && low < high) {	/* the first entry behind @address */
		uint32_t middle = low + (high - low) / 2;

		memcpy(entry, table + (size_t)middle * HDR_ENTRY, sizeof(entry));
		if (c->header + (uint64_t)(int64_t)entry[0] <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return ELF_CFI_NONE;
	memcpy(entry, table + (size_t)(low - 1) * HDR_ENTRY, sizeof(entry));
	if (read_entry(c, c->header + (uint64_t)(int64_t)entry[1], &range, &next) != ENTRY_FUNCTION ||
	    address < range.start || address >= range.end)
		return ELF_CFI_NONE;
	*ret = range;
	return ELF_CFI_FOUND;
}

static enum elf_cfi_outcome find_in_ranges(const struct elf_cfi *c, uint64_t address, struct elf_range *ret)
{
	uint32_t low = 0, high = c->nranges;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (c->ranges[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address >= c->ranges[low - 1].end)
		return ELF_CFI_NONE;
	*ret = c->ranges[low - 1];
	return ELF_CFI_FOUND;
}

enum elf_cfi_outcome elf_cfi_find(const struct elf_cfi *c, uint64_t address, struct elf_range *ret)
{
	return c->table ? find_in_table(c, address, ret) : find_in_ranges(c, address, ret);
}
