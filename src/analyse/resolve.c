/*
 * resolve - names for the call-tree nodes that events refer to
 *
 * Only nodes that something happened at, and their callers, are looked up. Callers are marked from the last process to the
 * first and from high numbers to low ones, names are given in the other direction: a parent's number is always smaller, be
 * it in the same process or in one that was forked from earlier.
 *
 * Code of the agent is a frame "[tare]" where a sample met it: its own cost, not the program's. What it calls on the program's
 * behalf (the allocator behind a hook) is shown as called by the program.
 */
#include "analyse/resolve.h"

#include <stdlib.h>

#include "base/util.h"
#include "record/event.h"

void resolve_mark(struct process *p, uint32_t node)
{
	struct node_page *page;

	p = process_owner(p, node);
	page = process_page(p, node);
	page->marks[(node & (PAGE_NODES - 1)) / 64] |= 1ull << node % 64;
}

static bool resolve_marked(const struct process *p, uint32_t node)
{
	size_t page = node >> PAGE_BITS;

	if (page >= p->npages || !p->pages[page])
		return false;
	return p->pages[page]->marks[(node & (PAGE_NODES - 1)) / 64] >> node % 64 & 1;
}

static void resolve_mark_events(struct process *p)
{
	const struct node_sums *sums;
	size_t page, i;

	for (page = 0; page < p->npages; page++)
		for (i = 0; p->pages[page] && i < PAGE_NODES; i++) {
			sums = &p->pages[page]->sums[i];
			if (sums->calls || sums->frees)
				p->pages[page]->marks[i / 64] |= 1ull << i % 64;
		}
}

static void resolve_mark_callers(struct process *p)
{
	uint32_t node;
	size_t i = p->nnodes;

	while (i-- > 0) {
		node = p->first_node + (uint32_t)i;
		if (resolve_marked(p, node) && p->nodes[i].parent >= EVENT_FIRST_NODE && p->nodes[i].parent < node)
			resolve_mark(p, p->nodes[i].parent);
	}
}

static struct tree_node *resolve_special(struct resolve *r, struct tree_node **node, const char *name)
{
	if (!*node)
		*node = tree_child(r->tree, r->tree->root, symbols_special(r->load->symbols, name));
	return *node;
}

struct tree_node *resolve_lost(struct resolve *r)
{
	return resolve_special(r, &r->lost, "[lost]");
}

static struct tree_node *resolve_known(struct process *p, uint32_t node)
{
	p = process_owner(p, node);
	if (!p->tree || node < p->first_node || node - p->first_node >= p->nnodes)
		return NULL;
	return p->tree[node - p->first_node];
}

static struct tree_node *resolve_parent(struct resolve *r, struct process *p, uint32_t parent)
{
	struct tree_node *node;

	if (parent == NODE_ROOT)
		return r->tree->root;
	node = resolve_leaf(r, p, parent);
	return node->frame && node->frame == r->tare ? node->parent : node;
}

struct tree_node *resolve_leaf(struct resolve *r, struct process *p, uint32_t node)
{
	struct tree_node *known;

	switch (node) {
	case NODE_LOST:
		return resolve_lost(r);
	case NODE_ROOT:		/* an event with a stack of no frames */
	case NODE_BROKEN:
		return resolve_special(r, &r->unknown, "[unknown]");
	case NODE_TRUNCATED:
		return resolve_special(r, &r->truncated, "[truncated]");
	default:
		known = resolve_known(p, node);
		return known ? known : resolve_lost(r);
	}
}

static void resolve_process(struct resolve *r, struct process *p)
{
	const struct frame *const *frames;
	struct tree_node *at;
	uint64_t pc, address;
	size_t i;
	int n, module;

	p->tree = calloc(p->nnodes + 1, sizeof(struct tree_node *));
	if (!p->tree)
		arena_no_memory();
	for (i = 0; i < p->nnodes; i++) {
		if (!resolve_marked(p, p->first_node + (uint32_t)i))
			continue;
		pc = p->nodes[i].pc & ~NODE_PC_EXACT;
		address = p->nodes[i].pc & NODE_PC_EXACT || !pc ? pc : pc - 1;
		module = process_find(p, p->first_node + (uint32_t)i, address);
		at = resolve_parent(r, p, p->nodes[i].parent);
		if (module == MODULE_TARE) {
			frames = &r->tare;
			n = 1;
		} else {
			n = symbols_find(r->load->symbols, module, address, &frames);
		}
		while (n-- > 0)
			at = tree_child(r->tree, at, frames[n]);
		p->tree[i] = at;
	}
}

void resolve_tree(struct resolve *r)
{
	size_t i = r->load->nprocesses;

	r->tare = symbols_special(r->load->symbols, "[tare]");
	while (i-- > 0)
		if (r->load->processes[i]) {
			resolve_mark_events(r->load->processes[i]);
			resolve_mark_callers(r->load->processes[i]);
		}
	for (i = 0; i < r->load->nprocesses; i++)
		if (r->load->processes[i])
			resolve_process(r, r->load->processes[i]);
}
