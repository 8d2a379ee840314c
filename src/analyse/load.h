/* load.h - a session in memory, but for its events: who ran, what lay where in memory, which nodes there are
 *
 * Private to analyse/. Events are not kept: heap.c and cpu.c add them up as they come by, by the node that they name.
 */
#ifndef TARE_ANALYSE_LOAD_H
#define TARE_ANALYSE_LOAD_H

#include "analyse/profile.h"
#include "analyse/table.h"
#include "record/session.h"

/** struct node_sums - what happened at one call-tree node, over all processes that share it */
struct node_sums {
	uint64_t calls, bytes, frees, freed_bytes, temporary;
	int64_t peak_bytes;	/* live at the moment of the peak; below 0 where a free was replayed before its allocation */
};

enum { PAGE_BITS = 10, PAGE_NODES = 1 << PAGE_BITS };

struct node_page {
	struct node_sums sums[PAGE_NODES];
	uint64_t marks[PAGE_NODES / 64];	/* nodes that the tree needs */
};

struct load_module {
	uint64_t start, end;
	uint32_t first_node;
	int handle;		/* symbols_module(); MODULE_TARE */
};

enum { MODULE_NONE = -1, MODULE_TARE = -2 };	/* no object; the agent */

struct process {
	uint32_t number;
	bool known;		/* REC_PROCESS has been seen */
	uint32_t pid, parent_pid;
	struct process *parent;	/* forked from; its number is smaller; NULL: none */
	uint32_t first_node;	/* nodes below are the parent's */
	uint64_t start_ticks, end_ticks;	/* end: UINT64_MAX while it lives */
	uint32_t argc;
	const char *const *argv;
	int32_t exit_code, signal;

	struct node *nodes;	/* numbers first_node ... first_node + nnodes - 1 */
	size_t nnodes, nodes_room;
	struct node_page **pages;	/* by number >> PAGE_BITS; NULL where nothing happened */
	size_t npages;
	struct tree_node **tree;	/* of the nodes, by resolve_tree(); NULL where nothing happened */

	struct load_module *modules;
	size_t nmodules, modules_room;
	bool modules_sorted;	/* by start, and none overlaps another */
	int perf_map;		/* symbols_perf_map(); -1: none */

	bool has_counters;
	struct rec_counters counters;
};

struct load_thread {
	struct process *process;
	uint32_t tid;
	const char *name;	/* NULL: not known */
	uint64_t samples, kernel_samples;
};

struct load {
	struct arena *arena;
	struct symbols *symbols;
	bool has_run, has_end;
	struct rec_run run;
	struct rec_end end;
	struct rec_clock first_clock, last_clock;	/* ticks 0: none */
	uint64_t last_ticks;	/* the latest time that any record names */
	double ns_per_tick;	/* 0: not known */

	struct process **processes;	/* by number; NULL: no record names it */
	size_t nprocesses, processes_room;
	struct load_thread *threads;
	size_t nthreads, threads_room;
	struct table thread_index;	/* process, tid -> index + 1 */
	struct profile_note *notes;
	size_t nnotes, notes_room;
};

void load_init(struct load *l, struct arena *arena, struct symbols *symbols);
void load_fini(struct load *l);

/**
 * load_record - takes in a record; REC_LOG is ignored
 *
 * Return: 0; -EBADMSG with a sentence.
 */
int load_record(struct load *l, const struct record *r, struct err *err);

/** load_finish - after the last record: ends of processes, the clock, order of modules */
void load_finish(struct load *l);

/** load_process - a process by its number, made if new; NULL: the number is beyond all sense */
struct process *load_process(struct load *l, uint32_t number);
/** load_thread - index of a thread in l->threads, made if new */
size_t load_thread(struct load *l, struct process *p, uint32_t tid);
void load_note(struct load *l, const char *code, const char *text, const char *next);

/** load_ns - ticks as ns since the start of the run; 0 where the clock is not known */
uint64_t load_ns(const struct load *l, uint64_t ticks);

/** process_owner - the process that numbered a node: this one, or one that it was forked from */
static inline struct process *process_owner(struct process *p, uint32_t node)
{
	while (node < p->first_node && p->parent)
		p = p->parent;
	return p;
}

struct node_page *process_page_new(struct process *p, uint32_t node);

/** process_page - where a node's sums are; @p must be its owner */
static inline struct node_page *process_page(struct process *p, uint32_t node)
{
	size_t page = node >> PAGE_BITS;

	if (page < p->npages && p->pages[page])
		return p->pages[page];
	return process_page_new(p, node);
}

static inline struct node_sums *process_sums(struct process *p, uint32_t node)
{
	p = process_owner(p, node);
	return &process_page(p, node)->sums[node & (PAGE_NODES - 1)];
}

/** process_find - handle of the module that @pc of node @node lies in, or of the perf map; MODULE_NONE, MODULE_TARE */
int process_find(const struct process *p, uint32_t node, uint64_t pc);

#endif
