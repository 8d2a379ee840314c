/* peak_test - the peak of random sessions against the order of events that made them */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyse/profile_testing.h"

enum { SLOTS = 4, NODES = 6, WORDS = 4096, BLOCKS = 4096 };

struct slot {
	uint64_t words[WORDS];
	size_t n;
	uint64_t stamp;		/* of its last EVENT_TIME */
};

/** struct run - a program that knows what it has alive */
struct run {
	uint64_t seed, now;
	uint32_t nodes[NODES];
	struct slot slots[SLOTS];
	struct { uint32_t node, size; } blocks[BLOCKS];
	size_t nblocks;
	uint64_t live, peak;
};

static uint64_t any(struct run *r, uint64_t below)
{
	r->seed ^= r->seed << 13;
	r->seed ^= r->seed >> 7;
	r->seed ^= r->seed << 17;
	return r->seed % below;
}

static void run_stamp(struct run *r, struct slot *s)
{
	s->words[s->n++] = STAMP(r->now);
	s->stamp = r->now;
}

/* One event of some thread; now and then with a stamp before it. */
static void run_step(struct run *r, uint32_t slots)
{
	struct slot *s = &r->slots[any(r, slots)];
	size_t i;

	r->now += any(r, 5);
	if (!s->stamp || any(r, 4) == 0)
		run_stamp(r, s);
	if (r->nblocks && any(r, 100) < 48) {
		i = any(r, r->nblocks);
		s->words[s->n++] = FREE(r->nodes[r->blocks[i].node], r->blocks[i].size, any(r, 16));
		r->live -= r->blocks[i].size;
		r->blocks[i] = r->blocks[--r->nblocks];
	} else {
		i = r->nblocks++;
		r->blocks[i].node = (uint32_t)any(r, NODES);
		r->blocks[i].size = (uint32_t)any(r, 1000);
		s->words[s->n++] = ALLOC(r->nodes[r->blocks[i].node], r->blocks[i].size);
		r->live += r->blocks[i].size;
		r->peak = MAX(r->peak, r->live);
	}
	r->now += any(r, 3);
}

/* Slots in random order, in pieces, as a collector may drain them. */
static void run_write(struct run *r, struct session_maker *m, uint32_t slots)
{
	size_t done[SLOTS] = { 0 }, left = 0, n;
	uint32_t k;

	for (k = 0; k < slots; k++)
		left += r->slots[k].n;
	while (left) {
		k = (uint32_t)any(r, slots);
		n = 1 + any(r, 300);
		n = MIN(n, r->slots[k].n - done[k]);
		if (!n)
			continue;
		make_log(m, 0, k, INSTRUMENT_HEAP, r->slots[k].words + done[k], n);
		done[k] += n;
		left -= n;
	}
}

static struct profile *run_profile(struct run *r, uint64_t seed, uint32_t slots)
{
	struct session_maker m;
	struct err err = { 0 };
	struct profile *p;
	uint32_t i;

	*r = (struct run){ .seed = seed * 0x9e3779b97f4a7c15ull + 1, .now = 2000 };
	make_begin(&m, INSTRUMENT_HEAP);
	for (i = 0; i < NODES; i++)
		r->nodes[i] = make_node(&m, 0, i ? r->nodes[any(r, i)] : NODE_ROOT, i);
	for (i = 0; i < 1000; i++)
		run_step(r, slots);
	run_write(r, &m, slots);
	make_end(&m);
	p = make_profile(&m, &err);
	if (!p)
		fail_msg("%s", err.text);
	return p;
}

static void assert_sums(const struct profile *p, const struct run *r)
{
	uint64_t peak = 0, never = 0;

	for (uint32_t i = 0; i < p->heap->nsites; i++) {
		peak += p->heap->sites[i].sums.peak_bytes;
		never += p->heap->sites[i].sums.never_freed_bytes;
	}
	assert_int_equal(peak, p->heap->peak_bytes);
	assert_int_equal(never, r->live);
	assert_int_equal(p->heap->sums.never_freed_calls, r->nblocks);
}

static void the_peak_of_one_thread_is_exact(void **state)
{
	static struct run r;

	for (uint64_t seed = 1; seed <= 50; seed++) {
		struct profile *p = run_profile(&r, seed, 1);

		assert_int_equal(p->heap->peak_bytes, r.peak);
		assert_int_equal(p->heap->peak_uncertain_bytes, 0);
		assert_sums(p, &r);
		profile_free(p);
	}
}

static void the_peak_of_threads_is_within_its_bound(void **state)
{
	static struct run r;

	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct profile *p = run_profile(&r, seed, 2 + seed % 3);
		uint64_t peak = p->heap->peak_bytes, bound = p->heap->peak_uncertain_bytes;

		if (r.peak > peak + bound || peak > r.peak + bound)
			fail_msg("seed %d: %d +- %d, but it was %d", (int)seed, (int)peak, (int)bound, (int)r.peak);
		assert_true(bound < r.peak);
		assert_sums(p, &r);
		profile_free(p);
	}
}

/* Two threads take a block each and idle; a third works on: what the two hold is certain all the time. */
static void a_thread_that_idles_leaves_nothing_open(void **state)
{
	struct session_maker m;
	struct err err = { 0 };
	struct profile *p;
	uint32_t node;

	make_begin(&m, INSTRUMENT_HEAP);
	node = make_node(&m, 0, NODE_ROOT, FN_MAIN);
	MAKE_HEAP(&m, 0, 0, STAMP(2000), ALLOC(node, 1000000), STAMP(900000), FREE(node, 1000000, 0));
	MAKE_HEAP(&m, 0, 1, STAMP(2010), ALLOC(node, 2000000), STAMP(2020), FREE(node, 2000000, 0));
	MAKE_HEAP(&m, 0, 2, STAMP(3000), ALLOC(node, 5), STAMP(4000), ALLOC(node, 7), STAMP(5000), FREE(node, 7, 0),
		  STAMP(6000), ALLOC(node, 2000100));
	make_end(&m);
	p = make_profile(&m, &err);
	assert_non_null(p);
	assert_int_equal(p->heap->peak_bytes, 1000000 + 5 + 2000100);
	assert_int_equal(p->heap->peak_uncertain_bytes, 0);
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_peak_of_one_thread_is_exact),
		cmocka_unit_test(the_peak_of_threads_is_within_its_bound),
		cmocka_unit_test(a_thread_that_idles_leaves_nothing_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
