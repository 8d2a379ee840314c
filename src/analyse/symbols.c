/*
 * symbols - names for addresses, by ELF files and what the session recorded of them
 *
 * An object is a file with a build id; a module is an object at a bias. Addresses are looked up, and remembered, by
 * object and the address in its file, so two processes share the work whatever their layout. A file is opened when the
 * first address in it is asked for.
 *
 * What names an address, best first: DWARF for inlined calls and lines; the symbol table for the function itself (its
 * names are what people call: "malloc", where DWARF says "__libc_malloc"); DWARF's name; the object and the function's
 * start by the unwind tables. Everything returned is interned: equal frames are the same pointer.
 */
#include "analyse/symbols.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyse/demangle.h"
#include "analyse/elf_cfi.h"
#include "analyse/elf_lines.h"
#include "analyse/elf_names.h"
#include "analyse/elf_object.h"
#include "analyse/symbols_perfmap.h"
#include "analyse/symbols_intern.h"
#include "base/util.h"

enum { MAX_FRAMES = 64 };

struct object {
	const char *path, *module;	/* interned; module: base name */
	const uint8_t *build_id;
	uint32_t build_id_len;
	bool opened, nameless;		/* nameless: stripped, and a frame was met that lacks a name for it */
	bool is_map;
	struct object *next;		/* all objects, newest first */
	struct elf_object elf;
	struct elf_names names;
	struct elf_cfi cfi;
	struct elf_lines lines;
	struct perfmap map;
};

struct module {
	struct object *object;
	uint64_t bias;
	int handle;
};

struct found {				/* what an address stands for */
	int count;
	const struct frame *frames[];
};

struct symbols {
	struct arena arena;
	struct intern strings, functions, frames, addresses, objects, modules;
	struct object *newest;
	struct module **by_handle;
	int nmodules, room;
	uint32_t nframes, nfunctions;
	const char *debug_dirs;
	const struct frame *unknown;
	char name[DEMANGLE_BYTES];
};

static const char *intern(struct symbols *s, const char *string)
{
	return string ? intern_string(&s->strings, &s->arena, string) : NULL;
}

struct symbols *symbols_new(void)
{
	struct symbols *s = calloc(1, sizeof(*s));

	if (!s)
		arena_no_memory();
	s->debug_dirs = "/usr/lib/debug";
	s->unknown = symbols_frame(s, "[unknown]", "", NULL, 0);
	return s;
}

void symbols_free(struct symbols *s)
{
	struct object *o;

	if (!s)
		return;
	for (o = s->newest; o; o = o->next) {
		elf_lines_fini(&o->lines);
		elf_cfi_fini(&o->cfi);
		elf_names_fini(&o->names);
		elf_object_close(&o->elf);
	}
	free(s->by_handle);
	arena_fini(&s->arena);
	free(s);
}

void symbols_debug_dirs(struct symbols *s, const char *dirs)
{
	s->debug_dirs = intern(s, dirs);
}

/* All strings are interned already. */
static const struct function *function_of(struct symbols *s, const char *name, const char *module, const char *file,
					  uint32_t line)
{
	uint64_t key[INTERN_WORDS] = { (uintptr_t)name, (uintptr_t)module, (uintptr_t)file, line };
	void **slot = intern_slot(&s->functions, &s->arena, key);
	struct function *f = *slot;

	if (!f) {
		f = arena_alloc(&s->arena, sizeof(*f));
		*f = (struct function){ name, module, file, line, s->nfunctions++ };
		*slot = f;
	}
	return f;
}

static const struct frame *frame_of(struct symbols *s, const struct function *function, const char *file, uint32_t line)
{
	uint64_t key[INTERN_WORDS] = { (uintptr_t)function, (uintptr_t)file, line };
	void **slot = intern_slot(&s->frames, &s->arena, key);
	struct frame *f = *slot;

	if (!f) {
		f = arena_alloc(&s->arena, sizeof(*f));
		*f = (struct frame){ function->name, function->module, file, line, s->nframes++, function };
		*slot = f;
	}
	return f;
}

const struct frame *symbols_frame(struct symbols *s, const char *name, const char *module, const char *file, uint32_t line)
{
	return frame_of(s, function_of(s, intern(s, name), intern(s, module), NULL, 0), intern(s, file), line);
}

const struct frame *symbols_special(struct symbols *s, const char *name)
{
	return symbols_frame(s, name, "", NULL, 0);
}

uint32_t symbols_functions(const struct symbols *s)
{
	return s->nfunctions;
}

static struct object *new_object(struct symbols *s, const char *path)
{
	struct object *o = arena_alloc(&s->arena, sizeof(*o));
	const char *slash = strrchr(path, '/');

	o->path = path;
	o->module = intern(s, slash ? slash + 1 : path);
	o->next = s->newest;
	s->newest = o;
	return o;
}

static struct object *object_of(struct symbols *s, const char *path, const uint8_t *build_id, uint32_t len)
{
	const char *id = NULL, *interned = intern(s, path);
	char hex[2 * 64 + 1] = "";
	struct object *o;
	uint32_t i;
	void **slot;

	len = build_id ? MIN(len, 64u) : 0;
	for (i = 0; i < len; i++)
		snprintf(hex + 2 * i, 3, "%02x", build_id[i]);
	id = intern(s, hex);
	slot = intern_slot(&s->objects, &s->arena, (uint64_t[INTERN_WORDS]){ (uintptr_t)interned, (uintptr_t)id });
	if (*slot)
		return *slot;
	o = new_object(s, interned);
	o->build_id = memcpy(arena_alloc(&s->arena, len + 1), len ? build_id : (const uint8_t *)"", len);
	o->build_id_len = len;
	*slot = o;
	return o;
}

static int module_of(struct symbols *s, struct object *o, uint64_t bias)
{
	void **slot = intern_slot(&s->modules, &s->arena, (uint64_t[INTERN_WORDS]){ (uintptr_t)o, bias });
	struct module *m = *slot;

	if (m)
		return m->handle;
	m = arena_alloc(&s->arena, sizeof(*m));
	*slot = m;
	*m = (struct module){ o, bias, s->nmodules };
	if (s->nmodules == s->room) {
		s->room = s->room ? s->room * 2 : 64;
		s->by_handle = realloc(s->by_handle, (size_t)s->room * sizeof(struct module *));
		if (!s->by_handle)
			arena_no_memory();
	}
	s->by_handle[s->nmodules++] = m;
	return m->handle;
}

int symbols_module(struct symbols *s, const char *path, const uint8_t *build_id, uint32_t build_id_len, uint64_t bias)
{
	return module_of(s, object_of(s, path, build_id, build_id_len), bias);
}

int symbols_perf_map(struct symbols *s, const char *text, uint32_t size)
{
	struct object *o = new_object(s, intern(s, "[jit]"));

	o->opened = o->is_map = true;
	perfmap_read(&o->map, &s->arena, text, size);
	return module_of(s, o, 0);
}

static void open_object(struct symbols *s, struct object *o)
{
	o->opened = true;
	elf_object_open(&o->elf, o->path, o->build_id, o->build_id_len, s->debug_dirs);
	elf_names_read(&o->names, o->elf.elf, o->elf.debug);
	elf_cfi_read(&o->cfi, o->elf.elf);
	elf_lines_read(&o->lines, o->elf.dwarf);
}

/* "libfoo.so+0x1230": the start of the function where the unwind tables tell it, else the address itself. */
static const char *nameless(struct symbols *s, struct object *o, uint64_t address)
{
	struct elf_range range = { .start = address };

	elf_cfi_find(&o->cfi, address, &range);
	snprintf(s->name, sizeof(s->name), "%.4096s+0x%" PRIx64, o->module, range.start);
	o->nameless |= o->elf.elf && !o->names.complete && o->elf.state == ELF_OBJECT_USED;
	return intern(s, s->name);
}

/* A symbol without a size ends, at the latest, where a function begins that has no symbol. */
static const struct elf_symbol *symbol_of(struct object *o, uint64_t address)
{
	const struct elf_symbol *symbol = elf_names_find(&o->names, address);
	struct elf_range range;

	if (symbol && symbol->end == symbol->address && elf_cfi_find(&o->cfi, address, &range) == ELF_CFI_FOUND &&
	    range.start > symbol->address)
		return NULL;
	return symbol;
}

static const char *readable(struct symbols *s, const char *name)
{
	demangle(name, s->name);
	return intern(s, s->name);
}

static const char *name_of(struct symbols *s, struct object *o, uint64_t address, const char *dwarf_name)
{
	const struct elf_symbol *symbol = symbol_of(o, address);

	if (symbol && (symbol->end > symbol->address || !dwarf_name))
		return readable(s, symbol->name);
	return dwarf_name ? readable(s, dwarf_name) : nameless(s, o, address);
}

static struct found *new_found(struct symbols *s, int count)
{
	struct found *found = arena_alloc(&s->arena, sizeof(*found) + (size_t)count * sizeof(found->frames[0]));

	found->count = count;
	return found;
}

static struct found *resolve_map(struct symbols *s, struct object *o, uint64_t address)
{
	const struct perfmap_entry *entry = perfmap_find(&o->map, address);
	struct found *found = new_found(s, 1);

	found->frames[0] = entry ? symbols_frame(s, entry->name, o->module, NULL, 0) : s->unknown;
	return found;
}

static struct found *resolve(struct symbols *s, struct object *o, uint64_t address)
{
	struct line_scope scopes[MAX_FRAMES];
	struct found *found;
	int n, i;

	if (o->is_map)
		return resolve_map(s, o, address);
	if (!o->opened)
		open_object(s, o);
	n = elf_lines_find(&o->lines, address, scopes, MAX_FRAMES);
	if (!n)
		scopes[n++] = (struct line_scope){ 0 };
	found = new_found(s, n);
	for (i = 0; i < n; i++) {
		const struct line_scope *scope = &scopes[i];
		const char *name;

		if (i == n - 1)
			name = name_of(s, o, address, scope->name);
		else
			name = scope->name ? readable(s, scope->name) : intern(s, "[unknown]");
		found->frames[i] = frame_of(s, function_of(s, name, o->module, intern(s, scope->declared_file),
							   scope->declared_line), intern(s, scope->file), scope->line);
	}
	return found;
}

int symbols_find(struct symbols *s, int module, uint64_t address, const struct frame *const **ret)
{
	const struct module *m;
	struct found *found;
	void **slot;

	if (module < 0 || module >= s->nmodules) {
		*ret = &s->unknown;
		return 1;
	}
	m = s->by_handle[module];
	address -= m->bias;
	slot = intern_slot(&s->addresses, &s->arena, (uint64_t[INTERN_WORDS]){ (uintptr_t)m->object, address });
	found = *slot;
	if (!found)
		found = *slot = resolve(s, m->object, address);
	*ret = found->frames;
	return found->count;
}

void symbols_gaps(const struct symbols *s, struct symbols_gaps *ret)
{
	const struct object *o;

	*ret = (struct symbols_gaps){ 0 };
	for (o = s->newest; o; o = o->next) {		/* the first one met comes last */
		if (o->nameless) {
			ret->stripped++;
			ret->first_stripped = o->path;
		}
		if (o->opened && o->elf.state == ELF_OBJECT_CHANGED) {
			ret->changed++;
			ret->first_changed = o->path;
		}
		if (o->opened && o->elf.state == ELF_OBJECT_MISSING) {
			ret->missing++;
			ret->first_missing = o->path;
		}
	}
}
