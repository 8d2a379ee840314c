/*
 * findings - what stands out, in sentences
 *
 * Only what is worth a reader's time: a share whose interval excludes zero, bytes that are more than a sliver of the peak.
 */
#include "render/findings.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/util.h"
#include "render/heap_rows.h"
#include "render/name.h"
#include "render/number.h"

struct findings {
	const struct profile *p;
	struct arena *arena;
	struct finding *list;
	uint32_t n;
	bool utf8;
};

static void findings_add(struct findings *f, struct finding finding)
{
	if (f->n < FINDINGS_MAX)
		f->list[f->n++] = finding;
}

static const char *findings_place(struct findings *f, const struct tree_node *node)
{
	char place[256];

	name_place(place, sizeof(place), node->frame->file, node->frame->line, node->frame->module);
	return arena_printf(f->arena, "%s%s%s", node->frame->name, *place ? " " : "", place);
}

static void findings_cpu(struct findings *f)
{
	const struct cpu_profile *c = f->p->cpu;
	const struct tree_node *caller;
	const struct cpu_function *fn;
	uint32_t i;

	for (i = 0; i < c->nfunctions && i < 2; i++) {
		fn = &c->functions[i];
		if (!fn->self || fn->self_ratio.value < 0.05)
			break;
		caller = fn->hottest ? name_caller(fn->hottest) : NULL;
		findings_add(f, (struct finding){
			.kind = "cpu",
			.text = arena_printf(f->arena, fn->function->name[0] == '[' ? "%s takes %s of the CPU time (%s)%s%s" :
					     "%s itself takes %s of the CPU time (%s)%s%s", fn->function->name,
					     number_ratio(&fn->self_ratio, f->utf8).text,
					     number_ns((double)fn->self * (double)c->period_ns, f->utf8).text,
					     caller ? ", called mostly from " : "", caller ? caller->frame->name : ""),
			.lost_ns = fn->self * c->period_ns,
			.effect = fn->self_ratio,
		});
	}
}

static void findings_row(struct findings *f, enum heap_column column)
{
	const struct heap_profile *h = f->p->heap;
	CLEANUP_FREE struct heap_row *rows = NULL;
	const struct heap_sums *s;
	const char *place, *text;
	uint32_t n;

	rows = heap_rows(h, column, &n);
	if (!n)
		return;
	s = &rows->sums;
	place = findings_place(f, rows->site);
	if (column == HEAP_NEVER_FREED)
		text = arena_printf(f->arena, "%s never freed (%s), %s of it from %s",
				    number_bytes(h->sums.never_freed_bytes).text, number_things(h->sums.never_freed_calls, "call").text,
				    number_percent_of(s->never_freed_bytes, h->sums.never_freed_bytes).text, place);
	else if (column == HEAP_PEAK)
		text = arena_printf(f->arena, "peak of live memory %s at %s, %s of it from %s", number_bytes(h->peak_bytes).text,
				    number_ns((double)h->peak_at_ns, f->utf8).text,
				    number_percent_of(s->peak_bytes, h->peak_bytes).text, place);
	else
		text = arena_printf(f->arena, "%s of %s allocations were freed before the next one, most of them from %s",
				    number_percent_of(h->sums.temporary, h->sums.calls).text,
				    number_short(h->sums.calls).text, place);
	findings_add(f, (struct finding){ .kind = "heap", .text = text });
}

uint32_t findings_of(const struct profile *p, bool utf8, struct arena *arena, struct finding ret[FINDINGS_MAX])
{
	struct findings f = { .p = p, .arena = arena, .list = ret, .utf8 = utf8 };

	if (p->cpu)
		findings_cpu(&f);
	if (p->heap) {
		findings_row(&f, HEAP_NEVER_FREED);
		findings_row(&f, HEAP_PEAK);
		if (p->heap->sums.temporary * 2 > p->heap->sums.calls)
			findings_row(&f, HEAP_TEMPORARY);
	}
	return f.n;
}
