/* number_test - figures as people read them */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "render/number.h"

static void counts_have_a_space_between_thousands(void **state)
{
	assert_string_equal(number_count(0).text, "0");
	assert_string_equal(number_count(999).text, "999");
	assert_string_equal(number_count(60904).text, "60 904");
	assert_string_equal(number_count(8410049).text, "8 410 049");
	assert_string_equal(number_count(UINT64_MAX).text, "18 446 744 073 709 551 615");
	assert_string_equal(number_short(121004).text, "121 004");
	assert_string_equal(number_short(8410049).text, "8.41 M");
}

static void three_digits_are_significant(void **state)
{
	assert_string_equal(number_bytes(210).text, "210 B");
	assert_string_equal(number_bytes(5).text, "5 B");
	assert_string_equal(number_bytes(1234).text, "1.23 kB");
	assert_string_equal(number_bytes(12400000).text, "12.4 MB");
	assert_string_equal(number_bytes(999600).text, "1.00 MB");
	assert_string_equal(number_ns(29640000000.0, true).text, "29.6 s");
	assert_string_equal(number_ns(1900, true).text, "1.90 \302\265s");
	assert_string_equal(number_ns(1900, false).text, "1.90 us");
	assert_string_equal(number_ns(94.26, false).text, "94.3 ns");
	assert_string_equal(number_ns(0, false).text, "0 ns");
	assert_string_equal(number_percent(0.482).text, "48.2 %");
	assert_string_equal(number_percent(1).text, "100 %");
	assert_string_equal(number_percent(0.0129).text, "1.29 %");
}

static void a_tiny_share_is_not_zero(void **state)
{
	assert_string_equal(number_percent(0.000001).text, "< 0.001 %");
	assert_string_equal(number_percent(0).text, "0 %");
}

static void an_interval_is_its_half_after_the_sign(void **state)
{
	struct estimate e = { 0.482, 0.478, 0.486, 60000, true };

	assert_string_equal(number_ratio(&e, true).text, "48.2 % \302\261 0.4");
	assert_string_equal(number_ratio(&e, false).text, "48.2 % +- 0.4");
	e = (struct estimate){ 1900, 1800, 2000, 10, true };
	assert_string_equal(number_ns_estimate(&e, false).text, "1.90 us +- 0.10");
}

static void a_small_half_keeps_a_digit(void **state)
{
	struct estimate e = { 0.482, 0.48198, 0.48202, 60000000, true };

	assert_string_equal(number_ratio(&e, false).text, "48.2 % +- 0.002");
}

static void what_is_not_known_is_said_in_words(void **state)
{
	struct estimate e = { 0 };

	assert_string_equal(number_ratio(&e, false).text, "not known");
	assert_string_equal(number_ns_estimate(&e, false).text, "not known");
	e = (struct estimate){ 5, 0, INFINITY, 1, true };
	assert_string_equal(number_ns_estimate(&e, false).text, "5.00 ns (measured once)");
	assert_string_equal(number_percent_of(1, 0).text, "-");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_have_a_space_between_thousands),
		cmocka_unit_test(three_digits_are_significant),
		cmocka_unit_test(a_tiny_share_is_not_zero),
		cmocka_unit_test(an_interval_is_its_half_after_the_sign),
		cmocka_unit_test(a_small_half_keeps_a_digit),
		cmocka_unit_test(what_is_not_known_is_said_in_words),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
