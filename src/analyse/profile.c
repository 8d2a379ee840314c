/*
 * profile - from the bytes of a session to the answers
 *
 * The file is read once for everything but the peak of the heap, and a second time for what was live at the peak: events
 * are added up as they come by and never kept, so that a recording may be larger than memory.
 */
#include "analyse/profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyse/cost.h"
#include "analyse/cpu.h"
#include "analyse/heap.h"
#include "analyse/resolve.h"
#include "base/util.h"

/** struct source - where the session is: a file or bytes */
struct source {
	const char *path;	/* NULL: bytes */
	const void *bytes;
	size_t size;
};

struct analysis {
	struct profile *profile;
	struct load load;
	struct heap heap;
	struct cpu cpu;
	struct tree tree;
	struct resolve resolve;
};

static void cleanup_reader(struct session_reader **r)
{
	session_reader_close(*r);
}

static void analysis_fini(struct analysis *a)
{
	tree_fini(&a->tree);
	cpu_fini(&a->cpu);
	heap_fini(&a->heap);
	load_fini(&a->load);
	profile_free(a->profile);
}

static int source_open(const struct source *s, struct session_reader **ret, struct err *err)
{
	if (s->path)
		return session_open(ret, s->path, err);
	return session_open_bytes(ret, s->bytes, s->size, err);
}

static int source_each(const struct source *s, int (*fn)(struct analysis *a, const struct record *r, struct err *err),
		       struct analysis *a, struct err *err)
{
	CLEANUP(cleanup_reader) struct session_reader *reader = NULL;
	struct record record;
	int r;

	r = source_open(s, &reader, err);
	if (r < 0)
		return r;
	for (;;) {
		r = session_next(reader, &record, err);
		if (r < 0)
			return r;
		if (r != SESSION_MORE)
			return r;
		r = fn(a, &record, err);
		if (r < 0)
			return r;
	}
}

static int first_pass(struct analysis *a, const struct record *r, struct err *err)
{
	int result = load_record(&a->load, r, err);

	if (result < 0 || r->kind != REC_LOG)
		return result;
	if (r->log.instrument == INSTRUMENT_HEAP)
		heap_log(&a->heap, &r->log);
	else if (r->log.instrument == INSTRUMENT_CPU)
		cpu_log(&a->cpu, &r->log);
	return 0;
}

static int second_pass(struct analysis *a, const struct record *r, struct err *err)
{
	if (r->kind == REC_LOG && r->log.instrument == INSTRUMENT_HEAP)
		heap_log_peak(&a->heap, &r->log);
	return 0;
}

static void fill_processes(struct profile *p, const struct load *l)
{
	const struct process *process;
	size_t i;

	p->processes = arena_alloc(&p->arena, (l->nprocesses + 1) * sizeof(*p->processes));
	for (i = 0; i < l->nprocesses; i++) {
		process = l->processes[i];
		if (!process || !process->known)
			continue;
		p->processes[p->nprocesses++] = (struct profile_process){
			.pid = process->pid, .parent_pid = process->parent_pid, .argc = process->argc, .argv = process->argv,
			.exit_code = process->exit_code, .signal = process->signal,
		};
	}
}

/* CPU time of a run whose end was not recorded: what the sampled threads had used at their last samples. */
static uint64_t sampled_cpu_ns(const struct load *l)
{
	uint64_t ns = 0;
	size_t i;

	for (i = 0; i < l->nprocesses; i++)
		if (l->processes[i])
			ns += l->processes[i]->counters.thread_cpu_ns;
	return ns;
}

static void fill_run(struct profile *p, const struct load *l)
{
	const struct rec_run *run = &l->run;

	p->instruments = run->instruments;
	p->argc = run->argc;
	p->argv = run->argv;
	p->pid = run->pid;
	p->attached = run->attached;
	p->complete = l->has_end;
	p->start_realtime_ns = run->start_realtime_ns;
	p->wall_ns = l->has_end ? l->end.wall_ns : load_ns(l, l->last_ticks);
	p->cpu_ns = l->has_end ? l->end.cpu_ns : sampled_cpu_ns(l);
	p->maxrss_bytes = l->end.maxrss_bytes;
	p->exit_code = l->has_end ? l->end.exit_code : -1;
	p->signal = l->has_end ? l->end.signal : -1;
	p->kernel = run->kernel ? run->kernel : "";
	p->arch = run->arch ? run->arch : "";
	p->cpu_model = run->cpu_model ? run->cpu_model : "";
	p->hypervisor = run->hypervisor && *run->hypervisor ? run->hypervisor : NULL;
	p->cpus = run->cpus;
	p->pmu = run->pmu;
	fill_processes(p, l);
}

static void fill_losses(struct profile *p, const struct load *l, uint64_t lost_heap_events)
{
	const struct rec_counters *c;
	size_t i;

	p->lost_events = lost_heap_events;
	for (i = 0; i < l->nprocesses; i++) {
		if (!l->processes[i])
			continue;
		c = &l->processes[i]->counters;
		p->lost_events += c->lost_samples;
		p->truncated_stacks += c->truncated_stacks;
		p->broken_stacks += c->broken_stacks;
	}
}

static int analyse(struct analysis *a, const struct source *source, struct err *err)
{
	struct profile *p = a->profile;
	uint64_t lost = 0;
	int r;

	r = source_each(source, first_pass, a, err);
	if (r < 0)
		return r;
	load_finish(&a->load);
	heap_end(&a->heap);
	heap_find_peak(&a->heap);
	if (a->heap.peak_bytes) {
		heap_second_pass(&a->heap);
		r = source_each(source, second_pass, a, err);
		if (r < 0)
			return r;
	}
	cpu_mark(&a->cpu);
	resolve_tree(&a->resolve);
	fill_run(p, &a->load);
	if (p->instruments & INSTRUMENT_HEAP)
		p->heap = heap_profile_new(&a->heap, &a->resolve, &p->arena, &lost);
	if (p->instruments & INSTRUMENT_CPU)
		p->cpu = cpu_profile_new(&a->cpu, &a->resolve, &p->arena);
	p->root = a->tree.root;
	p->ntree = (uint32_t)a->tree.n;
	fill_losses(p, &a->load, lost);
	cost_fill(p, &a->load, &a->cpu);
	notes_fill(p, &a->load);
	return 0;
}

static int profile_read_source(struct profile **ret, const struct source *source, struct err *err)
{
	CLEANUP(analysis_fini) struct analysis a = { 0 };
	struct profile *p = calloc(1, sizeof(*p));
	struct stat st;
	int r;

	if (!p)
		return err_set(err, -ENOMEM, "cannot read the recording: out of memory");
	a.profile = p;
	p->symbols = symbols_new();
	load_init(&a.load, &p->arena, p->symbols);
	heap_init(&a.heap, &a.load);
	cpu_init(&a.cpu, &a.load);
	tree_init(&a.tree, &p->arena);
	a.resolve = (struct resolve){ .load = &a.load, .tree = &a.tree };
	r = analyse(&a, source, err);
	if (r < 0)
		return r;
	p->file_bytes = source->size;
	if (source->path) {
		p->file = arena_strdup(&p->arena, source->path);
		if (!stat(source->path, &st))
			p->file_bytes = (uint64_t)st.st_size;
	}
	a.profile = NULL;
	*ret = p;
	return 0;
}

int profile_read(struct profile **ret, const char *path, struct err *err)
{
	return profile_read_source(ret, &(struct source){ .path = path }, err);
}

int profile_read_bytes(struct profile **ret, const void *bytes, size_t size, struct err *err)
{
	return profile_read_source(ret, &(struct source){ .bytes = bytes, .size = size }, err);
}

void profile_free(struct profile *p)
{
	if (!p)
		return;
	symbols_free(p->symbols);
	arena_fini(&p->arena);
	free(p);
}
