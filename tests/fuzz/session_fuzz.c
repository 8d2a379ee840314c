/*
 * session_fuzz - reads any bytes as a session, and holds the reader to what session.h promises of each record
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/util.h"
#include "record/event.h"
#include "record/session.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Where what was read goes, so that no read is left out. */
static volatile uint64_t sink;

static void touch(const void *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sink += ((const uint8_t *)p)[i];
}

static void touch_strings(uint32_t n, const char *const *strings)
{
	for (uint32_t i = 0; i < n; i++)
		touch(strings[i], strlen(strings[i]));
	if (strings[n])
		__builtin_trap();
}

static void check_nodes(const struct rec_nodes *nodes)
{
	for (uint32_t i = 0; i < nodes->n; i++)
		if (nodes->nodes[i].parent >= nodes->first + i)
			__builtin_trap();
	if ((uint64_t)nodes->first + nodes->n > 1ull << EVENT_NODE_BITS)
		__builtin_trap();
}

static void check_run(const struct rec_run *run)
{
	touch_strings(run->argc, run->argv);
	touch_strings(4, (const char *[]){ run->kernel, run->arch, run->cpu_model, run->hypervisor, NULL });
	if (!(run->signal_ns >= 0) || isinf(run->signal_ns))
		__builtin_trap();
}

static void check(const struct record *r)
{
	switch (r->kind) {
	case REC_RUN:
		check_run(&r->run);
		break;
	case REC_PROCESS:
		touch_strings(r->process.argc, r->process.argv);
		break;
	case REC_MODULE:
		touch(r->module.path, strlen(r->module.path));
		if (r->module.build_id_len > sizeof(r->module.build_id))
			__builtin_trap();
		break;
	case REC_NODES:
		check_nodes(&r->nodes);
		break;
	case REC_LOG:
		touch(r->log.words, r->log.n * sizeof(*r->log.words));
		break;
	case REC_THREAD:
		touch(r->thread.name, strlen(r->thread.name));
		break;
	case REC_PERF_MAP:
		touch(r->perf_map.text, r->perf_map.size);
		break;
	case REC_NOTE:
		touch_strings(3, (const char *[]){ r->note.code, r->note.text, r->note.next, NULL });
		break;
	default:
		break;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct session_reader *r = NULL;
	struct record record;
	struct err err = {0};
	int e = session_open_bytes(&r, bytes, size, &err);

	if (e == 0) {
		while ((e = session_next(r, &record, &err)) == SESSION_MORE)
			check(&record);
		/* The answer stays. */
		if (session_next(r, &record, &err) != e)
			__builtin_trap();
	}
	if ((e < 0) != (err.text[0] != 0))
		__builtin_trap();
	session_reader_close(r);
	return 0;
}
