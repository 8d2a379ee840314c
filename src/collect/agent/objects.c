/*
 * objects - which object files lie where, and when that changes
 *
 * The walk meets every object whose code is on a recorded stack, at the first address of it that it has not seen: there the
 * object is entered into the arena, with its build id from memory. So nothing of the loader is called or wrapped, but
 * dlclose, which does not look at its caller.
 *
 * Addresses of an object that was unloaded may mean something else later. While dlclose runs the walk remembers nothing,
 * and when something is gone the call tree begins anew: a node belongs to what was loaded when it was made.
 */
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <string.h>
#include <sys/syscall.h>

#include "collect/agent/agent.h"

enum { KNOWN = 1024 };

/* Filters, not lists: start addresses (page-aligned) with the walk's generation in the low bits, and the entry made of it. */
static _Atomic uint64_t known[KNOWN];
static _Atomic(struct shared_module *) entered[KNOWN];

static bool readable(uint64_t address)
{
	/* looks at 8 bytes there, then refuses the unknown "how" */
	return arch_syscall4(SYS_rt_sigprocmask, -1, (long)address, 0, 8) != -14;
}

static void read_notes(struct shared_module *m, const unsigned char *notes, size_t size)
{
	const ElfW(Nhdr) *note;
	size_t at = 0, body;

	while (at + sizeof(*note) <= size) {
		note = (const ElfW(Nhdr) *)(notes + at);
		body = at + sizeof(*note) + ((note->n_namesz + 3) & ~3u);
		if (body + note->n_descsz > size)
			return;
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && !memcmp(note + 1, "GNU", 4)) {
			m->build_id_len = (uint32_t)MIN(note->n_descsz, sizeof(m->build_id));
			memcpy(m->build_id, notes + body, m->build_id_len);
			return;
		}
		at = body + ((note->n_descsz + 3) & ~3u);
	}
}

static void read_build_id(struct shared_module *m)
{
	const ElfW(Ehdr) *ehdr = (const ElfW(Ehdr) *)m->start;
	const ElfW(Phdr) *phdr;
	int i;

	if (!readable(m->start) || memcmp(ehdr->e_ident, ELFMAG, SELFMAG))
		return;
	phdr = (const ElfW(Phdr) *)(m->start + ehdr->e_phoff);
	if (!readable((uint64_t)phdr) || !readable((uint64_t)(phdr + ehdr->e_phnum) - 8))
		return;
	for (i = 0; i < ehdr->e_phnum && !m->build_id_len; i++) {
		uint64_t at = m->bias + phdr[i].p_vaddr;

		if (phdr[i].p_type == PT_NOTE && at >= m->start && at + phdr[i].p_memsz <= m->end && readable(at) &&
		    readable(at + phdr[i].p_memsz - 8))
			read_notes(m, (const unsigned char *)at, phdr[i].p_memsz);
	}
}

static void copy_path(struct shared_module *m, const char *path)
{
	size_t used = 0;
	long n;

	if (path[0] != '/' && strchr(path, '/')) {	/* as it was given to dlopen: relative to where we are */
		n = arch_syscall2(SYS_getcwd, (long)m->path, sizeof(m->path) - 1);
		if (n > 1 && (size_t)n < sizeof(m->path) - 1) {
			used = (size_t)n;
			m->path[used - 1] = '/';
		}
	}
	for (; *path && used < sizeof(m->path) - 1; path++)
		m->path[used++] = *path;
	m->path[used] = 0;
}

static struct shared_module *module_slot(void)
{
	struct shared_process *process = agent.process;
	uint64_t offset = atomic_load(&process->modules), fresh;
	struct shared_module_piece *piece = offset ? arena_at(offset) : NULL;
	uint32_t i = piece ? atomic_fetch_add(&piece->n, 1) : SHARED_MODULES;

	if (i < SHARED_MODULES)
		return &piece->modules[i];
	fresh = arena_take(sizeof(*piece));
	if (!fresh)
		return NULL;
	piece = arena_at(fresh);
	atomic_store(&piece->next, offset);
	atomic_store(&piece->n, 1);
	/* where another thread was quicker its piece stays in the list as the older one */
	while (!atomic_compare_exchange_weak(&process->modules, &offset, fresh))
		atomic_store(&piece->next, offset);
	return &piece->modules[0];
}

void objects_met(const struct walk_object *object)
{
	uint64_t key = (object->start & ~0xfffull) | (walk_generation() & 0xfff);
	size_t slot = (object->start >> 12) * 0x9e3779b1u >> 7 & (KNOWN - 1);
	struct shared_module *m;

	if (atomic_load_explicit(&known[slot], memory_order_relaxed) == key)
		return;
	atomic_store_explicit(&known[slot], key, memory_order_relaxed);
	m = atomic_load_explicit(&entered[slot], memory_order_acquire);
	if (m && m->start == object->start && m->end == object->end && m->bias == object->bias && atomic_load(&m->ready) == 1)
		return;		/* it is still there */
	m = module_slot();
	if (!m)
		return;
	m->first_node = atomic_load(&agent.process->nnodes);
	m->start = object->start;
	m->end = object->end;
	m->bias = object->bias;
	copy_path(m, object->path);
	read_build_id(m);
	atomic_store_explicit(&m->ready, 1, memory_order_release);
	atomic_store_explicit(&entered[slot], m, memory_order_release);
}

/* Whether an object that was met is there no more. Each is reported once. */
static bool something_gone(void)
{
	uint64_t offset = atomic_load(&agent.process->modules);
	struct shared_module_piece *piece;
	struct dl_find_object found;
	bool gone = false;
	uint32_t i, n;

	for (; offset; offset = atomic_load(&piece->next)) {
		piece = arena_at(offset);
		n = atomic_load(&piece->n);
		for (i = 0; i < MIN(n, (uint32_t)SHARED_MODULES); i++) {
			struct shared_module *m = &piece->modules[i];

			if (atomic_load(&m->ready) != 1)
				continue;
			if (!_dl_find_object((void *)m->start, &found) && (uint64_t)found.dlfo_map_start == m->start &&
			    found.dlfo_link_map->l_addr == m->bias)
				continue;
			atomic_store(&m->ready, 2);	/* still good for the nodes made before */
			gone = true;
		}
	}
	return gone;
}

HOOK int dlclose(void *handle)
{
	static int (*real)(void *);
	int error, i;

	if (UNLIKELY(!real))
		real = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
	if (!agent_on())
		return real(handle);
	walk_objects_begin();
	error = real(handle);
	if (something_gone())
		nodes_restart();
	walk_objects_end();
	for (i = 0; i < KNOWN; i++)	/* what the walk met while the object went away is not known any more */
		atomic_store_explicit(&known[i], 0, memory_order_relaxed);
	return error;
}

/* Stacks that a program maps itself (coroutines) end here: what a walk may read must be asked anew. */
HOOK int munmap(void *address, size_t length)
{
	static int (*real)(void *, size_t);

	if (UNLIKELY(!real))
		real = (int (*)(void *, size_t))dlsym(RTLD_NEXT, "munmap");
	if (agent.shared)
		walk_stacks_changed();
	return real(address, length);
}

/* The real one may lie in a libgcc that was loaded privately, or not at all. */
static void *libgcc(const char *symbol)
{
	void *p = dlsym(RTLD_NEXT, symbol), *library;

	if (p)
		return p;
	library = dlopen("libgcc_s.so.1", RTLD_LAZY | RTLD_NOLOAD);
	return library ? dlsym(library, symbol) : NULL;
}

/* Code made at run time brings its unwind tables by these two. */
#define FRAMES(symbol, note)                                                \
	HOOK void symbol(void *eh_frame);                                   \
	HOOK void symbol(void *eh_frame)                                    \
	{                                                                   \
		static void (*real)(void *);                                \
                                                                            \
		if (UNLIKELY(!real))                                        \
			real = (void (*)(void *))libgcc(#symbol);           \
		if (agent.shared) {                                         \
			walk_objects_begin();                               \
			note(eh_frame);                                     \
			walk_objects_end();                                 \
		}                                                           \
		if (real)                                                   \
			real(eh_frame);                                     \
	}
FRAMES(__register_frame, walk_frames_register)
FRAMES(__deregister_frame, walk_frames_deregister)

void objects_after_fork(void)
{
	int i;

	/* the parent's entries stay the parent's; the child inherits them, and enters anew what it meets */
	for (i = 0; i < KNOWN; i++)
		atomic_store_explicit(&entered[i], NULL, memory_order_relaxed);
}

void objects_init(void)
{
	walk_on_object(objects_met);
}
