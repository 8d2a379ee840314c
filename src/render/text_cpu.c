/*
 * text_cpu - where the CPU time went
 */
#include <stdio.h>

#include "base/util.h"
#include "render/name.h"
#include "render/number.h"
#include "render/text.h"

enum { STACK_ROWS = 3, STACK_FRAMES = 8, PLACE_MOST = 28 };

static int names_width(const struct cpu_profile *c, uint32_t rows)
{
	int width = 12, w;
	uint32_t i;

	for (i = 0; i < rows; i++) {
		w = name_width(c->functions[i].function->name, TEXT_NAME_MOST);
		width = MAX(width, w);
	}
	return width;
}

static void cpu_function(const struct cpu_profile *c, const struct cpu_function *f, int width,
			 const struct render_options *options, struct out *o)
{
	char place[256];
	const struct function *fn = f->function;

	name_place(place, sizeof(place), fn->file, fn->line, fn->module);
	text_name(o, fn->name, width);
	text_right(o, number_ratio(&f->self_ratio, options->utf8).text, 17);
	text_right(o, number_ns((double)f->self * (double)c->period_ns, options->utf8).text, 10);
	text_right(o, number_percent_of(f->total, c->samples).text, 10);
	out_text(o, "   ");
	name_out(o, place, PLACE_MOST);
	if (f->hottest && name_caller(f->hottest))
		out_spaces(o, 14 - name_width(place, PLACE_MOST));
	text_caller(o, f->hottest);
	out_char(o, '\n');
}

static void cpu_functions(const struct profile *p, const struct render_options *options, struct out *o)
{
	const struct cpu_profile *c = p->cpu;
	uint32_t rows = MIN(c->nfunctions, text_limit(options)), i, more = 0;
	uint64_t rest = 0;
	int width;

	while (rows && !c->functions[rows - 1].self)
		rows--;
	if (!rows)
		return;
	width = names_width(c, rows);
	text_style(o, options, TEXT_DIM);
	text_left(o, "function", width);
	text_right(o, "itself", 17);
	text_right(o, "time", 10);
	text_right(o, "with all", 10);
	out_text(o, "   where           called mostly by");
	text_style(o, options, TEXT_PLAIN);
	out_char(o, '\n');
	for (i = 0; i < rows; i++)
		cpu_function(c, &c->functions[i], width, options, o);
	for (i = rows; i < c->nfunctions; i++) {
		rest += c->functions[i].self;
		more += c->functions[i].self != 0;
	}
	if (more)
		out_printf(o, "%s more function%s: %s\n", number_count(more).text, more == 1 ? "" : "s",
			   number_percent_of(rest, c->samples).text);
}

static void cpu_stack_line(const struct cpu_profile *c, const struct cpu_stack *stack, struct out *o)
{
	const struct tree_node *node = stack->leaf;
	int n = 0;

	text_right(o, number_percent_of(stack->samples, c->samples).text, 8);
	out_text(o, "  ");
	for (; node && node->frame && n < STACK_FRAMES; node = node->parent, n++) {
		out_text(o, n ? " <- " : "");
		name_out(o, node->frame->name, TEXT_NAME_MOST);
	}
	if (node && node->frame)
		out_printf(o, " <- ... %u more", node->depth);
	out_char(o, '\n');
}

static void cpu_stacks(const struct profile *p, const struct render_options *options, struct out *o)
{
	const struct cpu_profile *c = p->cpu;
	uint32_t i, rows = MIN(MIN(c->nstacks, text_limit(options)), (uint32_t)STACK_ROWS);

	if (!rows)
		return;
	out_text(o, "hottest stacks:\n");
	for (i = 0; i < rows; i++)
		cpu_stack_line(c, &c->stacks[i], o);
}

static void cpu_threads(const struct profile *p, const struct render_options *options, struct out *o)
{
	const struct cpu_profile *c = p->cpu;
	uint32_t i, rows = MIN(c->nthreads, text_limit(options));
	char id[32];

	out_text(o, "threads:\n");
	for (i = 0; i < rows; i++) {
		snprintf(id, sizeof(id), "%u", c->threads[i].tid);
		text_right(o, number_percent_of(c->threads[i].samples, c->samples).text, 8);
		text_right(o, number_ns((double)c->threads[i].samples * (double)c->period_ns, options->utf8).text, 10);
		text_right(o, id, 9);
		out_text(o, "  ");
		name_out(o, c->threads[i].name, TEXT_NAME_MOST);
		out_char(o, '\n');
	}
	if (rows < c->nthreads)
		out_printf(o, "  %s more threads\n", number_count(c->nthreads - rows).text);
}

/* Losses of samples alone: where heap events were recorded too, the note tells both. */
static void cpu_totals(const struct profile *p, const struct render_options *options, struct out *o)
{
	const struct cpu_profile *c = p->cpu;
	uint64_t ns = p->cpu_ns ? p->cpu_ns : c->samples * c->period_ns;

	out_printf(o, "%s samples of %s CPU", number_count(c->samples).text, number_ns((double)ns, options->utf8).text);
	if (p->lost_events && !p->heap)
		out_printf(o, "; %s lost (%s)", number_count(p->lost_events).text,
			   number_percent_of(p->lost_events, p->lost_events + c->samples).text);
	if (p->broken_stacks && c->samples && !p->heap)
		out_printf(o, "; %s of stacks broken", number_percent_of(p->broken_stacks, c->samples).text);
	out_char(o, '\n');
	if (c->kernel_samples)
		out_printf(o, "%s of them (%s) passed in the kernel\n", number_count(c->kernel_samples).text,
			   number_percent_of(c->kernel_samples, c->samples).text);
}

void text_cpu(const struct profile *p, const struct render_options *options, struct out *o)
{
	if (!p->cpu->samples) {
		out_text(o, "no CPU samples: the program used less CPU time than one period");
		if (p->cpu->period_ns)
			out_printf(o, " (%s)", number_ns((double)p->cpu->period_ns, options->utf8).text);
		out_char(o, '\n');
		return;
	}
	cpu_functions(p, options, o);
	cpu_stacks(p, options, o);
	if (options->threads)
		cpu_threads(p, options, o);
	cpu_totals(p, options, o);
}
