/* elf_cfi.h - where functions begin and end by the unwind tables: what is left of a stripped object */
#ifndef TARE_ANALYSE_ELF_CFI_H
#define TARE_ANALYSE_ELF_CFI_H

#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

struct elf_range {
	uint64_t start, end;
};

/** struct elf_cfi - {0} is a valid empty value: it knows no function */
struct elf_cfi {
	const uint8_t *bytes;		/* the file; the Elf's */
	size_t size;
	Elf *elf;
	uint64_t table;			/* address of .eh_frame_hdr's sorted table; 0: none */
	uint64_t header;		/* what the table's numbers are relative to */
	uint32_t count;			/* entries of the table */
	uint64_t frames, frames_end;	/* .eh_frame, for objects without a table */
	struct elf_range *ranges;	/* then: all functions by address */
	uint32_t nranges;
};

/** elf_cfi_read - finds the tables of a 64-bit little-endian object; NULL: none. */
void elf_cfi_read(struct elf_cfi *ret, Elf *elf);
void elf_cfi_fini(struct elf_cfi *c);

enum elf_cfi_outcome {
	ELF_CFI_FOUND,
	ELF_CFI_NONE,		/* no function is known there */
};

/** elf_cfi_find - the function that covers @address (as in the ELF file) */
enum elf_cfi_outcome elf_cfi_find(const struct elf_cfi *c, uint64_t address, struct elf_range *ret);

#endif
