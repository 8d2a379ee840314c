/*
 * columns_test - words come back from columns, and what is foreseen becomes zeros
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/util.h"
#include "record/event.h"
#include "record/format.h"

static void assert_round_trip(const uint64_t *words, size_t n)
{
	CLEANUP_FREE uint8_t *columns = malloc(8 * n);
	CLEANUP_FREE uint64_t *back = malloc(8 * n);

	columns_split(columns, words, n);
	columns_join(back, columns, n);
	assert_memory_equal(back, words, 8 * n);
}

static void any_words_come_back(void **state)
{
	static uint64_t words[10000];
	uint64_t x = 1;

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		words[i] = x ^ x >> 29;
	}
	assert_round_trip(words, ARRAY_SIZE(words));
}

static void times_that_go_backwards_come_back(void **state)
{
	static const uint64_t words[] = { 4ull << 61 | 5, 4ull << 61 | 3, EVENT_MASK(61), 0, 4ull << 61 | EVENT_MASK(61), 4ull << 61 };

	assert_round_trip(words, ARRAY_SIZE(words));
}

static void a_size_that_a_site_repeats_becomes_zero(void **state)
{
	const uint64_t word = event_word(EVENT_ALLOC, 0, 77, 4096);
	const uint64_t words[] = { word, event_word(EVENT_FREE, 1, 77, 4096), word };
	uint8_t columns[24];

	columns_split(columns, words, 3);
	assert_int_equal(columns[6 * 3 + 0], 16);	/* bits 15..8 of the size, first time */
	assert_int_equal(columns[6 * 3 + 2], 0);	/* second time */
	assert_int_equal(columns[4 * 3 + 2], 77);	/* the node stays */
}

static void a_time_becomes_what_it_advanced(void **state)
{
	const uint64_t words[] = { 4ull << 61 | 0x123456789a, 4ull << 61 | 0x123456789d };
	uint8_t columns[16];

	columns_split(columns, words, 2);
	assert_int_equal(columns[0 * 2 + 1], 0x80);	/* op */
	for (int column = 1; column < 7; column++)
		assert_int_equal(columns[column * 2 + 1], 0);
	assert_int_equal(columns[7 * 2 + 1], 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_words_come_back),
		cmocka_unit_test(times_that_go_backwards_come_back),
		cmocka_unit_test(a_size_that_a_site_repeats_becomes_zero),
		cmocka_unit_test(a_time_becomes_what_it_advanced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
