/*
 * text_cost - the last line of every text: what measuring cost
 *
 * It is one line, for people: kinds of work that are less than 1 % of the cost are one figure in it. A kind that happened once
 * has an interval without an upper end, and so has the sum; where it is less than 5 % of the cost, the sum's interval is given
 * without it, and the line says so. JSON and `tare cost` keep everything.
 */
#include "render/text.h"

#include <math.h>
#include <string.h>

#include "base/util.h"
#include "render/number.h"

#define SHARE_OF_REST		0.01
#define SHARE_OF_UNBOUNDED	0.05

/* "malloc record": 94 ns "per call" */
static const char *cost_unit(const struct cost_line *line)
{
	static const struct { const char *what, *unit; } units[] = {
		{ "malloc record", "call" }, { "free record", "free" }, { "first malloc record", "cold call" },
		{ "first free record", "cold free" },
	};
	size_t i;

	for (i = 0; i < ARRAY_SIZE(units); i++)
		if (!strcmp(line->what, units[i].what))
			return units[i].unit;
	return line->what;
}

static bool cost_is_small(const struct profile *p, const struct cost_line *line, double share)
{
	return line->unit_ns.known && line->cpu_ns < share * p->cost_cpu_ns;
}

/* "94 ns +- 6 per call (stack 61, write 33) x 8 410 049" */
static void cost_item(const struct cost_line *line, const struct render_options *options, struct out *o)
{
	const char *per = cost_unit(line);

	if (!line->unit_ns.known) {
		out_printf(o, "%s x %s not timed", per, number_count(line->times).text);
		return;
	}
	out_printf(o, "%s per %s", number_ns_estimate(&line->unit_ns, options->utf8).text, per);
	if (line->stack_ns > 0 && line->write_ns > 0)
		out_printf(o, " (stack %s, write %s)", number_ns(line->stack_ns, options->utf8).text,
			   number_ns(line->write_ns, options->utf8).text);
	out_printf(o, " x %s", number_count(line->times).text);
}

static void cost_items(const struct profile *p, const struct render_options *options, struct out *o)
{
	double rest = 0;
	bool first = true;
	uint32_t i;

	for (i = 0; i < p->ncosts; i++) {
		if (cost_is_small(p, &p->costs[i], SHARE_OF_REST)) {
			rest += p->costs[i].cpu_ns;
			continue;
		}
		out_text(o, first ? "" : ", ");
		cost_item(&p->costs[i], options, o);
		first = false;
	}
	if (rest > 0)
		out_printf(o, ", rest %s", number_ns(rest, options->utf8).text);
}

/* The profile's ratio; where only small items make it unbounded, the same with these taken as exact. */
static struct estimate cost_bounded_ratio(const struct profile *p, bool *ret_without)
{
	struct estimate sum = { .known = true, .n = UINT64_MAX }, one;
	uint32_t i;

	*ret_without = false;
	if (!isinf(p->cost_ratio.hi))
		return p->cost_ratio;
	for (i = 0; i < p->ncosts; i++) {
		if (!p->costs[i].unit_ns.known)
			continue;
		one = estimate_scale(p->costs[i].unit_ns, (double)p->costs[i].times / (double)p->cpu_ns);
		if (isinf(one.hi) && cost_is_small(p, &p->costs[i], SHARE_OF_UNBOUNDED))
			one.lo = one.hi = one.value;
		sum = estimate_add(sum, one);
	}
	if (isinf(sum.hi))
		return p->cost_ratio;
	*ret_without = true;
	return sum;
}

static void cost_ratio(const struct profile *p, const struct render_options *options, struct out *o)
{
	struct estimate ratio;
	bool without;

	if (!(p->cost_cpu_ns > 0)) {
		out_text(o, "not known");
		return;
	}
	if (!p->cost_ratio.known) {
		out_printf(o, "%s of CPU time; the program's own is not known", number_ns(p->cost_cpu_ns, options->utf8).text);
		return;
	}
	ratio = cost_bounded_ratio(p, &without);
	out_printf(o, "%s of CPU", number_ratio(&ratio, options->utf8).text);
	if (without)
		out_printf(o, " (%s without what was measured once)", options->utf8 ? "\302\261" : "+-");
}

static void cost_shares(const struct profile *p, struct out *o)
{
	const char *before = ": ";
	double rest = 0;
	uint32_t i;

	for (i = 0; i < p->ncosts; i++) {
		const struct cost_line *line = &p->costs[i];

		if (cost_is_small(p, line, SHARE_OF_REST)) {
			rest += line->cpu_ns;
			continue;
		}
		if (line->unit_ns.known)
			out_printf(o, "%s%ss %s", before, line->what, number_percent(line->cpu_ns / (double)p->cpu_ns).text);
		else
			out_printf(o, "%s%s x %s not timed", before, line->what, number_count(line->times).text);
		before = ", ";
	}
	if (rest > 0)
		out_printf(o, "%srest %s", before, number_percent(rest / (double)p->cpu_ns).text);
}

static void ledger_line(const struct profile *p, const struct cost_line *line, const struct render_options *options,
			struct out *o)
{
	bool known = line->unit_ns.known;

	text_left(o, line->what, 20);
	text_right(o, known ? number_ns_estimate(&line->unit_ns, options->utf8).text : "not known", 18);
	out_text(o, "  x ");
	text_right(o, number_count(line->times).text, 13);
	text_right(o, known ? number_ns(line->cpu_ns, options->utf8).text : "-", 10);
	if (p->cpu_ns)
		text_right(o, known ? number_percent(line->cpu_ns / (double)p->cpu_ns).text : "-", 11);
	out_printf(o, "   %s\n", line->how ? line->how : "");
}

void text_ledger(const struct profile *p, const struct render_options *options, struct out *o)
{
	uint32_t i;

	out_printf(o, "%-20s%18s    %13s%10s", "what", "one takes", "times", "sum");
	if (p->cpu_ns)
		out_printf(o, "%11s", "of CPU");
	out_text(o, "   how it is known\n");
	for (i = 0; i < p->ncosts; i++)
		ledger_line(p, &p->costs[i], options, o);
	for (i = 0; i < p->nnot_measured; i++)
		out_printf(o, "not measured: %s\n", p->not_measured[i]);
	if (p->file_bytes)
		out_printf(o, "recording: %s\n", number_bytes(p->file_bytes).text);
}

void text_cost(const struct profile *p, const struct render_options *options, struct out *o)
{
	bool joined = p->cpu && p->heap;

	out_text(o, "cost: ");	/* no colour before it: the line is looked for by its beginning */
	if (p->ncosts) {
		if (!joined)
			cost_items(p, options, o);
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
