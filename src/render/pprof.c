/*
 * pprof - profile.proto of google/pprof, gzipped
 *
 * A location here is a frame (function and line): addresses mean nothing once processes are merged, and inlining is
 * resolved already. Each mapping says that its functions, files and lines are there, so that no reader looks for objects.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/util.h"
#include "render/export_formats.h"

/* Field numbers of profile.proto. */
enum {
	PROFILE_SAMPLE_TYPE = 1, PROFILE_SAMPLE = 2, PROFILE_MAPPING = 3, PROFILE_LOCATION = 4, PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6, PROFILE_TIME = 9, PROFILE_DURATION = 10, PROFILE_PERIOD_TYPE = 11, PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13, PROFILE_DEFAULT_TYPE = 14,
	VALUE_TYPE = 1, VALUE_UNIT = 2,
	SAMPLE_LOCATIONS = 1, SAMPLE_VALUES = 2, SAMPLE_LABEL = 3,
	LABEL_KEY = 1, LABEL_STRING = 2, LABEL_NUMBER = 3,
	MAPPING_ID = 1, MAPPING_FILE = 5, MAPPING_HAS_FUNCTIONS = 7, MAPPING_HAS_FILES = 8, MAPPING_HAS_LINES = 9,
	LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_LINE = 4,
	LINE_FUNCTION = 1, LINE_LINE = 2,
	FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILE = 4, FUNCTION_LINE = 5,
	WIRE_VARINT = 0, WIRE_BYTES = 2,
};

struct pprof {
	struct out out;		/* the message */
	struct out part, inner;	/* a message in it, and one in that */
	uint64_t nstrings;
	const char **modules;
	size_t nmodules;
	uint8_t *functions, *locations;	/* written, by id */
	size_t nfunctions, nlocations;
	bool failed;
};

static void varint(struct out *out, uint64_t n)
{
	while (n >= 0x80) {
		out_char(out, (char)(n | 0x80));
		n >>= 7;
	}
	out_char(out, (char)n);
}

static void field_number(struct out *out, unsigned int field, uint64_t n)
{
	varint(out, field << 3 | WIRE_VARINT);
	varint(out, n);
}

static void field_bytes(struct out *out, unsigned int field, const char *bytes, size_t n)
{
	varint(out, field << 3 | WIRE_BYTES);
	varint(out, n);
	out_bytes(out, bytes, n);
}

/* Writes a gathered message as a field of the outer one and empties it. */
static void field_message(struct out *out, unsigned int field, struct out *message)
{
	field_bytes(out, field, message->data, message->len);
	out->full |= message->full;
	message->len = 0;
}

static uint64_t pprof_string(struct pprof *w, const char *s)
{
	field_bytes(&w->out, PROFILE_STRING, s, strlen(s));
	return w->nstrings++;
}

static void pprof_value_type(struct pprof *w, unsigned int field, const char *type, const char *unit)
{
	field_number(&w->part, VALUE_TYPE, pprof_string(w, type));
	field_number(&w->part, VALUE_UNIT, pprof_string(w, unit));
	field_message(&w->out, field, &w->part);
}

static uint64_t pprof_mapping(struct pprof *w, const char *module)
{
	const char **modules;
	size_t i;

	for (i = 0; i < w->nmodules; i++)
		if (w->modules[i] == module || !strcmp(w->modules[i], module))
			return i + 1;
	modules = realloc(w->modules, (w->nmodules + 1) * sizeof(*modules));
	if (!modules) {
		w->failed = true;
		return 0;
	}
	w->modules = modules;
	w->modules[w->nmodules++] = module;
	field_number(&w->inner, MAPPING_ID, w->nmodules);
	field_number(&w->inner, MAPPING_FILE, pprof_string(w, module));
	field_number(&w->inner, MAPPING_HAS_FUNCTIONS, 1);
	field_number(&w->inner, MAPPING_HAS_FILES, 1);
	field_number(&w->inner, MAPPING_HAS_LINES, 1);
	field_message(&w->out, PROFILE_MAPPING, &w->inner);
	return w->nmodules;
}

/* True the first time that it is asked for an id. */
static bool pprof_first(struct pprof *w, uint8_t **seen, size_t *n, uint32_t id)
{
	size_t more = *n ? *n : 256;
	uint8_t *grown;

	if (id >= *n) {
		while (more <= id)
			more *= 2;
		grown = realloc(*seen, more);
		if (!grown) {
			w->failed = true;
			return false;
		}
		memset(grown + *n, 0, more - *n);
		*seen = grown;
		*n = more;
	}
	if ((*seen)[id])
		return false;
	(*seen)[id] = 1;
	return true;
}

static void pprof_function(struct pprof *w, const struct function *f)
{
	uint64_t name;

	if (!pprof_first(w, &w->functions, &w->nfunctions, f->id))
		return;
	name = pprof_string(w, f->name);
	field_number(&w->inner, FUNCTION_ID, (uint64_t)f->id + 1);
	field_number(&w->inner, FUNCTION_NAME, name);
	field_number(&w->inner, FUNCTION_SYSTEM_NAME, name);
	if (f->file)
		field_number(&w->inner, FUNCTION_FILE, pprof_string(w, f->file));
	if (f->line)
		field_number(&w->inner, FUNCTION_LINE, f->line);
	field_message(&w->out, PROFILE_FUNCTION, &w->inner);
}

static uint64_t pprof_location(struct pprof *w, const struct frame *frame)
{
	CLEANUP(out_fini) struct out location = { 0 };
	uint64_t mapping;

	if (!pprof_first(w, &w->locations, &w->nlocations, frame->id))
		return (uint64_t)frame->id + 1;
	pprof_function(w, frame->function);
	mapping = frame->module && *frame->module ? pprof_mapping(w, frame->module) : 0;
	field_number(&location, LOCATION_ID, (uint64_t)frame->id + 1);
	if (mapping)
		field_number(&location, LOCATION_MAPPING, mapping);
	field_number(&w->inner, LINE_FUNCTION, (uint64_t)frame->function->id + 1);
	if (frame->line)
		field_number(&w->inner, LINE_LINE, frame->line);
	field_message(&location, LOCATION_LINE, &w->inner);
	field_message(&w->out, PROFILE_LOCATION, &location);
	return (uint64_t)frame->id + 1;
}

/* The beginning of a sample: its stack, leaf first, and its values; labels may follow in w->part. */
static void pprof_sample(struct pprof *w, const struct tree_node *leaf, const uint64_t *values, size_t n)
{
	CLEANUP(out_fini) struct out stack = { 0 };
	size_t i;

	for (; leaf && leaf->frame; leaf = leaf->parent)
		varint(&stack, pprof_location(w, leaf->frame));
	field_message(&w->part, SAMPLE_LOCATIONS, &stack);
	for (i = 0; i < n; i++)
		varint(&stack, values[i]);
	field_message(&w->part, SAMPLE_VALUES, &stack);
}

static const char *thread_name(const struct cpu_profile *c, uint32_t tid)
{
	uint32_t i;

	for (i = 0; i < c->nthreads; i++)
		if (c->threads[i].tid == tid)
			return c->threads[i].name;
	return "";
}

static void pprof_cpu(struct pprof *w, const struct profile *p)
{
	const struct cpu_profile *c = p->cpu;
	uint64_t key_thread = pprof_string(w, "thread"), key_tid = pprof_string(w, "tid"), values[2], before = 0;
	uint32_t i;

	pprof_value_type(w, PROFILE_SAMPLE_TYPE, "samples", "count");
	pprof_value_type(w, PROFILE_SAMPLE_TYPE, "cpu", "nanoseconds");
	pprof_value_type(w, PROFILE_PERIOD_TYPE, "cpu", "nanoseconds");
	field_number(&w->out, PROFILE_PERIOD, c->period_ns);
	for (i = 0; i < c->nstacks; i++) {
		values[0] = c->stacks[i].samples;
		values[1] = export_ns(c, &before, values[0]);
		pprof_sample(w, c->stacks[i].leaf, values, ARRAY_SIZE(values));
		field_number(&w->inner, LABEL_KEY, key_thread);
		field_number(&w->inner, LABEL_STRING, pprof_string(w, thread_name(c, c->stacks[i].tid)));
		field_message(&w->part, SAMPLE_LABEL, &w->inner);
		field_number(&w->inner, LABEL_KEY, key_tid);
		field_number(&w->inner, LABEL_NUMBER, c->stacks[i].tid);
		field_message(&w->part, SAMPLE_LABEL, &w->inner);
		field_message(&w->out, PROFILE_SAMPLE, &w->part);
	}
}

static void pprof_heap(struct pprof *w, const struct profile *p)
{
	const struct heap_profile *h = p->heap;
	const struct heap_sums *s;
	uint32_t i;

	pprof_value_type(w, PROFILE_SAMPLE_TYPE, "alloc_objects", "count");
	pprof_value_type(w, PROFILE_SAMPLE_TYPE, "alloc_space", "bytes");
	pprof_value_type(w, PROFILE_SAMPLE_TYPE, "inuse_objects", "count");
	pprof_value_type(w, PROFILE_SAMPLE_TYPE, "inuse_space", "bytes");
	pprof_value_type(w, PROFILE_SAMPLE_TYPE, "peak_space", "bytes");
	pprof_value_type(w, PROFILE_PERIOD_TYPE, "space", "bytes");
	field_number(&w->out, PROFILE_PERIOD, MAX(h->sample_bytes, (uint64_t)1));
	field_number(&w->out, PROFILE_DEFAULT_TYPE, pprof_string(w, "inuse_space"));
	for (i = 0; i < h->nsites; i++) {
		s = &h->sites[i].sums;
		pprof_sample(w, h->sites[i].leaf, (const uint64_t[]){
			s->calls, s->bytes, s->never_freed_calls, s->never_freed_bytes, s->peak_bytes }, 5);
		field_message(&w->out, PROFILE_SAMPLE, &w->part);
	}
}

static void pprof_comments(struct pprof *w, const struct profile *p, enum export_what what)
{
	CLEANUP(out_fini) struct out text = { 0 };

	export_cost_sentence(p, &text);
	field_number(&w->out, PROFILE_COMMENT, pprof_string(w, text.data ? text.data : ""));
	if (what == EXPORT_HEAP)
		field_number(&w->out, PROFILE_COMMENT, pprof_string(w, "inuse: never freed; peak: alive at the peak"));
}

static int pprof_gzip(const struct out *message, struct out *out)
{
	unsigned char buffer[16384];
	z_stream z = { 0 };
	int r;

	if (deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
		out->full = true;
		return out_result(out);
	}
	z.next_in = (unsigned char *)message->data;
	z.avail_in = (unsigned int)message->len;
	do {
		z.next_out = buffer;
		z.avail_out = sizeof(buffer);
		r = deflate(&z, Z_FINISH);
		out_bytes(out, buffer, sizeof(buffer) - z.avail_out);
	} while (r == Z_OK || r == Z_BUF_ERROR);
	deflateEnd(&z);
	return out_result(out);
}

int export_pprof(const struct profile *p, enum export_what what, struct out *out)
{
	struct pprof w = { 0 };
	int r;

	pprof_string(&w, "");	/* string 0 */
	if (what == EXPORT_CPU)
		pprof_cpu(&w, p);
	else
		pprof_heap(&w, p);
	field_number(&w.out, PROFILE_TIME, p->start_realtime_ns);
	field_number(&w.out, PROFILE_DURATION, p->wall_ns);
	pprof_comments(&w, p, what);
	out->full |= w.failed || w.out.full || w.part.full || w.inner.full || w.out.len > UINT32_MAX;
	r = out->full ? out_result(out) : pprof_gzip(&w.out, out);
	out_fini(&w.out);
	out_fini(&w.part);
	out_fini(&w.inner);
	free(w.modules);
	free(w.functions);
	free(w.locations);
	return r;
}
