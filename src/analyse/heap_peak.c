/*
 * heap_peak - the moment at which most bytes were alive, over all threads and processes
 *
 * The segments of all slots (heap.h) are put in order of their beginnings, and the words of each are taken as if they came
 * one after the other: an order that agrees with every time stamp. The peak is the highest point on that way. Between threads
 * the true order may differ within a segment, so the peak has a bound: from above, the sum of every slot's highest point in
 * the segments that overlap; from below, the same moment with every other slot at its lowest while that segment lasted. With
 * one slot both are the peak itself.
 *
 * A process that ends takes what is alive in it along: a moment of its own in the order.
 */
#include "analyse/heap.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"

enum { MAX_POINTS = 512 };

struct moment {
	uint64_t ticks;
	uint32_t stream;	/* of the segment; from nstreams on: process number, that ends */
	uint32_t index;
	size_t segment;
	bool end;		/* of the segment: from here on it is known what it left alive */
};

struct sweep {
	struct heap *heap;
	struct moment *moments;
	size_t n, at_peak;		/* moment of the peak; n: none */
	int64_t *live, *upper, *lower;	/* by stream */
	int64_t *process_live, *process_blocks;
	int64_t total, blocks, upper_total, lower_total;
	int64_t peak, upper_peak;
	uint64_t begin, end;		/* ticks of the points */
	int64_t *highest, *highest_blocks;	/* by point */
	uint32_t npoints, point;
};

static int moment_order(const void *a, const void *b)
{
	const struct moment *x = a, *y = b;

	if (x->ticks != y->ticks)
		return x->ticks < y->ticks ? -1 : 1;
	if (x->stream != y->stream)
		return x->stream < y->stream ? -1 : 1;
	if (x->index != y->index)
		return x->index < y->index ? -1 : 1;
	return (int)x->end - (int)y->end;
}

static void *sweep_array(struct heap *h, size_t n)
{
	void *array = calloc(n + 1, sizeof(int64_t));

	if (!array)
		arena_no_memory();
	return array;
}

static void sweep_moments(struct sweep *w)
{
	struct heap *h = w->heap;
	struct load *l = h->load;
	size_t i, room = 2 * h->nsegments + l->nprocesses + 1;
	struct heap_segment *segment;
	uint64_t process_end;

	w->moments = calloc(room, sizeof(*w->moments));
	if (!w->moments)
		arena_no_memory();
	for (i = 0; i < h->nsegments; i++) {
		segment = &h->segments[i];
		process_end = h->streams[segment->stream].process->end_ticks;
		w->moments[w->n++] = (struct moment){
			MIN(segment->start, process_end), segment->stream, segment->index, i, false,
		};
		w->moments[w->n++] = (struct moment){ MIN(segment->end, process_end), segment->stream, segment->index, i, true };
	}
	for (i = 0; i < l->nprocesses; i++)
		if (l->processes[i] && l->processes[i]->end_ticks != UINT64_MAX)
			w->moments[w->n++] = (struct moment){ l->processes[i]->end_ticks, (uint32_t)(h->nstreams + i), 0, 0, true };
	for (i = 1; i < w->n; i++)
		if (moment_order(&w->moments[i - 1], &w->moments[i]) > 0)
			break;
	if (i < w->n)
		qsort(w->moments, w->n, sizeof(*w->moments), moment_order);
}

static void sweep_init(struct sweep *w, struct heap *h)
{
	*w = (struct sweep){ .heap = h };
	sweep_moments(w);
	w->at_peak = w->n;
	w->live = sweep_array(h, h->nstreams);
	w->upper = sweep_array(h, h->nstreams);
	w->lower = sweep_array(h, h->nstreams);
	w->process_live = sweep_array(h, h->load->nprocesses);
	w->process_blocks = sweep_array(h, h->load->nprocesses);
	w->begin = h->load->run.start_ticks;
	w->end = MAX(h->load->last_ticks, w->begin + 1);
	w->npoints = (uint32_t)MIN((uint64_t)MAX_POINTS, w->end - w->begin);
	w->highest = sweep_array(h, w->npoints);
	w->highest_blocks = sweep_array(h, w->npoints);
}

static void sweep_fini(struct sweep *w)
{
	free(w->moments);
	free(w->live);
	free(w->upper);
	free(w->lower);
	free(w->process_live);
	free(w->process_blocks);
	free(w->highest);
	free(w->highest_blocks);
}

static uint64_t segment_highest_ticks(const struct heap_segment *s)
{
	double share = 0;

	if (!s->highest_at_start && s->end_word > s->first_word)
		share = (double)(s->highest_word - s->first_word) / (double)(s->end_word - s->first_word);
	return s->start + (uint64_t)((double)(s->end - s->start) * share);
}

static uint32_t sweep_point(const struct sweep *w, uint64_t ticks)
{
	double share;

	if (ticks <= w->begin)
		return 0;
	share = (double)(ticks - w->begin) / (double)(w->end - w->begin);
	return MIN((uint32_t)(share * w->npoints), w->npoints - 1);
}

/* The line of live bytes up to a moment: points on the way begin with what was alive before. */
static void sweep_draw_to(struct sweep *w, uint32_t point)
{
	while (w->point < point) {
		w->point++;
		if (w->total > w->highest[w->point]) {
			w->highest[w->point] = w->total;
			w->highest_blocks[w->point] = w->blocks;
		}
	}
}

static void sweep_draw_highest(struct sweep *w, const struct heap_segment *s)
{
	uint32_t point = sweep_point(w, segment_highest_ticks(s));

	if (w->total + s->highest <= w->highest[point])
		return;
	w->highest[point] = w->total + s->highest;
	w->highest_blocks[point] = w->blocks + s->blocks_at_highest;
}

static void sweep_bounds(struct sweep *w, uint32_t stream, int64_t upper, int64_t lower)
{
	w->upper_total += upper - w->upper[stream];
	w->lower_total += lower - w->lower[stream];
	w->upper[stream] = upper;
	w->lower[stream] = lower;
}

static void sweep_process_end(struct sweep *w, uint32_t process)
{
	struct heap *h = w->heap;
	size_t i;

	w->total -= w->process_live[process];
	w->blocks -= w->process_blocks[process];
	w->process_live[process] = w->process_blocks[process] = 0;
	for (i = 0; i < h->nstreams; i++)
		if (h->streams[i].process->number == process) {
			w->live[i] = 0;
			sweep_bounds(w, (uint32_t)i, 0, 0);
		}
}

static void sweep_step(struct sweep *w, const struct moment *m)
{
	const struct heap_segment *s;
	uint32_t process;

	if (m->stream >= w->heap->nstreams) {
		sweep_process_end(w, m->stream - (uint32_t)w->heap->nstreams);
		return;
	}
	if (m->end) {
		sweep_bounds(w, m->stream, w->live[m->stream], w->live[m->stream]);
		return;
	}
	s = &w->heap->segments[m->segment];
	process = w->heap->streams[m->stream].process->number;
	sweep_bounds(w, m->stream, w->live[m->stream] + s->highest, w->live[m->stream] + s->lowest);
	w->live[m->stream] += s->bytes;
	w->total += s->bytes;
	w->blocks += s->blocks;
	w->process_live[process] += s->bytes;
	w->process_blocks[process] += s->blocks;
}

static void sweep_run(struct sweep *w)
{
	const struct heap_segment *s;
	const struct moment *m;
	size_t i;

	for (i = 0; i < w->n; i++) {
		m = &w->moments[i];
		sweep_draw_to(w, sweep_point(w, m->ticks));
		if (m->stream < w->heap->nstreams && !m->end) {
			s = &w->heap->segments[m->segment];
			sweep_draw_highest(w, s);
			if (w->total + s->highest > w->peak) {
				w->peak = w->total + s->highest;
				w->at_peak = i;
			}
		}
		sweep_step(w, m);
		w->upper_peak = MAX(w->upper_peak, w->upper_total);
	}
	sweep_draw_to(w, w->npoints - 1);
}

/* What was surely alive when the slot of the peak was at its highest: the others at their lowest while its segment lasted. */
static int64_t sweep_lowest(struct sweep *w)
{
	const struct heap_segment *peak = &w->heap->segments[w->moments[w->at_peak].segment];
	uint64_t until = peak->highest_at_start ? peak->start : peak->end;
	uint32_t stream = w->moments[w->at_peak].stream;
	int64_t own = 0, others = 0;
	size_t i;

	memset(w->live, 0, w->heap->nstreams * sizeof(*w->live));
	memset(w->upper, 0, w->heap->nstreams * sizeof(*w->upper));
	memset(w->lower, 0, w->heap->nstreams * sizeof(*w->lower));
	w->upper_total = w->lower_total = 0;
	for (i = 0; i < w->n && (i <= w->at_peak || w->moments[i].ticks <= until); i++) {
		if (i == w->at_peak) {
			own = w->live[stream] + peak->highest;
			others = w->lower_total - w->lower[stream];
		}
		sweep_step(w, &w->moments[i]);
		if (i > w->at_peak)
			others = MIN(others, w->lower_total - w->lower[stream]);
	}
	return own + others;
}

static void sweep_limits(const struct sweep *w)
{
	struct heap *h = w->heap;
	const struct heap_segment *s;
	const struct moment *m;
	size_t i, k;

	for (i = 0; i < w->n && i <= w->at_peak; i++) {
		m = &w->moments[i];
		if (m->stream < h->nstreams && m->end)
			continue;
		if (m->stream < h->nstreams) {
			s = &h->segments[m->segment];
			h->streams[m->stream].limit = i == w->at_peak ? s->highest_word : s->end_word;
			continue;
		}
		for (k = 0; k < h->nstreams; k++)
			if (h->streams[k].process->number == m->stream - h->nstreams)
				h->streams[k].limit = 0;
	}
}

static void sweep_points(const struct sweep *w)
{
	struct heap *h = w->heap;
	uint64_t ticks;
	uint32_t i;

	h->points = arena_alloc(h->load->arena, w->npoints * sizeof(*h->points));
	h->npoints = w->npoints;
	for (i = 0; i < w->npoints; i++) {
		ticks = w->begin + (uint64_t)((double)(w->end - w->begin) * i / w->npoints);
		h->points[i] = (struct heap_point){
			load_ns(h->load, ticks), (uint64_t)MAX(w->highest[i], 0), (uint64_t)MAX(w->highest_blocks[i], 0),
		};
	}
}

void heap_find_peak(struct heap *h)
{
	CLEANUP(sweep_fini) struct sweep w;
	const struct heap_segment *s;
	int64_t lowest;

	sweep_init(&w, h);
	sweep_run(&w);
	sweep_points(&w);
	if (w.at_peak == w.n)
		return;		/* nothing was ever alive */
	s = &h->segments[w.moments[w.at_peak].segment];
	h->peak_bytes = (uint64_t)w.peak;
	h->peak_ticks = segment_highest_ticks(s);
	sweep_limits(&w);
	lowest = sweep_lowest(&w);
	h->uncertain_bytes = (uint64_t)MAX(MAX(w.upper_peak - w.peak, w.peak - lowest), 0);
}
