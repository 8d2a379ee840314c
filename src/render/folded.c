/*
 * folded - one line a stack, root first, as flamegraph.pl reads it
 */
#include <inttypes.h>
#include <string.h>

#include "base/util.h"
#include "render/export_formats.h"

/* ';' parts frames and a line break ends the stack; spaces may stay, since the number follows the last one. */
static void folded_name(const char *name, struct out *out)
{
	for (; *name; name++)
		out_char(out, *name == ';' ? ':' : (unsigned char)*name < 0x20 ? ' ' : *name);
}

static void folded_stack(const struct tree_node *leaf, struct out *out)
{
	const struct tree_node *path[64];
	size_t n = 0;

	/* deep stacks: the outer part first */
	while (leaf && leaf->frame && n < ARRAY_SIZE(path)) {
		path[n++] = leaf;
		leaf = leaf->parent;
	}
	if (leaf && leaf->frame) {
		folded_stack(leaf, out);
		out_char(out, ';');
	}
	while (n-- > 0) {
		folded_name(path[n]->frame->name, out);
		if (n)
			out_char(out, ';');
	}
}

static void folded_cpu(const struct cpu_profile *c, struct out *out)
{
	uint32_t i;

	/* one line a thread and stack: readers add up equal lines */
	for (i = 0; i < c->nstacks; i++) {
		folded_stack(c->stacks[i].leaf, out);
		out_printf(out, " %" PRIu64 "\n", c->stacks[i].samples);
	}
}

static void folded_heap(const struct heap_profile *h, struct out *out)
{
	uint32_t i;

	for (i = 0; i < h->nsites; i++) {
		if (!h->sites[i].sums.bytes)
			continue;
		folded_stack(h->sites[i].leaf, out);
		out_printf(out, " %" PRIu64 "\n", h->sites[i].sums.bytes);
	}
}

int export_folded(const struct profile *p, enum export_what what, struct out *out)
{
	if (what == EXPORT_CPU)
		folded_cpu(p->cpu, out);
	else
		folded_heap(p->heap, out);
	return out_result(out);
}
