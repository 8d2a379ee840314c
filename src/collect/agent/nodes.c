/*
 * nodes - the call tree of the process
 *
 * A stack is one number: the node of its innermost frame. Nodes are found by (caller's node, address) in a hash table that
 * all threads read without writing; a new node is put in by one compare-and-swap. A table that is half full gets a
 * successor of twice the size, and what is found in an old table is entered into the newest: so growing stops nobody, and
 * nothing that a reader may hold is ever freed. Two threads that enter one frame at the same moment may both get a node for
 * it; whoever reads the tree merges nodes that are equal.
 *
 * The table is private memory; nodes themselves lie in the arena, in their final form.
 */
#include "collect/agent/agent.h"

struct node_table {
	struct node_table *older;
	uint32_t bits;			/* 2^bits cells */
	_Atomic uint32_t used;
	_Atomic uint64_t cell[];	/* bits 63..24 of the hash, node; 0: empty */
};

enum { FIRST_BITS = 12, LAST_BITS = EVENT_NODE_BITS + 1, PROBES = 64 };

static _Atomic(struct node_table *) newest;
static _Atomic uint32_t epoch = 1;

static uint64_t node_hash(uint32_t parent, uint64_t pc)
{
	/* the epoch is part of the key: after an object was unloaded no node of before is found again */
	uint64_t h = (pc ^ (uint64_t)parent << 40 ^ parent) + atomic_load_explicit(&epoch, memory_order_relaxed);

	h *= 0x9e3779b97f4a7c15ull;
	h ^= h >> 29;
	h *= 0xbf58476d1ce4e5b9ull;
	return h ^ h >> 32;
}

static struct node *node_at(uint32_t id)
{
	uint64_t piece = atomic_load_explicit(&agent.process->nodes[id / SHARED_NODES_PER_PIECE], memory_order_acquire);

	return piece ? (struct node *)arena_at(piece) + id % SHARED_NODES_PER_PIECE : NULL;
}

static struct node_table *table_new(uint32_t bits)
{
	struct node_table *table = private_map(sizeof(*table) + (sizeof(uint64_t) << bits));

	if (table) {
		table->bits = bits;
		agent.process->private_bytes += sizeof(*table) + (sizeof(uint64_t) << bits);
	}
	return table;
}

/* The cell's index comes from the low half of the hash, its tag from the high 40 bits. */
static uint32_t table_find(const struct node_table *table, uint64_t hash, uint32_t parent, uint64_t pc)
{
	uint64_t mask = EVENT_MASK(table->bits), tag = hash >> 24, cell;
	const struct node *node;
	uint32_t i;

	for (i = 0; i < PROBES; i++) {
		cell = atomic_load_explicit(&table->cell[(hash + i) & mask], memory_order_acquire);
		if (!cell)
			return 0;
		if (cell >> 24 != tag)
			continue;
		node = node_at((uint32_t)(cell & EVENT_MASK(EVENT_NODE_BITS)));
		if (LIKELY(node->pc == pc && node->parent == parent))
			return (uint32_t)(cell & EVENT_MASK(EVENT_NODE_BITS));
	}
	return 0;
}

static void table_enter(struct node_table *table, uint64_t hash, uint32_t id)
{
	uint64_t mask = EVENT_MASK(table->bits), empty;
	uint32_t i;

	for (i = 0; i < PROBES; i++) {
		empty = 0;
		if (atomic_compare_exchange_strong_explicit(&table->cell[(hash + i) & mask], &empty,
							    hash >> 24 << 24 | id, memory_order_release,
							    memory_order_relaxed)) {
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
	node = node_at(id);
	node->parent = parent;
	atomic_store_explicit((_Atomic uint64_t *)&node->pc, pc, memory_order_release);
	return id;
}

static COLD uint32_t child_slow(uint32_t parent, uint64_t pc, uint64_t hash)
{
	struct node_table *table = atomic_load_explicit(&newest, memory_order_acquire), *older;
	uint32_t id = 0;

	for (older = table->older; older && !id; older = older->older)
		id = table_find(older, hash, parent, pc);
	if (!id)
		id = node_make(parent, pc);
	if (id == NODE_LOST)
		return id;
	table_enter(table, hash, id);
	if (atomic_load_explicit(&table->used, memory_order_relaxed) > 1u << (table->bits - 1))
		table_grow(table);
	return id;
}

static inline uint32_t child_of(uint32_t parent, uint64_t pc)
{
	uint64_t hash = node_hash(parent, pc);
	uint32_t id = table_find(atomic_load_explicit(&newest, memory_order_acquire), hash, parent, pc);

	return LIKELY(id) ? id : child_slow(parent, pc, hash);
}

uint32_t nodes_of_stack(struct stack_nodes *s, struct shared_thread *counters)
{
	static const uint32_t roots[] = { NODE_ROOT, NODE_TRUNCATED, NODE_BROKEN };
	uint32_t now = atomic_load_explicit(&epoch, memory_order_relaxed);
	uint32_t kept = s->walk.kept, i, node;

	if (UNLIKELY(s->epoch != now || s->end != s->walk.end)) {
		kept = 0;
		s->epoch = now;
		s->end = s->walk.end;
	}
	if (UNLIKELY(s->end != WALK_WHOLE)) {
		counters->truncated_stacks += s->end == WALK_TRUNCATED;
		counters->broken_stacks += s->end == WALK_BROKEN;
	}
	if (!kept)
		s->node[WALK_MAX] = roots[s->end];
	node = s->node[WALK_MAX - kept];
	for (i = WALK_MAX - kept; i-- > s->walk.top;) {
		node = child_of(node, s->walk.pc[i]);
		if (UNLIKELY(node == NODE_LOST)) {
			s->epoch = 0;	/* nothing may be kept of this */
			return NODE_LOST;
		}
		s->node[i] = node;
	}
	return node;
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
