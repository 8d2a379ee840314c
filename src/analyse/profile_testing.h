/* profile_testing.h - sessions made up for tests: few lines a session, exact numbers
 *
 * Function number k has its code at 0x10000 + k * 0x1000 and the name test_names[k], by way of a perf map. A tick is 2 ns; the
 * run begins at tick 1000.
 */
#ifndef TARE_ANALYSE_PROFILE_TESTING_H
#define TARE_ANALYSE_PROFILE_TESTING_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyse/profile.h"
#include "base/util.h"
#include "record/event.h"
#include "record/session.h"

#define SAMPLE_STRIDE 0x1000

static const char *const test_names[] = {
	"_start", "main", "handle_request", "parse_headers", "hash_mix", "render_page", "memcpy", "leaky_fn", "operator new(unsigned long)",
	"flush",
};
enum { FN_START, FN_MAIN, FN_HANDLE, FN_PARSE, FN_HASH, FN_RENDER, FN_MEMCPY, FN_LEAKY, FN_NEW, FN_FLUSH };

enum { TEST_BEGIN = 1000, TEST_END = 1001000 };	/* ticks; 2 ms */

struct session_maker {
	struct session_writer *writer;
	char path[64];
	uint32_t next_node[8];	/* by process */
};

static inline void make(struct session_maker *m, struct record r)
{
	struct err err = { 0 };

	if (session_write(m->writer, &r, &err)) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
}

static inline void make_process(struct session_maker *m, uint32_t process, uint32_t pid, int32_t forked_from, uint64_t start)
{
	static const char *const argv[] = { "./srv", NULL };

	m->next_node[process] = forked_from < 0 ? EVENT_FIRST_NODE : m->next_node[forked_from];
	make(m, (struct record){ REC_PROCESS, .process = { process, pid, 1, forked_from, m->next_node[process], start, 1, argv } });
}

static inline void make_names(struct session_maker *m, uint32_t process)
{
	char text[1024];
	size_t n = 0, i;

	for (i = 0; i < ARRAY_SIZE(test_names); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%zx %x %s\n", 0x10000 + i * SAMPLE_STRIDE, SAMPLE_STRIDE, test_names[i]);
	make(m, (struct record){ REC_PERF_MAP, .perf_map = { process, (uint32_t)n, text } });
}

/** make_begin - a run of process 0, pid 100, with the names; the file is temporary */
static inline void make_begin(struct session_maker *m, uint32_t instruments)
{
	static const char *const argv[] = { "./srv", NULL };
	struct err err = { 0 };
	int fd;

	*m = (struct session_maker){ 0 };
	snprintf(m->path, sizeof(m->path), "/tmp/tare-test-XXXXXX");
	fd = mkstemp(m->path);
	if (fd < 0 || close(fd) || session_create(&m->writer, m->path, true, &err)) {
		fprintf(stderr, "%s\n", err.text);
		abort();
	}
	make(m, (struct record){ REC_RUN, .run = { .instruments = instruments, .pid = 100, .cpu_hz = 997, .start_ticks = TEST_BEGIN,
				 .start_monotonic_ns = 5000, .start_realtime_ns = 1700000000123456789, .signal_ns = 600,
				 .signal_ns_sd = 10, .cpus = 2, .kernel = "6.1.0", .arch = "x86_64", .cpu_model = "A CPU",
				 .hypervisor = "", .argc = 1, .argv = argv } });
	make(m, (struct record){ REC_CLOCK, .clock = { TEST_BEGIN, 5000 } });
	make_process(m, 0, 100, -1, TEST_BEGIN);
	make_names(m, 0);
}

/** make_node - a frame of a function called by node @parent */
static inline uint32_t make_node(struct session_maker *m, uint32_t process, uint32_t parent, uint32_t function)
{
	struct node node = { 0x10000 + function * SAMPLE_STRIDE + 0x10, parent, 0 };

	make(m, (struct record){ REC_NODES, .nodes = { process, m->next_node[process], 1, &node } });
	return m->next_node[process]++;
}

static inline void make_log(struct session_maker *m, uint32_t process, uint32_t slot, uint32_t instrument, const uint64_t *words,
			    size_t n)
{
	make(m, (struct record){ REC_LOG, .log = { process, slot, instrument, (uint32_t)n, words } });
}

#define MAKE_HEAP(m, process, slot, ...)                                                                  \
	make_log((m), (process), (slot), INSTRUMENT_HEAP, (const uint64_t[]){ __VA_ARGS__ },              \
		 sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))
#define MAKE_CPU(m, process, slot, ...)                                                                   \
	make_log((m), (process), (slot), INSTRUMENT_CPU, (const uint64_t[]){ __VA_ARGS__ },               \
		 sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))
#define ALLOC(node, size) event_word(EVENT_ALLOC, 0, (node), (size))
#define FREE(node, size, small) event_word(EVENT_FREE, (small), (node), (size))
#define STAMP(ticks) ((uint64_t)EVENT_TIME << 61 | (ticks))
#define THREAD(tid) ((uint64_t)EVENT_THREAD << 61 | (tid))
#define SAMPLE(node, kernel) event_word(EVENT_SAMPLE, (kernel), (node), 100), 5000ull	/* two words */

/** make_end - with a run of 2 ms wall and 1 ms CPU */
static inline void make_end(struct session_maker *m)
{
	make(m, (struct record){ REC_CLOCK, .clock = { TEST_END, 5000 + 2 * (TEST_END - TEST_BEGIN) } });
	make(m, (struct record){ REC_END, .end = { .wall_ns = 2000000, .cpu_ns = 1000000, .collector_cpu_ns = 777, .exit_code = 0,
				 .measured_to_end = true } });
}

/** make_profile - closes the session, reads it and removes the file; NULL with @err if it is refused */
static inline struct profile *make_profile(struct session_maker *m, struct err *err)
{
	struct profile *p = NULL;

	if (session_close(m->writer, err) || profile_read(&p, m->path, err))
		p = NULL;
	unlink(m->path);
	return p;
}

#endif
