/* units - unit tests */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "base/util.h"
#include "cli/units.h"

static void every_unit_of_time_is_exact(void **state)
{
	static const struct { const char *text; uint64_t ns; } cases[] = {
		{ "1ns", 1 }, { "1us", 1000 }, { "1\xc2\xb5s", 1000 }, { "1ms", 1000000 }, { "1s", 1000000000 },
		{ "1m", 60000000000 }, { "1h", 3600000000000 }, { "0.1s", 100000000 }, { "1.5ms", 1500000 },
		{ "0", 0 }, { "0s", 0 }, { "2.000000001s", 2000000001 }, { "0.9ns", 0 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t ns = 42;

		assert_int_equal(units_time(cases[i].text, &ns, NULL), 0);
		assert_int_equal(ns, cases[i].ns);
	}
}

static void decimal_and_binary_sizes_differ(void **state)
{
	uint64_t bytes;

	assert_int_equal(units_size("1kB", &bytes, NULL), 0);
	assert_int_equal(bytes, 1000);
	assert_int_equal(units_size("1KiB", &bytes, NULL), 0);
	assert_int_equal(bytes, 1024);
	assert_int_equal(units_size("1.5GiB", &bytes, NULL), 0);
	assert_int_equal(bytes, 1610612736);
}

static void a_bare_number_is_refused_where_a_unit_is_needed(void **state)
{
	struct err err = { { 0 } };
	uint64_t value = 42;
	double ratio;

	assert_int_equal(units_time("10", &value, &err), -EINVAL);
	assert_non_null(strstr(err.text, "has no unit"));
	assert_int_equal(units_size("10", &value, &err), -EINVAL);
	assert_int_equal(units_share("10", &ratio, &err), -EINVAL);
	assert_int_equal(value, 42);
}

static void what_is_not_a_number_with_a_unit_is_refused(void **state)
{
	static const char *const cases[] = { "", "s", "-1s", "+1s", "1 s", "1.s", ".5s", "1e3s", "1S", "1sec", "0x10s", "1%" };
	uint64_t ns = 42;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(units_time(cases[i], &ns, NULL), -EINVAL);
	assert_int_equal(ns, 42);
}

static void a_time_that_does_not_fit_is_out_of_range(void **state)
{
	uint64_t ns;

	assert_int_equal(units_time("99999999999h", &ns, NULL), -ERANGE);
	assert_int_equal(units_time("99999999999999999999999s", &ns, NULL), -ERANGE);
}

static void a_share_is_a_ratio(void **state)
{
	double ratio;

	assert_int_equal(units_share("2.5%", &ratio, NULL), 0);
	assert_true(ratio > 0.02499999 && ratio < 0.02500001);
}

static void a_count_is_whole_and_in_bounds(void **state)
{
	uint64_t n = 42;

	assert_int_equal(units_count("997", 1, 1000, &n, NULL), 0);
	assert_int_equal(n, 997);
	assert_int_equal(units_count("0", 1, 1000, &n, NULL), -ERANGE);
	assert_int_equal(units_count("1001", 1, 1000, &n, NULL), -ERANGE);
	assert_int_equal(units_count("1.5", 1, 1000, &n, NULL), -EINVAL);
	assert_int_equal(units_count("1.0", 1, 1000, &n, NULL), -EINVAL);
	assert_int_equal(units_count("x", 1, 1000, &n, NULL), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_unit_of_time_is_exact),
		cmocka_unit_test(decimal_and_binary_sizes_differ),
		cmocka_unit_test(a_bare_number_is_refused_where_a_unit_is_needed),
		cmocka_unit_test(what_is_not_a_number_with_a_unit_is_refused),
		cmocka_unit_test(a_time_that_does_not_fit_is_out_of_range),
		cmocka_unit_test(a_share_is_a_ratio),
		cmocka_unit_test(a_count_is_whole_and_in_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
