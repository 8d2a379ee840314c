/* heap.h - heap events -> sums by node, the moment of the peak, live bytes over time; private to analyse/ */
#ifndef TARE_ANALYSE_HEAP_H
#define TARE_ANALYSE_HEAP_H

#include "analyse/load.h"
#include "analyse/tree.h"
#include "record/event.h"

/**
 * struct heap_segment - the words of one thread slot between two of its time stamps; sums are relative to its beginning
 *
 * A stamp is taken for the event that follows it: so the first event is at @start, and highest and lowest are those after it.
 */
struct heap_segment {
	uint64_t start, end;			/* ticks */
	uint64_t events;
	int64_t bytes, highest, lowest;		/* live bytes: at its end, at its highest and lowest */
	int64_t blocks, blocks_at_highest;
	uint64_t first_word, highest_word, end_word;	/* words of the slot up to there */
	uint32_t stream, index;			/* index: order within the stream */
	bool highest_at_start;			/* after its first event */
};

/** struct heap_stream - the heap log of one thread slot */
struct heap_stream {
	struct process *process;
	uint64_t words;		/* so far */
	uint64_t wide;		/* high bits of the next size */
	uint64_t limit;		/* second pass: words before the peak */
	uint32_t stamps, nsegments;
	struct heap_segment open;
};

struct heap {
	struct load *load;
	struct heap_stream *streams;
	size_t nstreams, streams_room;
	struct table stream_index;	/* process, slot -> index + 1 */
	struct heap_segment *segments;
	size_t nsegments, segments_room;
	uint32_t stamps_per_segment;	/* doubled when there are too many segments */
	uint64_t ages[EVENT_AGE_CLASSES];

	/* the peak, by heap_find_peak() */
	uint64_t peak_bytes, peak_ticks, uncertain_bytes;
	struct heap_point *points;	/* the arena's */
	uint32_t npoints;
};

void heap_init(struct heap *h, struct load *load);
void heap_fini(struct heap *h);

/** heap_log - first pass: adds up a log's events */
void heap_log(struct heap *h, const struct rec_log *log);

/** heap_end - after the last log and load_finish() */
void heap_end(struct heap *h);

/** heap_find_peak - after heap_end() */
void heap_find_peak(struct heap *h);

/** heap_log_peak - second pass: adds up what was live at the peak */
void heap_log_peak(struct heap *h, const struct rec_log *log);
void heap_second_pass(struct heap *h);	/* to be called before it */

struct resolve;

/**
 * heap_profile_new - after the tree is built
 * @ret_lost: events that are not in the logs
 *
 * Owns: @arena.
 */
struct heap_profile *heap_profile_new(struct heap *h, struct resolve *r, struct arena *arena, uint64_t *ret_lost);

#endif
