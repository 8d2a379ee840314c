/*
 * estimate_test - intervals against published values
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "base/util.h"
#include "stat/estimate.h"

static void assert_near(double got, double expected, double error)
{
	if (!(fabs(got - expected) <= error))
		fail_msg("%.12g is not %.12g within %g", got, expected, error);
}

/* The column 0.975 (0.05 two-sided) of the table of percentage points of t that every textbook prints, to 3 decimals. */
static void quantiles_of_t_are_those_of_the_printed_table(void **state)
{
	static const struct { uint64_t nu; double t; } table[] = {
		{ 1, 12.706 }, { 2, 4.303 }, { 3, 3.182 }, { 4, 2.776 }, { 5, 2.571 }, { 6, 2.447 }, { 7, 2.365 },
		{ 8, 2.306 }, { 9, 2.262 }, { 10, 2.228 }, { 12, 2.179 }, { 15, 2.131 }, { 20, 2.086 }, { 25, 2.060 },
		{ 30, 2.042 }, { 40, 2.021 }, { 60, 2.000 }, { 80, 1.990 }, { 100, 1.984 }, { 120, 1.980 },
		{ 1000, 1.962 }, { 1000000000, 1.960 }
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++)
		assert_near(estimate_t975(table[i].nu), table[i].t, 0.00051);
}

/* For 1 degree A(t) = 2 atan(t) / pi, for 2 A(t) = t / sqrt(2 + t^2); solved for A = 0.95. */
static void quantiles_of_t_for_one_and_two_degrees_are_the_closed_forms(void **state)
{
	assert_near(estimate_t975(1), tan(0.475 * M_PI), 1e-9);
	assert_near(estimate_t975(2), 0.95 * sqrt(2 / (1 - 0.95 * 0.95)), 1e-9);
}

static void quantiles_of_t_do_not_jump_where_the_method_changes(void **state)
{
	double before = estimate_t975(98) - estimate_t975(99), across = estimate_t975(99) - estimate_t975(100);
	double after = estimate_t975(100) - estimate_t975(101);

	/* t is convex and falls with nu: the difference across lies between its neighbours. */
	assert_true(before > across);
	assert_true(across > after);
}

static void a_wilson_interval_is_that_of_the_literature(void **state)
{
	/* R. G. Newcombe, Statistics in Medicine 17 (1998), table I, method 3, to 4 decimals. */
	static const struct { uint64_t k, n; double lo, hi; } table[] = {
		{ 81, 263, 0.2553, 0.3662 }, { 15, 148, 0.0624, 0.1605 }, { 0, 20, 0.0000, 0.1611 }, { 1, 29, 0.0061, 0.1718 }
	};

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct estimate e = estimate_share(table[i].k, table[i].n);

		assert_true(e.known);
		assert_int_equal(e.n, table[i].n);
		assert_near(e.value, (double)table[i].k / (double)table[i].n, 1e-15);
		assert_near(e.lo, table[i].lo, 0.000051);
		assert_near(e.hi, table[i].hi, 0.000051);
	}
}

static void a_share_of_all_reaches_one_exactly(void **state)
{
	struct estimate e = estimate_share(1000, 1000);

	assert_true(e.hi == 1 && e.value == 1);
	assert_near(e.lo, 1 - estimate_share(0, 1000).hi, 1e-12);
}

static void a_share_of_nothing_is_not_known(void **state)
{
	assert_false(estimate_share(0, 0).known);
}

/* 1 2 3 4 5: mean 3, variance 2.5, standard error sqrt(0.5), t(4) = 2.776445. */
static void the_interval_of_a_mean_is_that_computed_by_hand(void **state)
{
	struct estimate e = estimate_mean(5, 15, 55);

	assert_near(e.value, 3, 1e-12);
	assert_near(e.lo, 3 - 2.776445 * sqrt(0.5), 1e-6);
	assert_near(e.hi, 3 + 2.776445 * sqrt(0.5), 1e-6);
	assert_int_equal(e.n, 5);
}

static void the_interval_of_a_mean_does_not_go_below_zero(void **state)
{
	struct estimate e = estimate_mean(2, 100, 10000);	/* 0 and 100 */

	assert_true(e.lo == 0);
	assert_true(e.hi > 600);
}

static void one_observation_has_no_upper_bound(void **state)
{
	struct estimate e = estimate_mean(1, 7, 49);

	assert_true(e.known && e.value == 7 && e.lo == 0 && isinf(e.hi));
}

static void a_mean_of_nothing_is_not_known(void **state)
{
	assert_false(estimate_mean(0, 0, 0).known);
}

/* (10^8)^2 has more digits than a double has, so that the variance may come out below 0. */
static void equal_large_observations_give_an_interval_and_not_nan(void **state)
{
	struct estimate e = estimate_mean(3, 3 * 100000001.0, 3 * 100000001.0 * 100000001.0 - 64);

	assert_true(e.lo <= e.value && e.value <= e.hi);
}

static void scaling_scales_all_three(void **state)
{
	struct estimate e = estimate_scale((struct estimate){ 2, 1, 4, 9, true }, 3);

	assert_true(e.value == 6 && e.lo == 3 && e.hi == 12 && e.n == 9 && e.known);
}

static void an_unbounded_estimate_times_zero_is_zero(void **state)
{
	struct estimate e = estimate_scale(estimate_mean(1, 7, 49), 0);

	assert_true(e.known && e.value == 0 && e.lo == 0 && e.hi == 0);
}

static void a_sum_adds_half_widths_in_quadrature(void **state)
{
	struct estimate e = estimate_add((struct estimate){ 10, 7, 15, 5, true }, (struct estimate){ 20, 16, 32, 8, true });

	assert_true(e.value == 30 && e.n == 5 && e.known);
	assert_near(e.lo, 25, 1e-12);	/* 3 and 4 */
	assert_near(e.hi, 43, 1e-12);	/* 5 and 12 */
}

static void a_sum_with_what_is_not_known_is_not_known(void **state)
{
	struct estimate known = { 1, 1, 1, 1, true }, unknown = {0};

	assert_false(estimate_add(known, unknown).known);
	assert_false(estimate_add(unknown, known).known);
	assert_false(estimate_scale(unknown, 2).known);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles_of_t_are_those_of_the_printed_table),
		cmocka_unit_test(quantiles_of_t_for_one_and_two_degrees_are_the_closed_forms),
		cmocka_unit_test(quantiles_of_t_do_not_jump_where_the_method_changes),
		cmocka_unit_test(a_wilson_interval_is_that_of_the_literature),
		cmocka_unit_test(a_share_of_all_reaches_one_exactly),
		cmocka_unit_test(a_share_of_nothing_is_not_known),
		cmocka_unit_test(the_interval_of_a_mean_is_that_computed_by_hand),
		cmocka_unit_test(the_interval_of_a_mean_does_not_go_below_zero),
		cmocka_unit_test(one_observation_has_no_upper_bound),
		cmocka_unit_test(a_mean_of_nothing_is_not_known),
		cmocka_unit_test(equal_large_observations_give_an_interval_and_not_nan),
		cmocka_unit_test(scaling_scales_all_three),
		cmocka_unit_test(an_unbounded_estimate_times_zero_is_zero),
		cmocka_unit_test(a_sum_adds_half_widths_in_quadrature),
		cmocka_unit_test(a_sum_with_what_is_not_known_is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
