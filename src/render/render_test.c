/* render_test - text and JSON of made-up sessions */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <jansson.h>

#include "analyse/profile_testing.h"
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
		cmocka_unit_test(control_characters_of_names_do_not_reach_a_terminal),
		cmocka_unit_test(the_limit_bounds_the_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
