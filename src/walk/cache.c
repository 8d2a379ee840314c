/* cache.c - the table of frame layouts: open addressing, grown by publishing a larger copy
 *
 * Readers load whole words and believe a cell only if all 48 bits of the address are in it, so no order between threads
 * matters and nothing need be locked. Tables are never unmapped: a walk may hold one for any time. A table that doubles leaves
 * its own size behind in all. While objects may vanish (walk_objects_begin) walks see an empty table; the last
 * walk_objects_end() zeroes the real one in place. A walk that was under way then may still store a rule it read before;
 * it looks at the generation afterwards and takes the rule out again. (A program cannot unmap code that is on a
 * stack being walked; so that rule would be one of garbage.)
 */
#include "walk/cache.h"

#include <errno.h>
#include <string.h>

#include "walk/memory.h"
#include "walk/walk.h"

/* The first is small: a short program pays for each page that it touches. */
enum { LOG2_FIRST = 9, LOG2_STEP = 1, LOG2_LAST = 20, PROBES = 8, WIDE_MAX = 4096 };

static _Atomic uint64_t empty_cells[2];
static _Atomic uint16_t empty_hints[2];
static struct cache_table empty = { .shift = 63, .cells = empty_cells, .hints = empty_hints };

static _Atomic(struct cache_table *) current = &empty;
static _Atomic uint64_t state = 1ull << 32;	/* generation << 32 | brackets that are open */
static _Atomic bool growing;
static _Atomic uint64_t memory_bytes;

static struct cache_wide wides[WIDE_MAX];
static _Atomic uint32_t n_wides;		/* those below are final */
static _Atomic bool wides_busy;

static struct cache_table *table_new(unsigned log2)
{
	uint64_t cells = 1ull << log2, bytes = sizeof(struct cache_table) + 64 + cells * 10;
	uint8_t *p = memory_map(bytes);
	struct cache_table *t = (struct cache_table *)p;

	if (!p)
		return NULL;
	t->shift = 64 - log2;
	t->cells = (_Atomic uint64_t *)(p + 64);
	t->hints = (_Atomic uint16_t *)(p + 64 + cells * 8);
	atomic_fetch_add_explicit(&memory_bytes, bytes, memory_order_relaxed);
	return t;
}

int cache_init(void)
{
	struct cache_table *t;

	if (atomic_load(&current) != &empty)
		return 0;
	t = table_new(LOG2_FIRST);
	if (!t)
		return -ENOMEM;
	atomic_store_explicit(&current, t, memory_order_release);
	return 0;
}

struct cache_view cache_view(void)
{
	uint64_t s = atomic_load_explicit(&state, memory_order_acquire);
	bool open = (uint32_t)s != 0;

	return (struct cache_view){
		.table = UNLIKELY(open) ? &empty : atomic_load_explicit(&current, memory_order_acquire),
		.generation = (uint32_t)(s >> 32),
		.open = open,
	};
}

uint32_t cache_generation(void)
{
	return (uint32_t)(atomic_load_explicit(&state, memory_order_acquire) >> 32);
}

uint64_t cache_memory_bytes(void)
{
	return atomic_load_explicit(&memory_bytes, memory_order_relaxed);
}

static bool view_valid(const struct cache_view *view)
{
	return !view->open && atomic_load_explicit(&state, memory_order_acquire) == (uint64_t)view->generation << 32;
}

uint32_t cache_lookup(struct cache_table *t, uint64_t ra)
{
	uint64_t hash = cache_hash(ra), mask = (1ull << (64 - t->shift)) - 1, home = hash >> t->shift;

	for (unsigned i = 0; i < PROBES; i++) {
		uint64_t cell = atomic_load_explicit(&t->cells[(home + i) & mask], memory_order_relaxed);

		if (cell == 0)
			return 0;
		if ((cell ^ hash) >> 16 == 0)
			return cell & 0xffff;
	}
	return 0;
}

/* Return: whether the table has one more cell in use. */
static bool put(struct cache_table *t, uint64_t hash, uint32_t rule)
{
	uint64_t mask = (1ull << (64 - t->shift)) - 1, home = hash >> t->shift;

	for (unsigned i = 0; i < PROBES; i++) {
		uint64_t at = (home + i) & mask, none = 0;

		if (atomic_compare_exchange_strong(&t->cells[at], &none, hash | rule)) {
			atomic_store_explicit(&t->hints[at], (uint16_t)rule, memory_order_relaxed);
			return true;
		}
		if ((none ^ hash) >> 16 == 0)
			return false;
	}
	atomic_store_explicit(&t->cells[home], hash | rule, memory_order_relaxed);
	atomic_store_explicit(&t->hints[home], (uint16_t)rule, memory_order_relaxed);
	return false;
}

static void take_out(struct cache_table *t, uint64_t hash, uint32_t rule)
{
	uint64_t mask = (1ull << (64 - t->shift)) - 1, home = hash >> t->shift;

	for (unsigned i = 0; i < PROBES; i++) {
		uint64_t cell = hash | rule;

		if (atomic_compare_exchange_strong(&t->cells[(home + i) & mask], &cell, 0))
			return;
	}
}

static void table_clear(struct cache_table *t)
{
	uint64_t cells = 1ull << (64 - t->shift);

	for (uint64_t i = 0; i < cells; i++)
		if (atomic_load_explicit(&t->cells[i], memory_order_relaxed))
			atomic_store_explicit(&t->cells[i], 0, memory_order_relaxed);
	atomic_store_explicit(&t->used, 0, memory_order_relaxed);
}

/* One walk does it; others go on with the old table, and what they store in it meanwhile is looked up again later. */
static void grow(const struct cache_view *view)
{
	struct cache_table *old = view->table, *t = NULL;
	uint32_t used = 0;

	if (atomic_exchange_explicit(&growing, true, memory_order_acquire))
		return;
	if (atomic_load(&current) == old && 64 - old->shift < LOG2_LAST)
		t = table_new(64 - old->shift + LOG2_STEP);
	if (t) {
		for (uint64_t i = 0; i < 1ull << (64 - old->shift); i++) {
			uint64_t cell = atomic_load_explicit(&old->cells[i], memory_order_relaxed);

			if (cell)
				used += put(t, cell & ~0xffffull, cell & 0xffff);
		}
		atomic_store_explicit(&t->used, used, memory_order_relaxed);
		atomic_store_explicit(&current, t, memory_order_release);
		if (!view_valid(view))
			table_clear(t);
	}
	atomic_store_explicit(&growing, false, memory_order_release);
}

void cache_store(const struct cache_view *view, uint64_t ra, uint32_t rule)
{
	struct cache_table *t = view->table;
	uint64_t hash = cache_hash(ra), cells = 1ull << (64 - t->shift), used = 0;

	if (t == &empty || !view_valid(view))
		return;
	if (put(t, hash, rule))
		used = atomic_fetch_add_explicit(&t->used, 1, memory_order_relaxed) + 1;
	if (used >= cells / 8 * 3 && used % 64 == 0)
		grow(view);
	if (!view_valid(view))
		take_out(t, hash, rule);
}

void walk_objects_begin(void)
{
	atomic_fetch_add(&state, 1);
}

void walk_objects_end(void)
{
	uint64_t s = atomic_load(&state), next;

	do {
		if ((uint32_t)s == 0)
			return;		/* an end without a begin */
		if ((uint32_t)s == 1 && atomic_load(&current) != &empty)
			table_clear(atomic_load(&current));
		next = s - 1;
		if ((uint32_t)s == 1)
			next += 1ull << 32;
	} while (!atomic_compare_exchange_weak(&state, &s, next));
}

const struct cache_wide *cache_wide(uint32_t rule)
{
	return &wides[(rule - CACHE_WIDE) >> 3];
}

static bool same_layout(const struct cache_wide *a, const struct cache_wide *b)
{
	return a->cfa_off == b->cfa_off && a->ra_off == b->ra_off && a->fp_off == b->fp_off && a->base == b->base;
}

uint32_t cache_wide_rule(const struct cache_wide *layout)
{
	uint32_t n = atomic_load_explicit(&n_wides, memory_order_acquire);

	for (uint32_t i = 0; i < n; i++)
		if (same_layout(&wides[i], layout))
			return CACHE_WIDE + (i << 3);
	if (n == WIDE_MAX || atomic_exchange_explicit(&wides_busy, true, memory_order_acquire))
		return CACHE_STEP;
	n = atomic_load_explicit(&n_wides, memory_order_acquire);
	if (n < WIDE_MAX) {
		wides[n] = *layout;
		atomic_store_explicit(&n_wides, n + 1, memory_order_release);
	}
	atomic_store_explicit(&wides_busy, false, memory_order_release);
	return n < WIDE_MAX ? CACHE_WIDE + (n << 3) : CACHE_STEP;
}
