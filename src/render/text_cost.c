/*
 * text_cost - the last line of every text: what measuring cost
 */
#include "render/text.h"

#include <string.h>

#include "render/number.h"

/* "94 ns +- 6 per call (stack 61, write 33) x 8 410 049" */
static void cost_item(const struct cost_line *line, const struct render_options *options, struct out *o)
{
	const char *per = line->what;

	if (!strcmp(line->what, "malloc record"))
		per = "call";
	else if (!strcmp(line->what, "free record"))
		per = "free";
	else if (!strcmp(line->what, "first malloc record"))
		per = "cold call";
	else if (!strcmp(line->what, "first free record"))
		per = "cold free";
	out_printf(o, "%s per %s", number_ns_estimate(&line->unit_ns, options->utf8).text, per);
	if (line->stack_ns > 0 && line->write_ns > 0)
		out_printf(o, " (stack %s, write %s)", number_ns(line->stack_ns, options->utf8).text,
			   number_ns(line->write_ns, options->utf8).text);
	out_printf(o, " x %s", number_count(line->times).text);
}

static void cost_ratio(const struct profile *p, const struct render_options *options, struct out *o)
{
	if (p->cost_ratio.known)
		out_printf(o, "%s of CPU", number_ratio(&p->cost_ratio, options->utf8).text);
	else
		out_printf(o, "%s of CPU time; the program's own is not known",
			   number_ns(p->cost_cpu_ns, options->utf8).text);
}

static void cost_shares(const struct profile *p, struct out *o)
{
	uint32_t i;

	for (i = 0; i < p->ncosts; i++)
		out_printf(o, "%s%ss %s", i ? ", " : ": ", p->costs[i].what,
			   number_percent(p->costs[i].cpu_ns / (double)p->cpu_ns).text);
}

void text_ledger(const struct profile *p, const struct render_options *options, struct out *o)
{
	const struct cost_line *line;
	uint32_t i;

	for (i = 0; i < p->ncosts; i++) {
		line = &p->costs[i];
		text_left(o, line->what, 20);
		text_right(o, number_ns_estimate(&line->unit_ns, options->utf8).text, 18);
		out_text(o, "  x ");
		text_right(o, number_count(line->times).text, 13);
		text_right(o, number_ns(line->cpu_ns, options->utf8).text, 10);
		if (p->cpu_ns)
			text_right(o, number_percent(line->cpu_ns / (double)p->cpu_ns).text, 9);
		out_printf(o, "   %s\n", line->how);
	}
	for (i = 0; i < p->nnot_measured; i++)
		out_printf(o, "not measured:  %s\n", p->not_measured[i]);
	out_printf(o, "recording:     %s\n", number_bytes(p->file_bytes).text);
}

void text_cost(const struct profile *p, const struct render_options *options, struct out *o)
{
	bool joined = p->cpu && p->heap;
	uint32_t i;

	out_text(o, "cost: ");	/* no colour before it: the line is looked for by its beginning */
	for (i = 0; i < p->ncosts && !joined; i++) {
		out_text(o, i ? ", " : "");
		cost_item(&p->costs[i], options, o);
	}
	if (p->ncosts) {
		out_text(o, joined ? "" : " = ");
		cost_ratio(p, options, o);
	} else {
		out_text(o, "no event was recorded, so none took time");
	}
	if (joined && p->cost_ratio.known)
		cost_shares(p, o);
	if (p->memory_bytes)
		out_printf(o, ", %s of memory (not counted above)", number_bytes(p->memory_bytes).text);
	if (p->collector_cpu_ns)
		out_printf(o, "; beside the program tare used %s", number_ns((double)p->collector_cpu_ns, options->utf8).text);
	out_char(o, '\n');
}
