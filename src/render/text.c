/*
 * text - a result for a terminal: headlines, tables, notes, and last what it cost
 */
#include "render/text.h"

#include <string.h>

#include "base/util.h"
#include "render/findings.h"
#include "render/name.h"
#include "render/number.h"

void text_style(struct out *o, const struct render_options *options, enum text_style style)
{
	static const char *const codes[] = { "\033[0m", "\033[1m", "\033[2m" };

	if (options->colour)
		out_text(o, codes[style]);
}

uint32_t text_limit(const struct render_options *options)
{
	return options->limit ? options->limit : TEXT_LIMIT;
}

void text_left(struct out *o, const char *s, int width)
{
	out_text(o, s);
	out_spaces(o, width - name_width(s, 0));
}

void text_right(struct out *o, const char *s, int width)
{
	out_spaces(o, width - name_width(s, 0));
	out_text(o, s);
}

void text_name(struct out *o, const char *name, int width)
{
	name_out(o, name, TEXT_NAME_MOST);
	out_spaces(o, width - name_width(name, TEXT_NAME_MOST));
}

void text_caller(struct out *o, const struct tree_node *node)
{
	const struct tree_node *caller = node ? name_caller(node) : NULL;

	if (!caller)
		return;
	out_text(o, "  <- ");
	name_out(o, caller->frame->name, TEXT_NAME_MOST);
}

/* "1 stack broken (0.11 %)" */
static const char *text_stacks(uint64_t n, const char *what, uint64_t of, const char *before, struct out *o)
{
	if (!n)
		return before;
	out_printf(o, "%s%s %s", before, number_things(n, "stack").text, what);
	if (n <= of)
		out_printf(o, " (%s)", number_percent_of(n, of).text);
	return ", ";
}

void text_losses(const struct profile *p, const char *before, const char *after, struct out *o)
{
	uint64_t stacks = (p->cpu ? p->cpu->samples - p->cpu->kernel_samples : 0) + (p->heap ? p->heap->sums.calls : 0);

	if (!p->lost_events && !p->broken_stacks && !p->truncated_stacks)
		return;
	if (p->lost_events) {
		out_printf(o, "%s%s lost", before, number_things(p->lost_events, p->heap ? "event" : "sample").text);
		before = ", ";
	}
	before = text_stacks(p->broken_stacks, "broken", stacks, before, o);
	text_stacks(p->truncated_stacks, "truncated", stacks, before, o);
	out_text(o, after);
}

static void text_notes(const struct profile *p, const struct render_options *options, struct out *o)
{
	uint32_t i;

	for (i = 0; i < p->nnotes; i++) {
		if (!strcmp(p->notes[i].code, "no-pmu"))
			continue;	/* in JSON; nothing in this text would be different */
		text_style(o, options, TEXT_DIM);
		out_text(o, "note: ");
		name_out(o, p->notes[i].text, 0);
		if (p->notes[i].next) {
			out_text(o, "\n  next: ");
			name_out(o, p->notes[i].next, 0);
		}
		text_style(o, options, TEXT_PLAIN);
		out_char(o, '\n');
	}
}

static void text_findings(const struct profile *p, const struct render_options *options, struct out *o)
{
	CLEANUP(arena_fini) struct arena arena = { 0 };
	struct finding findings[FINDINGS_MAX];
	uint32_t n = findings_of(p, options->utf8, &arena, findings), i;

	for (i = 0; i < n; i++) {
		text_style(o, options, i ? TEXT_PLAIN : TEXT_BOLD);
		name_out(o, findings[i].text, 0);
		text_style(o, options, TEXT_PLAIN);
		out_char(o, '\n');
	}
	if (n)
		out_char(o, '\n');
}

static void text_how_it_ended(const struct profile *p, struct out *o)
{
	if (p->signal > 0)
		out_printf(o, "the program was ended by signal %d\n", p->signal);
}

int render_text(const struct profile *p, const struct render_options *options, struct out *o)
{
	bool only_ledger = !strcmp(options->command, "cost");
	bool only_cpu = !strcmp(options->command, "cpu"), only_heap = !strcmp(options->command, "heap");

	if (only_ledger) {
		text_ledger(p, options, o);
		text_cost(p, options, o);
		return out_result(o);
	}
	if (!strcmp(options->command, "report"))
		text_findings(p, options, o);
	if (p->cpu && !only_heap)
		text_cpu(p, options, o);
	if (p->cpu && p->heap && !only_heap && !only_cpu)
		out_char(o, '\n');
	if (p->heap && !only_cpu)
		text_heap(p, options, o);
	if (p->cpu && p->heap)		/* of samples and allocations together: the recording has one count */
		text_losses(p, "losses: ", "\n", o);
	text_how_it_ended(p, o);
	text_notes(p, options, o);
	text_cost(p, options, o);
	return out_result(o);
}
