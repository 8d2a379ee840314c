/*
 * heap_hooks - the functions that stand in for the allocator's
 *
 * Each calls the function that the program would have got without the agent (the next one in the loader's order: glibc's,
 * or that of a preloaded or linked allocator) and has the result recorded. Nothing else of the program is touched: the
 * loader's own functions are not wrapped, since dlopen takes its caller from the return address.
 *
 * Before the real functions are known (dlsym itself may allocate) blocks come from a small static pool that is never
 * recorded and never given back.
 */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "collect/agent/agent.h"

static struct {
	void *(*malloc)(size_t);
	void (*free)(void *);
	void *(*calloc)(size_t, size_t);
	void *(*realloc)(void *, size_t);
	int (*posix_memalign)(void **, size_t, size_t);
	void *(*aligned_alloc)(size_t, size_t);
	void *(*memalign)(size_t, size_t);
	void *(*valloc)(size_t);
	void *(*pvalloc)(size_t);
	size_t (*malloc_usable_size)(void *);
} real;

static _Alignas(16) unsigned char early_pool[32 << 10];
static _Atomic size_t early_used;
static bool early;	/* the real functions are being looked up */

static void *early_alloc(size_t size)
{
	size_t at;

	size = (size + 31) & ~(size_t)15;	/* 16 bytes in front hold the size */
	at = atomic_fetch_add(&early_used, size);
	if (at + size > sizeof(early_pool))
		return NULL;
	*(size_t *)(early_pool + at) = size - 16;
	return early_pool + at + 16;
}

static inline bool is_early(const void *p)
{
	return (uintptr_t)p - (uintptr_t)early_pool < sizeof(early_pool);
}

static COLD void *early_move(void *p, size_t size)
{
	size_t old = *(size_t *)((unsigned char *)p - 16);
	void *q = real.malloc ? real.malloc(size) : early_alloc(size);

	if (q)
		memcpy(q, p, MIN(old, size));
	return q;
}

void hooks_init(void)
{
	early = true;
	real.calloc = dlsym(RTLD_NEXT, "calloc");
	real.malloc = dlsym(RTLD_NEXT, "malloc");
	real.free = dlsym(RTLD_NEXT, "free");
	real.realloc = dlsym(RTLD_NEXT, "realloc");
	real.posix_memalign = dlsym(RTLD_NEXT, "posix_memalign");
	real.aligned_alloc = dlsym(RTLD_NEXT, "aligned_alloc");
	real.memalign = dlsym(RTLD_NEXT, "memalign");
	real.valloc = dlsym(RTLD_NEXT, "valloc");
	real.pvalloc = dlsym(RTLD_NEXT, "pvalloc");
	real.malloc_usable_size = dlsym(RTLD_NEXT, "malloc_usable_size");
	early = false;
}

/* Whether the real functions can be called; false while they are being looked up. */
static inline bool ready(void)
{
	if (LIKELY(real.malloc_usable_size != NULL))
		return true;
	if (!early)
		agent_start();
	return real.malloc_usable_size != NULL;
}

/* The thread's state if this call is to be recorded; marks it busy. */
static inline struct thread *enter(void)
{
	struct thread *t;

	if (UNLIKELY(!agent.heap) && (!agent_on() || !agent.heap))
		return NULL;
	t = thread_here();
	if (UNLIKELY(!t))
		return NULL;
	if (UNLIKELY(t->busy)) {
		t->shared->nested_events++;
		return NULL;
	}
	t->busy = true;
	atomic_signal_fence(memory_order_seq_cst);
	return t;
}

static inline void leave(struct thread *t)
{
	atomic_signal_fence(memory_order_seq_cst);
	t->busy = false;
}

static inline void *record(void *p, size_t size, const struct walk_start *start)
{
	struct thread *t = enter();

	if (LIKELY(t != NULL)) {
		if (LIKELY(p != NULL))
			heap_allocated(t, p, size, start);
		else
			heap_failed(t);
		leave(t);
	}
	return p;
}

HOOK HOT void *malloc(size_t size)
{
	struct walk_start start = WALK_START();

	if (UNLIKELY(!ready()))
		return early_alloc(size);
	return record(real.malloc(size), size, &start);
}

HOOK HOT void free(void *p)
{
	struct thread *t;

	if (!p || UNLIKELY(is_early(p)) || UNLIKELY(!ready()))
		return;
	t = enter();
	if (LIKELY(t != NULL)) {
		heap_freeing(t, p);
		leave(t);
	}
	real.free(p);
}

HOOK void cfree(void *p)
{
	free(p);
}

HOOK HOT void *calloc(size_t n, size_t size)
{
	struct walk_start start = WALK_START();

	if (UNLIKELY(!ready()))
		return size && n > sizeof(early_pool) / size ? NULL : early_alloc(n * size);	/* the pool is all zero */
	return record(real.calloc(n, size), n * size, &start);
}

/* Shared by realloc and reallocarray. */
static void *move(void *p, size_t size, const struct walk_start *start)
{
	struct thread *t;
	struct block block;
	void *q;

	if (!p)
		return record(real.malloc(size), size, start);
	if (UNLIKELY(is_early(p)))
		return record(early_move(p, size), size, start);
	if (UNLIKELY(!agent.heap) && (!agent_on() || !agent.heap))
		return real.realloc(p, size);
	block = heap_moving(p);
	q = real.realloc(p, size);
	t = enter();
	if (LIKELY(t != NULL)) {
		heap_moved(t, p, &block, q, size, start);
		leave(t);
	}
	return q;
}

HOOK HOT void *realloc(void *p, size_t size)
{
	struct walk_start start = WALK_START();

	if (UNLIKELY(!ready()))
		return p ? early_move(p, size) : early_alloc(size);
	return move(p, size, &start);
}

HOOK void *reallocarray(void *p, size_t n, size_t size)
{
	struct walk_start start = WALK_START();
	size_t bytes;

	if (UNLIKELY(!ready()))
		return NULL;
	if (__builtin_mul_overflow(n, size, &bytes)) {
		struct thread *t = enter();

		if (t) {
			heap_failed(t);
			leave(t);
		}
		errno = ENOMEM;		/* as reallocarray(3) says; the program's errno, set for the program */
		return NULL;
	}
	return move(p, bytes, &start);
}

HOOK int posix_memalign(void **ret, size_t alignment, size_t size)
{
	struct walk_start start = WALK_START();
	int error;

	if (UNLIKELY(!ready()))
		return ENOMEM;
	error = real.posix_memalign(ret, alignment, size);
	record(error ? NULL : *ret, size, &start);
	return error;
}

#define ALIGNED(name)                                                       \
	HOOK void *name(size_t alignment, size_t size)                      \
	{                                                                   \
		struct walk_start start = WALK_START();                     \
                                                                            \
		if (UNLIKELY(!ready()))                                     \
			return NULL;                                        \
		return record(real.name(alignment, size), size, &start);    \
	}
ALIGNED(aligned_alloc)
ALIGNED(memalign)

#define PAGED(name)                                                         \
	HOOK void *name(size_t size)                                        \
	{                                                                   \
		struct walk_start start = WALK_START();                     \
                                                                            \
		if (UNLIKELY(!ready()))                                     \
			return NULL;                                        \
		return record(real.name(size), size, &start);               \
	}
PAGED(valloc)
PAGED(pvalloc)

HOOK size_t malloc_usable_size(void *p)
{
	if (!p || UNLIKELY(!ready()))
		return 0;
	if (UNLIKELY(is_early(p)))
		return *(size_t *)((unsigned char *)p - 16);
	return real.malloc_usable_size(p);
}

/* For operator new and delete of an allocator that does not come through malloc: new_hooks.c. */
void *hooks_record_new(void *p, size_t size, const struct walk_start *start)
{
	/* some of them do come through one of the hooks above */
	if (p && agent_thread && agent_thread->last_alloc == (uintptr_t)p)
		return p;
	return record(p, size, start);
}

void hooks_record_delete(void *p)
{
	struct thread *t = p ? enter() : NULL;

	if (t) {
		heap_freeing(t, p);
		t->deleting = (uintptr_t)p;	/* may come to free() again */
		leave(t);
	}
}
