/* walk_test.c - walks over stacks made by hand: bad ones, changed ones, ones that go away */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <execinfo.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "walk/cache.h"
#include "walk/memory.h"
#include "walk/walk.h"

#define NOINLINE __attribute__((noinline))

enum { PAGES = 8, STACK = PAGES * MEMORY_PAGE, GARBAGE_WALKS = 200000 };

static struct walk_state *w, *other;
static volatile unsigned sink;

static int begin(void **state)
{
	w = calloc(1, sizeof(*w));
	other = calloc(1, sizeof(*other));
	return walk_init() || !w || !other;
}

static int end(void **state)
{
	free(w);
	free(other);
	return 0;
}

NOINLINE static void walk(struct walk_state *s)
{
	struct walk_start start = WALK_START();

	walk_here(s, &start);
}

NOINLINE static unsigned descend(int depth, struct walk_state *s)
{
	if (depth == 0)
		walk(s);
	else
		sink += descend(depth - 1, s);
	return sink + 1;
}

static void a_walk_agrees_with_backtrace(void **state)
{
	void *pc[64];
	int n, callers;

	walk(w);
	n = backtrace(pc, 64);
	callers = (int)(WALK_MAX - w->top) - 1;		/* glibc's walk begins elsewhere in this function, or in an interceptor */
	assert_int_equal(w->end, WALK_WHOLE);
	assert_in_range(callers, 3, n - 1);
	assert_memory_equal(w->pc + w->top + 1, pc + n - callers, (size_t)callers * sizeof(*pc));
}

static void the_second_walk_of_a_stack_keeps_all_of_it(void **state)
{
	for (volatile int i = 0; i < 3; i++)	/* one call, not three */
		walk(w);
	assert_int_equal(w->kept, WALK_MAX - w->top);
}

static void another_depth_keeps_the_outer_frames_only(void **state)
{
	uint32_t depth;

	descend(3, w);
	depth = WALK_MAX - w->top;
	descend(9, w);
	assert_int_equal(WALK_MAX - w->top, depth + 6);
	assert_in_range(w->kept, 1, depth);
}

static void the_limit_of_frames_cuts_a_walk(void **state)
{
	w->max = 5;
	for (volatile int i = 0; i < 2; i++) {
		descend(20, w);
		assert_int_equal(WALK_MAX - w->top, 5);
		assert_int_equal(w->end, WALK_TRUNCATED);
	}
	w->max = 0;
	descend(20, w);
	assert_int_equal(w->end, WALK_WHOLE);
}

static void deep_recursion_is_truncated(void **state)
{
	for (int i = 0; i < 2; i++) {
		descend(3000, w);
		assert_int_equal(w->end, WALK_TRUNCATED);
		assert_int_equal(w->top, 0);
	}
}

static void a_state_may_be_reset(void **state)
{
	walk(w);
	walk(w);
	walk_state_reset(w);
	walk(w);
	assert_int_equal(w->kept, 0);
	assert_int_equal(w->end, WALK_WHOLE);
}

static void an_end_of_the_brackets_voids_what_was_kept(void **state)
{
	uint32_t generation = walk_generation();

	walk(w);
	walk_objects_begin();
	walk(w);
	assert_int_equal(w->kept, 0);
	assert_int_equal(w->end, WALK_WHOLE);
	walk_objects_end();
	assert_int_not_equal(walk_generation(), generation);
	walk(w);
	assert_int_equal(w->kept, 0);
	walk(w);
	assert_int_not_equal(w->kept, 0);
}

static void brackets_nest(void **state)
{
	uint32_t generation = walk_generation();

	walk_objects_begin();
	walk_objects_begin();
	walk_objects_end();
	assert_int_equal(walk_generation(), generation);
	walk_objects_end();
	assert_int_not_equal(walk_generation(), generation);
}

static void errno_is_kept(void **state)
{
	walk_state_reset(w);
	errno = 1234;
	walk(w);
	assert_int_equal(errno, 1234);
}

static uint64_t random_state = 88172645463325252u;

static uint64_t random_word(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

static uint64_t litter(const uint64_t *stack)
{
	switch (random_word() % 6) {
	case 0:
		return random_word();
	case 1:
		return 0x4141414141414141;
	case 2:
		return (uint64_t)stack + random_word() % (2 * STACK);
	case 3:
		return (uint64_t)(uintptr_t)backtrace + random_word() % 4096;
	case 4:
		return w->pc[w->top + random_word() % (WALK_MAX - w->top)];	/* a true return address */
	default:
		return (uint64_t)(uintptr_t)random_word;
	}
}

static void garbage_on_a_stack_never_crashes_a_walk(void **state)
{
	uint64_t *stack = mmap(NULL, STACK + 2 * MEMORY_PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	stack = (uint64_t *)((uint64_t)stack + MEMORY_PAGE);
	assert_int_equal(mprotect(stack, STACK, PROT_READ | PROT_WRITE), 0);
	descend(5, w);
	for (int i = 0; i < STACK / 8; i++)
		stack[i] = litter(stack);
	for (int i = 0; i < GARBAGE_WALKS; i++) {
		struct walk_start start = { .pc = w->pc[w->top + 1 + random_word() % (WALK_MAX - w->top - 1)] };

		for (int k = 0; k < 8; k++)
			stack[random_word() % (STACK / 8)] = litter(stack);
		start.sp = (uint64_t)(stack + random_word() % (STACK / 8));
		start.fp = litter(stack);
		assert_true(walk_here(other, &start));
		for (uint32_t k = other->top; k < WALK_MAX; k++)
			assert_int_not_equal(other->pc[k], 0x4141414141414141);
	}
	munmap((uint8_t *)stack - MEMORY_PAGE, STACK + 2 * MEMORY_PAGE);
	walk_stacks_changed();
}

static void a_stack_that_went_away_is_not_read(void **state)
{
	uint64_t *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct walk_start start;

	descend(5, w);
	for (int i = 0; i < STACK / 8; i++)
		stack[i] = w->pc[w->top + 1];	/* descend() in descend() in ... */
	start = (struct walk_start){ .pc = stack[0], .sp = (uint64_t)(stack + 16), .fp = (uint64_t)(stack + 64) };
	walk_here(other, &start);
	munmap(stack + STACK / 16, STACK / 2);
	walk_stacks_changed();
	walk_here(other, &start);
	assert_true(other->top < WALK_MAX);
	munmap(stack, STACK / 2);
}

static void a_stack_pointer_at_nothing_ends_a_walk(void **state)
{
	ucontext_t context = { 0 };

	assert_true(walk_context(other, &context));
	assert_int_equal(other->end, WALK_BROKEN);
	assert_int_equal(WALK_MAX - other->top, 1);
}

static volatile sig_atomic_t handled;

static void on_signal(int number, siginfo_t *info, void *context)
{
	walk_context(w, context);
	walk(other);
	handled++;
}

static void a_signal_frame_is_crossed(void **state)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO }, old;
	uint32_t exact = 0, inside;

	sigaction(SIGUSR1, &action, &old);
	raise(SIGUSR1);
	sigaction(SIGUSR1, &old, NULL);
	assert_int_equal(handled, 1);
	assert_int_equal(w->end, WALK_WHOLE);
	assert_true(w->pc[w->top] & WALK_PC_EXACT);
	for (uint32_t i = other->top; i < WALK_MAX; i++)
		if (other->pc[i] & WALK_PC_EXACT)
			exact = i;
	/* from the interrupted frame on, the walk from inside the handler is the walk from the context */
	inside = WALK_MAX - exact;
	assert_int_equal(inside, WALK_MAX - w->top);
	assert_memory_equal(other->pc + exact, w->pc + w->top, inside * sizeof(*w->pc));
}

static void a_wide_rule_gives_back_its_layout(void **state)
{
	struct cache_wide layout = { .cfa_off = 181312, .ra_off = -8, .fp_off = -16, .base = WIDE_SP };
	uint32_t rule = cache_wide_rule(&layout);

	assert_true(rule >= CACHE_WIDE);
	assert_int_equal(cache_wide(rule)->cfa_off, 181312);
	assert_int_equal(cache_wide_rule(&layout), rule);
	layout.fp_off = -24;
	assert_int_not_equal(cache_wide_rule(&layout), rule);
}

static void the_cache_gives_back_what_it_was_told(void **state)
{
	enum { ADDRESSES = 40000 };
	struct cache_view view;
	int lost = 0;

	for (uint64_t i = 1; i <= ADDRESSES; i++) {
		view = cache_view();
		cache_store(&view, i * 61, (uint32_t)(i % 4000 << 3 | 1));
	}
	view = cache_view();
	for (uint64_t i = 1; i <= ADDRESSES; i++) {
		uint32_t rule = cache_lookup(view.table, i * 61);

		if (rule == 0)
			lost++;
		else
			assert_int_equal(rule, i % 4000 << 3 | 1);
		assert_int_equal(cache_lookup(view.table, i * 61 + 1), 0);
	}
	assert_in_range(lost, 0, ADDRESSES / 100);
	walk_objects_begin();
	walk_objects_end();
}

static void null_is_not_readable(void **state)
{
	assert_false(memory_readable(0, 8));
	assert_true(memory_readable((uint64_t)&random_state, 8));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_walk_agrees_with_backtrace),
		cmocka_unit_test(the_second_walk_of_a_stack_keeps_all_of_it),
		cmocka_unit_test(another_depth_keeps_the_outer_frames_only),
		cmocka_unit_test(the_limit_of_frames_cuts_a_walk),
		cmocka_unit_test(deep_recursion_is_truncated),
		cmocka_unit_test(a_state_may_be_reset),
		cmocka_unit_test(an_end_of_the_brackets_voids_what_was_kept),
		cmocka_unit_test(brackets_nest),
		cmocka_unit_test(errno_is_kept),
		cmocka_unit_test(garbage_on_a_stack_never_crashes_a_walk),
		cmocka_unit_test(a_stack_that_went_away_is_not_read),
		cmocka_unit_test(a_stack_pointer_at_nothing_ends_a_walk),
		cmocka_unit_test(a_signal_frame_is_crossed),
		cmocka_unit_test(a_wide_rule_gives_back_its_layout),
		cmocka_unit_test(the_cache_gives_back_what_it_was_told),
		cmocka_unit_test(null_is_not_readable),
	};

	return cmocka_run_group_tests(tests, begin, end);
}
