/*
 * json - the documents of the contract
 *
 * Every document has the keys that all share and those of its command; a record or report has the keys of each instrument
 * under its name. Keys are always there: what is not known is null.
 */
#include "render/render.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/util.h"
#include "render/findings.h"
#include "render/json_value.h"

enum { INSTRUMENT_BIT_CPU = 1, INSTRUMENT_BIT_HEAP = 2 };	/* struct profile's instruments */

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static json_t *json_time(uint64_t realtime_ns)
{
	time_t seconds = (time_t)(realtime_ns / 1000000000);
	struct tm tm;
	char date[64];

	if (!realtime_ns || !gmtime_r(&seconds, &tm) || !strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &tm))
		return json_null();
	return json_sprintf("%s.%09" PRIu64 "Z", date, realtime_ns % 1000000000);
}

static json_t *json_exit_code(int32_t code)
{
	return code < 0 ? json_null() : json_integer(code);
}

static json_t *json_signal(int32_t signal)
{
	return signal <= 0 ? json_null() : json_integer(signal);
}

static json_t *json_processes(const struct profile *p)
{
	const struct profile_process *process;
	json_t *array = json_array();
	uint32_t i;

	for (i = 0; i < p->nprocesses; i++) {
		process = &p->processes[i];
		json_array_append_new(array, json_pack("{s:o,s:o,s:o,s:o,s:o}", "pid", json_count(process->pid),
						       "parent_pid", json_known(process->parent_pid), "argv",
						       json_strings(process->argv, process->argc), "exit_code",
						       json_exit_code(process->exit_code), "signal",
						       json_signal(process->signal)));
	}
	return array;
}

static json_t *json_run(const struct profile *p)
{
	json_t *run = json_object();

	set(run, "argv", json_strings(p->argv, p->argc));
	set(run, "pid", json_known(p->pid));
	set(run, "attached", json_boolean(p->attached));
	set(run, "start_time", json_time(p->start_realtime_ns));
	set(run, "wall_ns", json_count(p->wall_ns));
	set(run, "cpu_ns", json_known(p->cpu_ns));
	set(run, "maxrss_bytes", json_known(p->maxrss_bytes));
	set(run, "exit_code", json_exit_code(p->exit_code));
	set(run, "signal", json_signal(p->signal));
	set(run, "complete", json_boolean(p->complete));
	set(run, "file", json_text(p->file));
	set(run, "processes", json_processes(p));
	return run;
}

static json_t *json_machine(const struct profile *p)
{
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:b}", "kernel", json_text_or_null(p->kernel), "arch", json_text_or_null(p->arch),
			 "cpu_model", json_text_or_null(p->cpu_model), "cpus", json_known(p->cpus), "hypervisor",
			 json_text_or_null(p->hypervisor), "pmu", p->pmu);
}

static json_t *json_notes(const struct profile *p)
{
	json_t *array = json_array();
	uint32_t i;

	for (i = 0; i < p->nnotes; i++)
		json_array_append_new(array, json_pack("{s:o,s:o,s:o}", "code", json_text(p->notes[i].code), "text",
						       json_text(p->notes[i].text), "next", json_text(p->notes[i].next)));
	return array;
}

static json_t *json_cost(const struct profile *p)
{
	json_t *items = json_array(), *cost = json_object();
	const struct cost_line *line;
	int64_t sum = 0, cpu_ns;
	uint32_t i;

	for (i = 0; i < p->ncosts; i++) {
		line = &p->costs[i];
		cpu_ns = llround(line->cpu_ns);		/* the sum of what is printed is what is printed as the sum */
		sum += cpu_ns;
		json_array_append_new(items, json_pack("{s:o,s:o,s:o,s:o,s:o}", "what", json_text(line->what), "unit_ns",
						       json_estimate(&line->unit_ns), "times", json_count(line->times), "cpu_ns",
						       json_integer(cpu_ns), "how", json_text(line->how)));
	}
	set(cost, "ratio", json_estimate(&p->cost_ratio));
	set(cost, "cpu_ns", json_integer(sum));
	set(cost, "memory_bytes", json_count(p->memory_bytes));
	set(cost, "file_bytes", json_count(p->file_bytes));
	set(cost, "collector_cpu_ns", json_known(p->collector_cpu_ns));
	set(cost, "items", items);
	set(cost, "not_measured", json_strings(p->not_measured, p->nnot_measured));
	set(cost, "outside", json_null());
	return cost;
}

static json_t *json_cpu_function(const struct cpu_function *f)
{
	json_t *object = json_object();

	set(object, "name", json_text(f->function->name));
	set(object, "module", json_text_or_null(f->function->module));
	set(object, "file", json_text_or_null(f->function->file));
	set(object, "line", json_known(f->function->line));
	set(object, "self", json_count(f->self));
	set(object, "total", json_count(f->total));
	set(object, "self_ratio", json_estimate(&f->self_ratio));
	return object;
}

static json_t *json_cpu_threads(const struct cpu_profile *c)
{
	json_t *array = json_array();
	uint32_t i;

	for (i = 0; i < c->nthreads; i++)
		json_array_append_new(array, json_pack("{s:o,s:o,s:o,s:o}", "tid", json_count(c->threads[i].tid), "pid",
						       json_count(c->threads[i].pid), "name", json_text(c->threads[i].name),
						       "samples", json_count(c->threads[i].samples)));
	return array;
}

static void write_cpu_stacks(const struct cpu_profile *c, struct json_frames *frames, struct out *out)
{
	uint32_t i;

	out_char(out, '[');
	for (i = 0; i < c->nstacks; i++) {
		out_printf(out, "%s{\"tid\":%u,\"samples\":%" PRIu64 ",\"stack\":", i ? "," : "", c->stacks[i].tid,
			   c->stacks[i].samples);
		json_stack(frames, c->stacks[i].leaf, out);
		out_char(out, '}');
	}
	out_char(out, ']');
}

static void write_cpu(const struct profile *p, const struct render_options *options, struct json_frames *frames,
		      struct out *out)
{
	const struct cpu_profile *c = p->cpu;
	json_t *functions = json_array(), *o = json_object();
	uint32_t i;

	for (i = 0; i < c->nfunctions; i++)
		json_array_append_new(functions, json_cpu_function(&c->functions[i]));
	set(o, "clock", json_text("cpu"));
	set(o, "frequency_hz", json_number(c->frequency_hz));
	set(o, "period_ns", json_count(c->period_ns));
	set(o, "samples", json_count(c->samples));
	set(o, "kernel_samples", json_count(c->kernel_samples));
	set(o, "functions", functions);
	set(o, "threads", json_cpu_threads(c));
	json_members(o, out);
	out_text(out, ",\"stacks\":");
	if (options->stacks)
		write_cpu_stacks(c, frames, out);
	else
		out_text(out, "null");
}

static void write_sites(const struct heap_profile *h, struct json_frames *frames, struct out *out)
{
	const struct heap_sums *s;
	uint32_t i;

	out_char(out, '[');
	for (i = 0; i < h->nsites; i++) {
		s = &h->sites[i].sums;
		out_printf(out, "%s{\"calls\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"frees\":%" PRIu64 ",\"peak_bytes\":%" PRIu64,
			   i ? "," : "", s->calls, s->bytes, s->frees, s->peak_bytes);
		out_printf(out, ",\"never_freed_bytes\":%" PRIu64 ",\"never_freed_calls\":%" PRIu64 ",\"temporary\":%" PRIu64,
			   s->never_freed_bytes, s->never_freed_calls, s->temporary);
		out_text(out, ",\"stack\":");
		json_stack(frames, h->sites[i].leaf, out);
		out_char(out, '}');
	}
	out_char(out, ']');
}

static json_t *json_ages(const struct heap_profile *h)
{
	static const uint64_t below_ns[ARRAY_SIZE(h->ages)] = {
		0, 1000000, 10000000, 100000000, 1000000000, 10000000000, 100000000000, 0,
	};
	json_t *array = json_array();
	size_t i;

	/* by age, the unknown last; below_ns null: no bound */
	for (i = 1; i < ARRAY_SIZE(h->ages); i++)
		json_array_append_new(array, json_pack("{s:o,s:o}", "below_ns", json_known(below_ns[i]), "frees",
						       json_count(h->ages[i])));
	return array;
}

static json_t *json_points(const struct heap_profile *h)
{
	json_t *array = json_array();
	uint32_t i;

	for (i = 0; i < h->npoints; i++)
		json_array_append_new(array, json_pack("{s:o,s:o,s:o}", "at_ns", json_count(h->points[i].at_ns), "live_bytes",
						       json_count(h->points[i].live_bytes), "live_blocks",
						       json_count(h->points[i].live_blocks)));
	return array;
}

static void write_heap(const struct profile *p, struct json_frames *frames, struct out *out)
{
	const struct heap_profile *h = p->heap;
	json_t *o = json_object();

	set(o, "calls", json_count(h->sums.calls));
	set(o, "frees", json_count(h->sums.frees));
	set(o, "inherited_frees", json_count(h->inherited_frees));
	set(o, "unknown_frees", json_count(h->unknown_frees));
	set(o, "failed", json_count(h->failed));
	set(o, "bytes_allocated", json_count(h->sums.bytes));
	set(o, "peak_bytes", json_count(h->peak_bytes));
	set(o, "peak_at_ns", json_count(h->peak_at_ns));
	set(o, "peak_uncertain_bytes", json_count(h->peak_uncertain_bytes));
	set(o, "never_freed", json_pack("{s:o,s:o}", "bytes", json_count(h->sums.never_freed_bytes), "calls",
					json_count(h->sums.never_freed_calls)));
	set(o, "temporary", json_count(h->sums.temporary));
	set(o, "sample_bytes", json_known(h->sample_bytes));
	set(o, "ages", json_ages(h));
	set(o, "age_unknown", json_count(h->ages[0]));
	set(o, "live", json_points(h));
	json_members(o, out);
	out_text(out, ",\"sites\":");
	write_sites(h, frames, out);
}

static json_t *json_instruments(const struct profile *p)
{
	json_t *array = json_array();

	if (p->instruments & INSTRUMENT_BIT_CPU)
		json_array_append_new(array, json_text("cpu"));
	if (p->instruments & INSTRUMENT_BIT_HEAP)
		json_array_append_new(array, json_text("heap"));
	return array;
}

static json_t *json_findings(const struct profile *p)
{
	CLEANUP(arena_fini) struct arena arena = { 0 };
	struct finding findings[FINDINGS_MAX];
	uint32_t n = findings_of(p, true, &arena, findings), i;
	json_t *array = json_array(), *one;

	for (i = 0; i < n; i++) {
		one = json_object();
		set(one, "rank", json_count(i + 1));
		set(one, "kind", json_text(findings[i].kind));
		set(one, "text", json_text(findings[i].text));
		set(one, "lost_ns", json_known(findings[i].lost_ns));
		set(one, "effect", json_estimate(&findings[i].effect));
		set(one, "page", json_text(findings[i].kind));
		json_array_append_new(array, one);
	}
	return array;
}

/* The keys of each instrument under its name; null where the recording has it not. */
static void write_joined(const struct profile *p, const struct render_options *options, struct json_frames *frames,
			 struct out *out)
{
	bool report = !strcmp(options->command, "report");
	json_t *o = json_object();

	set(o, "instruments", json_instruments(p));
	if (report) {
		set(o, "findings", json_findings(p));
		set(o, "lat", json_null());
		set(o, "stall", json_null());
		set(o, "base", json_null());
		set(o, "diff", json_null());
		set(o, "slow_calls", json_array());
	}
	json_members(o, out);
	out_text(out, p->cpu ? ",\"cpu\":{" : ",\"cpu\":null");
	if (p->cpu) {
		write_cpu(p, options, frames, out);
		out_char(out, '}');
	}
	out_text(out, p->heap ? ",\"heap\":{" : ",\"heap\":null");
	if (p->heap) {
		write_heap(p, frames, out);
		out_char(out, '}');
	}
}

static json_t *json_common(const struct profile *p, const struct render_options *options)
{
	json_t *o = json_object();

	set(o, "schema", json_sprintf("tare.%s/1", options->command));
	set(o, "tare_version", json_text(TARE_VERSION));
	set(o, "run", json_run(p));
	set(o, "machine", json_machine(p));
	set(o, "notes", json_notes(p));
	set(o, "loss", json_pack("{s:o,s:o,s:o}", "events", json_count(p->lost_events), "truncated_stacks",
				 json_count(p->truncated_stacks), "broken_stacks", json_count(p->broken_stacks)));
	set(o, "cost", json_cost(p));
	return o;
}

int render_json(const struct profile *p, const struct render_options *options, struct out *out)
{
	CLEANUP(json_frames_fini) struct json_frames frames = { 0 };

	out_char(out, '{');
	json_members(json_common(p, options), out);
	out_char(out, ',');
	if (!strcmp(options->command, "cpu") && p->cpu)
		write_cpu(p, options, &frames, out);
	else if (!strcmp(options->command, "heap") && p->heap)
		write_heap(p, &frames, out);
	else if (!strcmp(options->command, "cost"))
		out_text(out, "\"primitives\":[]");	/* a recording's ledger: nothing was measured anew */
	else
		write_joined(p, options, &frames, out);
	out_text(out, "}\n");
	return out_result(out);
}
