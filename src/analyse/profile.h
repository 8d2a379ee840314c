/* profile.h - what a session says: the answers, without any byte of the file and without any form of output
 *
 * profile_read() is a pure function of a session's bytes and the ELF files that it names.
 */
#ifndef TARE_ANALYSE_PROFILE_H
#define TARE_ANALYSE_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/symbols.h"
#include "base/arena.h"
#include "base/err.h"
#include "stat/estimate.h"

/** struct tree_node - a node of the merged call tree of all processes, by frame; children of a node are distinct frames */
struct tree_node {
	const struct frame *frame;	/* NULL: the root */
	struct tree_node *parent;	/* the caller */
	struct tree_node *child, *sibling;
	uint32_t id, depth;
	bool recursive;			/* frame->function occurs in a caller as well */
};

/** struct heap_sums - the columns of heap sites; each sums to its total */
struct heap_sums {
	uint64_t calls, bytes, frees;
	uint64_t peak_bytes;			/* live at the moment of the peak */
	uint64_t never_freed_bytes, never_freed_calls;
	uint64_t temporary;
};

struct heap_site {
	const struct tree_node *leaf;		/* the caller of the allocator */
	struct heap_sums sums;
};

struct heap_function {				/* inclusive: a stack with the function twice counts once */
	const struct function *function;
	struct heap_sums self, total;
};

struct heap_point { uint64_t at_ns, live_bytes, live_blocks; };

struct heap_profile {
	struct heap_sums sums;
	uint64_t failed, inherited_frees, unknown_frees;
	uint64_t peak_bytes, peak_at_ns;
	uint64_t peak_uncertain_bytes;		/* bound on what the order of events between threads leaves open; 0: exact */
	uint64_t ages[8];			/* freed blocks by age: not known, < 1 ms, < 10 ms ... < 100 s, longer */
	uint64_t sample_bytes;			/* 0: every call */
	uint32_t nsites, nfunctions, npoints;
	struct heap_site *sites;		/* by never_freed_bytes, then bytes, descending */
	struct heap_function *functions;	/* by total.bytes descending */
	struct heap_point *points;		/* live bytes over time, at most 512, maxima of their intervals */
};

struct cpu_function {
	const struct function *function;
	uint64_t self, total;
	struct estimate self_ratio;		/* of all samples */
	const struct tree_node *hottest;	/* the leaf with most samples whose frame is of this function */
};

struct cpu_thread { uint32_t pid, tid; const char *name; uint64_t samples; };

struct cpu_stack { uint32_t tid; const struct tree_node *leaf; uint64_t samples; };

struct cpu_profile {
	double frequency_hz;
	uint64_t period_ns;
	uint64_t samples;
	uint64_t kernel_samples;		/* of these: periods that passed in the kernel, by the threads' CPU clocks */
	uint32_t nfunctions, nthreads, nstacks;
	struct cpu_function *functions;		/* by self descending */
	struct cpu_thread *threads;		/* by samples descending */
	struct cpu_stack *stacks;		/* by samples descending */
};

struct profile_process {
	uint32_t pid, parent_pid;
	uint32_t argc;
	const char *const *argv;
	int32_t exit_code, signal;		/* -1: not known */
};

struct profile_note { const char *code, *text, *next; };	/* next NULL: none */

struct cost_line {
	const char *what;			/* "sample", "malloc record" ... */
	struct estimate unit_ns;
	double stack_ns, write_ns;		/* parts of unit_ns.value; 0: not told apart */
	uint64_t times;
	double cpu_ns;				/* unit_ns.value times times */
	const char *how;			/* "timed 1 in 64 in the agent" */
};

struct profile {
	struct arena arena;
	struct symbols *symbols;
	uint32_t instruments;			/* enum session_instrument of record/session.h: 1 cpu, 2 heap */

	/* run */
	uint32_t argc;
	const char *const *argv;
	uint32_t pid;
	bool attached, complete;
	uint64_t start_realtime_ns, wall_ns, cpu_ns, maxrss_bytes;
	int32_t exit_code, signal;		/* exit_code -1: none; signal 0: none, -1: not known */
	const char *file;			/* NULL: none is kept */
	uint64_t file_bytes;
	uint32_t nprocesses;
	struct profile_process *processes;

	/* machine */
	const char *kernel, *arch, *cpu_model, *hypervisor;	/* hypervisor NULL: none */
	uint32_t cpus;
	bool pmu;

	uint32_t nnotes;
	struct profile_note *notes;

	uint64_t lost_events, truncated_stacks, broken_stacks;

	/* cost of measuring */
	struct estimate cost_ratio;
	double cost_cpu_ns;
	uint64_t collector_cpu_ns;		/* tare's own processes beside the program: neither in cost_cpu_ns nor in cpu_ns */
	uint64_t memory_bytes;
	uint32_t ncosts;
	struct cost_line *costs;
	uint32_t nnot_measured;
	const char *const *not_measured;

	struct tree_node *root;
	uint32_t ntree;				/* nodes of the tree; ids are below */
	struct heap_profile *heap;		/* NULL: not an instrument of this session */
	struct cpu_profile *cpu;
};

/**
 * profile_read - analyses a session file
 *
 * A session that was cut short gives a profile with @complete false and a note; a corrupt one is refused.
 *
 * Return: 0; -errno with a sentence.
 */
int profile_read(struct profile **ret, const char *path, struct err *err);
/** profile_read_bytes - the same on bytes in memory (fuzzers, tests); file is NULL */
int profile_read_bytes(struct profile **ret, const void *bytes, size_t size, struct err *err);
void profile_free(struct profile *p);

#endif
