/*
 * session.c FILE - writes a recording whose contents are made up, so that each figure of its report is known
 *
 * The CPU profile is the one that docs and tests of export use: 840 samples at 997 Hz of one thread, 31 of them in the kernel. A second thread
 * and a forked process have a few more. Functions get their names from a perf map, as JIT code does: no file is needed to read it.
 * One tick is one nanosecond.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "record/event.h"
#include "record/session.h"

enum function { START, MAIN, HANDLE, PARSE, MIX, RENDER, MEMCPY, LEAKY, LOOP, FUNCTIONS };
enum { FIRST = EVENT_FIRST_NODE, WORDS = 4096 };

static const char names[] = "10000 1000 _start\n11000 1000 main\n12000 1000 handle_request\n13000 1000 parse_headers\n"
			    "14000 1000 hash_mix\n15000 1000 render_page\n16000 1000 memcpy\n"
			    "17000 1000 std::vector<int, std::allocator<int> >::push_back(int const&)\n18000 1000 worker_loop\n";

static struct session_writer *file;
static uint64_t words[WORDS];
static uint32_t nwords;

static void put(const struct record *record)
{
	struct err err = { 0 };

	if (session_write(file, record, &err) < 0) {
		fprintf(stderr, "session: %s\n", err.text);
		exit(1);
	}
}

static void word(enum event_op op, uint64_t small, uint64_t node, uint64_t low)
{
	words[nwords++] = event_word(op, small, node, low);
}

static struct node frame(enum function f, uint32_t parent, bool exact)
{
	return (struct node){ 0x10000 + 0x1000ull * f + 0x10 | (exact ? NODE_PC_EXACT : 0), parent, 0 };
}

/* Nodes, from number FIRST on: frames that called, then the same functions as innermost frames of samples. */
enum { N_START = FIRST, N_MAIN, N_HANDLE, N_PARSE, N_RENDER, N_LEAKY, N_LOOP, X_MIX, X_PARSE, X_MEMCPY, X_RENDER, X_MAIN, X_LOOP, N_BROKEN_LEAKY };

static void nodes(void)
{
	const struct node node[] = {
		frame(START, NODE_ROOT, false), frame(MAIN, N_START, false), frame(HANDLE, N_MAIN, false), frame(PARSE, N_HANDLE, false),
		frame(RENDER, N_HANDLE, false), frame(LEAKY, N_HANDLE, false), frame(LOOP, NODE_ROOT, false), frame(MIX, N_PARSE, true),
		frame(PARSE, N_HANDLE, true), frame(MEMCPY, N_RENDER, true), frame(RENDER, N_HANDLE, true), frame(MAIN, N_START, true),
		frame(LOOP, NODE_ROOT, true), frame(LEAKY, NODE_BROKEN, false),
	};

	put(&(struct record){ REC_NODES, .nodes = { 0, FIRST, ARRAY_SIZE(node), node } });
}

static void samples(uint32_t node, uint32_t n, uint32_t in_kernel)
{
	static uint64_t at = 1000000000;

	for (uint32_t i = 0; i < n; i++) {
		if (nwords + 2 > WORDS)
			exit(1);
		word(EVENT_SAMPLE, i == 0 ? in_kernel : 0, node, 1900);
		words[nwords++] = at += 1003009;
	}
}

static void log_cpu(uint32_t slot, uint32_t tid)
{
	nwords = 0;
	word(EVENT_THREAD, 0, 0, tid);
	if (slot == 0) {
		samples(X_MIX, 417, 0);
		samples(X_PARSE, 60, 0);
		samples(X_MEMCPY, 201, 31);
		samples(X_RENDER, 122, 0);
		samples(X_MAIN, 9, 0);
	} else {
		samples(X_LOOP, 40, 0);
	}
	put(&(struct record){ REC_LOG, .log = { 0, slot, INSTRUMENT_CPU, nwords, words } });
}

static void log_heap(void)
{
	nwords = 0;
	word(EVENT_THREAD, 0, 0, 4711);
	for (int i = 0; i < 100; i++) {
		word(EVENT_TIME, 0, 0, 1000000000 + 5000000ull * (uint64_t)i);
		word(EVENT_ALLOC, 0, N_PARSE, 1000);		/* 100 of 1000 bytes, temporary */
		word(EVENT_FREE, 1 | 1 << 1, N_PARSE, 1000);
		word(EVENT_ALLOC, 0, N_LEAKY, 64);		/* 100 of 64 bytes, never freed */
		if (i < 50)
			word(EVENT_ALLOC, 0, N_RENDER, 4096);	/* 50 of 4096 bytes, all alive at the peak, all freed */
		else
			word(EVENT_FREE, 3 << 1, N_RENDER, 4096);
	}
	word(EVENT_ALLOC, 0, N_BROKEN_LEAKY, 16);
	word(EVENT_FREE, 1, N_BROKEN_LEAKY, 16);
	put(&(struct record){ REC_LOG, .log = { 0, 0, INSTRUMENT_HEAP, nwords, words } });
}

int main(int argc, char **argv)
{
	static const char *const program[] = { "./srv", "--port", "80", NULL };
	struct err err = { 0 };

	if (argc != 2 || session_create(&file, argv[1], true, &err) < 0) {
		fprintf(stderr, "session: %s\n", err.text);
		return 1;
	}
	put(&(struct record){ REC_RUN, .run = {
		.instruments = INSTRUMENT_CPU | INSTRUMENT_HEAP, .pid = 4711, .cpu_hz = 997, .start_ticks = 1000000000,
		.start_monotonic_ns = 1000000000, .start_realtime_ns = 1700000000000000000, .signal_ns = 600, .signal_ns_sd = 30, .cpus = 2,
		.kernel = "6.1.0", .arch = "x86_64", .cpu_model = "A CPU @ 2 GHz", .hypervisor = "", .pmu = true, .argc = 3, .argv = program } });
	put(&(struct record){ REC_CLOCK, .clock = { 1000000000, 1000000000 } });
	put(&(struct record){ REC_PROCESS, .process = { 0, 4711, 4700, -1, 0, 1000000000, 3, program } });
	put(&(struct record){ REC_THREAD, .thread = { 0, 4711, "worker-0" } });
	put(&(struct record){ REC_THREAD, .thread = { 0, 4712, "logger" } });
	nodes();
	log_cpu(0, 4711);
	log_cpu(1, 4712);
	log_heap();
	put(&(struct record){ REC_PERF_MAP, .perf_map = { 0, sizeof(names) - 1, names } });
	put(&(struct record){ REC_COUNTERS, .counters = {
		.process = 0, .threads = 2, .calls = 251, .frees = 151, .bytes = 100 * 1000 + 100 * 64 + 50 * 4096 + 16, .samples = 849, .broken_stacks = 1,
		.memory_bytes = 2 << 20, .thread_cpu_ns = 882647944,
		.cost = { { 251, 251, 251 * 60, 251 * 60 * 61 }, { 251, 251, 251 * 30, 251 * 30 * 31 }, { 151, 151, 151 * 20, 151 * 20 * 21 },
			  { 849, 849, 849 * 1900, 849ull * 1900 * 1910 } } } });
	put(&(struct record){ REC_CLOCK, .clock = { 2000000000, 2000000000 } });
	put(&(struct record){ REC_PROCESS_END, .process_end = { 0, 0, 0, 2000000000 } });
	put(&(struct record){ REC_END, .end = { 1000000000, 890000000, 8 << 20, 5000000, 2 << 20, 0, 0, true } });
	return session_close(file, &err) < 0;
}
