/* resolve.h - from the nodes of processes to nodes of the merged tree; private to analyse/ */
#ifndef TARE_ANALYSE_RESOLVE_H
#define TARE_ANALYSE_RESOLVE_H

#include "analyse/load.h"
#include "analyse/tree.h"

struct resolve {
	struct load *load;
	struct tree *tree;
	const struct frame *tare;	/* "[tare]" */
	struct tree_node *lost, *unknown, *truncated;	/* made when first needed */
};

/** resolve_mark - a node that the result needs; before resolve_tree() */
void resolve_mark(struct process *p, uint32_t node);

/** resolve_tree - names the addresses of all marked nodes and of those with heap events, and builds the tree of them */
void resolve_tree(struct resolve *r);

/** resolve_leaf - the tree's node for a node; "[lost]" where the recording does not hold it */
struct tree_node *resolve_leaf(struct resolve *r, struct process *p, uint32_t node);
struct tree_node *resolve_lost(struct resolve *r);

#endif
