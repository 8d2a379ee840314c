/* elf_object.h - an object file and its separate debug file, opened and checked by build id */
#ifndef TARE_ANALYSE_ELF_OBJECT_H
#define TARE_ANALYSE_ELF_OBJECT_H

#include <elfutils/libdw.h>
#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

enum elf_object_state {
	ELF_OBJECT_USED,	/* the file is the one that ran */
	ELF_OBJECT_CHANGED,	/* its build id is another, or none */
	ELF_OBJECT_MISSING,	/* no such file */
	ELF_OBJECT_UNREADABLE,	/* no ELF file, or a broken one */
	ELF_OBJECT_NO_FILE,	/* memory without a file: "[vdso]" of another kernel, "//anon" */
};

/** struct elf_object - {0} is a valid empty value */
struct elf_object {
	enum elf_object_state state;
	Elf *elf;		/* the object that ran; NULL unless state is ELF_OBJECT_USED */
	Elf *debug;		/* its separate debug file; NULL */
	Dwarf *dwarf;		/* of @elf or @debug; NULL */
	void *memory;		/* the vDSO's copy that @elf reads */
};

/**
 * elf_object_open - opens the file at @path if it is the one that ran, and its debug file if it has none of its own
 * @build_id:   @build_id_len bytes; 0: not known, the file is taken as it is
 * @debug_dirs: directories with .build-id/ and copies of the file tree in them, ':' between
 *
 * A debug file is found by build id (also where the object itself is gone or changed), else by .gnu_debuglink, whose
 * build id or checksum must fit. Nothing is asked of a network. No file descriptor stays open.
 */
void elf_object_open(struct elf_object *ret, const char *path, const uint8_t *build_id, uint32_t build_id_len,
		     const char *debug_dirs);
void elf_object_close(struct elf_object *o);

/** elf_object_section - the section of that name and its header; NULL: none */
Elf_Scn *elf_object_section(Elf *elf, const char *name);

#endif
