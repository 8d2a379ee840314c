/* memory.c - ranges of readable stack memory, extended by asking the kernel for one page after the other
 *
 * /proc/self/maps costs a file and a lock, mincore() says nothing of permissions, and a pipe needs two descriptors of the
 * program's: asking with a syscall that fails on purpose needs nothing. Memory between a live stack pointer and the stack's
 * end is never unmapped under a thread's feet; memory of stacks that were given back is forgotten by walk_stacks_changed().
 */
#include "walk/memory.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "arch/arch.h"
#include "walk/walk.h"

_Atomic uint32_t memory_generation = 1;

void walk_stacks_changed(void)
{
	atomic_fetch_add_explicit(&memory_generation, 1, memory_order_release);
}

void *memory_map(uint64_t bytes)
{
	long p = arch_syscall6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return p < 0 && p > -4096 ? NULL : (void *)p;
}

static bool word_readable(uint64_t addr)
{
	if (addr < MEMORY_PAGE)
		return false;		/* NULL is no set at all to the kernel, and no fault */
	return arch_syscall4(SYS_rt_sigprocmask, 0x7fff, (long)addr, 0, 8) != -EFAULT;
}

bool memory_readable(uint64_t addr, uint64_t bytes)
{
	uint64_t last = addr + bytes - 1;

	if (last < addr || last >> ARCH_ADDRESS_BITS)
		return false;
	for (uint64_t a = addr & ~7ull; a <= last; a = (a | (MEMORY_PAGE - 1)) + 1)
		if (!word_readable(a))
			return false;
	return true;
}

static bool extend_up(struct memory_range *r, uint64_t high)
{
	uint64_t to = r->high;

	if (high >> ARCH_ADDRESS_BITS)
		return false;
	for (; to < high; to += MEMORY_PAGE)
		if (!word_readable(to))
			return false;
	r->high = to;
	return true;
}

/* A range that begins above @low comes down to it. */
static bool extend_down(struct memory_range *r, uint64_t low)
{
	uint64_t to = r->low;

	while (to > low) {
		if (!word_readable(to - MEMORY_PAGE))
			return false;
		to -= MEMORY_PAGE;
	}
	r->low = to;
	return true;
}

bool memory_enter(struct memory_stacks *m, uint64_t sp, bool sure)
{
	uint32_t generation = atomic_load_explicit(&memory_generation, memory_order_acquire);
	uint64_t page = sp & ~(uint64_t)(MEMORY_PAGE - 1);
	struct memory_range *r;

	if (m->generation != generation)
		*m = (struct memory_stacks){ .generation = generation };
	for (uint32_t i = 0; i < MEMORY_STACKS; i++)
		if (sp >= m->range[i].low && sp < m->range[i].high) {
			m->current = i;
			return true;
		}
	for (uint32_t i = 0; i < MEMORY_STACKS; i++) {
		r = &m->range[i];
		if (sp < r->low && r->low - sp <= MEMORY_MAX_FRAME && extend_down(r, page)) {
			m->current = i;
			return true;
		}
	}
	if (sp >> ARCH_ADDRESS_BITS || (!sure && !word_readable(sp & ~7ull)))
		return false;
	m->current = m->next++ % MEMORY_STACKS;
	m->range[m->current] = (struct memory_range){ page, page + MEMORY_PAGE };
	return true;
}

bool memory_extend(struct memory_stacks *m, uint64_t high)
{
	struct memory_range *r = &m->range[m->current];

	return high <= r->high || (high - r->high <= MEMORY_MAX_FRAME && extend_up(r, high));
}

void memory_shrink(struct memory_stacks *m, uint64_t high)
{
	struct memory_range *r = &m->range[m->current];
	uint64_t page = (high | (MEMORY_PAGE - 1)) + 1;

	if (high >= r->low && page < r->high)
		r->high = page;
}

bool memory_read(struct memory_stacks *m, uint64_t addr, uint64_t *ret)
{
	const struct memory_range *r = &m->range[m->current];
	bool known = addr >= r->low && addr < r->high && addr % 8 == 0;

	if (addr % 8 || (!known && !memory_readable(addr, 8)))
		return false;
	*ret = *(const uint64_t *)addr;
	return true;
}
