/* profile_test - exact answers of made-up sessions */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "analyse/profile_testing.h"

static struct profile *finish(struct session_maker *m)
{
	struct err err = { 0 };
	struct profile *p;

	make_end(m);
	p = make_profile(m, &err);
	if (!p)
		fail_msg("%s", err.text);
	return p;
}

static const struct heap_site *site_of(const struct profile *p, const char *leaf)
{
	for (uint32_t i = 0; i < p->heap->nsites; i++)
		if (!strcmp(p->heap->sites[i].leaf->frame->name, leaf))
			return &p->heap->sites[i];
	fail_msg("no site of %s", leaf);
	return NULL;
}

static const struct cpu_function *function_of(const struct profile *p, const char *name)
{
	for (uint32_t i = 0; i < p->cpu->nfunctions; i++)
		if (!strcmp(p->cpu->functions[i].function->name, name))
			return &p->cpu->functions[i];
	fail_msg("no function %s", name);
	return NULL;
}

static bool has_note(const struct profile *p, const char *code)
{
	for (uint32_t i = 0; i < p->nnotes; i++)
		if (!strcmp(p->notes[i].code, code))
			return true;
	return false;
}

static void assert_columns_sum(const struct profile *p)
{
	struct heap_sums sum = { 0 };

	for (uint32_t i = 0; i < p->heap->nsites; i++) {
		const struct heap_sums *s = &p->heap->sites[i].sums;

		sum.calls += s->calls;
		sum.bytes += s->bytes;
		sum.frees += s->frees;
		sum.peak_bytes += s->peak_bytes;
		sum.never_freed_bytes += s->never_freed_bytes;
		sum.never_freed_calls += s->never_freed_calls;
		sum.temporary += s->temporary;
	}
	assert_memory_equal(&sum, &p->heap->sums, sizeof(sum));
	assert_int_equal(sum.peak_bytes, p->heap->peak_bytes);
}

static void sums_of_one_thread_are_exact(void **state)
{
	struct session_maker m;
	struct profile *p;
	uint32_t top, leaky, parse;

	make_begin(&m, INSTRUMENT_HEAP);
	top = make_node(&m, 0, NODE_ROOT, FN_MAIN);
	leaky = make_node(&m, 0, top, FN_LEAKY);
	parse = make_node(&m, 0, top, FN_PARSE);
	MAKE_HEAP(&m, 0, 0, STAMP(2000), ALLOC(leaky, 100), ALLOC(parse, 50), FREE(parse, 50, 1 | 1 << 1), ALLOC(leaky, 100),
		  STAMP(3000), ALLOC(parse, 8), FREE(leaky, 100, 2 << 1));
	p = finish(&m);
	assert_int_equal(p->heap->sums.calls, 4);
	assert_int_equal(p->heap->sums.bytes, 258);
	assert_int_equal(p->heap->sums.frees, 2);
	assert_int_equal(p->heap->sums.temporary, 1);
	assert_int_equal(p->heap->sums.never_freed_bytes, 108);
	assert_int_equal(p->heap->sums.never_freed_calls, 2);
	assert_int_equal(p->heap->peak_bytes, 208);
	assert_int_equal(p->heap->peak_uncertain_bytes, 0);
	assert_int_equal(p->heap->ages[1], 1);
	assert_int_equal(p->heap->ages[2], 1);
	assert_int_equal(site_of(p, "leaky_fn")->sums.peak_bytes, 200);
	assert_int_equal(site_of(p, "parse_headers")->sums.peak_bytes, 8);
	assert_int_equal(site_of(p, "leaky_fn")->sums.never_freed_calls, 1);
	assert_columns_sum(p);
	profile_free(p);
}

static void the_peak_lies_between_two_time_stamps(void **state)
{
	struct session_maker m;
	struct profile *p;
	uint32_t node;

	make_begin(&m, INSTRUMENT_HEAP);
	node = make_node(&m, 0, NODE_ROOT, FN_MAIN);
	MAKE_HEAP(&m, 0, 0, STAMP(101000), ALLOC(node, 1000), FREE(node, 1000, 0), ALLOC(node, 10), STAMP(201000), ALLOC(node, 900));
	p = finish(&m);
	assert_int_equal(p->heap->peak_bytes, 1000);
	assert_in_range(p->heap->peak_at_ns, 200000, 400000);	/* ticks 101000 to 201000, 2 ns each, from tick 1000 */
	assert_columns_sum(p);
	profile_free(p);
}

static void a_wide_size_is_put_together(void **state)
{
	struct session_maker m;
	struct profile *p;
	uint32_t node;

	make_begin(&m, INSTRUMENT_HEAP);
	node = make_node(&m, 0, NODE_ROOT, FN_MAIN);
	MAKE_HEAP(&m, 0, 0, (uint64_t)EVENT_WIDE << 61 | 3, ALLOC(node, 5), ALLOC(node, 7));
	p = finish(&m);
	assert_int_equal(p->heap->sums.bytes, (3ull << 24) + 5 + 7);
	assert_int_equal(p->heap->peak_bytes, (3ull << 24) + 12);
	profile_free(p);
}

/*
 * Slot 0 holds 100 from tick 2000 to 5000; slot 1 holds 70 from 3000 to 4000 and 80 from 6000 on. The peak is 170 at 3000.
 */
static void the_peak_of_two_threads_is_their_overlap(void **state)
{
	struct session_maker m;
	struct profile *p;
	uint32_t a, b;

	make_begin(&m, INSTRUMENT_HEAP);
	a = make_node(&m, 0, NODE_ROOT, FN_PARSE);
	b = make_node(&m, 0, NODE_ROOT, FN_RENDER);
	/* slot 1 comes first in the file, all of it */
	MAKE_HEAP(&m, 0, 1, STAMP(3000), ALLOC(b, 70), STAMP(3001), STAMP(4000), FREE(b, 70, 0), STAMP(4001), STAMP(6000), ALLOC(b, 80),
		  STAMP(6001));
	MAKE_HEAP(&m, 0, 0, STAMP(2000), ALLOC(a, 100), STAMP(2001), STAMP(5000), FREE(a, 100, 0), STAMP(5001));
	p = finish(&m);
	assert_int_equal(p->heap->peak_bytes, 170);
	assert_int_equal(p->heap->peak_at_ns, 4000);
	assert_int_equal(p->heap->peak_uncertain_bytes, 0);
	assert_int_equal(site_of(p, "parse_headers")->sums.peak_bytes, 100);
	assert_int_equal(site_of(p, "render_page")->sums.peak_bytes, 70);
	assert_columns_sum(p);
	profile_free(p);
}

/* Both may be alive at once, or one after the other: 100 to 170 bytes. */
static void an_order_that_stamps_leave_open_is_bounded(void **state)
{
	struct session_maker m;
	struct profile *p;
	uint32_t a, b;

	make_begin(&m, INSTRUMENT_HEAP);
	a = make_node(&m, 0, NODE_ROOT, FN_PARSE);
	b = make_node(&m, 0, NODE_ROOT, FN_RENDER);
	MAKE_HEAP(&m, 0, 0, STAMP(2000), ALLOC(a, 100), FREE(a, 100, 0), STAMP(3000));
	MAKE_HEAP(&m, 0, 1, STAMP(2500), ALLOC(b, 70), FREE(b, 70, 0), STAMP(2600));
	p = finish(&m);
	assert_in_range(p->heap->peak_bytes, 100, 170);
	assert_in_range(p->heap->peak_bytes + p->heap->peak_uncertain_bytes, 170, 170);
	assert_columns_sum(p);
	profile_free(p);
}

static void a_block_may_be_freed_by_another_thread(void **state)
{
	struct session_maker m;
	struct profile *p;
	uint32_t a;

	make_begin(&m, INSTRUMENT_HEAP);
	a = make_node(&m, 0, NODE_ROOT, FN_PARSE);
	MAKE_HEAP(&m, 0, 0, STAMP(2000), ALLOC(a, 100), ALLOC(a, 100), STAMP(2001));
	MAKE_HEAP(&m, 0, 1, STAMP(3000), FREE(a, 100, 0), FREE(a, 100, 0), ALLOC(a, 20), STAMP(3001));
	p = finish(&m);
	assert_int_equal(p->heap->peak_bytes, 200);
	assert_int_equal(p->heap->sums.never_freed_bytes, 20);
	assert_columns_sum(p);
	profile_free(p);
}

static void a_process_that_ends_drops_what_it_held(void **state)
{
	struct session_maker m;
	struct profile *p;
	uint32_t a, b;

	make_begin(&m, INSTRUMENT_HEAP);
	a = make_node(&m, 0, NODE_ROOT, FN_MAIN);
	make_process(&m, 1, 101, 0, 2000);
	b = make_node(&m, 1, a, FN_LEAKY);
	MAKE_HEAP(&m, 0, 0, STAMP(1500), ALLOC(a, 10), STAMP(9000), ALLOC(a, 500));
	MAKE_HEAP(&m, 1, 0, STAMP(2100), ALLOC(b, 400), STAMP(2200));
	make(&m, (struct record){ REC_PROCESS_END, .process_end = { 1, 0, 0, 8000 } });
	p = finish(&m);
	assert_int_equal(p->heap->peak_bytes, 510);	/* not 910 */
	assert_int_equal(p->heap->sums.never_freed_bytes, 910);
	assert_int_equal(site_of(p, "leaky_fn")->sums.peak_bytes, 0);
	assert_string_equal(site_of(p, "leaky_fn")->leaf->parent->frame->name, "main");
	assert_int_equal(p->nprocesses, 2);
	assert_columns_sum(p);
	profile_free(p);
}

static void exec_drops_what_was_alive_before_it(void **state)
{
	struct session_maker m;
	struct profile *p;
	uint32_t a, b;

	make_begin(&m, INSTRUMENT_HEAP);
	a = make_node(&m, 0, NODE_ROOT, FN_MAIN);
	MAKE_HEAP(&m, 0, 0, STAMP(1500), ALLOC(a, 300));
	make_process(&m, 1, 100, -1, 4000);	/* the same pid */
	make_names(&m, 1);
	b = make_node(&m, 1, NODE_ROOT, FN_MAIN);
	MAKE_HEAP(&m, 1, 0, STAMP(5000), ALLOC(b, 200));
	p = finish(&m);
	assert_int_equal(p->heap->peak_bytes, 300);
	assert_int_equal(p->heap->sums.never_freed_bytes, 500);
	assert_int_equal(p->heap->nsites, 1);	/* main of both is one node of the tree */
	assert_columns_sum(p);
	profile_free(p);
}

static void processes_alive_at_once_add_up_in_the_peak(void **state)
{
	struct session_maker m;
	struct profile *p;
	uint32_t a, b;

	make_begin(&m, INSTRUMENT_HEAP);
	a = make_node(&m, 0, NODE_ROOT, FN_MAIN);
	make_process(&m, 1, 101, 0, 2000);
	b = make_node(&m, 1, NODE_ROOT, FN_PARSE);
	MAKE_HEAP(&m, 1, 0, STAMP(2100), ALLOC(b, 400), STAMP(2101), STAMP(2900), FREE(b, 400, 0), STAMP(2901));
	MAKE_HEAP(&m, 0, 0, STAMP(1500), ALLOC(a, 10), STAMP(1501), STAMP(2500), ALLOC(a, 5), STAMP(2501));
	p = finish(&m);
	assert_int_equal(p->heap->peak_bytes, 415);
	assert_columns_sum(p);
	profile_free(p);
}

static void a_recursive_function_counts_once_in_total(void **state)
{
	struct session_maker m;
	struct profile *p;
	uint32_t node, i;

	make_begin(&m, INSTRUMENT_HEAP | INSTRUMENT_CPU);
	node = make_node(&m, 0, NODE_ROOT, FN_MAIN);
	for (i = 0; i < 5; i++)
		node = make_node(&m, 0, node, FN_PARSE);
	MAKE_HEAP(&m, 0, 0, ALLOC(node, 100));
	MAKE_CPU(&m, 0, 0, THREAD(100), SAMPLE(node, 0), SAMPLE(node, 0));
	p = finish(&m);
	assert_int_equal(function_of(p, "parse_headers")->total, 2);
	assert_int_equal(function_of(p, "parse_headers")->self, 2);
	assert_int_equal(function_of(p, "main")->total, 2);
	assert_int_equal(function_of(p, "main")->self, 0);
	for (i = 0; i < p->heap->nfunctions; i++)
		assert_int_equal(p->heap->functions[i].total.bytes, 100);
	profile_free(p);
}

static void samples_are_counted_by_thread(void **state)
{
	struct session_maker m;
	struct profile *p;
	uint32_t a, b;

	make_begin(&m, INSTRUMENT_CPU);
	a = make_node(&m, 0, NODE_ROOT, FN_MAIN);
	b = make_node(&m, 0, a, FN_HASH);
	make(&m, (struct record){ REC_THREAD, .thread = { 0, 102, "worker" } });
	MAKE_CPU(&m, 0, 0, THREAD(100), SAMPLE(a, 0), SAMPLE(b, 0), THREAD(102), SAMPLE(b, 0));
	MAKE_CPU(&m, 0, 1, THREAD(102), SAMPLE(b, 0), event_word(EVENT_SAMPLE, 0, b, 100));
	MAKE_CPU(&m, 0, 1, 5000);	/* the second word of a sample in the next record */
	p = finish(&m);
	assert_int_equal(p->cpu->samples, 5);
	assert_int_equal(p->cpu->nthreads, 2);
	assert_string_equal(p->cpu->threads[0].name, "worker");
	assert_int_equal(p->cpu->threads[0].samples, 3);
	assert_string_equal(p->cpu->threads[1].name, "srv");
	assert_int_equal(function_of(p, "hash_mix")->self, 4);
	assert_int_equal(p->cpu->stacks[0].samples, 3);
	assert_int_equal(p->cpu->stacks[0].tid, 102);
	profile_free(p);
}

static void periods_in_the_kernel_are_samples_of_their_own_frame(void **state)
{
	struct session_maker m;
	struct profile *p;
	uint32_t a;

	make_begin(&m, INSTRUMENT_CPU);
	a = make_node(&m, 0, NODE_ROOT, FN_MAIN);
	MAKE_CPU(&m, 0, 0, THREAD(100), SAMPLE(a, 0), SAMPLE(a, 7));
	p = finish(&m);
	assert_int_equal(p->cpu->samples, 9);
	assert_int_equal(p->cpu->kernel_samples, 7);
	assert_int_equal(function_of(p, "[kernel]")->self, 7);
	assert_int_equal(function_of(p, "[kernel]")->hottest->depth, 1);
	assert_true(has_note(p, "sampled"));
	profile_free(p);
}

static void stacks_without_a_beginning_say_so(void **state)
{
	struct session_maker m;
	struct profile *p;
	uint32_t broken, truncated;

	make_begin(&m, INSTRUMENT_CPU);
	broken = make_node(&m, 0, NODE_BROKEN, FN_MAIN);
	truncated = make_node(&m, 0, NODE_TRUNCATED, FN_PARSE);
	MAKE_CPU(&m, 0, 0, THREAD(100), SAMPLE(broken, 0), SAMPLE(truncated, 0), SAMPLE(NODE_LOST, 0), SAMPLE(123456, 0));
	p = finish(&m);
	assert_string_equal(function_of(p, "main")->hottest->parent->frame->name, "[unknown]");
	assert_string_equal(function_of(p, "parse_headers")->hottest->parent->frame->name, "[truncated]");
	assert_int_equal(function_of(p, "[lost]")->self, 2);
	assert_int_equal(p->cpu->samples, 4);
	profile_free(p);
}

static uint32_t make_agent_node(struct session_maker *m, uint32_t parent)
{
	struct node node = { 0x900100, parent, 0 };

	make(m, (struct record){ REC_NODES, .nodes = { 0, m->next_node[0], 1, &node } });
	return m->next_node[0]++;
}

static void code_of_the_agent_is_named_only_where_it_is_the_leaf(void **state)
{
	struct session_maker m;
	struct profile *p;
	uint32_t top, hook, inner, below;

	make_begin(&m, INSTRUMENT_CPU);
	make(&m, (struct record){ REC_MODULE, .module = { .start = 0x900000, .end = 0x910000, .path = "/tmp/tare.7.Ab3dEf/agent.so" } });
	top = make_node(&m, 0, NODE_ROOT, FN_MAIN);
	hook = make_agent_node(&m, top);
	inner = make_agent_node(&m, hook);
	below = make_node(&m, 0, inner, FN_MEMCPY);
	MAKE_CPU(&m, 0, 0, THREAD(100), SAMPLE(inner, 0), SAMPLE(below, 0), SAMPLE(below, 0));
	p = finish(&m);
	assert_int_equal(function_of(p, "[tare]")->self, 1);
	assert_int_equal(function_of(p, "[tare]")->total, 1);
	assert_string_equal(function_of(p, "[tare]")->hottest->parent->frame->name, "main");
	assert_string_equal(function_of(p, "memcpy")->hottest->parent->frame->name, "main");
	assert_false(has_note(p, "stripped"));
	profile_free(p);
}

static void lost_events_are_a_site_of_their_own(void **state)
{
	struct session_maker m;
	struct profile *p;
	uint32_t a;

	make_begin(&m, INSTRUMENT_HEAP);
	a = make_node(&m, 0, NODE_ROOT, FN_MAIN);
	MAKE_HEAP(&m, 0, 0, ALLOC(a, 100), FREE(a, 100, 0));
	make(&m, (struct record){ REC_COUNTERS, .counters = { .process = 0, .calls = 4, .frees = 2, .bytes = 400, .failed = 1,
				  .inherited_frees = 9, .unknown_frees = 8, .lost_heap_events = 4, .lost_alloc_bytes = 300 } });
	p = finish(&m);
	assert_int_equal(p->heap->sums.calls, 4);
	assert_int_equal(p->heap->sums.frees, 2);
	assert_int_equal(p->heap->sums.bytes, 400);
	assert_int_equal(site_of(p, "[lost]")->sums.calls, 3);
	assert_int_equal(site_of(p, "[lost]")->sums.bytes, 300);
	assert_int_equal(p->heap->failed, 1);
	assert_int_equal(p->heap->inherited_frees, 9);
	assert_int_equal(p->lost_events, 4);
	assert_true(has_note(p, "loss"));
	assert_columns_sum(p);
	profile_free(p);
}

static void a_session_without_its_end_is_incomplete(void **state)
{
	struct session_maker m;
	struct err err = { 0 };
	struct profile *p;
	uint32_t a;

	make_begin(&m, INSTRUMENT_HEAP);
	a = make_node(&m, 0, NODE_ROOT, FN_MAIN);
	MAKE_HEAP(&m, 0, 0, STAMP(2000), ALLOC(a, 100));
	p = make_profile(&m, &err);
	assert_non_null(p);
	assert_false(p->complete);
	assert_true(has_note(p, "loss"));
	assert_int_equal(p->heap->sums.calls, 1);
	assert_int_equal(p->exit_code, -1);
	profile_free(p);
}

static void an_empty_run_has_empty_answers(void **state)
{
	struct session_maker m;
	struct profile *p;

	make_begin(&m, INSTRUMENT_HEAP | INSTRUMENT_CPU);
	p = finish(&m);
	assert_true(p->complete);
	assert_int_equal(p->heap->sums.calls, 0);
	assert_int_equal(p->heap->nsites, 0);
	assert_int_equal(p->heap->peak_bytes, 0);
	assert_int_equal(p->cpu->samples, 0);
	assert_int_equal(p->cpu->nfunctions, 0);
	assert_int_equal(p->ncosts, 0);
	profile_free(p);
}

static void words_that_mean_nothing_do_no_harm(void **state)
{
	struct session_maker m;
	struct profile *p;
	uint64_t seed = 42, words[500];
	uint32_t round, i;

	for (round = 0; round < 40; round++) {
		make_begin(&m, INSTRUMENT_HEAP | INSTRUMENT_CPU);
		make_node(&m, 0, NODE_ROOT, FN_MAIN);
		make_process(&m, 1, 101, 0, 1 + seed % 5000);
		for (i = 0; i < ARRAY_SIZE(words); i++) {
			seed ^= seed << 13;
			seed ^= seed >> 7;
			seed ^= seed << 17;
			words[i] = seed;
		}
		make_log(&m, round % 2, 0, INSTRUMENT_HEAP, words, ARRAY_SIZE(words));
		make_log(&m, round % 2, 0, INSTRUMENT_CPU, words, ARRAY_SIZE(words));
		p = finish(&m);
		assert_columns_sum(p);
		profile_free(p);
	}
}

static void a_file_that_is_not_there_is_a_sentence(void **state)
{
	struct profile *p = NULL;
	struct err err = { 0 };

	assert_int_equal(profile_read(&p, "/nonexistent/x.tare", &err), -ENOENT);
	assert_null(p);
	assert_true(err.text[0]);
}

static void the_ledger_is_unit_cost_times_count(void **state)
{
	struct session_maker m;
	struct profile *p;
	uint32_t a;

	make_begin(&m, INSTRUMENT_HEAP | INSTRUMENT_CPU);
	a = make_node(&m, 0, NODE_ROOT, FN_MAIN);
	MAKE_HEAP(&m, 0, 0, ALLOC(a, 1));
	MAKE_CPU(&m, 0, 0, THREAD(100), SAMPLE(a, 0), SAMPLE(a, 0));
	make(&m, (struct record){ REC_COUNTERS, .counters = { .process = 0, .calls = 1, .bytes = 1, .cost = {
				  [COST_ALLOC_WALK] = { 100, 4, 40, 400 }, [COST_ALLOC_WRITE] = { 100, 4, 20, 100 } } } });
	p = finish(&m);
	assert_int_equal(p->ncosts, 2);
	assert_string_equal(p->costs[0].what, "malloc record");
	assert_float_equal(p->costs[0].unit_ns.value, 30, 1e-9);	/* (10 + 5) ticks of 2 ns */
	assert_float_equal(p->costs[0].stack_ns, 20, 1e-9);
	assert_float_equal(p->costs[0].cpu_ns, 3000, 1e-6);
	assert_string_equal(p->costs[1].what, "sample");
	assert_float_equal(p->costs[1].unit_ns.value, 800, 1e-9);	/* handler 100 ticks, signal 600 ns */
	assert_float_equal(p->cost_cpu_ns, 3000 + 1600, 1e-6);
	assert_float_equal(p->cost_ratio.value, 4600.0 / 1000000, 1e-12);
	assert_int_equal(p->collector_cpu_ns, 777);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_of_one_thread_are_exact),
		cmocka_unit_test(the_peak_lies_between_two_time_stamps),
		cmocka_unit_test(a_wide_size_is_put_together),
		cmocka_unit_test(the_peak_of_two_threads_is_their_overlap),
		cmocka_unit_test(an_order_that_stamps_leave_open_is_bounded),
		cmocka_unit_test(a_block_may_be_freed_by_another_thread),
		cmocka_unit_test(a_process_that_ends_drops_what_it_held),
		cmocka_unit_test(exec_drops_what_was_alive_before_it),
		cmocka_unit_test(processes_alive_at_once_add_up_in_the_peak),
		cmocka_unit_test(a_recursive_function_counts_once_in_total),
		cmocka_unit_test(samples_are_counted_by_thread),
		cmocka_unit_test(periods_in_the_kernel_are_samples_of_their_own_frame),
		cmocka_unit_test(stacks_without_a_beginning_say_so),
		cmocka_unit_test(code_of_the_agent_is_named_only_where_it_is_the_leaf),
		cmocka_unit_test(lost_events_are_a_site_of_their_own),
		cmocka_unit_test(a_session_without_its_end_is_incomplete),
		cmocka_unit_test(an_empty_run_has_empty_answers),
		cmocka_unit_test(words_that_mean_nothing_do_no_harm),
		cmocka_unit_test(a_file_that_is_not_there_is_a_sentence),
		cmocka_unit_test(the_ledger_is_unit_cost_times_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
