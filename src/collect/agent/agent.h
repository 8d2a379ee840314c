/* agent.h - inside the measured process: what the agent's parts share
 *
 * All code here runs in somebody else's program. It never allocates from that program's heap, takes no lock, prints
 * nothing, never ends the process, and leaves errno alone (system calls are made without libc's wrappers). What fails is
 * counted in the arena.
 */
#ifndef TARE_AGENT_AGENT_H
#define TARE_AGENT_AGENT_H

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "arch/arch.h"
#include "base/util.h"
#include "collect/shared.h"
#include "walk/walk.h"

#define HOOK __attribute__((visibility("default")))
#define HOT __attribute__((hot))
#define COLD __attribute__((cold, noinline))

static inline long arch_syscall1(long n, long a)
{
	return arch_syscall4(n, a, 0, 0, 0);
}

static inline long arch_syscall2(long n, long a, long b)
{
	return arch_syscall4(n, a, b, 0, 0);
}

static inline long arch_syscall3(long n, long a, long b, long c)
{
	return arch_syscall4(n, a, b, c, 0);
}

/** struct log - the writing end of a log; private to its thread */
struct log {
	struct shared_log_piece *piece;	/* NULL: none yet */
	uint32_t at;			/* next word of it */
};

struct path_hash {
	uint64_t a, b;
};

/** struct stack_nodes - a thread's walks of one kind, with the hash of the path to each frame of the last one */
struct stack_nodes {
	uint32_t epoch;			/* that path[] belongs to */
	enum walk_end end;		/* of the last walk */
	uint32_t top, last;		/* of the last walk, and its node */
	struct path_hash path[WALK_MAX + 1];	/* parallel to walk.pc[]; path[WALK_MAX] is the root */
	struct walk_state walk;
};

enum perf_event_use { PERF_ONCE, PERF_PERIODIC, PERF_EVENTS };

/** struct thread - what the agent keeps for one thread; never freed, used again when the thread is gone */
struct thread {
	struct shared_thread *shared;
	struct thread *next;		/* in the list of all; never changes once set */
	bool busy;			/* inside a hook */
	bool urgent_blocked;		/* the program believes that it blocks the sampling signal */
	bool urgent_held;		/* and so it does, as one of its own came; no samples meanwhile */
	uint32_t tid;

	/* heap */
	struct log heap_log;
	uint32_t since_stamp;		/* events since now_ticks was read */
	uint32_t until_timed, until_timed_free;	/* operations until one is timed */
	uint32_t first_allocs, first_frees;	/* that are still to come */
	uint64_t now_ticks;		/* time as of the last reading */
	uint64_t coarse_ticks;		/* shared clock as of the last EVENT_TIME */
	int64_t net_bytes;		/* change of live bytes since the last EVENT_TIME */
	uintptr_t last_alloc;		/* most recent block, for "temporary" */
	uintptr_t deleting;		/* recorded as freed by an operator delete that is under way */
	struct stack_nodes heap_stack;

	/* cpu */
	struct log cpu_log;
	void *perf_page[PERF_EVENTS];		/* keep the sampling events alive (enum perf_event_use); NULL: none */
	bool first_phase;		/* the first sample has not come yet */
	int timer;			/* kernel timer id + 1 where perf events are not permitted; 0: none */
	uint64_t cpu_start_ns, cpu_last_ns;	/* thread CPU clock at start and at the last sample */
	uint64_t cpu_accounted;		/* periods accounted for */
	uint64_t first_period_ns;
	uint64_t not_before;		/* ticks: a sample earlier than this fell into the handler itself */
	struct stack_nodes cpu_stack;

	_Alignas(64) unsigned char sample_stack[24 << 10];	/* the sampler works here, not on the program's stack */

	/* start of a thread made by pthread_create */
	void *(*start)(void *);
	void *start_arg;
};

enum {
	FIRST_TIMED = 64,	/* a thread's first operations, cold, are all timed, and kept apart */
	TIMED_EVERY = 61,	/* later one in this many is; prime: no step with loops */
};

/**
 * struct agent - of this process; alone in its pages, which fork empties in the child
 *
 * So a child that no handler of libc announced (the bare system call) does not go on writing its parent's books.
 */
struct agent {
	_Alignas(4096) struct shared_header *shared;	/* NULL: the agent is inert, or this is such a child */
	struct shared_process *process;
	bool heap;			/* allocations are recorded */
	uint32_t first_node;		/* of this process: smaller ones are inherited */
	uint64_t tick_cost;
	_Atomic(struct thread *) threads;
};

extern struct agent agent;
/** cost_add - one timing of tare's own work; one so long that the thread must have been off its CPU is no timing */
static inline void cost_add(struct cost_sum *cost, uint64_t ticks)
{
	/* what is done for the first time may take long */
	uint64_t limit = agent.shared->preempted_ticks * (cost->times ? 100 : 1);

	ticks -= MIN(ticks, agent.tick_cost);
	if (UNLIKELY(ticks > limit))
		return;
	cost->timed++;
	cost->ticks += ticks;
	cost->ticks_squared += ticks * ticks;
}

static inline uint64_t ns_in_ticks(uint64_t ns)
{
	return ns * agent.shared->ticks_per_mi_ns >> 20;
}

extern __thread struct thread *agent_thread;	/* NULL: this thread has not been met */

/* start.c */
bool agent_wiped(void);

/** agent_on - whether the agent records in this process */
static inline bool agent_on(void)
{
	return LIKELY(agent.shared != NULL) || agent_wiped();
}

/** agent_start - prepares the agent if it was not; Context: the first hook or the constructor, one thread only */
void agent_start(void);

/* memory.c */
/** arena_take - @size zeroed bytes of the arena (at most a quarter of an extent), aligned to 64; 0: no room */
uint64_t arena_take(size_t size);
void *arena_at(uint64_t offset);
/** arena_open - maps the arena's header, which lies beside the agent; NULL: there is none, or it is of another version */
struct shared_header *arena_open(const char *agent_path);
/** private_map - zeroed private memory, never given back; NULL: none to be had */
void *private_map(size_t bytes);

/* log.c */
/** log_room - makes sure that @n (at most 3) words can be written; Return: false: no room, the event is lost */
bool log_room_slow(struct thread *t, struct log *log, enum shared_log_index index, uint32_t n);

static inline bool log_room(struct thread *t, struct log *log, enum shared_log_index index, uint32_t n)
{
	if (LIKELY(log->piece && log->at + n <= SHARED_LOG_WORDS))
		return true;
	return log_room_slow(t, log, index, n);
}

static inline void log_put(struct log *log, uint64_t word)
{
	atomic_store_explicit(&log->piece->words[log->at++], word, memory_order_release);
}

/* nodes.c */
/** nodes_of_stack - the call-tree node of the walk that @s holds; Cost: two multiplications a changed frame, one look-up */
uint32_t nodes_of_stack(struct stack_nodes *s, struct shared_thread *counters);
void nodes_restart(void);	/* addresses may mean something else from now on: no node is found again */
int nodes_init(void);

/* objects.c */
void objects_met(const struct walk_object *object);	/* walk_on_object() */
void objects_init(void);
void objects_after_fork(void);

/* shadow.c */
/** A live block: node, size, time. 0 is "no block". */
struct block {
	uint32_t node;
	uint32_t age_time;
	uint64_t size;
	bool live;
};
void shadow_init(unsigned granule_shift);
void shadow_put(uintptr_t address, const struct block *block);
/** shadow_take - the block at @address, which is forgotten */
struct block shadow_take(uintptr_t address);
enum { AGE_BITS = 20 };

/* threads.c */
/** thread_attach - finds or makes the state of the calling thread; NULL: no memory */
struct thread *thread_attach(void);
void threads_after_fork(void);
void threads_init(void);

static inline struct thread *thread_here(void)
{
	struct thread *t = agent_thread;

	return LIKELY(t != NULL) ? t : thread_attach();
}

/* heap_record.c */
void heap_allocated(struct thread *t, const void *p, size_t size, const struct walk_start *start);
void heap_failed(struct thread *t);
/** heap_freeing - to be called before the block is given back */
void heap_freeing(struct thread *t, const void *p);
/** heap_moving, heap_moved - before and after a realloc: the old block is forgotten, then counted as freed or put back */
struct block heap_moving(const void *p);
void heap_moved(struct thread *t, const void *old, const struct block *block, const void *p, size_t size,
		const struct walk_start *start);

/* heap_hooks.c */
void hooks_init(void);

/* exec_hooks.c */
void exec_init(void);
/** exec_follow - programs that are started are measured too, by the agent at @agent_path, which stays; NULL: no more */
void exec_follow(const char *agent_path);

/* sampler.c */
void sampler_init(void);
void sampler_start(struct thread *t);	/* of the calling thread */
void sampler_resume(struct thread *t);	/* after sampler_forget(); what passed meanwhile is counted as lost */
bool sampler_is_ours(const siginfo_t *info);
uint64_t thread_cpu_ns(void);		/* of the calling thread */
/** sampler_settle - periods since the last sample, that passed in the kernel, are told; before the process ends */
void sampler_settle(struct thread *t);
void sampler_forget(struct thread *t);	/* the thread is gone, or this is a child of fork */
enum { SAMPLER_SIGNAL = 23 };		/* SIGURG: ignored by default, so that one that arrives after exec does no harm */

#endif
