/* tree.h - the merged call tree of all processes */
#ifndef TARE_ANALYSE_TREE_H
#define TARE_ANALYSE_TREE_H

#include "analyse/profile.h"
#include "analyse/table.h"

struct tree {
	struct arena *arena;
	struct tree_node *root;
	struct tree_node **nodes;	/* by id; a parent's id is smaller */
	size_t n, capacity;
	struct table children;		/* parent's id, frame's id -> id */
};

void tree_init(struct tree *t, struct arena *arena);
void tree_fini(struct tree *t);	/* the nodes stay: they are the arena's */

/** tree_child - the node of @frame called by @parent, made if new */
struct tree_node *tree_child(struct tree *t, struct tree_node *parent, const struct frame *frame);

#endif
