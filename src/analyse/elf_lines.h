/* elf_lines.h - functions, inlined calls and lines by DWARF */
#ifndef TARE_ANALYSE_ELF_LINES_H
#define TARE_ANALYSE_ELF_LINES_H

#include <elfutils/libdw.h>
#include <stdint.h>

/** struct line_scope - one of the functions that an address stands for; strings are libdw's */
struct line_scope {
	const char *name;		/* linkage name, else the plain one; NULL: not known */
	const char *declared_file;	/* NULL: not known */
	uint32_t declared_line;
	const char *file;		/* NULL: not known */
	uint32_t line;			/* of the code at the address, or of the call inlined in it; 0: not known */
};

struct line_unit;

/** struct line_range - which unit or function (number @index) has these bytes */
struct line_range {
	uint64_t start, end;
	uint32_t index;
};

/** struct elf_lines - {0} is a valid empty value */
struct elf_lines {
	Dwarf *dwarf;
	struct line_unit *units;
	struct line_range *ranges;	/* of units, by start */
	uint32_t nunits, nranges;
};

/** elf_lines_read - finds which compilation unit has which addresses; units are read when first asked for. NULL: none */
void elf_lines_read(struct elf_lines *ret, Dwarf *dwarf);
void elf_lines_fini(struct elf_lines *l);

/**
 * elf_lines_find - the functions at @address (as in the ELF file), innermost first
 * @ret:  @max entries
 *
 * Return: their number, at most @max; 0: nothing is known there.
 */
int elf_lines_find(struct elf_lines *l, uint64_t address, struct line_scope *ret, int max);

#endif
