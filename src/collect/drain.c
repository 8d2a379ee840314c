/*
 * drain - from the arena to session records
 *
 * The agents only ever append; this side follows each of their lists and logs with a cursor of its own. A log's words are
 * copied out, zeroed, and a piece that is done is given back to its writer, so that the memory of a long run stays small.
 * Words are taken before the nodes that they name are looked at, so the session never names a node that it does not hold.
 */
#include "collect/drain.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/util.h"
#include "collect/launch.h"

struct cursor {
	uint64_t piece;
	uint32_t at;
};

struct slot {
	uint64_t offset;		/* of struct shared_thread */
	struct cursor log[LOGS];
	uint32_t named_tid;
	char name[16];
};

struct module_cursor {
	uint64_t piece;
	uint32_t written;
};

struct process {
	struct shared_process *shared;
	uint64_t offset;
	bool written, ended, freed;
	int32_t exit_code, signal;	/* -1: not known */
	uint32_t nodes_written;
	uint32_t nslots, nmodules;
	struct slot *slots;		/* by slot number */
	struct module_cursor *modules;
	uint64_t last_words;		/* events of this process at its last REC_COUNTERS */
	uint64_t words;
};

struct drain {
	const struct launch_arena *arena;
	const char *agent_path;
	struct shared_header *shared;
	struct session_writer *writer;
	uint32_t nprocesses;
	struct process *processes;	/* by process number */
	uint64_t words;
	uint32_t flags;
	int error;
	uint64_t buffer[SHARED_LOG_WORDS];
};

static void *at(const struct drain *d, uint64_t offset)
{
	return (unsigned char *)d->shared + offset;
}

static void put(struct drain *d, const struct record *record, struct err *err)
{
	int r;

	if (d->error)
		return;
	r = session_write(d->writer, record, err);
	if (r < 0)
		d->error = r;
}

/* Pulls @need elements of @size into *array, which has *have; Return: false: no memory. */
static bool grow(void *array, uint32_t *have, uint32_t need, size_t size)
{
	void *larger;

	if (need <= *have)
		return true;
	larger = realloc(*(void **)array, (size_t)need * size);
	if (!larger)
		return false;
	memset((char *)larger + (size_t)*have * size, 0, (size_t)(need - *have) * size);
	*(void **)array = larger;
	*have = need;
	return true;
}

static void find_processes(struct drain *d)
{
	uint64_t offset = atomic_load(&d->shared->processes);
	struct shared_process *p;

	for (; offset; offset = p->next) {
		p = at(d, offset);
		if (!grow(&d->processes, &d->nprocesses, p->process + 1, sizeof(*d->processes)))
			return;
		if (d->processes[p->process].shared)
			return;		/* all older ones are known: the list is newest first */
		d->processes[p->process] = (struct process){
			.shared = p, .offset = offset, .exit_code = -1, .signal = -1, .nodes_written = p->first_node,
		};
	}
}

static bool write_process(struct drain *d, struct process *p, bool last, struct err *err)
{
	const char *argv[256];
	uint32_t used = 0, argc = 0;

	if (!atomic_load_explicit(&p->shared->argv_ready, memory_order_acquire) && !last && !p->ended)
		return false;
	while (used < p->shared->argv_bytes && argc < ARRAY_SIZE(argv)) {
		argv[argc++] = p->shared->argv + used;
		used += (uint32_t)strlen(p->shared->argv + used) + 1;
	}
	if (!argc)
		argv[argc++] = p->shared->exe;
	put(d, &(struct record){ .kind = REC_PROCESS, .process = {
		.process = p->shared->process, .pid = p->shared->pid, .parent_pid = p->shared->parent_pid,
		.forked_from = p->shared->forked_from, .first_node = p->shared->first_node,
		.start_ticks = p->shared->start_ticks, .argc = argc, .argv = argv } }, err);
	p->written = true;
	return true;
}

static const char *module_path(const struct drain *d, const struct process *p, const char *path)
{
	if (!path[0])
		return p->shared->exe;
	if (!strchr(path, '/'))
		return "[vdso]";
	return strncmp(path, d->arena->dir, strlen(d->arena->dir)) ? path : d->agent_path;
}

static void write_module(struct drain *d, struct process *p, const struct shared_module *m, struct err *err)
{
	struct record record = { .kind = REC_MODULE, .module = {
		.process = p->shared->process, .first_node = m->first_node, .start = m->start, .end = m->end, .bias = m->bias,
		.build_id_len = m->build_id_len,
		.path = module_path(d, p, m->path) } };

	memcpy(record.module.build_id, m->build_id, m->build_id_len);
	put(d, &record, err);
}

/* Pieces that are new since the last time, oldest first: of two objects at one address the later one has to come later. */
static void find_module_pieces(struct drain *d, struct process *p)
{
	uint64_t newest = p->nmodules ? p->modules[p->nmodules - 1].piece : 0, offset;
	const uint64_t head = atomic_load(&p->shared->modules);
	uint32_t n = 0, i;

	for (offset = head; offset && offset != newest; n++)
		offset = atomic_load(&((struct shared_module_piece *)at(d, offset))->next);
	i = p->nmodules;
	if (!n || !grow(&p->modules, &p->nmodules, p->nmodules + n, sizeof(*p->modules)))
		return;
	for (offset = head; n > 0; n--) {
		p->modules[i + n - 1].piece = offset;
		offset = atomic_load(&((struct shared_module_piece *)at(d, offset))->next);
	}
}

static void write_modules(struct drain *d, struct process *p, struct err *err)
{
	struct shared_module_piece *piece;
	struct module_cursor *cursor;
	uint32_t i, n;

	find_module_pieces(d, p);
	for (i = 0; i < p->nmodules; i++) {
		cursor = &p->modules[i];
		piece = at(d, cursor->piece);
		n = MIN(atomic_load(&piece->n), (uint32_t)SHARED_MODULES);
		while (cursor->written < n &&
		       atomic_load_explicit(&piece->modules[cursor->written].ready, memory_order_acquire))
			write_module(d, p, &piece->modules[cursor->written++], err);
	}
}

static void write_nodes(struct drain *d, struct process *p, bool last, struct err *err)
{
	uint32_t end = MIN(atomic_load(&p->shared->nnodes), 1u << EVENT_NODE_BITS), first = p->nodes_written, n;
	uint64_t piece;
	struct node *nodes;

	while (first < end) {
		piece = atomic_load_explicit(&p->shared->nodes[first / SHARED_NODES_PER_PIECE], memory_order_acquire);
		n = MIN(end, (first / SHARED_NODES_PER_PIECE + 1) * SHARED_NODES_PER_PIECE) - first;
		if (!piece) {
			if (!last)
				break;
			first += n;	/* numbers that were given out when there was no memory for them */
			continue;
		}
		nodes = (struct node *)at(d, piece) + first % SHARED_NODES_PER_PIECE;
		if (!last)	/* up to the first that is being made */
			for (uint32_t i = 0; i < n; i++)
				if (!atomic_load_explicit((_Atomic uint64_t *)&nodes[i].pc, memory_order_acquire))
					n = end = i;
		if (n)
			put(d, &(struct record){ .kind = REC_NODES, .nodes = {
				.process = p->shared->process, .first = first, .n = n, .nodes = nodes } }, err);
		first += n;
		if (!n)
			break;
	}
	p->nodes_written = first;
}

/* Copies what is there of one log's piece; Return: words. The cursor moves on to the next piece if the writer has. */
static uint32_t take_piece(struct drain *d, struct cursor *c, bool *ret_more)
{
	struct shared_log_piece *piece = at(d, c->piece);
	uint64_t next = atomic_load_explicit(&piece->moved_to, memory_order_acquire), word;
	uint32_t n = 0, i = c->at;

	while (i < SHARED_LOG_WORDS && (word = atomic_load_explicit(&piece->words[i], memory_order_acquire)) != 0) {
		d->buffer[n++] = word;
		i++;
	}
	/* a WIDE or a SAMPLE is the first half of an event: its other half comes next */
	if (n && !next && (event_op(d->buffer[n - 1]) == EVENT_WIDE || event_op(d->buffer[n - 1]) == EVENT_SAMPLE)) {
		n--;
		i--;
	}
	memset((void *)&piece->words[c->at], 0, n * sizeof(uint64_t));
	c->at = i;
	*ret_more = next != 0;
	if (next) {
		atomic_store_explicit(&piece->moved_to, 0, memory_order_relaxed);
		atomic_store_explicit(&piece->free, 1, memory_order_release);
		*c = (struct cursor){ .piece = next };
	}
	return n;
}

static void take_log(struct drain *d, struct process *p, struct slot *slot, int index, bool last, struct err *err)
{
	static const uint32_t instrument[] = { [LOG_HEAP] = INSTRUMENT_HEAP, [LOG_CPU] = INSTRUMENT_CPU };
	struct shared_thread *t = at(d, slot->offset);
	struct cursor *c = &slot->log[index];
	bool more = true;
	uint32_t n;

	if (!c->piece)
		c->piece = atomic_load_explicit(&t->log[index], memory_order_acquire);
	while (c->piece && more) {
		n = take_piece(d, c, &more);
		if (!n)
			continue;
		d->words += n;
		p->words += n;
		write_nodes(d, p, last, err);
		put(d, &(struct record){ .kind = REC_LOG, .log = {
			.process = p->shared->process, .slot = t->slot, .instrument = instrument[index], .n = n,
			.words = d->buffer } }, err);
	}
}

static void write_name(struct drain *d, struct process *p, struct slot *slot, struct err *err)
{
	struct shared_thread *t = at(d, slot->offset);
	char name[sizeof(t->name)];
	uint32_t tid = atomic_load(&t->tid);

	memcpy(name, t->name, sizeof(name));
	name[sizeof(name) - 1] = 0;
	if (!name[0] || (tid == slot->named_tid && !strcmp(name, slot->name)))
		return;
	slot->named_tid = tid;
	memcpy(slot->name, name, sizeof(name));
	put(d, &(struct record){ .kind = REC_THREAD, .thread = {
		.process = p->shared->process, .tid = tid, .name = name } }, err);
}

static void take_slots(struct drain *d, struct process *p, bool last, struct err *err)
{
	uint64_t offset = atomic_load(&p->shared->threads);
	struct shared_thread *t;
	struct slot *slot;
	int i;

	for (; offset; offset = t->next) {
		t = at(d, offset);
		if (!grow(&p->slots, &p->nslots, t->slot + 1, sizeof(*p->slots)))
			return;
		slot = &p->slots[t->slot];
		slot->offset = offset;
		for (i = 0; i < LOGS; i++)
			take_log(d, p, slot, i, last, err);
		write_name(d, p, slot, err);
	}
}

static void add_thread(struct rec_counters *sum, const struct shared_thread *t)
{
	int i;

	sum->calls += t->calls;
	sum->frees += t->frees;
	sum->bytes += t->bytes;
	sum->failed += t->failed;
	sum->inherited_frees += t->inherited_frees;
	sum->unknown_frees += t->unknown_frees;
	sum->lost_heap_events += t->lost_heap_events;
	sum->lost_alloc_bytes += t->lost_alloc_bytes;
	sum->samples += t->samples;
	sum->lost_samples += t->lost_samples;
	sum->tare_samples += t->tare_samples;
	sum->truncated_stacks += t->truncated_stacks;
	sum->broken_stacks += t->broken_stacks;
	sum->nested_events += t->nested_events;
	sum->thread_cpu_ns += t->thread_cpu_ns;
	for (i = 0; i < COST_ITEMS; i++) {
		sum->cost[i].times += t->cost[i].times;
		sum->cost[i].timed += t->cost[i].timed;
		sum->cost[i].ticks += t->cost[i].ticks;
		sum->cost[i].ticks_squared += t->cost[i].ticks_squared;
	}
}

static void write_counters(struct drain *d, struct process *p, struct err *err)
{
	struct record record = { .kind = REC_COUNTERS, .counters = {
		.process = p->shared->process, .threads = atomic_load(&p->shared->nthreads),
		.memory_bytes = p->shared->private_bytes } };
	struct rec_counters *sum = &record.counters;
	uint32_t i;

	for (i = 0; i < p->nslots; i++)
		if (p->slots[i].offset)
			add_thread(sum, at(d, p->slots[i].offset));
	sum->cost[COST_ALLOC_WALK].times = sum->cost[COST_ALLOC_WRITE].times = sum->calls - sum->cost[COST_FIRST_ALLOC].times;
	sum->cost[COST_FREE].times =
		sum->frees + sum->inherited_frees + sum->unknown_frees - sum->cost[COST_FIRST_FREE].times;
	sum->cost[COST_SAMPLE].times = sum->samples;
	p->last_words = p->words;
	put(d, &record, err);
}

/* A process is gone when the kernel says so, or when the same process has begun anew by exec. */
static bool is_gone(const struct drain *d, const struct process *p)
{
	uint32_t i;

	if (p->ended || (kill((pid_t)p->shared->pid, 0) && errno == ESRCH))
		return true;
	for (i = p->shared->process + 1; i < d->nprocesses; i++)
		if (d->processes[i].shared && d->processes[i].shared->pid == p->shared->pid)
			return true;
	return false;
}

static void free_pages(struct drain *d, struct process *p)
{
	uint64_t offset = atomic_load(&p->shared->extents), next, kept;

	d->flags |= atomic_load(&p->shared->flags);
	p->freed = true;
	for (; offset; offset = next) {
		next = ((struct shared_extent *)at(d, offset))->next;
		/* the process record at the begin of the first one stays: its list is followed by others */
		kept = p->offset - offset < SHARED_EXTENT ? (uint64_t)sizeof(*p->shared) + 4096 : 0;
		fallocate(d->arena->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)(offset + kept),
			  (off_t)(SHARED_EXTENT - kept));
		atomic_fetch_sub(&d->shared->used, SHARED_EXTENT);
	}
	free(p->slots);
	free(p->modules);
	p->slots = NULL;
	p->modules = NULL;
	p->nslots = p->nmodules = 0;
}

static void write_end(struct drain *d, struct process *p, struct err *err)
{
	uint32_t told = atomic_load(&p->shared->exit_code);

	if (p->exit_code < 0 && told) {
		p->exit_code = (int32_t)told - 1;
		p->signal = 0;
	}
	put(d, &(struct record){ .kind = REC_PROCESS_END, .process_end = {
		.process = p->shared->process, .exit_code = p->exit_code, .signal = p->signal,
		.end_ticks = atomic_load(&d->shared->coarse_ticks) } }, err);
}

/* Names of code that a JIT made, as the program wrote them for perf. */
static void write_perf_map(struct drain *d, const struct process *p, struct err *err)
{
	enum { LARGEST = 8 << 20 };
	char path[64], *text CLEANUP_FREE = NULL;
	size_t n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/tmp/perf-%u.map", p->shared->pid);
	f = fopen(path, "re");
	if (!f)
		return;
	text = malloc(LARGEST);
	if (text)
		n = fread(text, 1, LARGEST, f);
	fclose(f);
	if (n)
		put(d, &(struct record){ .kind = REC_PERF_MAP, .perf_map = {
			.process = p->shared->process, .size = (uint32_t)n, .text = text } }, err);
}

static void drain_process(struct drain *d, struct process *p, bool last, struct err *err)
{
	bool gone = is_gone(d, p);	/* before its last words are taken */

	if (!p->written && !write_process(d, p, last || gone, err))
		return;
	write_modules(d, p, err);
	take_slots(d, p, last || gone, err);
	write_nodes(d, p, last || gone, err);
	if (gone || last || p->words != p->last_words)
		write_counters(d, p, err);
	if (gone || last)
		write_perf_map(d, p, err);
	if (!gone)
		return;
	write_end(d, p, err);
	free_pages(d, p);
}

int drain_run(struct drain *d, bool last, struct err *err)
{
	bool failed_before = d->error != 0;
	uint32_t i;

	find_processes(d);
	for (i = 0; i < d->nprocesses; i++)
		if (d->processes[i].shared && !d->processes[i].freed)
			drain_process(d, &d->processes[i], last, err);
	return failed_before ? 0 : d->error;
}

void drain_ended(struct drain *d, uint32_t pid, int status)
{
	uint32_t i;

	find_processes(d);
	for (i = d->nprocesses; i-- > 0;) {
		struct process *p = &d->processes[i];

		if (!p->shared || p->shared->pid != pid || p->freed)
			continue;
		p->ended = true;
		p->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
		p->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
		return;		/* the newest: earlier ones ended by exec */
	}
}

uint64_t drain_events(const struct drain *d)
{
	return d->words;
}

uint32_t drain_processes(const struct drain *d)
{
	return d->nprocesses;
}

uint32_t drain_running(const struct drain *d)
{
	uint32_t i, n = 0;

	for (i = 0; i < d->nprocesses; i++)
		n += d->processes[i].shared && !d->processes[i].freed && !is_gone(d, &d->processes[i]);
	return n;
}

uint32_t drain_flags(const struct drain *d)
{
	uint32_t flags = d->flags, i;

	for (i = 0; i < d->nprocesses; i++)
		if (d->processes[i].shared && !d->processes[i].freed)
			flags |= atomic_load(&d->processes[i].shared->flags);
	return flags;
}

struct drain *drain_new(const struct launch_arena *arena, const char *agent_path, struct session_writer *writer)
{
	struct drain *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->arena = arena;
	d->shared = arena->shared;
	d->agent_path = agent_path;
	d->writer = writer;
	return d;
}

void drain_free(struct drain *d)
{
	uint32_t i;

	if (!d)
		return;
	for (i = 0; i < d->nprocesses; i++) {
		free(d->processes[i].slots);
		free(d->processes[i].modules);
	}
	free(d->processes);
	free(d);
}
