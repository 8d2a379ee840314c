/*
 * nodes - the call tree of the process
 *
 * A stack is one number: the node of its innermost frame. It is found by a hash of the whole path from the root to that
 * frame, 104 bits of it, in one look-up: the hash of each frame is kept beside the thread's last walk and continued for the
 * frames that changed, which costs two multiplications a frame and no memory access. (Two different paths among 2^24 are
 * taken for one with a probability of 2^-57.) Only a stack that was never seen goes frame by frame.
 *
 * All threads read the table without writing; a new node is entered by one compare-and-swap. A table that is half full gets
 * a successor of twice the size, and what is found in an old table is entered into the newest: so growing stops nobody, and
 * nothing that a reader may hold is ever freed. Two threads that enter one frame at the same moment may both get a node
 * for it; whoever reads the tree merges nodes that are equal.
 *
 * The table is private memory; nodes themselves lie in the arena, in their final form.
 */
#include "collect/agent/agent.h"

struct cell {
	_Atomic uint64_t b;		/* second hash; 0: empty */
	_Atomic uint64_t a;		/* bits 63..24 of the first hash, node; 0: not ready */
};

struct node_table {
	struct node_table *older;
	uint32_t bits;			/* 2^bits cells */
	_Atomic uint32_t used;
	struct cell cell[];
};

enum { FIRST_BITS = 8, LAST_BITS = EVENT_NODE_BITS + 1, PROBES = 64 };

static _Atomic(struct node_table *) newest;
static _Atomic uint32_t epoch = 1;

static inline uint64_t mix(uint64_t h, uint64_t pc, uint64_t factor)
{
	h = (h ^ pc) * factor;
	return h ^ h >> 32;
}

static inline struct path_hash path_next(struct path_hash h, uint64_t pc)
{
	return (struct path_hash){ mix(h.a, pc, 0x9e3779b97f4a7c15ull), mix(h.b, pc, 0xd6e8feb86659fd93ull) };
}

/* The epoch is part of every path: after an object was unloaded no node of before is found again. */
static struct path_hash path_root(enum walk_end end, uint32_t now)
{
	uint64_t seed = (uint64_t)now << 8 | end;

	return (struct path_hash){ seed * 0xbf58476d1ce4e5b9ull, ~seed * 0x94d049bb133111ebull };
}

static struct node_table *table_new(uint32_t bits)
{
	size_t bytes = sizeof(struct node_table) + (sizeof(struct cell) << bits);
	struct node_table *table = private_map(bytes);

	if (table) {
		table->bits = bits;
		agent.process->private_bytes += bytes;
	}
	return table;
}

/* The cell's index comes from the low bits of the first hash, its tag from the high 40. */
static inline uint32_t table_find(const struct node_table *table, struct path_hash h)
{
	uint64_t mask = EVENT_MASK(table->bits), b = h.b | 1, seen, a;
	uint32_t i;

	for (i = 0; i < PROBES; i++) {
		const struct cell *cell = &table->cell[(h.a + i) & mask];

		seen = atomic_load_explicit(&cell->b, memory_order_relaxed);
		if (LIKELY(seen == b)) {
			a = atomic_load_explicit(&cell->a, memory_order_acquire);
			if (LIKELY(a >> 24 == h.a >> 24))
				return (uint32_t)(a & EVENT_MASK(EVENT_NODE_BITS));
		}
		if (!seen)
			return 0;
	}
	return 0;
}

static void table_enter(struct node_table *table, struct path_hash h, uint32_t id)
{
	uint64_t mask = EVENT_MASK(table->bits), empty;
	uint32_t i;

	for (i = 0; i < PROBES; i++) {
		struct cell *cell = &table->cell[(h.a + i) & mask];

		empty = 0;
		if (atomic_compare_exchange_strong_explicit(&cell->b, &empty, h.b | 1, memory_order_relaxed,
							    memory_order_relaxed)) {
			atomic_store_explicit(&cell->a, h.a >> 24 << 24 | id, memory_order_release);
			atomic_fetch_add_explicit(&table->used, 1, memory_order_relaxed);
			return;
		}
	}
	/* so full around here: the node will be made again, and merged by who reads the tree */
}

static void table_grow(struct node_table *table)
{
	struct node_table *larger;

	if (table->bits >= LAST_BITS || atomic_load(&newest) != table)
		return;
	larger = table_new(table->bits + 1);
	if (!larger)
		return;
	larger->older = table;
	/* of two threads that grow at once one loses its table: memory that was never touched */
	atomic_compare_exchange_strong(&newest, &table, larger);
}

static uint32_t node_make(uint32_t parent, uint64_t pc)
{
	struct shared_process *process = agent.process;
	uint32_t id = atomic_fetch_add(&process->nnodes, 1);
	_Atomic uint64_t *piece = &process->nodes[id / SHARED_NODES_PER_PIECE];
	uint64_t offset, none = 0;
	struct node *node;

	if (id >= 1u << EVENT_NODE_BITS) {
		atomic_store(&process->nnodes, 1u << EVENT_NODE_BITS);
		return NODE_LOST;
	}
	if (!atomic_load_explicit(piece, memory_order_acquire)) {
		offset = arena_take(SHARED_PIECE);
		if (!offset)
			return NODE_LOST;
		atomic_compare_exchange_strong(piece, &none, offset);
	}
	node = (struct node *)arena_at(atomic_load_explicit(piece, memory_order_acquire)) + id % SHARED_NODES_PER_PIECE;
	node->parent = parent;
	atomic_store_explicit((_Atomic uint64_t *)&node->pc, pc, memory_order_release);
	return id;
}

/* In any of the tables; what an old one knows is entered into the newest. */
static uint32_t find(struct path_hash h)
{
	struct node_table *table = atomic_load_explicit(&newest, memory_order_acquire), *older;
	uint32_t id = table_find(table, h);

	for (older = table->older; older && !id; older = older->older) {
		id = table_find(older, h);
		if (id)
			table_enter(table, h, id);
	}
	return id;
}

static uint32_t make(struct path_hash h, uint32_t parent, uint64_t pc)
{
	struct node_table *table = atomic_load_explicit(&newest, memory_order_acquire);
	uint32_t id = node_make(parent, pc);

	if (id == NODE_LOST)
		return id;
	table_enter(table, h, id);
	if (atomic_load_explicit(&table->used, memory_order_relaxed) > 1u << (table->bits - 1))
		table_grow(table);
	return id;
}

/* A stack that the newest table does not know: from its outermost frame that has no node, each gets one. */
static COLD uint32_t node_slow(struct stack_nodes *s)
{
	static const uint32_t roots[] = { NODE_ROOT, NODE_TRUNCATED, NODE_BROKEN };
	uint32_t i, id = 0;

	for (i = s->walk.top; i < WALK_MAX; i++) {
		id = find(s->path[i]);
		if (id)
			break;
	}
	if (i == WALK_MAX)
		id = roots[s->end];
	while (i-- > s->walk.top) {
		id = make(s->path[i], id, s->walk.pc[i]);
		if (id == NODE_LOST)
			return id;
	}
	return id;
}

HOT uint32_t nodes_of_stack(struct stack_nodes *s, struct shared_thread *counters)
{
	uint32_t now = atomic_load_explicit(&epoch, memory_order_relaxed), kept = s->walk.kept, i, id;
	struct path_hash h;

	if (UNLIKELY(s->epoch != now || s->end != s->walk.end)) {
		kept = 0;
		s->epoch = now;
		s->end = s->walk.end;
	}
	if (UNLIKELY(s->end != WALK_WHOLE)) {
		counters->truncated_stacks += s->end == WALK_TRUNCATED;
		counters->broken_stacks += s->end == WALK_BROKEN;
	}
	if (kept == WALK_MAX - s->walk.top && s->top == s->walk.top && kept)
		return s->last;		/* the same stack again */
	if (!kept)
		s->path[WALK_MAX] = path_root(s->end, now);
	h = s->path[WALK_MAX - kept];
	for (i = WALK_MAX - kept; i-- > s->walk.top;)
		h = s->path[i] = path_next(h, s->walk.pc[i]);
	id = table_find(atomic_load_explicit(&newest, memory_order_acquire), s->path[s->walk.top]);
	if (UNLIKELY(!id))
		id = node_slow(s);
	s->last = id;
	s->top = s->walk.top;
	return id;
}

void nodes_restart(void)
{
	atomic_fetch_add(&epoch, 1);
}

int nodes_init(void)
{
	struct node_table *table;

	atomic_store(&agent.process->nnodes, agent.first_node);
	table = table_new(FIRST_BITS);
	if (!table)
		return -1;
	atomic_store(&newest, table);
	return 0;
}
