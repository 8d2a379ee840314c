/* memory.h - which stack memory a walk may read, and memory of its own
 *
 * Nothing is read that is not known to be readable. What is known is a range per stack, kept in the thread's state: from
 * the lowest stack pointer met to the highest slot met, page by page asked of the kernel once. The question is
 * rt_sigprocmask(2) with an operation that does not exist: it says EFAULT or EINVAL, and does nothing.
 */
#ifndef TARE_WALK_MEMORY_H
#define TARE_WALK_MEMORY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/util.h"

/** memory_generation - of walk_stacks_changed() */
extern _Atomic uint32_t memory_generation;

/** memory_map - anonymous memory, zeroed, never to be given back; NULL if there is none. Signal-safe, errno kept */
void *memory_map(uint64_t bytes);

/** memory_readable - whether @bytes from @addr on can be read now. Cost: a syscall a page */
bool memory_readable(uint64_t addr, uint64_t bytes);

enum {
	MEMORY_PAGE = 4096,
	MEMORY_STACKS = 4,		/* that a thread is known to use: its own, an alternate one, coroutines */
	MEMORY_MAX_FRAME = 16 << 20	/* the largest distance between two frames */
};

/** struct memory_range - readable memory of one stack, whole pages; {0}: none */
struct memory_range {
	uint64_t low, high;
};

/** struct memory_stacks - what a thread knows of its stacks; {0} is valid */
struct memory_stacks {
	struct memory_range range[MEMORY_STACKS];
	uint32_t current;	/* the one in use */
	uint32_t generation;	/* of walk_stacks_changed() */
	uint32_t next;		/* to be replaced */
};

/**
 * memory_enter - makes the range that holds the stack pointer @sp the current one
 * @sure:  @sp is the stack pointer that this code runs on, so its page need not be asked for
 *
 * Return: false if nothing is readable at @sp.
 */
bool memory_enter(struct memory_stacks *m, uint64_t sp, bool sure);

/** memory_current - whether @range is still known to be readable; without asking */
static inline bool memory_current(const struct memory_stacks *m, const struct memory_range *range)
{
	const struct memory_range *now = &m->range[m->current];

	return m->generation == atomic_load_explicit(&memory_generation, memory_order_acquire) && now->low <= range->low &&
	       now->high >= range->high;
}

/** memory_extend - lets the current range reach up to @high; false (and nothing done) if it cannot */
bool memory_extend(struct memory_stacks *m, uint64_t high);

/** memory_shrink - forgets what lies above @high: a walk that ended badly may have followed garbage into other memory */
void memory_shrink(struct memory_stacks *m, uint64_t high);

/** memory_read - an aligned word, anywhere: of the current range, or asked for; false if it cannot be read */
bool memory_read(struct memory_stacks *m, uint64_t addr, uint64_t *ret);

#endif
