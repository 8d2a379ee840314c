/* symbols.h - names for addresses, by ELF files and what the session recorded of them */
#ifndef TARE_ANALYSE_SYMBOLS_H
#define TARE_ANALYSE_SYMBOLS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"

/** struct frame - a function at a place; interned: equal frames are the same pointer */
struct frame {
	const char *name;	/* demangled; "libfoo.so+0x1230" where there is no symbol (start of the function, if the unwind
				   tables tell it); "[unknown]" where nothing is known */
	const char *module;	/* base name of the object; "" where unknown */
	const char *file;	/* NULL where unknown */
	uint32_t line;		/* of the function's code at this address; 0 where unknown */
	uint32_t id;		/* from 0, dense */
	const struct function *function;
};

/** struct function - what frames of one function share; interned */
struct function {
	const char *name, *module;
	const char *file;	/* where it is declared; NULL where unknown */
	uint32_t line;		/* of its declaration; 0 where unknown */
	uint32_t id;		/* from 0, dense */
};

struct symbols;

/** symbols_new - Owns: all frames that it returns; they live until symbols_free() */
struct symbols *symbols_new(void);
void symbols_free(struct symbols *s);

/**
 * symbols_debug_dirs - where separate debug files are looked for ("/usr/lib/debug"): directories, ':' between
 *
 * Each holds .build-id/xx/yy.debug and copies of the file tree. Call it before the first symbols_find().
 */
void symbols_debug_dirs(struct symbols *s, const char *dirs);

/**
 * symbols_module - declares an object file that was mapped
 * @build_id: NULL where unknown; a file whose build id differs is not used (and separate debug files are looked for by it)
 *
 * The same file, build id and bias may be declared many times: it is opened once, when first needed.
 * Return: a handle, >= 0.
 */
int symbols_module(struct symbols *s, const char *path, const uint8_t *build_id, uint32_t build_id_len, uint64_t bias);

/**
 * symbols_perf_map - declares the text of a /tmp/perf-PID.map; lines that are not "HEX HEX NAME" are skipped
 *
 * Return: a handle for symbols_find().
 */
int symbols_perf_map(struct symbols *s, const char *text, uint32_t size);

/**
 * symbols_find - the frames that an address stands for, innermost (inlined) first
 * @module:  handle; -1: no object is known there
 * @address: run-time address inside the function (a return address minus 1)
 * @ret:     *ret points to the frames, valid until symbols_free()
 *
 * Cost:   an address is resolved once; later calls are a hash look-up.
 * Return: number of frames, at least 1.
 */
int symbols_find(struct symbols *s, int module, uint64_t address, const struct frame *const **ret);

/** symbols_special - the frame of a special name: "[lost]", "[truncated]", "[kernel]" */
const struct frame *symbols_special(struct symbols *s, const char *name);

/** symbols_frame - interns a frame (tests, importers) */
const struct frame *symbols_frame(struct symbols *s, const char *name, const char *module, const char *file, uint32_t line);

uint32_t symbols_functions(const struct symbols *s);	/* number of functions so far: ids are below */

/** What could not be named, for notes. */
struct symbols_gaps {
	uint32_t stripped;		/* objects without .symtab in which a frame was met that could not be named */
	uint32_t changed;		/* objects whose file is not the one that ran any more */
	uint32_t missing;		/* objects whose file is gone */
	const char *first_stripped, *first_changed, *first_missing;	/* their paths; NULL */
};
void symbols_gaps(const struct symbols *s, struct symbols_gaps *ret);

#endif
