/*
 * text_cpu - where the CPU time went
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/util.h"
#include "render/name.h"
#include "render/number.h"
#include "render/text.h"

enum { STACK_ROWS = 3, STACK_FRAMES = 8, PLACE_MOST = 28 };

/** struct widths - of the columns whose width depends on what is in them */
struct widths { int name, place; };

static struct widths table_widths(const struct cpu_profile *c, uint32_t rows)
{
	struct widths widths = { 12, 5 };
	const struct function *fn;
	char place[256];
	uint32_t i;

	for (i = 0; i < rows; i++) {
		fn = c->functions[i].function;
		widths.name = MAX(widths.name, name_width(fn->name, TEXT_NAME_MOST));
		name_place(place, sizeof(place), fn->file, fn->line, fn->module);
		widths.place = MAX(widths.place, name_width(place, PLACE_MOST));
	}
	return widths;
}

static void cpu_function(const struct cpu_profile *c, const struct cpu_function *f, struct widths widths,
			 const struct render_options *options, struct out *o)
{
	char place[256];
	const struct function *fn = f->function;

	name_place(place, sizeof(place), fn->file, fn->line, fn->module);
	text_name(o, fn->name, widths.name);
	text_right(o, number_ratio(&f->self_ratio, options->utf8).text, 17);
	text_right(o, number_ns((double)f->self * (double)c->period_ns, options->utf8).text, 10);
	text_right(o, number_percent_of(f->total, c->samples).text, 10);
	out_text(o, "   ");
	name_out(o, place, PLACE_MOST);
	if (f->hottest && name_caller(f->hottest))
		out_spaces(o, widths.place - name_width(place, PLACE_MOST));
	text_caller(o, f->hottest);
	out_end_line(o);
}

static void cpu_functions(const struct profile *p, const struct render_options *options, struct out *o)
{
	const struct cpu_profile *c = p->cpu;
	uint32_t rows = MIN(c->nfunctions, text_limit(options)), i, more = 0;
	struct widths widths;
	uint64_t rest = 0;

	while (rows && !c->functions[rows - 1].self)
		rows--;
	if (!rows)
		return;
	widths = table_widths(c, rows);
	text_style(o, options, TEXT_DIM);
	text_left(o, "function", widths.name);
	text_right(o, "itself", 17);
	text_right(o, "time", 10);
	text_right(o, "with all", 10);
	out_text(o, "   ");
	text_left(o, "where", widths.place);
	out_text(o, "  called mostly by");
	text_style(o, options, TEXT_PLAIN);
	out_char(o, '\n');
	for (i = 0; i < rows; i++)
		cpu_function(c, &c->functions[i], widths, options, o);
	for (i = rows; i < c->nfunctions; i++) {
		rest += c->functions[i].self;
		more += c->functions[i].self != 0;
	}
	if (more)
		out_printf(o, "%s: %s\n", number_things(more, "more function").text,
			   number_percent_of(rest, c->samples).text);
}

/** struct stack_sum - a stack over all threads */
struct stack_sum {
	const struct tree_node *leaf;
	uint64_t samples;
};

static int by_leaf(const void *a, const void *b)
{
	const struct stack_sum *x = a, *y = b;

	return x->leaf->id < y->leaf->id ? -1 : x->leaf->id > y->leaf->id;
}

static int by_samples(const void *a, const void *b)
{
	const struct stack_sum *x = a, *y = b;

	if (x->samples != y->samples)
		return x->samples > y->samples ? -1 : 1;
	return by_leaf(a, b);
}

/* Stacks of one frame ([kernel], [lost]) are left out: the table of functions says all of them. Owns: malloc'ed. */
static struct stack_sum *stack_sums(const struct cpu_profile *c, uint32_t *ret_n)
{
	struct stack_sum *sums = calloc((size_t)c->nstacks + 1, sizeof(*sums));
	uint32_t i, n = 0, all = 0;

	*ret_n = 0;
	if (!sums)
		return NULL;
	for (i = 0; i < c->nstacks; i++)
		if (c->stacks[i].leaf->depth > 1)
			sums[all++] = (struct stack_sum){ c->stacks[i].leaf, c->stacks[i].samples };
	qsort(sums, all, sizeof(*sums), by_leaf);
	for (i = 0; i < all; i++) {
		if (n && sums[n - 1].leaf == sums[i].leaf)
			sums[n - 1].samples += sums[i].samples;
		else
			sums[n++] = sums[i];
	}
	qsort(sums, n, sizeof(*sums), by_samples);
	*ret_n = n;
	return sums;
}

static void cpu_stack_line(const struct cpu_profile *c, const struct stack_sum *stack, struct out *o)
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
	CLEANUP_FREE struct stack_sum *sums = NULL;
	uint32_t i, n;

	sums = stack_sums(p->cpu, &n);
	n = MIN(MIN(n, text_limit(options)), (uint32_t)STACK_ROWS);
	if (n)
		out_text(o, "hottest stacks:\n");
	for (i = 0; i < n; i++)
		cpu_stack_line(p->cpu, &sums[i], o);
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
		out_end_line(o);
	}
	if (rows < c->nthreads)
		out_printf(o, "  %s\n", number_things(c->nthreads - rows, "more thread").text);
}

static void cpu_totals(const struct profile *p, const struct render_options *options, struct out *o)
{
	const struct cpu_profile *c = p->cpu;
	uint64_t ns = p->cpu_ns ? p->cpu_ns : c->samples * c->period_ns;

	out_printf(o, "%s of %s CPU", number_things(c->samples, "sample").text, number_ns((double)ns, options->utf8).text);
	if (!p->heap)
		text_losses(p, "; ", "", o);
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
		if (!p->heap)
			text_losses(p, "; ", "", o);
		out_char(o, '\n');
		return;
	}
	cpu_functions(p, options, o);
	cpu_stacks(p, options, o);
	if (options->threads)
		cpu_threads(p, options, o);
	cpu_totals(p, options, o);
}
