/*
 * memory - where the agent's memory comes from
 *
 * The arena is a file that every process maps in segments: ranges of it that belong to one process and the children that it
 * forks. A segment is reserved without access, and opened an extent at a time: so mlockall() and core dumps of the program do
 * not see what is not used, and a limit of addresses is hardly touched. The first segment is small; a process that needs
 * more opens larger ones. Extents belong to one process; inside them memory is cut by an atomic addition, so that a signal
 * handler may take some in the middle of another taking.
 *
 * The file is found beside the agent: the preload entry names a link in a directory of the run, and "arena" in it is tare's
 * memory.
 */
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "collect/agent/agent.h"

enum { SEGMENTS = 24, LARGEST_STEP = 3 };

struct segment {
	uint64_t offset;
	unsigned char *bytes;
	_Atomic uint64_t size;		/* 0: not ready */
};

static struct segment segments[SEGMENTS];
static _Atomic uint32_t nsegments;
static char arena_path[256];

static long map_file(uint64_t offset, uint64_t size, int protection)
{
	long fd = arch_syscall4(SYS_openat, AT_FDCWD, (long)arena_path, O_RDWR | O_CLOEXEC, 0), p;

	if (fd < 0)
		return fd;
	p = arch_syscall6(SYS_mmap, 0, (long)size, protection, MAP_SHARED | MAP_NORESERVE, fd, (long)offset);
	arch_syscall1(SYS_close, fd);	/* the program never has a descriptor of ours */
	if (p > 0 || p < -4095)
		arch_syscall3(SYS_madvise, p, (long)size, MADV_DONTDUMP);
	return p;
}

static bool is_address(long p)
{
	return p > 0 || p < -4095;
}

struct shared_header *arena_open(const char *path)
{
	static const char name[] = "/arena";
	struct shared_header *shared;
	const char *slash;
	long p;

	slash = strrchr(path, '/');
	if (!slash || (size_t)(slash - path) + sizeof(name) > sizeof(arena_path))
		return NULL;
	memcpy(arena_path, path, (size_t)(slash - path));
	memcpy(arena_path + (slash - path), name, sizeof(name));
	p = map_file(0, sizeof(*shared), PROT_READ | PROT_WRITE);
	if (!is_address(p))
		return NULL;
	shared = (struct shared_header *)p;
	if (shared->magic == SHARED_MAGIC && shared->version == SHARED_VERSION)
		return shared;
	arch_syscall3(SYS_munmap, p, sizeof(*shared), 0);
	return NULL;
}

void *arena_at(uint64_t offset)
{
	uint32_t i, n = MIN(atomic_load_explicit(&nsegments, memory_order_acquire), (uint32_t)SEGMENTS);

	for (i = 0; i < n; i++)
		if (offset - segments[i].offset < atomic_load_explicit(&segments[i].size, memory_order_acquire))
			return segments[i].bytes + (offset - segments[i].offset);
	__builtin_unreachable();	/* offsets come from extents that this process or its parent took */
}

static bool segment_open(void)
{
	uint32_t i = atomic_fetch_add(&nsegments, 1);
	uint64_t size = (uint64_t)SHARED_UNIT << 2 * MIN(i, (uint32_t)LARGEST_STEP), offset;
	long p;

	if (i >= SEGMENTS)
		return false;
	offset = atomic_fetch_add(&agent.shared->next, size);
	if (offset + size > agent.shared->window)
		return false;
	p = map_file(offset, size, PROT_NONE);
	if (!is_address(p))
		return false;
	segments[i].offset = offset;
	segments[i].bytes = (unsigned char *)p;
	atomic_store_explicit(&segments[i].size, size, memory_order_release);
	return true;
}

/* An extent of a segment that is open; 0: all are full. */
static uint64_t extent_of_segments(void)
{
	uint32_t i = MIN(atomic_load_explicit(&nsegments, memory_order_acquire), (uint32_t)SEGMENTS);
	uint64_t size, at;

	while (i-- > 0) {
		size = atomic_load_explicit(&segments[i].size, memory_order_acquire);
		if (!size)
			continue;
		at = (uint64_t)atomic_fetch_add(&agent.shared->taken[segments[i].offset / SHARED_UNIT], 1) * SHARED_EXTENT;
		if (at >= size)
			continue;
		if (arch_syscall3(SYS_mprotect, (long)(segments[i].bytes + at), SHARED_EXTENT, PROT_READ | PROT_WRITE))
			return 0;
		return segments[i].offset + at;
	}
	return 0;
}

/* A collector that was killed takes nothing any more: all agents stop recording, and memory stops growing. */
static bool collector_is_gone(struct shared_header *shared)
{
	if (arch_ticks() - atomic_load(&shared->coarse_ticks) < shared->stale_ticks ||
	    arch_syscall2(SYS_kill, shared->collector_pid, 0) != -3)
		return false;
	atomic_store(&shared->active, 0);
	return true;
}

static uint64_t extent_take(void)
{
	struct shared_header *shared = agent.shared;
	struct shared_extent *head;
	uint64_t offset = 0;

	if (UNLIKELY(collector_is_gone(shared)))
		return 0;
	if (atomic_fetch_add(&shared->used, SHARED_EXTENT) + SHARED_EXTENT <= shared->limit) {
		offset = extent_of_segments();
		if (!offset && segment_open())
			offset = extent_of_segments();
	}
	if (!offset) {
		atomic_fetch_sub(&shared->used, SHARED_EXTENT);
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

	if (!is_address(p))
		return NULL;
	arch_syscall3(SYS_madvise, p, (long)bytes, MADV_DONTDUMP);
	return (void *)p;
}
