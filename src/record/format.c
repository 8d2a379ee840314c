/*
 * format - the fields of each kind of record
 *
 * Writer and reader both go by these tables, so that neither can know a field that the other does not. A new field or
 * kind raises FORMAT_VERSION; the reader then keeps the tables of the versions before.
 */
#include "record/format.h"

#define F(type, member) { FORMAT_##type, offsetof(struct record, member), 0 }
#define N(type, member, number) { FORMAT_##type, offsetof(struct record, member), offsetof(struct record, number) }
#define END { FORMAT_END, 0, 0 }

static const struct format_field run[] = {
	F(U32, run.instruments), F(U32, run.pid), F(BOOL, run.attached), F(U32, run.cpu_hz),
	F(U64, run.heap_sample_bytes), F(U64, run.start_ticks), F(U64, run.start_monotonic_ns),
	F(U64, run.start_realtime_ns), F(F64, run.signal_ns), F(F64, run.signal_ns_sd), F(U32, run.cpus),
	F(BOOL, run.pmu), F(STRING, run.kernel), F(STRING, run.arch), F(STRING, run.cpu_model),
	F(STRING, run.hypervisor), N(STRINGS, run.argv, run.argc), END
};

static const struct format_field clock[] = { F(U64, clock.ticks), F(U64, clock.monotonic_ns), END };

static const struct format_field process[] = {
	F(U32, process.process), F(U32, process.pid), F(U32, process.parent_pid), F(U32, process.forked_from),
	F(U32, process.first_node), F(U64, process.start_ticks), N(STRINGS, process.argv, process.argc), END
};

static const struct format_field module[] = {
	F(U32, module.process), F(U32, module.first_node), F(U64, module.start), F(U64, module.end),
	F(U64, module.bias), N(BUILD_ID, module.build_id, module.build_id_len), F(STRING, module.path), END
};

static const struct format_field nodes[] = {
	F(U32, nodes.process), F(U32, nodes.first), N(NODES, nodes.nodes, nodes.n), END
};

static const struct format_field log_fields[] = {
	F(U32, log.process), F(U32, log.slot), F(U32, log.instrument), N(WORDS, log.words, log.n), END
};

static const struct format_field thread[] = {
	F(U32, thread.process), F(U32, thread.tid), F(STRING, thread.name), END
};

static const struct format_field counters[] = {
	F(U32, counters.process), F(U32, counters.threads), F(U64, counters.calls), F(U64, counters.frees),
	F(U64, counters.bytes), F(U64, counters.failed), F(U64, counters.inherited_frees),
	F(U64, counters.unknown_frees), F(U64, counters.lost_heap_events), F(U64, counters.lost_alloc_bytes),
	F(U64, counters.samples), F(U64, counters.lost_samples), F(U64, counters.tare_samples),
	F(U64, counters.truncated_stacks), F(U64, counters.broken_stacks), F(U64, counters.nested_events),
	F(U64, counters.memory_bytes), F(U64, counters.thread_cpu_ns), F(COSTS, counters.cost), END
};

static const struct format_field perf_map[] = {
	F(U32, perf_map.process), N(TEXT, perf_map.text, perf_map.size), END
};

static const struct format_field process_end[] = {
	F(U32, process_end.process), F(U32, process_end.exit_code), F(U32, process_end.signal),
	F(U64, process_end.end_ticks), END
};

static const struct format_field end[] = {
	F(U64, end.wall_ns), F(U64, end.cpu_ns), F(U64, end.maxrss_bytes), F(U64, end.collector_cpu_ns),
	F(U64, end.arena_bytes), F(U32, end.exit_code), F(U32, end.signal), F(BOOL, end.measured_to_end), END
};

static const struct format_field note[] = { F(STRING, note.code), F(STRING, note.text), F(STRING, note.next), END };

const struct format_field *const format_records[REC_KINDS] = {
	[REC_RUN] = run, [REC_CLOCK] = clock, [REC_PROCESS] = process, [REC_MODULE] = module, [REC_NODES] = nodes,
	[REC_LOG] = log_fields, [REC_THREAD] = thread, [REC_COUNTERS] = counters, [REC_PERF_MAP] = perf_map,
	[REC_PROCESS_END] = process_end, [REC_END] = end, [REC_NOTE] = note
};
