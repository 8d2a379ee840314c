/* shared.h - the arena: memory that tare maps and the agents in the measured processes write
 *
 * One sparse memory file a run. Processes take segments of it, and extents of these, by atomic additions and never give
 * anything back; the
 * collector reads, and frees the pages of processes that are gone. All references are offsets into the file, since every
 * process maps it elsewhere. Writers publish with release stores, the collector reads with acquire loads; nothing waits.
 */
#ifndef TARE_COLLECT_SHARED_H
#define TARE_COLLECT_SHARED_H

#include <stdatomic.h>
#include <stdint.h>

#include "record/event.h"
#include "record/session.h"

#define SHARED_MAGIC 0x316572615474ull	/* "tTare1" */

enum {
	SHARED_VERSION = 1,
	SHARED_EXTENT = 1 << 20,	/* what a process takes at once, bytes */
	SHARED_PIECE = 64 << 10,	/* what a log or a node table grows by, bytes */
	SHARED_NODES_PER_PIECE = SHARED_PIECE / sizeof(struct node),
	SHARED_NODE_PIECES = (1 << EVENT_NODE_BITS) / SHARED_NODES_PER_PIECE,
	SHARED_MODULES = 256,		/* in one piece of the module list */
	SHARED_PATH = 232,
};

#define SHARED_WINDOW (1ull << 40)	/* largest size of the sparse file: offsets are not reused */
#define SHARED_UNIT (16ull << 20)	/* the smallest segment; all begin at multiples of it */
#define SHARED_UNITS (SHARED_WINDOW / SHARED_UNIT)

/** How samples are taken. */
enum shared_sampler { SAMPLER_PERF = 0, SAMPLER_TIMER = 1 };

struct shared_header {
	uint64_t magic;
	uint32_t version;
	uint32_t instruments;		/* enum session_instrument */
	uint64_t window;		/* bytes of the file */
	uint64_t limit;			/* bytes that may be in use */
	uint32_t root_pid;
	uint32_t collector_pid;
	uint32_t pad;
	uint64_t stale_ticks;		/* a coarse clock that stands still so long: the collector is stopped, or gone */
	uint32_t no_children;
	uint32_t depth;			/* frames kept; 0: all */
	uint32_t sampler;		/* enum shared_sampler */
	uint64_t sample_period_ns;
	uint64_t age_shift;		/* ticks >> age_shift is the unit of block ages */
	uint64_t age_limit[EVENT_AGE_CLASSES];	/* class c holds ages below age_limit[c], in that unit */
	uint64_t tick_cost;		/* ticks that reading the counter takes */
	uint64_t preempted_ticks;	/* a timing longer than this was interrupted by other threads */
	uint64_t ticks_per_mi_ns;	/* ticks in 2^20 ns */

	_Alignas(64) _Atomic uint64_t next;	/* first free offset */
	_Atomic uint64_t used;			/* bytes in use */
	_Atomic uint32_t nprocesses;
	_Atomic uint64_t processes;		/* offset of the newest struct shared_process */
	_Atomic uint64_t refused;		/* extents that could not be had */

	_Alignas(64) _Atomic uint64_t coarse_ticks;	/* written by the collector every few ms */
	_Atomic uint32_t active;		/* instruments that record now; 0 when measuring has ended */

	_Atomic uint32_t taken[SHARED_UNITS];	/* extents taken of the segment that begins at this unit */
};

/** A piece of a log. Words are written in order and never 0; the collector zeroes what it has taken. */
struct shared_log_piece {
	_Atomic uint64_t moved_to;	/* offset of the piece that follows; 0: the writer is still here */
	_Atomic uint32_t free;		/* taken and zeroed: may be written again */
	uint32_t pad;
	uint64_t next;			/* the ring as the writer knows it: private to the writer */
	uint64_t pad2[5];
	_Atomic uint64_t words[(SHARED_PIECE - 64) / 8];
};
enum { SHARED_LOG_WORDS = (SHARED_PIECE - 64) / 8 };

enum shared_log_index { LOG_HEAP, LOG_CPU, LOGS };

/** What one thread writes. A slot is used again when its thread is gone. */
struct shared_thread {
	uint64_t next;			/* offset of the slot before; 0: none */
	uint32_t slot;			/* number in its process */
	_Atomic uint32_t tid;		/* owner, or the last one */
	char name[16];
	_Atomic uint64_t log[LOGS];	/* offset of the first piece; 0: none */
	/* counters, each written by the owner alone */
	uint64_t calls, frees, bytes, failed;
	uint64_t inherited_frees, unknown_frees;
	uint64_t lost_heap_events, lost_alloc_bytes;
	uint64_t samples, lost_samples;
	uint64_t tare_samples;		/* fell into tare's own work: not the program's */
	uint64_t truncated_stacks, broken_stacks;
	uint64_t nested_events;
	uint64_t thread_cpu_ns;
	struct cost_sum cost[COST_ITEMS];
};

struct shared_module {
	_Atomic uint32_t ready;
	uint32_t first_node;
	uint64_t start, end, bias;
	uint32_t build_id_len;
	uint8_t build_id[20];
	char path[SHARED_PATH];		/* "" main program (see struct shared_process.exe); cut if longer */
};

struct shared_module_piece {
	_Atomic uint64_t next;		/* offset of the piece before */
	_Atomic uint32_t n;		/* taken; may exceed SHARED_MODULES */
	struct shared_module modules[SHARED_MODULES];
};

enum shared_flags {
	PROCESS_OWN_MALLOC = 1,		/* the program defines malloc itself: it was not interposed */
	PROCESS_NO_SAMPLER = 2,		/* a thread's sampler could not be started */
	PROCESS_NO_TEXT_PATCH = 4,	/* objects that libc itself unloads are not noticed */
};

struct shared_process {
	uint64_t next;			/* offset of the process registered before; 0: none */
	uint32_t process;		/* number */
	uint32_t pid, parent_pid;
	int32_t forked_from;		/* number; -1 */
	uint32_t first_node;
	uint64_t start_ticks;
	_Atomic uint64_t extents;	/* offset of the newest extent's first byte, see struct shared_extent */
	_Atomic uint64_t free;		/* next free offset inside the newest extent */
	_Atomic uint32_t flags;		/* enum shared_flags */
	_Atomic uint32_t exit_code;	/* exit code + 1, where exit() or _exit() told it */
	_Atomic uint32_t nnodes;	/* numbers given so far */
	_Atomic uint32_t nthreads;
	_Atomic uint64_t threads;	/* offset of the newest slot */
	_Atomic uint64_t modules;	/* offset of the newest module piece */
	uint64_t private_bytes;		/* tare's own memory outside the arena */
	uint32_t argv_bytes;
	_Atomic uint32_t argv_ready;
	char argv[3000];		/* arguments, each ended by 0; cut if longer */
	char exe[512];			/* path of the main program */
	_Atomic uint64_t nodes[SHARED_NODE_PIECES];	/* offsets of arrays of struct node */
};

/** Head of an extent: the chain lets the collector free all pages of a process that is gone. */
struct shared_extent {
	uint64_t next;			/* offset of the extent before */
	uint64_t pad[7];
};

_Static_assert(sizeof(struct shared_log_piece) == SHARED_PIECE, "a piece is a piece");
_Static_assert(sizeof(struct shared_module_piece) < SHARED_EXTENT / 4, "fits an extent");
_Static_assert(sizeof(struct shared_process) < SHARED_EXTENT / 4, "fits an extent");

#endif
