/*
 * text_heap - who allocated, what the peak was made of, what was never freed
 */
#include "base/util.h"
#include "render/heap_rows.h"
#include "render/name.h"
#include "render/number.h"
#include "render/text.h"

enum { SPARK_WIDTH = 60, PLACE_MOST = 28 };

static void heap_headline(const struct profile *p, const struct render_options *options, struct out *o)
{
	const struct heap_profile *h = p->heap;

	text_style(o, options, TEXT_BOLD);
	out_printf(o, "peak %s", number_bytes(h->peak_bytes).text);
	if (h->peak_bytes)
		out_printf(o, " at %s", number_ns((double)h->peak_at_ns, options->utf8).text);
	if (h->peak_uncertain_bytes)
		out_printf(o, " (%s %s: threads overlap)", options->utf8 ? "\302\261" : "+-",
			   number_bytes(h->peak_uncertain_bytes).text);
	out_printf(o, "    never freed %s    %s call%s, ", number_bytes(h->sums.never_freed_bytes).text,
		   number_short(h->sums.calls).text, h->sums.calls == 1 ? "" : "s");
	if (h->sums.calls)
		out_printf(o, "%s temporary", number_percent_of(h->sums.temporary, h->sums.calls).text);
	else
		out_text(o, "none recorded");
	text_style(o, options, TEXT_PLAIN);
	out_char(o, '\n');
	if (h->sample_bytes)
		out_printf(o, "sampled: one call in about %s; counts and bytes are estimates\n",
			   number_bytes(h->sample_bytes).text);
}

static void heap_spark(const struct profile *p, const struct render_options *options, struct out *o)
{
	static const char *const bars[] = { " ", "\342\226\201", "\342\226\202", "\342\226\203", "\342\226\204", "\342\226\205",
					    "\342\226\206", "\342\226\207", "\342\226\210" };
	const struct heap_profile *h = p->heap;
	uint64_t top = 0, value;
	uint32_t i, k, width;

	for (i = 0; i < h->npoints; i++)
		top = MAX(top, h->points[i].live_bytes);
	if (!options->utf8 || !top)
		return;
	width = MIN(h->npoints, (uint32_t)SPARK_WIDTH);
	for (i = 0; i < width; i++) {
		value = 0;
		for (k = (uint32_t)((uint64_t)h->npoints * i / width); k < (uint64_t)h->npoints * (i + 1) / width; k++)
			value = MAX(value, h->points[k].live_bytes);
		out_text(o, bars[value ? 1 + (uint32_t)((double)value / (double)top * 7.0) : 0]);
	}
	out_printf(o, "  live bytes over %s\n", number_ns((double)p->wall_ns, true).text);
}

static const char *heap_title(enum heap_column column)
{
	switch (column) {
	case HEAP_NEVER_FREED:
		return "never freed:  (need not be a leak)";
	case HEAP_PEAK:
		return "alive at the peak:";
	case HEAP_CALLS:
		return "most calls:";
	case HEAP_TEMPORARY:
		return "temporary:  (freed before the thread's next allocation)";
	}
	return "";
}

static void heap_row_figures(const struct heap_row *row, enum heap_column column, struct out *o)
{
	uint64_t calls = row->sums.calls;

	switch (column) {
	case HEAP_NEVER_FREED:
		text_right(o, number_bytes(row->sums.never_freed_bytes).text, 9);
		calls = row->sums.never_freed_calls;
		break;
	case HEAP_PEAK:
		text_right(o, number_bytes(row->sums.peak_bytes).text, 9);
		break;
	case HEAP_CALLS:
		text_right(o, number_bytes(row->sums.bytes).text, 9);
		break;
	case HEAP_TEMPORARY:
		text_right(o, number_percent_of(row->sums.temporary, row->sums.calls).text, 9);
		calls = row->sums.temporary;
		break;
	}
	text_right(o, number_count(calls).text, 12);
	out_text(o, calls == 1 ? " call   " : " calls  ");
}

static void heap_row(const struct heap_row *row, enum heap_column column, int width, int place_width, struct out *o)
{
	const struct frame *frame = row->site->frame;
	char place[256];

	heap_row_figures(row, column, o);
	text_name(o, frame->name, width);
	out_text(o, "  ");
	name_place(place, sizeof(place), frame->file, frame->line, frame->module);
	name_out(o, place, PLACE_MOST);
	if (name_caller(row->site))
		out_spaces(o, place_width - name_width(place, PLACE_MOST));
	text_caller(o, row->site);
	out_end_line(o);
}

static void heap_table(const struct profile *p, enum heap_column column, uint32_t limit, struct out *o)
{
	CLEANUP_FREE struct heap_row *rows = NULL;
	int width = 0, place_width = 0;
	const struct frame *frame;
	char place[256];
	uint32_t n, i;

	rows = heap_rows(p->heap, column, &n);
	if (!n)
		return;
	for (i = 0; i < MIN(n, limit); i++) {
		frame = rows[i].site->frame;
		width = MAX(width, name_width(frame->name, TEXT_NAME_MOST));
		name_place(place, sizeof(place), frame->file, frame->line, frame->module);
		place_width = MAX(place_width, name_width(place, PLACE_MOST));
	}
	out_printf(o, "%s\n", heap_title(column));
	for (i = 0; i < MIN(n, limit); i++)
		heap_row(&rows[i], column, width, place_width, o);
	if (n > limit)
		out_printf(o, "  %s\n", number_things(n - limit, "more place").text);
}

static void heap_ages(const struct profile *p, const struct render_options *options, struct out *o)
{
	static const char *const names[] = { "", "< 1 ms", "< 10 ms", "< 100 ms", "< 1 s", "< 10 s", "< 100 s", "longer" };
	const struct heap_profile *h = p->heap;
	uint64_t known = 0;
	uint32_t i;
	bool first = true;

	for (i = 1; i < ARRAY_SIZE(h->ages); i++)
		known += h->ages[i];
	if (!known)
		return;
	out_text(o, "freed blocks lived:");
	for (i = 1; i < ARRAY_SIZE(h->ages); i++) {
		if (!h->ages[i])
			continue;
		out_printf(o, "%s %s %s", first ? "" : ",", names[i], number_percent_of(h->ages[i], known).text);
		first = false;
	}
	out_char(o, '\n');
}

static void heap_totals(const struct profile *p, struct out *o)
{
	const struct heap_profile *h = p->heap;

	out_printf(o, "%s, %s, %s", number_things(h->sums.calls, "call").text, number_things(h->sums.frees, "free").text,
		   number_things(h->sums.bytes, "byte").text);
	if (h->failed)
		out_printf(o, "; %s failed", number_things(h->failed, "call").text);
	if (h->inherited_frees)
		out_printf(o, "; %s of blocks inherited by fork", number_things(h->inherited_frees, "free").text);
	if (h->unknown_frees)
		out_printf(o, "; %s of blocks from before", number_things(h->unknown_frees, "free").text);
	if (!p->cpu)
		text_losses(p, "; ", "", o);
	out_char(o, '\n');
}

void text_heap(const struct profile *p, const struct render_options *options, struct out *o)
{
	uint32_t limit = text_limit(options);

	heap_headline(p, options, o);
	heap_spark(p, options, o);
	heap_table(p, HEAP_NEVER_FREED, limit, o);
	if (!options->leaks_only) {
		heap_table(p, HEAP_PEAK, limit, o);
		heap_table(p, HEAP_CALLS, limit, o);
		heap_table(p, HEAP_TEMPORARY, MIN(limit, 3u), o);
		heap_ages(p, options, o);
	}
	heap_totals(p, o);
}
