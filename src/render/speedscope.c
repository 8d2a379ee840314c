/*
 * speedscope - its own JSON: shared frames, one "sampled" profile a thread
 */
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "render/export_formats.h"
#include "render/json_value.h"

struct speedscope {
	json_t *frames, *profiles;
	uint32_t *index;	/* frame's id -> place in frames + 1 */
	size_t n;
	bool failed;
};

/** One list of stacks with a weight each. */
struct weights {
	json_t *samples, *weights;
	uint64_t sum;
};

static json_t *speedscope_frame(struct speedscope *s, const struct frame *frame)
{
	size_t n = s->n ? s->n : 256;
	uint32_t *index;
	json_t *object;

	if (frame->id >= s->n) {
		while (n <= frame->id)
			n *= 2;
		index = realloc(s->index, n * sizeof(*index));
		if (!index) {
			s->failed = true;
			return json_integer(0);
		}
		memset(index + s->n, 0, (n - s->n) * sizeof(*index));
		s->index = index;
		s->n = n;
	}
	if (!s->index[frame->id]) {
		object = json_object();
		json_object_set_new(object, "name", json_text(frame->name));
		if (frame->file)
			json_object_set_new(object, "file", json_text(frame->file));
		if (frame->file && frame->line)
			json_object_set_new(object, "line", json_count(frame->line));
		json_array_append_new(s->frames, object);
		s->index[frame->id] = (uint32_t)json_array_size(s->frames);
	}
	return json_count(s->index[frame->id] - 1);
}

static void speedscope_add(struct speedscope *s, struct weights *w, const struct tree_node *leaf, uint64_t weight)
{
	json_t *stack = json_array();

	if (!w->samples) {
		w->samples = json_array();
		w->weights = json_array();
	}
	for (; leaf && leaf->frame; leaf = leaf->parent)
		json_array_insert_new(stack, 0, speedscope_frame(s, leaf->frame));
	json_array_append_new(w->samples, stack);
	json_array_append_new(w->weights, json_count(weight));
	w->sum += weight;
}

static void speedscope_profile(struct speedscope *s, struct weights *w, const char *name, const char *unit)
{
	if (!w->samples)
		return;
	json_array_append_new(s->profiles, json_pack("{s:s,s:o,s:s,s:i,s:o,s:o,s:o}", "type", "sampled", "name", json_text(name),
						     "unit", unit, "startValue", 0, "endValue", json_count(w->sum), "samples",
						     w->samples, "weights", w->weights));
}

static void speedscope_cpu(struct speedscope *s, const struct cpu_profile *c)
{
	CLEANUP(out_fini) struct out name = { 0 };
	struct weights w;
	uint64_t before;
	uint32_t i, k;

	for (i = 0; i < c->nthreads; i++) {
		w = (struct weights){ 0 };
		before = 0;
		for (k = 0; k < c->nstacks; k++)
			if (c->stacks[k].tid == c->threads[i].tid)
				speedscope_add(s, &w, c->stacks[k].leaf,
					       export_ns(c, &before, c->stacks[k].samples));
		name.len = 0;
		out_printf(&name, "%s (%u)", c->threads[i].name, c->threads[i].tid);
		speedscope_profile(s, &w, name.data ? name.data : "", "nanoseconds");
	}
}

static void speedscope_heap(struct speedscope *s, const struct heap_profile *h)
{
	struct weights allocated = { 0 }, never_freed = { 0 }, peak = { 0 };
	const struct heap_site *site;

	for (site = h->sites; site < h->sites + h->nsites; site++) {
		if (site->sums.never_freed_bytes)
			speedscope_add(s, &never_freed, site->leaf, site->sums.never_freed_bytes);
		if (site->sums.peak_bytes)
			speedscope_add(s, &peak, site->leaf, site->sums.peak_bytes);
		if (site->sums.bytes)
			speedscope_add(s, &allocated, site->leaf, site->sums.bytes);
	}
	speedscope_profile(s, &allocated, "bytes allocated", "bytes");
	speedscope_profile(s, &never_freed, "never freed", "bytes");
	speedscope_profile(s, &peak, "alive at the peak", "bytes");
}

int export_speedscope(const struct profile *p, enum export_what what, struct out *out)
{
	CLEANUP(out_fini) struct out cost = { 0 };
	struct speedscope s = { .frames = json_array(), .profiles = json_array() };
	json_t *document;
	int r;

	if (what == EXPORT_CPU)
		speedscope_cpu(&s, p->cpu);
	else
		speedscope_heap(&s, p->heap);
	export_cost_sentence(p, &cost);
	document = json_pack("{s:s,s:{s:o},s:o,s:o,s:s}", "$schema", "https://www.speedscope.app/file-format-schema.json", "shared",
			     "frames", s.frames, "profiles", s.profiles, "name", json_text(p->argc ? p->argv[0] : "tare"),
			     "exporter", cost.data ? cost.data : "tare");
	r = json_line(document, out);
	json_decref(document);
	free(s.index);
	out->full |= s.failed;
	return r ? r : out_result(out);
}
