/*
 * notes - what the reader of a result should know about it, in words
 *
 * The codes are those of the JSON contract. What the collector wrote into the recording comes first.
 */
#include "analyse/cost.h"

#include <inttypes.h>

#include "base/util.h"

enum { FEW_SAMPLES = 100 };

static void note_loss(struct profile *p, struct load *l)
{
	if (!l->has_end)
		load_note(l, "loss", "the recording ends early, its writer was stopped: this is what had been written by then", NULL);
	if (!p->lost_events)
		return;
	load_note(l, "loss",
		  arena_printf(&p->arena, "%" PRIu64 " event%s lost for want of room%s", p->lost_events,
			       p->lost_events == 1 ? " was" : "s were",
			       p->heap ? "; allocations among them are in [lost], and where frees are among them "
					 "\"never freed\" is too high" : ""),
		  p->heap ? "record fewer events: --sample=64KiB" : "a lower rate: -F 97");
}

static void note_cpu(struct profile *p, struct load *l)
{
	if (!p->cpu)
		return;
	if (p->cpu->kernel_samples)
		load_note(l, "sampled",
			  "time in the kernel is known as a total per thread, from its CPU clock, not by function: [kernel]", NULL);
	if (p->cpu->samples < FEW_SAMPLES)
		load_note(l, "short-run",
			  p->cpu->samples ? arena_printf(&p->arena, "only %" PRIu64 " sample%s: shares are rough", p->cpu->samples,
							 p->cpu->samples == 1 ? "" : "s") :
					    "no samples: the program ended too soon",
			  "a longer run, or a higher rate: -F 4999");
	if (l->has_run && !l->run.pmu)
		load_note(l, "no-pmu", "this machine gives no hardware counters: threads are sampled by their CPU clocks", NULL);
}

static void note_symbols(struct profile *p, struct load *l)
{
	struct symbols_gaps gaps = { 0 };

	symbols_gaps(p->symbols, &gaps);
	if (gaps.stripped)
		load_note(l, "stripped",
			  arena_printf(&p->arena, "%u object%s without symbols, such as %s: its functions are shown as object+offset",
				       gaps.stripped, gaps.stripped == 1 ? "" : "s", gaps.first_stripped),
			  "install its debug symbols (package NAME-dbg or NAME-dbgsym), or build it without -s");
	if (gaps.changed)
		load_note(l, "stripped",
			  arena_printf(&p->arena, "%u object%s changed since the recording, such as %s: not used for names",
				       gaps.changed, gaps.changed == 1 ? "" : "s", gaps.first_changed), NULL);
	if (gaps.missing)
		load_note(l, "stripped",
			  arena_printf(&p->arena, "%u object%s not there any more, such as %s: no names from it",
				       gaps.missing, gaps.missing == 1 ? "" : "s", gaps.first_missing), NULL);
}

void notes_fill(struct profile *p, struct load *l)
{
	size_t i;

	note_loss(p, l);
	note_cpu(p, l);
	note_symbols(p, l);
	if (!l->ns_per_tick)
		load_note(l, "clock-drift", "the recording holds too few readings of the clock: times in it are not known", NULL);
	p->notes = arena_alloc(&p->arena, (l->nnotes + 1) * sizeof(*p->notes));
	for (i = 0; i < l->nnotes; i++)
		p->notes[i] = l->notes[i];
	p->nnotes = (uint32_t)l->nnotes;
}
