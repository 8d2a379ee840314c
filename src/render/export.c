/*
 * export - a profile in other people's formats
 *
 * What tare could not see is written as what it is: [lost], [truncated], [kernel] are frames with their weight, so that
 * totals are those of the report.
 */
#include "render/export.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/util.h"
#include "render/export_formats.h"
#include "render/number.h"

const struct export_format export_formats[] = {
	{ "pprof", ".pb.gz", "cpu, heap", "go tool pprof, speedscope, Grafana", true, EXPORT_CPU | EXPORT_HEAP, export_pprof },
	{ "folded", ".folded", "cpu, heap", "flamegraph.pl, speedscope, inferno (heap: bytes allocated)", false, EXPORT_CPU | EXPORT_HEAP, export_folded },
	{ "speedscope", ".speedscope.json", "cpu, heap", "speedscope", false, EXPORT_CPU | EXPORT_HEAP, export_speedscope },
	{ "csv", ".csv", "cpu, heap", "spreadsheets, pandas", false, EXPORT_CPU | EXPORT_HEAP, export_csv },
	{ 0 },
};

uint64_t export_ns(const struct cpu_profile *c, uint64_t *before, uint64_t samples)
{
	double ns = c->frequency_hz > 0 ? 1e9 / c->frequency_hz : 0;
	uint64_t from = (uint64_t)llround((double)*before * ns);

	*before += samples;
	return (uint64_t)llround((double)*before * ns) - from;
}

void export_cost_sentence(const struct profile *p, struct out *out)
{
	out_printf(out, "tare %s: measuring cost ", TARE_VERSION);
	if (p->cost_ratio.known)
		out_printf(out, "%s of CPU", number_ratio(&p->cost_ratio, false).text);
	else
		out_printf(out, "%s of CPU time", number_ns(p->cost_cpu_ns, false).text);
	if (p->lost_events)
		out_printf(out, "; %s events lost", number_count(p->lost_events).text);
}

static const char *what_name(uint32_t what)
{
	return what == EXPORT_HEAP ? "heap" : "cpu";
}

static int export_refuse(const struct export_format *format, uint32_t what, struct err *err)
{
	CLEANUP(out_fini) struct out can = { 0 };
	size_t i;

	for (i = 0; export_formats[i].name; i++)
		if (export_formats[i].what & what)
			out_printf(&can, "%s%s", can.len ? ", " : "", export_formats[i].name);
	err_set(err, -ENOTSUP, "export: %s cannot hold a %s profile; these can: %s", format->name, what_name(what),
		can.data ? can.data : "none");
	return -ENOTSUP;
}

int export_write(const struct profile *p, const struct export_format *format, uint32_t what, struct out *out,
		 struct err *err)
{
	if (!what)
		what = p->cpu ? EXPORT_CPU : EXPORT_HEAP;
	if (!(format->what & what))
		return export_refuse(format, what, err);
	if (what == EXPORT_CPU ? !p->cpu : !p->heap) {
		err_set(err, -ENOTSUP, "export: the recording holds no %s profile", what_name(what));
		err_next(err, "tare record -e %s -- PROGRAM", what_name(what));
		return -ENOTSUP;
	}
	format->write(p, (enum export_what)what, out);
	return out_result(out) ? err_set(err, -ENOMEM, "export: out of memory") : 0;
}
