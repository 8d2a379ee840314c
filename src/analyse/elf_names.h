/* elf_names.h - the functions of an object by its symbol tables */
#ifndef TARE_ANALYSE_ELF_NAMES_H
#define TARE_ANALYSE_ELF_NAMES_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

struct elf_symbol {
	uint64_t address, end;	/* end == address: of unknown size (assembly) */
	const char *name;	/* the string table's; valid while the Elf is open */
	uint32_t room;		/* bytes from @address to the end of its section */
	uint8_t rank;		/* of two at one address the lower is the better name */
};

/** struct elf_names - {0} is a valid empty value */
struct elf_names {
	struct elf_symbol *symbols;	/* by address */
	uint64_t *reach;		/* reach[i]: largest end of symbols[0..i] */
	uint32_t count, room;
	void *dwfl;			/* owner of the strings of .gnu_debugdata */
	bool complete;			/* there was a .symtab: what has no name has no symbol */
};

/** elf_names_read - .symtab of @elf or @debug; else .dynsym and .gnu_debugdata. Either may be NULL. */
void elf_names_read(struct elf_names *ret, Elf *elf, Elf *debug);
void elf_names_fini(struct elf_names *n);

/**
 * elf_names_find - the symbol that covers @address (as in the ELF file)
 *
 * One with a size covers these bytes only; one without covers what is up to the next symbol of its section, unless one
 * with a size covers @address.
 * Return: NULL: none.
 */
const struct elf_symbol *elf_names_find(const struct elf_names *n, uint64_t address);

#endif
