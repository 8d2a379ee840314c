/* render_test - text and JSON of made-up sessions */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>
#include <math.h>

#include "analyse/profile_testing.h"
#include "render/name.h"
#include "render/render.h"

static const struct render_options plain = { .command = "report", .stacks = true, .threads = true };

/* 3 calls of 100 bytes by leaky_fn through operator new, never freed; 1 temporary call of parse_headers; 5 samples. */
static struct profile *small_profile(void)
{
	static struct session_maker m;
	struct err err = { 0 };
	struct profile *p;
	uint32_t top, leaky, new, parse;

	make_begin(&m, INSTRUMENT_HEAP | INSTRUMENT_CPU);
	top = make_node(&m, 0, NODE_ROOT, FN_MAIN);
	leaky = make_node(&m, 0, top, FN_LEAKY);
	new = make_node(&m, 0, leaky, FN_NEW);
	parse = make_node(&m, 0, top, FN_PARSE);
	MAKE_HEAP(&m, 0, 0, STAMP(2000), ALLOC(new, 100), ALLOC(parse, 50), FREE(parse, 50, 1 | 1 << 1), ALLOC(new, 100),
		  ALLOC(new, 100));
	MAKE_CPU(&m, 0, 0, THREAD(100), SAMPLE(parse, 0), SAMPLE(parse, 0), SAMPLE(top, 2));
	make(&m, (struct record){ REC_COUNTERS, .counters = { .process = 0, .calls = 4, .frees = 1, .bytes = 350, .cost = {
				  [COST_ALLOC_WALK] = { 4, 4, 41, 450 }, [COST_ALLOC_WRITE] = { 4, 4, 23, 150 },
				  [COST_FREE] = { 1, 1, 7, 49 } } } });
	make_end(&m);
	p = make_profile(&m, &err);
	if (!p)
		fail_msg("%s", err.text);
	return p;
}

static char *text_of(const struct profile *p, struct render_options options)
{
	struct out out = { 0 };

	assert_int_equal(render_text(p, &options, &out), 0);
	return out.data;	/* freed by the caller */
}

static json_t *json_of(const struct profile *p, struct render_options options)
{
	struct out out = { 0 };
	json_t *o;

	assert_int_equal(render_json(p, &options, &out), 0);
	assert_ptr_equal(strchr(out.data, '\n'), out.data + out.len - 1);	/* one line */
	o = json_loads(out.data, 0, NULL);
	assert_non_null(o);
	out_fini(&out);
	return o;
}

static json_int_t sum_of(const json_t *array, const char *key)
{
	json_int_t sum = 0;

	for (size_t i = 0; i < json_array_size(array); i++)
		sum += json_integer_value(json_object_get(json_array_get(array, i), key));
	return sum;
}

static json_int_t number(const json_t *o, const char *key)
{
	assert_true(json_is_integer(json_object_get(o, key)));
	return json_integer_value(json_object_get(o, key));
}

static void assert_heap_columns(const json_t *h)
{
	const json_t *sites = json_object_get(h, "sites");

	assert_int_equal(sum_of(sites, "calls"), number(h, "calls"));
	assert_int_equal(sum_of(sites, "bytes"), number(h, "bytes_allocated"));
	assert_int_equal(sum_of(sites, "peak_bytes"), number(h, "peak_bytes"));
	assert_int_equal(sum_of(sites, "temporary"), number(h, "temporary"));
	assert_int_equal(sum_of(sites, "never_freed_bytes"), number(json_object_get(h, "never_freed"), "bytes"));
	assert_int_equal(sum_of(sites, "never_freed_calls"), number(json_object_get(h, "never_freed"), "calls"));
}

static void heap_json_has_columns_that_sum(void **state)
{
	struct profile *p = small_profile();
	json_t *o = json_of(p, (struct render_options){ .command = "heap" });

	assert_string_equal(json_string_value(json_object_get(o, "schema")), "tare.heap/1");
	assert_int_equal(number(o, "calls"), 4);
	assert_int_equal(number(json_object_get(o, "never_freed"), "bytes"), 300);
	assert_true(json_is_null(json_object_get(o, "sample_bytes")));
	assert_heap_columns(o);
	json_decref(o);
	profile_free(p);
}

static void cpu_json_has_samples_that_sum(void **state)
{
	struct profile *p = small_profile();
	json_t *o = json_of(p, (struct render_options){ .command = "cpu", .stacks = true });

	assert_int_equal(number(o, "samples"), 5);
	assert_int_equal(sum_of(json_object_get(o, "functions"), "self"), 5);
	assert_int_equal(sum_of(json_object_get(o, "threads"), "samples"), 5);
	assert_int_equal(sum_of(json_object_get(o, "stacks"), "samples"), 5);
	json_decref(o);
	o = json_of(p, (struct render_options){ .command = "cpu" });
	assert_true(json_is_null(json_object_get(o, "stacks")));
	json_decref(o);
	profile_free(p);
}

static void a_stack_in_json_is_innermost_first(void **state)
{
	struct profile *p = small_profile();
	json_t *o = json_of(p, (struct render_options){ .command = "heap" });
	const json_t *stack = json_object_get(json_array_get(json_object_get(o, "sites"), 0), "stack");

	assert_int_equal(json_array_size(stack), 3);
	assert_string_equal(json_string_value(json_object_get(json_array_get(stack, 0), "name")), "operator new(unsigned long)");
	assert_string_equal(json_string_value(json_object_get(json_array_get(stack, 2), "name")), "main");
	json_decref(o);
	profile_free(p);
}

static void the_cost_in_json_is_the_sum_of_its_items(void **state)
{
	struct profile *p = small_profile();
	json_t *o = json_of(p, plain);
	const json_t *cost = json_object_get(o, "cost"), *items = json_object_get(cost, "items");

	assert_int_equal(json_array_size(items), 3);
	assert_int_equal(sum_of(items, "cpu_ns"), number(cost, "cpu_ns"));
	assert_true(number(cost, "cpu_ns") > 0);
	json_decref(o);
	profile_free(p);
}

static void every_document_has_the_common_keys(void **state)
{
	static const char *const keys[] = { "schema", "tare_version", "run", "machine", "notes", "loss", "cost" };
	static const char *const commands[] = { "cpu", "heap", "record", "report", "cost" };
	struct profile *p = small_profile();

	for (size_t c = 0; c < ARRAY_SIZE(commands); c++) {
		json_t *o = json_of(p, (struct render_options){ .command = commands[c] });

		for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
			assert_non_null(json_object_get(o, keys[i]));
		json_decref(o);
	}
	profile_free(p);
}

static void a_report_has_findings_in_sentences(void **state)
{
	struct profile *p = small_profile();
	json_t *o = json_of(p, plain);
	const json_t *findings = json_object_get(o, "findings");
	bool leak = false;

	for (size_t i = 0; i < json_array_size(findings); i++)
		leak |= strstr(json_string_value(json_object_get(json_array_get(findings, i), "text")),
			       "300 B never freed (3 calls), 100 % of it from leaky_fn") != NULL;
	assert_true(leak);
	assert_true(json_is_null(json_object_get(o, "lat")));
	assert_heap_columns(json_object_get(o, "heap"));
	json_decref(o);
	profile_free(p);
}

static void names_that_are_not_utf8_stay_json(void **state)
{
	static const char *const argv[] = { "./\xff\xc3\xa9\xe2\x28", NULL };
	struct profile *p = small_profile();
	json_t *o;

	p->argv = argv;
	o = json_of(p, plain);
	assert_string_equal(json_string_value(json_array_get(json_object_get(json_object_get(o, "run"), "argv"), 0)),
			    "./\357\277\275\303\251\357\277\275(");
	json_decref(o);
	profile_free(p);
}

static void the_last_line_of_a_text_is_its_cost(void **state)
{
	static const char *const commands[] = { "cpu", "heap", "record", "report", "cost" };
	struct profile *p = small_profile();
	char *text, *last;

	for (size_t i = 0; i < ARRAY_SIZE(commands); i++) {
		text = text_of(p, (struct render_options){ .command = commands[i] });
		assert_int_equal(text[strlen(text) - 1], '\n');
		text[strlen(text) - 1] = '\0';
		last = strrchr(text, '\n');
		assert_non_null(last);
		assert_int_equal(strncmp(last + 1, "cost: ", 6), 0);
		free(text);
	}
	profile_free(p);
}

static void a_plain_text_is_ascii(void **state)
{
	struct profile *p = small_profile();
	char *text = text_of(p, plain);

	for (char *c = text; *c; c++)
		assert_true(*c == '\n' || ((unsigned char)*c >= 0x20 && (unsigned char)*c < 0x7f));
	free(text);
	profile_free(p);
}

static void a_site_is_the_caller_of_operator_new(void **state)
{
	struct profile *p = small_profile();
	char *text = text_of(p, (struct render_options){ .command = "heap" });

	assert_null(strstr(text, "operator new"));
	assert_non_null(strstr(text, "leaky_fn"));
	assert_non_null(strstr(text, "  <- main"));
	free(text);
	profile_free(p);
}

static void the_loaders_own_malloc_is_an_allocator(void **state)
{
	static const char *const names[] = { "malloc", "calloc", "realloc", "__rtld_malloc", "strdup" };	/* rtld-malloc.h */

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_true(name_is_allocator(names[i]));
	assert_false(name_is_allocator("allocate_dtv"));
	assert_false(name_is_allocator("malloc_stats"));
}

static void control_characters_of_names_do_not_reach_a_terminal(void **state)
{
	struct profile *p = small_profile();
	struct profile_note note = { "loss", "\033[31mred", NULL };
	char *text;

	p->notes = &note;
	p->nnotes = 1;
	text = text_of(p, plain);
	assert_null(strchr(text, '\033'));
	free(text);
	profile_free(p);
}

static void the_limit_bounds_the_rows(void **state)
{
	struct profile *p = small_profile();
	char *text = text_of(p, (struct render_options){ .command = "cpu", .limit = 1 });

	assert_non_null(strstr(text, "more function"));
	free(text);
	profile_free(p);
}

static const struct cost_line half_a_second = {
	"malloc record", { 1000, 900, 1100, 900, true }, 600, 400, 500000, 5e8, "timed"
};

/* The cost line of a heap profile of a second with the work @lines. */
static char *cost_of(struct cost_line *lines, uint32_t n)
{
	struct profile *p = small_profile();
	struct cpu_profile *cpu = p->cpu;
	struct estimate sum = { 0, 0, 0, 1, true };
	char *text, *line;

	p->cpu = NULL;
	p->cpu_ns = 1000000000;
	p->costs = lines;
	p->ncosts = n;
	p->cost_cpu_ns = 0;
	for (uint32_t i = 0; i < n; i++) {
		p->cost_cpu_ns += lines[i].cpu_ns;
		if (lines[i].unit_ns.known)
			sum = estimate_add(sum, estimate_scale(lines[i].unit_ns, (double)lines[i].times / 1e9));
	}
	p->cost_ratio = sum;
	text = text_of(p, (struct render_options){ .command = "heap" });
	line = strdup(strstr(text, "\ncost: ") + 1);
	assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
	free(text);
	p->cpu = cpu;
	profile_free(p);
	return line;
}

static void small_kinds_of_work_are_one_figure(void **state)
{
	struct cost_line lines[] = { { "agent start", { 2e6, 2e6, 2e6, 1, true }, 0, 0, 1, 2e6, "timed" }, half_a_second,
				     { "free record", { 100, 90, 110, 9, true }, 0, 0, 10000, 1e6, "timed" } };
	char *line = cost_of(lines, 3);

	assert_non_null(strstr(line, "cost: 1.00 us +- 0.10 per call (stack 600 ns, write 400 ns) x 500 000, "
			       "rest 3.00 ms = 50.3 % +- 5.0 of CPU;"));
	free(line);
}

static void work_that_was_never_timed_is_said_to_be_so(void **state)
{
	struct cost_line lines[] = { half_a_second, { "free record", { 0 }, 0, 0, 8, 0, "not timed in this run" } };
	char *line = cost_of(lines, 2);

	assert_non_null(strstr(line, " x 500 000, free x 8 not timed = 50.0 % +- 5.0 of CPU;"));
	free(line);
	line = cost_of(lines + 1, 1);
	assert_non_null(strstr(line, "cost: free x 8 not timed = not known;"));
	free(line);
}

static void a_small_part_without_bound_leaves_the_interval_of_the_rest(void **state)
{
	struct cost_line lines[] = { half_a_second, { "free record", { 1e6, 0, INFINITY, 1, true }, 0, 0, 20, 2e7, "timed" } };
	char *line = cost_of(lines, 2);

	assert_non_null(strstr(line, "= 52.0 % +- 5.0 of CPU (+- without what was measured once);"));
	free(line);
	lines[1].times = 100;
	lines[1].cpu_ns = 1e8;
	line = cost_of(lines, 2);
	assert_non_null(strstr(line, "= 60.0 % (measured once) of CPU;"));
	free(line);
}

static void losses_are_in_the_text(void **state)
{
	struct profile *p = small_profile();
	char *text;

	p->lost_events = 7;
	p->broken_stacks = 1;
	p->truncated_stacks = 2;
	text = text_of(p, plain);
	assert_non_null(strstr(text, "\nlosses: 7 events lost, 1 stack broken ("));
	assert_non_null(strstr(text, "%), 2 stacks truncated ("));
	free(text);
	p->heap = NULL;
	text = text_of(p, (struct render_options){ .command = "cpu" });
	assert_non_null(strstr(text, " CPU; 7 samples lost, 1 stack broken ("));
	free(text);
	profile_free(p);
}

static void no_line_of_a_text_ends_in_a_blank(void **state)
{
	struct profile *p = small_profile();
	char *text = text_of(p, plain);

	assert_non_null(strstr(text, "[kernel]"));	/* has neither a place nor a caller */
	assert_null(strstr(text, " \n"));
	free(text);
	profile_free(p);
}

static void one_call_is_no_plural(void **state)
{
	struct profile *p = small_profile();
	char *text = text_of(p, plain);

	assert_non_null(strstr(text, " 1 call   parse_headers"));
	assert_null(strstr(text, " 1 calls"));
	assert_null(strstr(text, " 1 frees"));
	free(text);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heap_json_has_columns_that_sum),
		cmocka_unit_test(cpu_json_has_samples_that_sum),
		cmocka_unit_test(a_stack_in_json_is_innermost_first),
		cmocka_unit_test(the_cost_in_json_is_the_sum_of_its_items),
		cmocka_unit_test(every_document_has_the_common_keys),
		cmocka_unit_test(a_report_has_findings_in_sentences),
		cmocka_unit_test(names_that_are_not_utf8_stay_json),
		cmocka_unit_test(the_last_line_of_a_text_is_its_cost),
		cmocka_unit_test(a_plain_text_is_ascii),
		cmocka_unit_test(a_site_is_the_caller_of_operator_new),
		cmocka_unit_test(the_loaders_own_malloc_is_an_allocator),
		cmocka_unit_test(control_characters_of_names_do_not_reach_a_terminal),
		cmocka_unit_test(the_limit_bounds_the_rows),
		cmocka_unit_test(small_kinds_of_work_are_one_figure),
		cmocka_unit_test(work_that_was_never_timed_is_said_to_be_so),
		cmocka_unit_test(a_small_part_without_bound_leaves_the_interval_of_the_rest),
		cmocka_unit_test(losses_are_in_the_text),
		cmocka_unit_test(no_line_of_a_text_ends_in_a_blank),
		cmocka_unit_test(one_call_is_no_plural),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
