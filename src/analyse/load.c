/*
 * load - takes the records of a session into memory, but for the events
 *
 * Nothing here trusts a number: processes that are named before they are introduced get an empty entry, a process cannot be
 * forked from a later one (so that chains end), and sums by node live in pages made on demand, so that a node number out
 * of nowhere costs one page.
 */
#include "analyse/load.h"

#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "record/event.h"

enum { MAX_PROCESSES = 1 << 20 };

void load_init(struct load *l, struct arena *arena, struct symbols *symbols)
{
	*l = (struct load){ .arena = arena, .symbols = symbols };
}

static void process_free(struct process *p)
{
	size_t i;

	if (!p)
		return;
	for (i = 0; i < p->npages; i++)
		free(p->pages[i]);
	free(p->pages);
	free(p->nodes);
	free(p->tree);
	free(p->modules);
	free(p);
}

void load_fini(struct load *l)
{
	size_t i;

	for (i = 0; i < l->nprocesses; i++)
		process_free(l->processes[i]);
	free(l->processes);
	free(l->threads);
	table_fini(&l->thread_index);
	free(l->notes);
	*l = (struct load){ 0 };
}

struct process *load_process(struct load *l, uint32_t number)
{
	struct process *p;

	if (number >= MAX_PROCESSES)
		return NULL;
	if (number < l->nprocesses && l->processes[number])
		return l->processes[number];
	l->processes = table_grow(l->processes, &l->processes_room, (size_t)number + 1, sizeof(*l->processes));
	l->nprocesses = MAX(l->nprocesses, (size_t)number + 1);
	p = calloc(1, sizeof(*p));
	if (!p)
		arena_no_memory();
	p->number = number;
	p->first_node = EVENT_FIRST_NODE;
	p->end_ticks = UINT64_MAX;
	p->exit_code = p->signal = -1;
	p->perf_map = -1;
	p->modules_sorted = true;
	l->processes[number] = p;
	return p;
}

struct node_page *process_page_new(struct process *p, uint32_t node)
{
	size_t page = node >> PAGE_BITS, room = p->npages;

	p->pages = table_grow(p->pages, &room, page + 1, sizeof(*p->pages));
	p->npages = room;
	p->pages[page] = calloc(1, sizeof(*p->pages[page]));
	if (!p->pages[page])
		arena_no_memory();
	return p->pages[page];
}

size_t load_thread(struct load *l, struct process *p, uint32_t tid)
{
	uint64_t *index = table_at(&l->thread_index, (uint64_t)p->number << 32 | tid);

	if (*index)
		return *index - 1;
	*index = l->nthreads + 1;
	l->threads = table_grow(l->threads, &l->threads_room, l->nthreads + 1, sizeof(*l->threads));
	l->threads[l->nthreads] = (struct load_thread){ .process = p, .tid = tid };
	return l->nthreads++;
}

void load_note(struct load *l, const char *code, const char *text, const char *next)
{
	size_t i;

	for (i = 0; i < l->nnotes; i++)
		if (!strcmp(l->notes[i].code, code) && !strcmp(l->notes[i].text, text))
			return;
	l->notes = table_grow(l->notes, &l->notes_room, l->nnotes + 1, sizeof(*l->notes));
	l->notes[l->nnotes++] = (struct profile_note){
		.code = arena_strdup(l->arena, code),
		.text = arena_strdup(l->arena, text),
		.next = next && *next ? arena_strdup(l->arena, next) : NULL,
	};
}

static const char *const *load_argv(struct load *l, uint32_t argc, const char *const *argv)
{
	const char **copy = arena_alloc(l->arena, ((size_t)argc + 1) * sizeof(*copy));
	uint32_t i;

	for (i = 0; i < argc; i++)
		copy[i] = arena_strdup(l->arena, argv[i]);
	return copy;
}

static void load_run(struct load *l, const struct rec_run *r)
{
	l->run = *r;
	l->run.kernel = arena_strdup(l->arena, r->kernel);
	l->run.arch = arena_strdup(l->arena, r->arch);
	l->run.cpu_model = arena_strdup(l->arena, r->cpu_model);
	l->run.hypervisor = arena_strdup(l->arena, r->hypervisor);
	l->run.argv = load_argv(l, r->argc, r->argv);
	l->has_run = true;
}

static void load_process_record(struct load *l, struct process *p, const struct rec_process *r)
{
	size_t i;

	/* the same pid again: what ran there before has been replaced by exec */
	for (i = 0; i < l->nprocesses; i++)
		if (l->processes[i] && l->processes[i] != p && l->processes[i]->known && l->processes[i]->pid == r->pid)
			l->processes[i]->end_ticks = MIN(l->processes[i]->end_ticks, r->start_ticks);
	p->known = true;
	p->pid = r->pid;
	p->parent_pid = r->parent_pid;
	if (r->forked_from >= 0 && (uint32_t)r->forked_from < p->number)
		p->parent = load_process(l, (uint32_t)r->forked_from);
	if (!p->nnodes)
		p->first_node = p->parent ? MAX(r->first_node, (uint32_t)EVENT_FIRST_NODE) : (uint32_t)EVENT_FIRST_NODE;
	p->start_ticks = r->start_ticks;
	p->argc = r->argc;
	p->argv = load_argv(l, r->argc, r->argv);
	l->last_ticks = MAX(l->last_ticks, r->start_ticks);
}

/* The agent is loaded from a directory of the run, "tare.PID.XXXXXX", that is gone afterwards, or from where it is installed. */
static bool is_agent(const char *path)
{
	const char *base = strrchr(path, '/'), *dir = base;

	base = base ? base + 1 : path;
	if (!strcmp(base, "libtare-agent.so"))
		return true;
	while (dir && dir > path && dir[-1] != '/')
		dir--;
	return dir && !strcmp(base, "agent.so") && !strncmp(dir, "tare.", 5);
}

static void load_module_record(struct load *l, struct process *p, const struct rec_module *r)
{
	struct load_module *m;

	p->modules = table_grow(p->modules, &p->modules_room, p->nmodules + 1, sizeof(*p->modules));
	m = &p->modules[p->nmodules++];
	m->start = r->start;
	m->end = r->end;
	m->first_node = r->first_node;
	m->handle = is_agent(r->path) ? MODULE_TARE :
		    symbols_module(l->symbols, r->path, r->build_id_len ? r->build_id : NULL, r->build_id_len, r->bias);
}

static int load_nodes(struct process *p, const struct rec_nodes *r, struct err *err)
{
	uint32_t i, number;

	for (i = 0; i < r->n; i++) {
		number = r->first + i;
		if (number < p->first_node)
			continue;	/* the four that all have, or the parent's */
		if (number > EVENT_MASK(EVENT_NODE_BITS) || number - p->first_node > p->nnodes)
			return err_set(err, -EBADMSG, "the recording is damaged: call-tree node %u of process %u follows node %zu",
				       number, p->number, p->nnodes + p->first_node - 1);
		p->nodes = table_grow(p->nodes, &p->nodes_room, number - p->first_node + 1, sizeof(*p->nodes));
		p->nodes[number - p->first_node] = r->nodes[i];
		p->nnodes = MAX(p->nnodes, (size_t)(number - p->first_node) + 1);
	}
	return 0;
}

static void load_clock(struct load *l, const struct rec_clock *r)
{
	if (!l->first_clock.ticks)
		l->first_clock = *r;
	l->last_clock = *r;
	l->last_ticks = MAX(l->last_ticks, r->ticks);
}

static struct process *load_record_process(struct load *l, const struct record *r)
{
	switch (r->kind) {
	case REC_PROCESS:
		return load_process(l, r->process.process);
	case REC_MODULE:
		return load_process(l, r->module.process);
	case REC_NODES:
		return load_process(l, r->nodes.process);
	case REC_LOG:
		return load_process(l, r->log.process);
	case REC_THREAD:
		return load_process(l, r->thread.process);
	case REC_COUNTERS:
		return load_process(l, r->counters.process);
	case REC_PERF_MAP:
		return load_process(l, r->perf_map.process);
	case REC_PROCESS_END:
		return load_process(l, r->process_end.process);
	default:
		return NULL;
	}
}

static int load_process_part(struct load *l, struct process *p, const struct record *r, struct err *err)
{
	size_t thread;

	switch (r->kind) {
	case REC_PROCESS:
		load_process_record(l, p, &r->process);
		break;
	case REC_MODULE:
		load_module_record(l, p, &r->module);
		break;
	case REC_NODES:
		return load_nodes(p, &r->nodes, err);
	case REC_THREAD:
		thread = load_thread(l, p, r->thread.tid);
		l->threads[thread].name = arena_strdup(l->arena, r->thread.name);
		break;
	case REC_COUNTERS:
		p->counters = r->counters;
		p->has_counters = true;
		break;
	case REC_PERF_MAP:
		p->perf_map = symbols_perf_map(l->symbols, r->perf_map.text, r->perf_map.size);
		break;
	case REC_PROCESS_END:
		p->end_ticks = MIN(p->end_ticks, r->process_end.end_ticks);
		p->exit_code = r->process_end.exit_code;
		p->signal = r->process_end.signal;
		l->last_ticks = MAX(l->last_ticks, r->process_end.end_ticks);
		break;
	default:
		break;
	}
	return 0;
}

int load_record(struct load *l, const struct record *r, struct err *err)
{
	struct process *p;

	switch (r->kind) {
	case REC_RUN:
		load_run(l, &r->run);
		return 0;
	case REC_CLOCK:
		load_clock(l, &r->clock);
		return 0;
	case REC_END:
		l->end = r->end;
		l->has_end = true;
		return 0;
	case REC_NOTE:
		load_note(l, r->note.code, r->note.text, r->note.next);
		return 0;
	default:
		p = load_record_process(l, r);
		if (!p)
			return err_set(err, -EBADMSG, "the recording is damaged: a record of kind %d names no sensible process",
				       (int)r->kind);
		return load_process_part(l, p, r, err);
	}
}

static int module_by_start(const void *a, const void *b)
{
	const struct load_module *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* Sorts modules if they do not overlap: then a search by halves finds the only one. Else the order of the records counts. */
static void process_sort_modules(struct process *p)
{
	CLEANUP_FREE struct load_module *sorted = NULL;
	size_t i;

	if (!p->nmodules)
		return;
	sorted = malloc(p->nmodules * sizeof(*sorted));
	if (!sorted)
		arena_no_memory();
	memcpy(sorted, p->modules, p->nmodules * sizeof(*sorted));
	qsort(sorted, p->nmodules, sizeof(*sorted), module_by_start);
	p->modules_sorted = true;
	for (i = 1; i < p->nmodules; i++)
		if (sorted[i].start < sorted[i - 1].end)
			p->modules_sorted = false;
	if (p->modules_sorted)
		memcpy(p->modules, sorted, p->nmodules * sizeof(*sorted));
}

void load_finish(struct load *l)
{
	struct rec_clock first = l->first_clock;
	size_t i;

	if (l->has_run && (!first.ticks || l->run.start_ticks < first.ticks) && l->run.start_monotonic_ns)
		first = (struct rec_clock){ l->run.start_ticks, l->run.start_monotonic_ns };
	if (l->last_clock.ticks > first.ticks && l->last_clock.monotonic_ns > first.monotonic_ns)
		l->ns_per_tick = (double)(l->last_clock.monotonic_ns - first.monotonic_ns) /
				 (double)(l->last_clock.ticks - first.ticks);
	if (!l->has_run)
		l->run.start_ticks = first.ticks;
	for (i = 0; i < l->nprocesses; i++)
		if (l->processes[i])
			process_sort_modules(l->processes[i]);
}

uint64_t load_ns(const struct load *l, uint64_t ticks)
{
	double ns;

	if (ticks <= l->run.start_ticks)
		return 0;
	ns = (double)(ticks - l->run.start_ticks) * l->ns_per_tick + 0.5;
	return ns < 0x1p63 ? (uint64_t)ns : UINT64_MAX;
}

static const struct load_module *process_find_module(const struct process *p, uint32_t node, uint64_t pc)
{
	size_t low = 0, high = p->nmodules, middle;

	if (!p->modules_sorted) {
		while (high-- > 0)
			if (p->modules[high].start <= pc && pc < p->modules[high].end && p->modules[high].first_node <= node)
				return &p->modules[high];
		return NULL;
	}
	while (low < high) {	/* the first that ends after pc */
		middle = low + (high - low) / 2;
		if (p->modules[middle].end <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < p->nmodules && p->modules[low].start <= pc && p->modules[low].first_node <= node)
		return &p->modules[low];
	return NULL;
}

int process_find(const struct process *p, uint32_t node, uint64_t pc)
{
	const struct load_module *m;
	int perf_map = MODULE_NONE;

	for (; p; p = p->parent) {
		m = process_find_module(p, node, pc);
		if (m)
			return m->handle;
		if (perf_map < 0)
			perf_map = p->perf_map;
		/* what the parent mapped after the fork is not in the child */
		node = MIN(node, p->first_node);
	}
	return perf_map;
}
