/*
 * csv - one row a stack, RFC 4180: CRLF, quotes doubled, units in the header
 */
#include <inttypes.h>

#include "base/util.h"
#include "render/export_formats.h"

static void csv_quoted(const char *s, struct out *out)
{
	for (; s && *s; s++) {
		if (*s == '"')
			out_char(out, '"');
		out_char(out, *s);
	}
}

static void csv_text(const char *s, struct out *out)
{
	out_char(out, '"');
	csv_quoted(s, out);
	out_char(out, '"');
}

/* Leaf first, as everywhere in our own formats. */
static void csv_stack(const struct tree_node *leaf, struct out *out)
{
	const struct frame *frame = leaf->frame;

	csv_text(frame->name, out);
	out_char(out, ',');
	csv_text(frame->module, out);
	out_char(out, ',');
	csv_text(frame->file, out);
	if (frame->line)
		out_printf(out, ",%u,\"", frame->line);
	else
		out_text(out, ",,\"");
	for (; leaf && leaf->frame; leaf = leaf->parent) {
		csv_quoted(leaf->frame->name, out);
		if (leaf->parent && leaf->parent->frame)
			out_text(out, " <- ");
	}
	out_text(out, "\"\r\n");
}

static void csv_cpu(const struct cpu_profile *c, struct out *out)
{
	uint64_t before = 0;
	uint32_t i;

	out_text(out, "tid,samples,cpu_ns,function,module,file,line,stack\r\n");
	for (i = 0; i < c->nstacks; i++) {
		out_printf(out, "%u,%" PRIu64 ",%" PRIu64 ",", c->stacks[i].tid, c->stacks[i].samples,
			   export_ns(c, &before, c->stacks[i].samples));
		csv_stack(c->stacks[i].leaf, out);
	}
}

static void csv_heap(const struct heap_profile *h, struct out *out)
{
	const struct heap_sums *s;
	uint32_t i;

	out_text(out, "calls,bytes,frees,peak_bytes,never_freed_bytes,never_freed_calls,temporary,"
		      "function,module,file,line,stack\r\n");
	for (i = 0; i < h->nsites; i++) {
		s = &h->sites[i].sums;
		out_printf(out, "%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", s->calls,
			   s->bytes, s->frees, s->peak_bytes, s->never_freed_bytes, s->never_freed_calls, s->temporary);
		csv_stack(h->sites[i].leaf, out);
	}
}

int export_csv(const struct profile *p, enum export_what what, struct out *out)
{
	if (what == EXPORT_CPU)
		csv_cpu(p->cpu, out);
	else
		csv_heap(p->heap, out);
	return out_result(out);
}
