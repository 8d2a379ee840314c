/*
 * tree - call trees of processes, merged by frame
 *
 * The agent's nodes are return addresses, numbered by each process for itself. Here the same function at the same line,
 * called from the same place, is one node, whichever process, load address or inlining it came from.
 */
#include "analyse/tree.h"

#include <stdlib.h>

#include "base/util.h"

static struct tree_node *tree_node_new(struct tree *t)
{
	struct tree_node *node = arena_alloc(t->arena, sizeof(*node));

	t->nodes = table_grow(t->nodes, &t->capacity, t->n + 1, sizeof(*t->nodes));
	node->id = (uint32_t)t->n;
	t->nodes[t->n++] = node;
	return node;
}

void tree_init(struct tree *t, struct arena *arena)
{
	*t = (struct tree){ .arena = arena };
	t->root = tree_node_new(t);
}

void tree_fini(struct tree *t)
{
	table_fini(&t->children);
	free(t->nodes);
	*t = (struct tree){ 0 };
}

static bool tree_recurses(const struct tree_node *caller, const struct function *function)
{
	for (; caller && caller->frame; caller = caller->parent)
		if (caller->frame->function == function)
			return true;
	return false;
}

struct tree_node *tree_child(struct tree *t, struct tree_node *parent, const struct frame *frame)
{
	uint64_t *id = table_at(&t->children, (uint64_t)parent->id << 32 | frame->id);
	struct tree_node *node;

	if (*id)
		return t->nodes[*id];
	*id = t->n;		/* never 0: the root is */
	node = tree_node_new(t);
	node->frame = frame;
	node->parent = parent;
	node->depth = parent->depth + 1;
	node->recursive = tree_recurses(parent, frame->function);
	node->sibling = parent->child;
	parent->child = node;
	return node;
}
