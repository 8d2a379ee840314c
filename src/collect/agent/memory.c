/*
 * memory - where the agent's memory comes from
 *
 * The arena's window is reserved without access and opened an extent at a time: so mlockall() and core dumps of the program
 * do not see gigabytes, and an address range costs nothing until it is used. Extents belong to one process; inside them
 * memory is cut by an atomic addition, so that a signal handler may take some in the middle of another taking.
 */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "collect/agent/agent.h"

static uint64_t extent_take(void)
{
	struct shared_header *shared = agent.shared;
	struct shared_extent *head;
	uint64_t offset;

	if (atomic_fetch_add(&shared->used, SHARED_EXTENT) + SHARED_EXTENT > shared->limit) {
		atomic_fetch_sub(&shared->used, SHARED_EXTENT);
		atomic_fetch_add(&shared->refused, 1);
		return 0;
	}
	offset = atomic_fetch_add(&shared->next, SHARED_EXTENT);
	if (offset + SHARED_EXTENT > agent.window_size ||
	    arch_syscall3(SYS_mprotect, (long)(agent.window + offset), SHARED_EXTENT, PROT_READ | PROT_WRITE)) {
		atomic_fetch_add(&shared->refused, 1);
		return 0;
	}
	head = arena_at(offset);
	if (agent.process) {
		head->next = atomic_load(&agent.process->extents);
		while (!atomic_compare_exchange_weak(&agent.process->extents, &head->next, offset))
			;
	}
	return offset;
}

uint64_t arena_take(size_t size)
{
	struct shared_process *process = agent.process;
	uint64_t offset, old;

	size = (size + 63) & ~(size_t)63;
	if (!process) {	/* the process record itself: the beginning of the first extent */
		offset = extent_take();
		return offset ? offset + sizeof(struct shared_extent) : 0;
	}
	for (old = atomic_load(&process->free); old % SHARED_EXTENT && old % SHARED_EXTENT + size <= SHARED_EXTENT;) {
		/* an extent that is exactly full leaves free at a multiple of the extent's size: nothing is left there */
		if (atomic_compare_exchange_weak(&process->free, &old, old + size))
			return old;
	}
	offset = extent_take();
	if (!offset)
		return 0;
	/* where another thread was quicker the rest of one of the two extents stays unused */
	atomic_store(&process->free, offset + sizeof(struct shared_extent) + size);
	return offset + sizeof(struct shared_extent);
}

void *private_map(size_t bytes)
{
	long p = arch_syscall6(SYS_mmap, 0, (long)bytes, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p < 0 && p > -4096)
		return NULL;
	arch_syscall3(SYS_madvise, p, (long)bytes, MADV_DONTDUMP);
	return (void *)p;
}
