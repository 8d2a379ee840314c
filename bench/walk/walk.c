/*
 * walk.c - what a stack walk costs, side by side
 *
 * Walkers take turns on the same stacks in one run: tare, libunwind's unw_backtrace (if it is installed), glibc's backtrace,
 * and a chain of frame pointers through the same functions built with them: the floor of any walk that follows a chain.
 * Stacks are call paths through functions of many frame layouts (tests/programs/walk/pool.c), depth + a few frames.
 *
 *   repeated   the same stack again and again
 *   varied     one of 4096 stacks at random each time; neighbours share only their roots
 *   shared     neighbours share the outer half, as allocations of a real program do
 *   first      addresses that the walker has never seen (tare's cache is voided before)
 *
 * Figures are TSC cycles a frame, the median over rounds, each of 200 walks after 400 that are not timed; the timer's own cost is taken off. Last line: JSON.
 */
#include <dlfcn.h>
#include <execinfo.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "pool.h"
#include "walk/walk.h"

#define NOINLINE __attribute__((noinline))
#define WITH_FP __attribute__((noinline, optimize("no-omit-frame-pointer")))

enum { SITES = 4096, MAX_FUNCTIONS = SITES / POOL_SITES, STACKS = 4096, ROUNDS = 31, WARM = 60, MAX_DEPTH = 100, BATCH = 64 };
enum walker { TARE, LIBUNWIND, GLIBC, FP_CHAIN, WALKERS };
enum load { REPEATED, VARIED, SHARED, FIRST, LOADS };

static const char *const walker_name[] = { "tare", "libunwind", "glibc", "fp_chain" };
static const char *const load_name[] = { "repeated", "varied", "shared", "first" };
static const int depths[] = { 8, 35, 100 };

static pool_function *functions[2][MAX_FUNCTIONS];	/* without, with frame pointers */
static uint32_t width[MAX_DEPTH + 1];
static uint64_t seeds[STACKS], random_state = 88172645463325252u;
static int (*unw_backtrace)(void **, int);
static struct walk_state state;
static void *pcs[WALK_MAX];
static uint64_t bottom;			/* of the frame pointers' chain */
static uint64_t overhead;
static enum walker walker;
static int batch;
static uint64_t ticks, frames;

WITH_FP static int walk_tare(void)
{
	struct walk_start start = WALK_START();

	walk_here(&state, &start);
	return (int)(WALK_MAX - state.top);
}

WITH_FP static int walk_fp(void)
{
	const uint64_t *fp = __builtin_frame_address(0);
	int n = 0;

	while ((uint64_t)fp < bottom && n < WALK_MAX) {
		pcs[n++] = (void *)fp[1];
		fp = (const uint64_t *)fp[0];
	}
	return n;
}

static inline int walk_by(enum walker w)
{
	switch (w) {
	case TARE:
		return walk_tare();
	case LIBUNWIND:
		return unw_backtrace(pcs, WALK_MAX);
	case GLIBC:
		return backtrace(pcs, WALK_MAX);
	default:
		return walk_fp();
	}
}

WITH_FP static long leaf(void *arg)
{
	uint64_t begin = arch_ticks();
	int n = 0;

	(void)arg;
	for (int i = 0; i < batch; i++)
		n += walk_by(walker);
	ticks += arch_ticks() - begin - overhead;
	frames += (uint64_t)n;
	return 0;
}

WITH_FP static void go_down(uint64_t seed, int depth, int split, uint64_t inner)
{
	pool_function **set = functions[walker == FP_CHAIN];
	struct descent d = { .functions = set, .width = width, .depth = depth, .split = split, .inner = inner, .leaf = leaf };

	bottom = (uint64_t)__builtin_frame_address(0);
	set[pool_choice(seed, MAX_FUNCTIONS)](&d, seed, 1);
}

enum { VISITS = 600, UNTIMED = 400 };

/* One round: the cycles a frame (FIRST: an address). The first visits bring code and tables back that others drove out. */
static double round_of(enum walker w, enum load load, int depth)
{
	uint64_t outer = seeds[17];
	int visits = load == FIRST ? 20 : VISITS, untimed = load == FIRST ? 0 : UNTIMED;
	struct walk_stats before, after;

	walker = w;
	batch = load == REPEATED ? BATCH : 1;
	if (load == REPEATED)
		visits = 2, untimed = 1;
	if (load == FIRST) {
		walk_objects_begin();
		walk_objects_end();
	}
	walk_stats(&before);
	for (int i = 0; i < visits; i++) {
		uint64_t seed = load == REPEATED ? seeds[0] : seeds[pool_random(&random_state) % STACKS];

		if (i == untimed)
			ticks = frames = 0;
		go_down(load == SHARED ? outer : seed, depth, load == SHARED ? depth / 2 : depth, seed);
	}
	walk_stats(&after);
	return (double)ticks / (double)(load == FIRST ? after.misses - before.misses : frames);
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int load_pool(const char *folder, pool_function **set)
{
	for (int i = 0; i < MAX_FUNCTIONS / POOL_FUNCTIONS; i++) {
		char name[4096];
		void *object, *table;

		snprintf(name, sizeof(name), "%s/%d.so", folder, i);
		object = dlopen(name, RTLD_NOW | RTLD_LOCAL);
		table = object ? dlsym(object, "pool_functions") : NULL;
		if (!table) {
			fprintf(stderr, "%s\n", dlerror());
			return -1;
		}
		memcpy(set + i * POOL_FUNCTIONS, table, POOL_FUNCTIONS * sizeof(*set));
	}
	return 0;
}

static void measure_overhead(void)
{
	overhead = ~0ull;
	for (int i = 0; i < 1000; i++) {
		uint64_t begin = arch_ticks(), end = arch_ticks();

		if (end - begin < overhead)
			overhead = end - begin;
	}
}

int main(int argc, char **argv)
{
	void *library = dlopen("libunwind.so.8", RTLD_NOW);
	static double result[LOADS][WALKERS][3], rounds[LOADS][WALKERS][ROUNDS];

	unw_backtrace = library ? (int (*)(void **, int))dlsym(library, "unw_backtrace") : NULL;
	if (argc != 3 || load_pool(argv[1], functions[0]) || load_pool(argv[2], functions[1]) || walk_init())
		return 1;
	for (int i = 0; i <= MAX_DEPTH; i++)
		width[i] = MAX_FUNCTIONS;
	for (int i = 0; i < STACKS; i++)
		seeds[i] = pool_random(&random_state);
	measure_overhead();
	for (int d = 0; d < 3; d++) {
		for (int r = -WARM; r < 2 * ROUNDS; r++)	/* in the second half the cache is voided again and again */
			for (int l = r < ROUNDS ? 0 : FIRST; l < (r < ROUNDS ? FIRST : LOADS); l++)
				for (int w = 0; w < (l == FIRST ? 1 : WALKERS); w++) {
					double t = w == LIBUNWIND && !unw_backtrace ? 0 : round_of(w, l, depths[d]);

					if (r >= 0)
						rounds[l][w][r % ROUNDS] = t;
				}
		for (int l = 0; l < LOADS; l++)
			for (int w = 0; w < WALKERS; w++) {
				qsort(rounds[l][w], ROUNDS, sizeof(double), compare);
				result[l][w][d] = rounds[l][w][ROUNDS / 2];
			}
	}
	printf("%-10s %-10s %8s %8s %8s   TSC cycles a frame (first: an address)\n", "stacks", "walker", "8 deep", "35", "100");
	for (int l = 0; l < LOADS; l++)
		for (int w = 0; w < WALKERS; w++)
			if (l != FIRST || w == TARE)
				printf("%-10s %-10s %8.2f %8.2f %8.2f\n", load_name[l], walker_name[w], result[l][w][0],
				       result[l][w][1], result[l][w][2]);
	printf("{\"bench\":\"walk\",\"unit\":\"tsc_cycles_per_frame\"");
	for (int l = 0; l < LOADS; l++)
		for (int w = 0; w < WALKERS; w++)
			for (int d = 0; d < 3; d++)
				if (l != FIRST || w == TARE)
					printf(",\"%s_%s_%d\":%.2f", load_name[l], walker_name[w], depths[d], result[l][w][d]);
	printf("}\n");
	return 0;
}
