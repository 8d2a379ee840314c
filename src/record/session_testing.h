/* session_testing.h - one record of each kind, and their comparison, for the tests of this folder and tests/fuzz */
#ifndef TARE_RECORD_SESSION_TESTING_H
#define TARE_RECORD_SESSION_TESTING_H

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "record/event.h"
#include "record/session.h"

static const char *const sample_argv[] = { "./srv", "--name", "", "\xc3\xa9", NULL };

static const struct node sample_nodes[] = {
	{ 0x401000, NODE_ROOT, 0 }, { 0x401020 | NODE_PC_EXACT, 4, 0 }, { 0x7fffdeadbeef, 5, 0 }
};

static const uint64_t sample_words[] = {
	5ull << 61 | 4711, 4ull << 61 | 123456789, 1ull << 61 | 4ull << 24 | 100, 2ull << 61 | 1ull << 48 | 4ull << 24 | 100,
	6ull << 61 | 5ull << 24 | 7, UINT64_MAX
};

/* In an order that a session may have. */
static const struct record sample_records[] = {
	{ REC_RUN, .run = { INSTRUMENT_CPU | INSTRUMENT_HEAP, 4711, true, 997, 524288, 1, UINT64_MAX, 1700000000000000000, 612.5,
			    3.25, 2, "6.1.0", "x86_64", "A CPU @ 2 GHz", "kvm", true, 4, sample_argv } },
	{ REC_CLOCK, .clock = { 1000, 2000 } },
	{ REC_PROCESS, .process = { 0, 4711, 4700, -1, 0, 77, 2, sample_argv } },
	{ REC_MODULE, .module = { 0, 4, 0x400000, 0x500000, 0x1000, 20, "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20\21\22\23",
				  "/usr/bin/srv" } },
	{ REC_NODES, .nodes = { 0, 4, 3, sample_nodes } },
	{ REC_LOG, .log = { 0, 3, INSTRUMENT_HEAP, 6, sample_words } },
	{ REC_THREAD, .thread = { 0, 4712, "worker-0" } },
	{ REC_COUNTERS, .counters = { 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,
				      { { 1, 2, 3, 4 }, { 5, 6, 7, 8 }, { 9, 10, 11, 12 }, { 13, 14, 15, 16 } } } },
	{ REC_PERF_MAP, .perf_map = { 0, 13, "7f00 10 jit_f" } },
	{ REC_PROCESS, .process = { 7, 4713, 4711, 0, 6, 78, 0, NULL } },
	{ REC_PROCESS_END, .process_end = { 7, -1, 9, 99 } },
	{ REC_NOTE, .note = { "stripped", "1 object has no symbols", "" } },
	{ REC_END, .end = { 1000000000, 900000000, 1 << 20, 5000000, 65536, 7, 0, true } },
};

static inline bool same_strings(uint32_t n, const char *const *a, const char *const *b)
{
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(a[i], b[i]) != 0)
			return false;
	return true;
}

static inline bool same_run(const struct rec_run *a, const struct rec_run *b)
{
	return a->instruments == b->instruments && a->pid == b->pid && a->attached == b->attached &&
	       a->cpu_hz == b->cpu_hz && a->heap_sample_bytes == b->heap_sample_bytes && a->start_ticks == b->start_ticks &&
	       a->start_monotonic_ns == b->start_monotonic_ns && a->start_realtime_ns == b->start_realtime_ns &&
	       a->signal_ns == b->signal_ns && a->signal_ns_sd == b->signal_ns_sd && a->cpus == b->cpus &&
	       !strcmp(a->kernel, b->kernel) && !strcmp(a->arch, b->arch) && !strcmp(a->cpu_model, b->cpu_model) &&
	       !strcmp(a->hypervisor, b->hypervisor) && a->pmu == b->pmu && a->argc == b->argc &&
	       same_strings(a->argc, a->argv, b->argv);
}

static inline bool same_process(const struct rec_process *a, const struct rec_process *b)
{
	return a->process == b->process && a->pid == b->pid && a->parent_pid == b->parent_pid &&
	       a->forked_from == b->forked_from && a->first_node == b->first_node && a->start_ticks == b->start_ticks &&
	       a->argc == b->argc && same_strings(a->argc, a->argv, b->argv);
}

static inline bool same_module(const struct rec_module *a, const struct rec_module *b)
{
	return a->process == b->process && a->first_node == b->first_node && a->start == b->start && a->end == b->end &&
	       a->bias == b->bias && a->build_id_len == b->build_id_len && !memcmp(a->build_id, b->build_id, 20) &&
	       !strcmp(a->path, b->path);
}

static inline bool same_nodes(const struct rec_nodes *a, const struct rec_nodes *b)
{
	return a->process == b->process && a->first == b->first && a->n == b->n &&
	       !memcmp(a->nodes, b->nodes, a->n * sizeof(*a->nodes));
}

static inline bool same_log(const struct rec_log *a, const struct rec_log *b)
{
	return a->process == b->process && a->slot == b->slot && a->instrument == b->instrument && a->n == b->n &&
	       !memcmp(a->words, b->words, a->n * sizeof(*a->words));
}

static inline bool same_end(const struct rec_end *a, const struct rec_end *b)
{
	return a->wall_ns == b->wall_ns && a->cpu_ns == b->cpu_ns && a->maxrss_bytes == b->maxrss_bytes &&
	       a->collector_cpu_ns == b->collector_cpu_ns && a->arena_bytes == b->arena_bytes &&
	       a->exit_code == b->exit_code && a->signal == b->signal && a->measured_to_end == b->measured_to_end;
}

static inline bool same_record(const struct record *a, const struct record *b)
{
	if (a->kind != b->kind)
		return false;
	switch (a->kind) {
	case REC_RUN:
		return same_run(&a->run, &b->run);
	case REC_CLOCK:
		return a->clock.ticks == b->clock.ticks && a->clock.monotonic_ns == b->clock.monotonic_ns;
	case REC_PROCESS:
		return same_process(&a->process, &b->process);
	case REC_MODULE:
		return same_module(&a->module, &b->module);
	case REC_NODES:
		return same_nodes(&a->nodes, &b->nodes);
	case REC_LOG:
		return same_log(&a->log, &b->log);
	case REC_THREAD:
		return a->thread.process == b->thread.process && a->thread.tid == b->thread.tid &&
		       !strcmp(a->thread.name, b->thread.name);
	case REC_COUNTERS:
		return !memcmp(&a->counters, &b->counters, sizeof(a->counters));	/* without padding */
	case REC_PERF_MAP:
		return a->perf_map.process == b->perf_map.process && a->perf_map.size == b->perf_map.size &&
		       !memcmp(a->perf_map.text, b->perf_map.text, a->perf_map.size);
	case REC_PROCESS_END:
		return a->process_end.process == b->process_end.process && a->process_end.exit_code == b->process_end.exit_code &&
		       a->process_end.signal == b->process_end.signal && a->process_end.end_ticks == b->process_end.end_ticks;
	case REC_END:
		return same_end(&a->end, &b->end);
	case REC_NOTE:
		return !strcmp(a->note.code, b->note.code) && !strcmp(a->note.text, b->note.text) &&
		       !strcmp(a->note.next, b->note.next);
	case REC_KINDS:
		break;
	}
	return false;
}

#endif
