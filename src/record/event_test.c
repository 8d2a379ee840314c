/*
 * event_test - each field of an event word comes back, whatever the others are
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "record/event.h"

static void assert_fields(enum event_op op, uint64_t small, uint64_t node, uint64_t low)
{
	uint64_t word = event_word(op, small, node, low);

	assert_int_equal(event_op(word), op);
	assert_int_equal(event_small(word), small);
	assert_int_equal(event_node(word), node);
	assert_int_equal(event_low(word), low);
}

static void fields_at_their_limits_do_not_touch_each_other(void **state)
{
	const uint64_t small = (1 << EVENT_SMALL_BITS) - 1, node = (1 << EVENT_NODE_BITS) - 1;
	const uint64_t low = (1 << EVENT_SIZE_BITS) - 1;

	for (int mask = 0; mask < 8; mask++)
		for (int op = EVENT_ALLOC; op <= EVENT_SAMPLE; op++)
			assert_fields((enum event_op)op, mask & 1 ? small : 0, mask & 2 ? node : 0, mask & 4 ? low : 0);
}

static void a_word_has_the_bits_that_the_format_says(void **state)
{
	assert_true(event_word(EVENT_FREE, 0x1555, 0xabcdef, 0x123456) == 0x5555abcdef123456);
}

static void ticks_of_61_bits_come_back(void **state)
{
	const uint64_t ticks = (1ull << 61) - 1;
	uint64_t word = event_word(EVENT_TIME, 0, 0, ticks);

	assert_int_equal(event_op(word), EVENT_TIME);
	assert_true(event_ticks(word) == ticks);
}

static void a_thread_id_of_32_bits_comes_back(void **state)
{
	uint64_t word = event_word(EVENT_THREAD, 0, 0, UINT32_MAX);

	assert_int_equal(event_op(word), EVENT_THREAD);
	assert_int_equal(event_tid(word), UINT32_MAX);
}

static void a_size_of_62_bits_comes_back_from_a_pair(void **state)
{
	const uint64_t size = (1ull << 62) - 3;
	uint64_t wide = event_word(EVENT_WIDE, 0, 0, size >> EVENT_SIZE_BITS);
	uint64_t alloc = event_word(EVENT_ALLOC, 0, 7, size & EVENT_MASK(EVENT_SIZE_BITS));

	assert_int_equal(event_op(wide), EVENT_WIDE);
	assert_true((event_wide(wide) | event_low(alloc)) == size);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_at_their_limits_do_not_touch_each_other),
		cmocka_unit_test(a_word_has_the_bits_that_the_format_says),
		cmocka_unit_test(ticks_of_61_bits_come_back),
		cmocka_unit_test(a_thread_id_of_32_bits_comes_back),
		cmocka_unit_test(a_size_of_62_bits_comes_back_from_a_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
