/*
 * elf_names - the functions of an object by its symbol tables
 *
 * A wrong name is worse than none: in an object with only .dynsym the gap behind an exported function is full of static
 * ones. So a symbol's size is believed, and only symbols without a size (assembly) stretch to their next one.
 *
 * Many names share an address (malloc, __libc_malloc, __malloc). The one that a reader knows is the public one: a
 * function rather than a label, exported rather than local, without underscores in front, short.
 */
#include "analyse/elf_names.h"

#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/elf_object.h"
#include "base/arena.h"
#include "base/util.h"

enum { LONGEST_SEARCH = 4096 };	/* symbols looked at for one address: a bound for tables made to be slow */

struct section_bounds {
	uint64_t end;
	bool code;
};

static unsigned char underscores(const char *name)
{
	unsigned char n = 0;

	if (name[0] == '_' && (name[1] == 'Z' || name[1] == 'R'))
		return 0;		/* mangled, not reserved */
	while (n < 7 && name[n] == '_')
		n++;
	return n;
}

static void add_symbol(struct elf_names *n, const GElf_Sym *sym, const char *name, uint64_t section_end)
{
	unsigned char type = GELF_ST_TYPE(sym->st_info);
	struct elf_symbol *s;

	if (n->count == n->room) {
		n->room = n->room ? n->room * 2 : 1024;
		s = realloc(n->symbols, n->room * sizeof(*s));
		if (!s)
			arena_no_memory();
		n->symbols = s;
	}
	s = &n->symbols[n->count++];
	s->address = sym->st_value;
	s->end = sym->st_size > section_end - s->address ? section_end : s->address + sym->st_size;
	s->name = name;
	s->room = (uint32_t)MIN(section_end - s->address, (uint64_t)UINT32_MAX);
	s->rank = (uint8_t)((type == STT_NOTYPE) << 5 | (GELF_ST_BIND(sym->st_info) == STB_LOCAL) << 4);
}

/* Mapping symbols ($x, $d of aarch64) and local labels mark kinds of bytes, not functions. */
static bool is_function(const GElf_Sym *sym, const char *name)
{
	unsigned char type = GELF_ST_TYPE(sym->st_info);

	if (!name || !*name || sym->st_shndx == SHN_UNDEF)
		return false;
	if (type == STT_FUNC || type == STT_GNU_IFUNC)
		return true;
	return type == STT_NOTYPE && name[0] != '$' && !(name[0] == '.' && name[1] == 'L');
}

static struct section_bounds *read_bounds(Elf *elf, size_t *ret_count)
{
	struct section_bounds *b;
	Elf_Scn *scn = NULL;
	size_t count;

	if (elf_getshdrnum(elf, &count) || !count)
		return NULL;
	b = calloc(count, sizeof(*b));
	if (!b)
		arena_no_memory();
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;
		size_t i = elf_ndxscn(scn);

		if (i >= count || !gelf_getshdr(scn, &shdr))
			continue;
		b[i].code = shdr.sh_flags & SHF_EXECINSTR;
		b[i].end = shdr.sh_addr + shdr.sh_size;
	}
	*ret_count = count;
	return b;
}

static void read_symbols(struct elf_names *n, Elf *elf, Elf_Scn *scn, const struct section_bounds *bounds, size_t nbounds)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	GElf_Shdr shdr;
	size_t i, count;

	if (!data || !gelf_getshdr(scn, &shdr) || !shdr.sh_entsize)
		return;
	count = MIN(data->d_size / shdr.sh_entsize, (size_t)INT32_MAX);
	for (i = 0; i < count; i++) {
		GElf_Sym sym;
		const char *name;

		if (!gelf_getsym(data, (int)i, &sym) || sym.st_shndx >= nbounds || !bounds[sym.st_shndx].code ||
		    sym.st_value >= bounds[sym.st_shndx].end)
			continue;
		name = elf_strptr(elf, shdr.sh_link, sym.st_name);
		if (is_function(&sym, name))
			add_symbol(n, &sym, name, bounds[sym.st_shndx].end);
	}
}

static bool read_table(struct elf_names *n, Elf *elf, uint32_t type)
{
	CLEANUP_FREE struct section_bounds *bounds = NULL;
	Elf_Scn *scn = NULL;
	size_t nbounds = 0;
	bool found = false;

	if (!elf)
		return false;
	bounds = read_bounds(elf, &nbounds);
	if (!bounds)
		return false;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;

		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == type) {
			read_symbols(n, elf, scn, bounds, nbounds);
			found = true;
		}
	}
	return found;
}

static int no_debuginfo(Dwfl_Module *m, void **data, const char *name, Dwarf_Addr base, const char *file,
			const char *link, GElf_Word crc, char **ret)
{
	return -1;
}

/*
 * .gnu_debugdata is a small ELF file, packed by xz, with the symbols that .dynsym lacks. libdwfl unpacks it; that is
 * all it is used for here, so its search for debug files is switched off.
 */
static void read_packed(struct elf_names *n, Elf *elf)
{
	static const Dwfl_Callbacks callbacks = { .find_debuginfo = no_debuginfo };
	const char *image;
	Dwfl_Module *m;
	size_t size;
	int i, count;

	if (!elf_object_section(elf, ".gnu_debugdata") || !(image = elf_rawfile(elf, &size)))
		return;
	n->dwfl = dwfl_begin(&callbacks);
	if (!n->dwfl)
		return;
	m = dwfl_report_offline_memory(n->dwfl, "packed", "packed", (char *)image, size);
	dwfl_report_end(n->dwfl, NULL, NULL);
	count = m ? dwfl_module_getsymtab(m) : 0;
	for (i = 0; i < count; i++) {
		GElf_Word section;
		GElf_Addr address, bias;
		GElf_Sym sym;
		Elf *from;
		const char *name = dwfl_module_getsym_info(m, i, &sym, &address, &section, &from, &bias);

		if (name && is_function(&sym, name) && GELF_ST_TYPE(sym.st_info) != STT_NOTYPE)
			add_symbol(n, &sym, name, UINT64_MAX);
	}
}

static int by_address(const void *a, const void *b)
{
	const struct elf_symbol *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

void elf_names_read(struct elf_names *ret, Elf *elf, Elf *debug)
{
	struct elf_names *n = ret;
	uint32_t i;

	*n = (struct elf_names){ 0 };
	n->complete = read_table(n, elf, SHT_SYMTAB) || read_table(n, debug, SHT_SYMTAB);
	if (!n->complete && elf) {
		read_table(n, elf, SHT_DYNSYM);
		read_packed(n, elf);
	}
	if (!n->count)
		return;
	qsort(n->symbols, n->count, sizeof(*n->symbols), by_address);
	n->reach = malloc(n->count * sizeof(*n->reach));
	if (!n->reach)
		arena_no_memory();
	for (i = 0; i < n->count; i++)
		n->reach[i] = i ? MAX(n->reach[i - 1], n->symbols[i].end) : n->symbols[0].end;
}

void elf_names_fini(struct elf_names *n)
{
	if (!n)
		return;
	free(n->symbols);
	free(n->reach);
	if (n->dwfl)
		dwfl_end(n->dwfl);
	*n = (struct elf_names){ 0 };
}

static bool better(const struct elf_symbol *a, const struct elf_symbol *b)
{
	unsigned int ra = a->rank | underscores(a->name), rb = b->rank | underscores(b->name);
	size_t la, lb;

	if (ra != rb)
		return ra < rb;
	la = strcspn(a->name, "@");
	lb = strcspn(b->name, "@");
	return la != lb ? la < lb : strcmp(a->name, b->name) < 0;
}

/* The best of the symbols at the address of symbols[@last], the last of these, that cover @address. */
static const struct elf_symbol *best_of(const struct elf_names *n, uint32_t last, uint64_t address, bool sized)
{
	const struct elf_symbol *best = NULL;
	uint32_t i = last;

	for (;;) {
		const struct elf_symbol *s = &n->symbols[i];
		bool covers = sized ? address < s->end : address - s->address < s->room;

		if (s->address != n->symbols[last].address || last - i > LONGEST_SEARCH)
			return best;
		if (!sized && s->end != s->address)
			return NULL;	/* this one's size says where both end */
		if (covers && (!best || better(s, best)))
			best = s;
		if (!i--)
			return best;
	}
}

const struct elf_symbol *elf_names_find(const struct elf_names *n, uint64_t address)
{
	uint32_t low = 0, high = n->count, i, steps;

	while (low < high) {		/* the first symbol behind @address */
		uint32_t middle = low + (high - low) / 2;

		if (n->symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return NULL;
	for (i = low, steps = 0; i-- && n->reach[i] > address && steps < LONGEST_SEARCH; steps++)
		if (address < n->symbols[i].end)
			return best_of(n, i, address, true);
	return best_of(n, low - 1, address, false);
}
