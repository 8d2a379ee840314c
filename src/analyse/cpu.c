/*
 * cpu - CPU samples, counted by thread and stack
 *
 * A sample stands for one period of its thread's CPU time. Periods that ended while the thread was in the kernel cannot be
 * sampled by a signal; the agent knows their number from the thread's CPU clock. They are counted as samples of a frame
 * "[kernel]" of that thread, so that the sum is the CPU time, and the kernel's part is told as what it is: a total.
 */
#include "analyse/cpu.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "record/event.h"

enum { THREAD_BITS = 20, THREAD_MAX = (1 << THREAD_BITS) - 1 };

void cpu_init(struct cpu *c, struct load *load)
{
	*c = (struct cpu){ .load = load };
}

void cpu_fini(struct cpu *c)
{
	free(c->streams);
	table_fini(&c->stream_index);
	table_fini(&c->counts);
	*c = (struct cpu){ 0 };
}

static struct cpu_stream *cpu_stream(struct cpu *c, struct process *p, uint32_t slot)
{
	uint64_t *index = table_at(&c->stream_index, (uint64_t)p->number << 32 | slot);

	if (!*index) {
		c->streams = table_grow(c->streams, &c->streams_room, c->nstreams + 1, sizeof(*c->streams));
		c->streams[c->nstreams] = (struct cpu_stream){ .process = p, .tid = p->pid };
		*index = ++c->nstreams;
	}
	return &c->streams[*index - 1];
}

static uint64_t cpu_key(const struct process *owner, uint32_t node, size_t thread)
{
	return (uint64_t)owner->number << (EVENT_NODE_BITS + THREAD_BITS) | (uint64_t)node << THREAD_BITS | thread;
}

static void cpu_sample(struct cpu *c, struct cpu_stream *s, uint64_t word)
{
	size_t thread = MIN(load_thread(c->load, s->process, s->tid), (size_t)THREAD_MAX);
	struct load_thread *t = &c->load->threads[thread];
	uint32_t node = event_node(word);
	uint64_t ticks = event_low(word);

	t->samples += 1 + event_small(word);
	t->kernel_samples += event_small(word);
	++*table_at(&c->counts, cpu_key(process_owner(s->process, node), node, thread));
	c->handler_ticks += ticks;
	c->handler_ticks_squared += ticks * ticks;
	c->handled += ticks != 0;
}

static void cpu_unsampled(struct cpu *c, const struct cpu_stream *s, uint32_t periods)
{
	size_t thread = MIN(load_thread(c->load, s->process, s->tid), (size_t)THREAD_MAX);	/* may move the array */
	struct load_thread *t = &c->load->threads[thread];

	t->samples += periods;
	t->kernel_samples += periods;
}

void cpu_log(struct cpu *c, const struct rec_log *log)
{
	struct cpu_stream *s = cpu_stream(c, load_process(c->load, log->process), log->slot);
	uint64_t word;
	uint32_t i;

	for (i = 0; i < log->n; i++) {
		word = log->words[i];
		if (s->time_follows) {
			s->time_follows = false;
			c->load->last_ticks = MAX(c->load->last_ticks, word);
			continue;
		}
		switch (event_op(word)) {
		case EVENT_THREAD:
			s->tid = (uint32_t)word;
			break;
		case EVENT_UNSAMPLED:
			cpu_unsampled(c, s, event_small(word));
			break;
		case EVENT_SAMPLE:
			cpu_sample(c, s, word);
			s->time_follows = true;
			break;
		default:
			break;
		}
	}
}

static struct process *cpu_key_process(const struct cpu *c, uint64_t key)
{
	return c->load->processes[key >> (EVENT_NODE_BITS + THREAD_BITS)];
}

static uint32_t cpu_key_node(uint64_t key)
{
	return (uint32_t)(key >> THREAD_BITS & EVENT_MASK(EVENT_NODE_BITS));
}

void cpu_mark(struct cpu *c)
{
	size_t i;

	for (i = 0; i < c->counts.size; i++)
		if (c->counts.values[i])
			resolve_mark(cpu_key_process(c, c->counts.keys[i]), cpu_key_node(c->counts.keys[i]));
}

static int stack_order(const void *a, const void *b)
{
	const struct cpu_stack *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	if (x->leaf->id != y->leaf->id)
		return x->leaf->id < y->leaf->id ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static int function_order(const void *a, const void *b)
{
	const struct cpu_function *x = a, *y = b;

	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return x->function->id < y->function->id ? -1 : x->function->id > y->function->id;
}

static int thread_order(const void *a, const void *b)
{
	const struct cpu_thread *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* Nodes of different processes and numbers may be one node of the tree: counts by thread and tree node. */
static void cpu_stacks(struct cpu *c, struct resolve *r, struct cpu_profile *cp, struct arena *arena)
{
	CLEANUP(table_fini) struct table merged = { 0 };
	struct tree_node *kernel = NULL, *leaf;
	uint64_t key;
	size_t i, n = 0;

	for (i = 0; i < c->counts.size; i++) {
		if (!c->counts.values[i])
			continue;
		key = c->counts.keys[i];
		leaf = resolve_leaf(r, cpu_key_process(c, key), cpu_key_node(key));
		*table_at(&merged, (uint64_t)leaf->id << 32 | (key & THREAD_MAX)) += c->counts.values[i];
	}
	for (i = 0; i < c->load->nthreads; i++) {
		if (!c->load->threads[i].kernel_samples)
			continue;
		if (!kernel)
			kernel = tree_child(r->tree, r->tree->root, symbols_special(c->load->symbols, "[kernel]"));
		*table_at(&merged, (uint64_t)kernel->id << 32 | MIN(i, (size_t)THREAD_MAX)) +=
			c->load->threads[i].kernel_samples;
	}
	cp->stacks = arena_alloc(arena, (merged.used + 1) * sizeof(*cp->stacks));
	for (i = 0; i < merged.size; i++)
		if (merged.values[i])
			cp->stacks[n++] = (struct cpu_stack){
				.tid = c->load->threads[merged.keys[i] & THREAD_MAX].tid,
				.leaf = r->tree->nodes[merged.keys[i] >> 32],
				.samples = merged.values[i],
			};
	cp->nstacks = (uint32_t)n;
	qsort(cp->stacks, n, sizeof(*cp->stacks), stack_order);
}

static void cpu_functions(struct cpu_profile *cp, const struct tree *tree, uint32_t nfunctions, struct arena *arena)
{
	CLEANUP_FREE uint64_t *self = calloc(tree->n + 1, sizeof(*self));
	CLEANUP_FREE uint64_t *total = calloc(tree->n + 1, sizeof(*total));
	CLEANUP_FREE uint64_t *most = calloc((size_t)nfunctions + 1, sizeof(*most));
	struct cpu_function *all = arena_alloc(arena, ((size_t)nfunctions + 1) * sizeof(*all)), *f;
	size_t i;
	uint32_t k;

	if (!self || !total || !most)
		arena_no_memory();
	for (i = 0; i < cp->nstacks; i++)
		self[cp->stacks[i].leaf->id] += cp->stacks[i].samples;
	for (i = tree->n; i-- > 1;) {
		f = &all[tree->nodes[i]->frame->function->id];
		f->function = tree->nodes[i]->frame->function;
		f->self += self[i];
		total[i] += self[i];
		if (!tree->nodes[i]->recursive)
			f->total += total[i];
		total[tree->nodes[i]->parent->id] += total[i];
		if (self[i] && self[i] >= most[f->function->id]) {
			most[f->function->id] = self[i];
			f->hottest = tree->nodes[i];
		}
	}
	for (k = 0; k < nfunctions; k++)
		if (all[k].function && all[k].total) {
			all[k].self_ratio = estimate_share(all[k].self, cp->samples);
			all[cp->nfunctions++] = all[k];
		}
	qsort(all, cp->nfunctions, sizeof(*all), function_order);
	cp->functions = all;
}

static const char *cpu_thread_name(const struct load_thread *t)
{
	const char *slash;

	if (t->name)
		return t->name;
	if (!t->process->argc)
		return "";
	slash = strrchr(t->process->argv[0], '/');
	return slash ? slash + 1 : t->process->argv[0];
}

static void cpu_threads(struct cpu *c, struct cpu_profile *cp, struct arena *arena)
{
	const struct load_thread *t;
	size_t i;

	cp->threads = arena_alloc(arena, (c->load->nthreads + 1) * sizeof(*cp->threads));
	for (i = 0; i < c->load->nthreads; i++) {
		t = &c->load->threads[i];
		if (!t->samples)
			continue;
		cp->threads[cp->nthreads++] = (struct cpu_thread){
			.pid = t->process->pid, .tid = t->tid, .name = cpu_thread_name(t), .samples = t->samples,
		};
		cp->samples += t->samples;
		cp->kernel_samples += t->kernel_samples;
	}
	qsort(cp->threads, cp->nthreads, sizeof(*cp->threads), thread_order);
}

struct cpu_profile *cpu_profile_new(struct cpu *c, struct resolve *r, struct arena *arena)
{
	struct cpu_profile *cp = arena_alloc(arena, sizeof(*cp));

	cp->frequency_hz = c->load->run.cpu_hz;
	cp->period_ns = c->load->run.cpu_hz ? (1000000000ull + c->load->run.cpu_hz / 2) / c->load->run.cpu_hz : 0;
	cpu_threads(c, cp, arena);
	cpu_stacks(c, r, cp, arena);
	cpu_functions(cp, r->tree, symbols_functions(c->load->symbols), arena);
	return cp;
}
