/*
 * random_stacks.c - a million random stacks, each walked with the state of the walk before, against walks that know nothing
 *
 * The truth of a stack is a walk with a fresh state and an empty cache (every rule compiled anew, nothing verified), and, now
 * and then, libunwind's unw_backtrace if it is installed. Stacks are call paths through pool.c; neighbours share an outer
 * part, or nothing. In every leaf things happen that a lazy comparison would miss: callers at equal depth change, frames
 * between stay; the state's previous walk was on another stack (a coroutine); a handler jumped out of a walk; random words lie
 * where frames were.
 */
#include <dlfcn.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include "pool_load.h"
#include "walk/walk.h"

#define WITH_FP __attribute__((noinline, optimize("no-omit-frame-pointer")))

enum { COROUTINES = 3, STACK = 1 << 18, SLICE = 16 };

static struct walk_state kept, fresh;
static uint64_t seed = 88172645463325252u;
static unsigned long stacks, differences, cut, kept_wrong, joined, against_libunwind, libunwind_differs, kept_frames, all_frames;
static uint64_t last_pc[WALK_MAX];
static uint32_t last_top = WALK_MAX;
static int (*unw_backtrace)(void **, int);
static ucontext_t main_context, coroutine[COROUTINES];
static char memory[COROUTINES][STACK];
static int running = -1;

static int same(const struct walk_state *a, const struct walk_state *b)
{
	return a->top == b->top && a->end == b->end &&
	       !memcmp(a->pc + a->top, b->pc + b->top, (WALK_MAX - a->top) * sizeof(*a->pc));
}

WITH_FP static void compare_libunwind(void)
{
	void *pc[WALK_MAX];
	struct walk_start start = WALK_START();
	int n = unw_backtrace(pc, WALK_MAX), first = 0;

	walk_state_reset(&fresh);
	walk_here(&fresh, &start);
	while (first < n && (uint64_t)pc[first] != fresh.pc[fresh.top])
		first++;
	against_libunwind++;
	if (n - first != (int)(WALK_MAX - fresh.top) ||
	    memcmp(pc + first, fresh.pc + fresh.top, (WALK_MAX - fresh.top) * sizeof(*pc)))
		libunwind_differs++;
}

WITH_FP static void check(void)
{
	struct walk_start start = WALK_START();

	walk_here(&kept, &start);
	walk_state_reset(&fresh);
	if (stacks % 64 == 0)
		walk_objects_begin();	/* nothing remembered is used, and all is void after it */
	walk_here(&fresh, &start);
	if (stacks % 64 == 0)
		walk_objects_end();
	stacks++;
	differences += !same(&kept, &fresh);
	cut += fresh.end != WALK_WHOLE;
	for (uint32_t i = WALK_MAX - kept.kept; i < WALK_MAX; i++)
		kept_wrong += i < last_top || kept.pc[i] != last_pc[i];
	joined += kept.kept > 0;
	kept_frames += kept.kept;
	all_frames += WALK_MAX - kept.top;
	last_top = kept.top;
	memcpy(last_pc + last_top, kept.pc + last_top, (WALK_MAX - last_top) * sizeof(*last_pc));
}

static long leaf(void *arg)
{
	(void)arg;
	for (int i = (int)(pool_random(&seed) % 3); i >= 0; i--)
		check();
	if (pool_random(&seed) % 64 == 0 && unw_backtrace)
		compare_libunwind();
	if (running >= 0 && pool_random(&seed) % 4 == 0)
		swapcontext(&coroutine[running], &main_context);
	return (long)stacks;
}

static uint64_t base;

static void some_stacks(int n)
{
	struct descent d = { .functions = functions, .width = width, .leaf = leaf };

	for (int i = 0; i < n; i++) {
		if (pool_random(&seed) % 8 == 0)
			base = pool_random(&seed);
		d.depth = 1 + (int)(pool_random(&seed) % 60);
		d.split = (int)(pool_random(&seed) % 60);
		d.inner = pool_random(&seed);
		functions[pool_choice(base, FUNCTIONS)](&d, base, 1);
	}
}

static jmp_buf target;
static volatile uint64_t litter;

/* Dirties the stack below, so that stale frames are overwritten in part. */
static NOINLINE void scatter(void)
{
	volatile uint64_t words[512];

	for (int i = 0; i < 512; i += 1 + (int)(pool_random(&seed) % 7))
		words[i] = pool_random(&seed) % 3 ? (uint64_t)functions[pool_random(&seed) % FUNCTIONS] + 40 : pool_random(&seed);
	litter = words[7];
}

static long jumper(void *arg)
{
	leaf(arg);
	longjmp(target, 1);
}

static void jump_out(void)
{
	struct descent d = { .functions = functions, .width = width, .leaf = jumper, .depth = 20, .split = 20 };
	uint64_t s = pool_random(&seed);

	if (setjmp(target) == 0)
		functions[pool_choice(s, FUNCTIONS)](&d, s, 1);
}

static void coroutine_main(int which)
{
	(void)which;
	for (;;)
		some_stacks(SLICE);
}

int main(int argc, char **argv)
{
	unsigned long wanted = argc > 1 ? strtoul(argv[1], NULL, 0) : 1000000;
	void *library = dlopen("libunwind.so.8", RTLD_NOW);
	const char *failed = load_pool();

	if (failed)
		return verdict("random_stacks", BROKEN, failed);
	unw_backtrace = library ? (int (*)(void **, int))dlsym(library, "unw_backtrace") : NULL;
	walk_init();
	for (int i = 0; i < COROUTINES; i++) {
		getcontext(&coroutine[i]);
		coroutine[i].uc_stack.ss_sp = memory[i];
		coroutine[i].uc_stack.ss_size = STACK;
		makecontext(&coroutine[i], (void (*)(void))coroutine_main, 1, i);
	}
	while (stacks < wanted) {
		some_stacks(SLICE);
		jump_out();
		scatter();
		running = (int)(pool_random(&seed) % COROUTINES);
		swapcontext(&main_context, &coroutine[running]);
		running = -1;
	}
	say("%lu stacks, %lu differ from a fresh walk, %lu cut short, %lu frames kept wrongly; %lu joined the walk before (%.0f %% of frames); "
	    "%lu compared with libunwind, %lu differ\n", stacks, differences, cut, kept_wrong, joined,
	    100.0 * (double)kept_frames / (double)all_frames, against_libunwind, libunwind_differs);
	if (joined < stacks / 4)
		return verdict("random_stacks", BROKEN, "too few walks joined the one before: the test has lost its point");
	return differences + cut + kept_wrong + libunwind_differs ? verdict("random_stacks", WALK_WRONG, "see above") :
							     verdict("random_stacks", GOOD, NULL);
}
