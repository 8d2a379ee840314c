/*
 * heap_record - an allocation or a free becomes an event
 *
 * The path of a call that finds everything in place: walk (verified against the last one), node, one shadow cell, one word
 * of log, three counters of this thread: no atomic read-modify-write, no line that another thread writes.
 *
 * Order: a free is recorded before the block is given back, an allocation after it was obtained. So the records of one
 * address never cross, since the allocator itself is the synchronisation.
 *
 * What it costs is measured here: each thread's first operations are timed, cold as they are, then one in TIMED_EVERY.
 */
#include "collect/agent/agent.h"

enum {
	STAMP_EVERY = 16,	/* events between two readings of the clock */
	NET_LIMIT = 64 << 10,	/* live bytes of a thread that may change between two EVENT_TIMEs */
};

/* Reads the clock when it is due, and writes a time stamp where the order between threads needs one. */
static inline void stamp(struct thread *t, int64_t change)
{
	uint64_t coarse = atomic_load_explicit(&agent.shared->coarse_ticks, memory_order_relaxed);

	t->net_bytes += change;
	if (LIKELY(++t->since_stamp < STAMP_EVERY && coarse == t->coarse_ticks && t->net_bytes < NET_LIMIT &&
		   t->net_bytes > -NET_LIMIT))
		return;
	t->now_ticks = arch_ticks();
	t->since_stamp = 0;
	if (coarse == t->coarse_ticks && t->net_bytes < NET_LIMIT && t->net_bytes > -NET_LIMIT)
		return;
	t->coarse_ticks = coarse;
	t->net_bytes = change;
	if (log_room(t, &t->heap_log, LOG_HEAP, 1))
		log_put(&t->heap_log, (uint64_t)EVENT_TIME << 61 | t->now_ticks);
}

static inline uint32_t age_time(const struct thread *t)
{
	return (uint32_t)(t->now_ticks >> agent.shared->age_shift & EVENT_MASK(AGE_BITS));
}

static inline uint32_t age_class(const struct thread *t, uint32_t then)
{
	uint64_t age = (age_time(t) - then) & EVENT_MASK(AGE_BITS);
	uint32_t class = 1;

	while (class < EVENT_AGE_CLASSES - 1 && age >= agent.shared->age_limit[class])
		class++;
	return class;
}

static inline bool event_put(struct thread *t, enum event_op op, uint32_t small, uint32_t node, uint64_t size)
{
	if (UNLIKELY(!log_room(t, &t->heap_log, LOG_HEAP, 2))) {
		t->shared->lost_heap_events++;
		if (op == EVENT_ALLOC)
			t->shared->lost_alloc_bytes += size;
		return false;
	}
	if (UNLIKELY(size >> EVENT_SIZE_BITS))
		log_put(&t->heap_log, (uint64_t)EVENT_WIDE << 61 | size >> EVENT_SIZE_BITS);
	log_put(&t->heap_log, event_word(op, small, node, size & EVENT_MASK(EVENT_SIZE_BITS)));
	return true;
}

static inline void write_alloc(struct thread *t, uintptr_t p, uint64_t size, uint32_t node)
{
	struct block block = { .node = node, .size = size };

	stamp(t, (int64_t)size);
	block.age_time = age_time(t);
	if (event_put(t, EVENT_ALLOC, 0, node, size))	/* a block whose birth was lost is an unknown one when freed */
		shadow_put(p, &block);
	t->last_alloc = p;
	t->shared->calls++;
	t->shared->bytes += size;
}

static COLD void allocated_timed(struct thread *t, uintptr_t p, uint64_t size, const struct walk_start *start)
{
	uint64_t begin = arch_ticks(), walked;
	uint32_t node;

	walk_here(&t->heap_stack.walk, start);
	node = nodes_of_stack(&t->heap_stack, t->shared);
	walked = arch_ticks();
	write_alloc(t, p, size, node);
	if (t->first_allocs) {
		t->shared->cost[COST_FIRST_ALLOC].times++;
		cost_add(&t->shared->cost[COST_FIRST_ALLOC], arch_ticks() - begin);
		t->until_timed = --t->first_allocs ? 0 : (uint32_t)(begin % TIMED_EVERY);
		return;
	}
	cost_add(&t->shared->cost[COST_ALLOC_WRITE], arch_ticks() - walked);
	cost_add(&t->shared->cost[COST_ALLOC_WALK], walked - begin);
	t->until_timed = TIMED_EVERY - 1;
}

/* Cost: bench/heap. */
HOT void heap_allocated(struct thread *t, const void *p, size_t size, const struct walk_start *start)
{
	if (UNLIKELY(!(atomic_load_explicit(&agent.shared->active, memory_order_relaxed) & INSTRUMENT_HEAP)))
		return;
	if (UNLIKELY(t->until_timed-- == 0)) {
		allocated_timed(t, (uintptr_t)p, size, start);
		return;
	}
	walk_here(&t->heap_stack.walk, start);
	write_alloc(t, (uintptr_t)p, size, nodes_of_stack(&t->heap_stack, t->shared));
}

void heap_failed(struct thread *t)
{
	t->shared->failed++;
}

static inline void write_free(struct thread *t, const struct block *block, bool temporary)
{
	if (UNLIKELY(!block->live)) {
		t->shared->unknown_frees++;
		return;
	}
	if (UNLIKELY(block->node < agent.first_node && agent.first_node > EVENT_FIRST_NODE)) {
		t->shared->inherited_frees++;
		return;
	}
	stamp(t, -(int64_t)block->size);
	event_put(t, EVENT_FREE, (uint32_t)temporary | age_class(t, block->age_time) << 1, block->node, block->size);
	t->shared->frees++;
}

static inline bool take_temporary(struct thread *t, uintptr_t p)
{
	bool temporary = t->last_alloc == p;

	if (temporary)
		t->last_alloc = 0;
	return temporary;
}

static COLD void free_timed(struct thread *t, uint64_t begin)
{
	if (t->first_frees) {
		t->shared->cost[COST_FIRST_FREE].times++;
		cost_add(&t->shared->cost[COST_FIRST_FREE], arch_ticks() - begin);
		t->until_timed_free = --t->first_frees ? 0 : (uint32_t)(begin % TIMED_EVERY);
		return;
	}
	cost_add(&t->shared->cost[COST_FREE], arch_ticks() - begin);
	t->until_timed_free = TIMED_EVERY - 1;
}

HOT void heap_freeing(struct thread *t, const void *p)
{
	bool timed = t->until_timed_free-- == 0;
	uint64_t begin = UNLIKELY(timed) ? arch_ticks() : 0;
	struct block block;

	if (UNLIKELY(!(atomic_load_explicit(&agent.shared->active, memory_order_relaxed) & INSTRUMENT_HEAP)))
		return;
	block = shadow_take((uintptr_t)p);
	if (UNLIKELY(!block.live && t->deleting == (uintptr_t)p)) {
		t->deleting = 0;
		return;
	}
	write_free(t, &block, take_temporary(t, (uintptr_t)p));
	if (UNLIKELY(timed))
		free_timed(t, begin);
}

struct block heap_moving(const void *p)
{
	return shadow_take((uintptr_t)p);
}

void heap_moved(struct thread *t, const void *old, const struct block *block, const void *p, size_t size,
		const struct walk_start *start)
{
	if (UNLIKELY(!(atomic_load_explicit(&agent.shared->active, memory_order_relaxed) & INSTRUMENT_HEAP)))
		return;
	if (!p && size) {
		heap_failed(t);
		if (block->live)
			shadow_put((uintptr_t)old, block);
		return;
	}
	write_free(t, block, take_temporary(t, (uintptr_t)old));
	if (p)
		heap_allocated(t, p, size, start);
}
