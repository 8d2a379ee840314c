/*
 * heap - heap events, added up by call-tree node as they come by
 *
 * Events are not kept. What the peak needs of them is kept per time stamp: for the words of a slot between two stamps, by
 * how much live bytes rose, their highest and lowest point on the way, and where the highest was (struct heap_segment). From
 * these heap_peak.c finds the moment of the peak, and a second pass over the file adds up what was live then, node by node.
 * For one thread that is exact whatever the stamps are, since the highest point within a segment is known; if a recording
 * has more than MAX_SEGMENTS of them, neighbours are joined, which is exact for one thread as well.
 */
#include "analyse/heap.h"

#include <stdlib.h>

#include "base/util.h"

enum {
	MAX_SEGMENTS = 1 << 20,
	WIDE_BITS = 23		/* sizes are below 2^47: no address space has more */
};

void heap_init(struct heap *h, struct load *load)
{
	*h = (struct heap){ .load = load, .stamps_per_segment = 1 };
}

void heap_fini(struct heap *h)
{
	free(h->streams);
	free(h->segments);
	table_fini(&h->stream_index);
	*h = (struct heap){ 0 };
}

static struct heap_stream *heap_stream(struct heap *h, struct process *p, uint32_t slot)
{
	uint64_t *index = table_at(&h->stream_index, (uint64_t)p->number << 32 | slot);
	struct heap_stream *s;

	if (!*index) {
		*index = h->nstreams + 1;
		h->streams = table_grow(h->streams, &h->streams_room, h->nstreams + 1, sizeof(*h->streams));
		s = &h->streams[h->nstreams];
		*s = (struct heap_stream){ .process = p };
		s->open = (struct heap_segment){ .start = p->start_ticks, .stream = (uint32_t)h->nstreams++ };
	}
	return &h->streams[*index - 1];
}

static struct heap_segment segments_join(const struct heap_segment *a, const struct heap_segment *b)
{
	struct heap_segment join = *a;

	join.end = b->end;
	join.end_word = b->end_word;
	join.events += b->events;
	join.bytes += b->bytes;
	join.blocks += b->blocks;
	if (a->bytes + b->highest > a->highest) {
		join.highest = a->bytes + b->highest;
		join.highest_at_start = false;
		join.highest_word = b->highest_word;
		join.blocks_at_highest = a->blocks + b->blocks_at_highest;
	}
	join.lowest = MIN(a->lowest, a->bytes + b->lowest);
	return join;
}

/* Joins neighbours of each stream, two by two; keeps the order. */
static void heap_coarsen(struct heap *h)
{
	CLEANUP_FREE size_t *half = calloc(h->nstreams + 1, sizeof(*half));	/* place + 1 of a first half */
	struct heap_segment *segment;
	size_t i, n = 0;
	uint32_t stream;

	if (!half)
		arena_no_memory();
	for (i = 0; i < h->nsegments; i++) {
		segment = &h->segments[i];
		stream = segment->stream;
		if (half[stream]) {
			h->segments[half[stream] - 1] = segments_join(&h->segments[half[stream] - 1], segment);
			half[stream] = 0;
		} else {
			h->segments[n] = *segment;
			half[stream] = ++n;
		}
	}
	h->nsegments = n;
	h->stamps_per_segment *= 2;
}

static void heap_close_segment(struct heap *h, struct heap_stream *s, uint64_t ticks)
{
	struct heap_segment *open = &s->open;

	open->end = MAX(ticks, open->start);
	open->end_word = s->words;
	if (open->events) {
		if (h->nsegments >= MAX_SEGMENTS && h->nsegments >= h->nstreams * 4)
			heap_coarsen(h);
		open->index = s->nsegments++;
		h->segments = table_grow(h->segments, &h->segments_room, h->nsegments + 1, sizeof(*h->segments));
		h->segments[h->nsegments++] = *open;
	}
	*open = (struct heap_segment){
		.start = open->end, .stream = open->stream, .first_word = s->words, .highest_word = s->words,
	};
	s->stamps = 0;
}

static void heap_stamp(struct heap *h, struct heap_stream *s, uint64_t ticks)
{
	h->load->last_ticks = MAX(h->load->last_ticks, ticks);
	if (++s->stamps < h->stamps_per_segment)
		return;
	heap_close_segment(h, s, ticks);
}

static inline void heap_live(struct heap_stream *s, int64_t bytes, int64_t blocks)
{
	struct heap_segment *open = &s->open;

	open->bytes += bytes;
	open->blocks += blocks;
	if (!open->events++ || open->bytes > open->highest) {
		open->highest_at_start = open->events == 1;
		open->highest = open->bytes;
		open->highest_word = s->words;
		open->blocks_at_highest = open->blocks;
	}
	if (open->events == 1 || open->bytes < open->lowest)
		open->lowest = open->bytes;
}

static void heap_alloc(struct heap_stream *s, uint64_t word)
{
	struct node_sums *sums = process_sums(s->process, event_node(word));
	uint64_t size = event_low(word) | s->wide;

	s->wide = 0;
	sums->calls++;
	sums->bytes += size;
	heap_live(s, (int64_t)size, 1);
}

static void heap_free(struct heap *h, struct heap_stream *s, uint64_t word)
{
	struct node_sums *sums = process_sums(s->process, event_node(word));
	uint64_t size = event_low(word) | s->wide;
	uint32_t small = event_small(word), age = small >> 1 & 15;

	s->wide = 0;
	sums->frees++;
	sums->freed_bytes += size;
	sums->temporary += small & 1;
	h->ages[age < EVENT_AGE_CLASSES ? age : 0]++;
	heap_live(s, -(int64_t)size, -1);
}

void heap_log(struct heap *h, const struct rec_log *log)
{
	struct heap_stream *s = heap_stream(h, load_process(h->load, log->process), log->slot);
	uint64_t word;
	uint32_t i;

	for (i = 0; i < log->n; i++) {
		word = log->words[i];
		s->words++;
		switch (event_op(word)) {
		case EVENT_ALLOC:
			heap_alloc(s, word);
			break;
		case EVENT_FREE:
			heap_free(h, s, word);
			break;
		case EVENT_WIDE:
			s->wide = (word & EVENT_MASK(WIDE_BITS)) << EVENT_SIZE_BITS;
			break;
		case EVENT_TIME:
			heap_stamp(h, s, word & EVENT_MASK(61));
			break;
		default:
			break;
		}
	}
}

void heap_log_peak(struct heap *h, const struct rec_log *log)
{
	struct heap_stream *s = heap_stream(h, load_process(h->load, log->process), log->slot);
	uint64_t word, size;
	uint32_t i;

	for (i = 0; i < log->n && s->words < s->limit; i++) {
		word = log->words[i];
		s->words++;
		size = event_low(word) | s->wide;
		switch (event_op(word)) {
		case EVENT_ALLOC:
			process_sums(s->process, event_node(word))->peak_bytes += (int64_t)size;
			s->wide = 0;
			break;
		case EVENT_FREE:
			process_sums(s->process, event_node(word))->peak_bytes -= (int64_t)size;
			s->wide = 0;
			break;
		case EVENT_WIDE:
			s->wide = (word & EVENT_MASK(WIDE_BITS)) << EVENT_SIZE_BITS;
			break;
		default:
			break;
		}
	}
}

void heap_second_pass(struct heap *h)
{
	size_t i;

	for (i = 0; i < h->nstreams; i++) {
		h->streams[i].words = 0;
		h->streams[i].wide = 0;
	}
}

void heap_end(struct heap *h)
{
	struct heap_stream *s;
	size_t i;

	for (i = 0; i < h->nstreams; i++) {
		s = &h->streams[i];
		heap_close_segment(h, s, s->process->end_ticks == UINT64_MAX ? h->load->last_ticks : s->process->end_ticks);
	}
}
