/*
 * columns - log words in a form that packs well
 *
 * A log repeats itself: a call site asks for the same size again and again, and times advance a little. Each word is
 * replaced by its difference from a forecast, and the differences are stored by bytes: the highest byte of all words, then
 * the next, down to the lowest. What was foreseen becomes runs of zeros, which cost next to nothing in zstd; what was not
 * stands in columns of its own, which entropy coding packs better than words that mix them.
 *
 *   ALLOC, FREE   the forecast of small argument and size is that of the last word with this op and node (in a table by
 *                 hash, so that it may be of another node); the difference is by exclusive or; op and node stay
 *   TIME, 0       (0: the time of a sample, most often) the forecast is the last such word; the low 61 bits are subtracted
 *   other         as they are
 *
 * Any bytes join to some words, so that joining cannot fail.
 */
#include "record/event.h"
#include "record/format.h"

enum { TABLE_BITS = 12, TABLE_SIZE = 1 << TABLE_BITS };

#define ASIDE (EVENT_MASK(EVENT_SMALL_BITS) << 48 | EVENT_MASK(EVENT_SIZE_BITS))	/* all but op and node */
#define TICKS EVENT_MASK(61)

/** struct forecast - what the words so far let one expect */
struct forecast {
	uint64_t last[2][TABLE_SIZE];	/* of ALLOC and of FREE */
	uint64_t ticks;
};

static inline uint64_t *forecast_slot(struct forecast *f, uint64_t word)
{
	return &f->last[event_op(word) == EVENT_FREE][event_node(word) * 0x9e3779b1u >> (32 - TABLE_BITS)];
}

static inline uint64_t to_difference(struct forecast *f, uint64_t word)
{
	uint64_t *slot, difference;

	switch ((unsigned)event_op(word)) {
	case EVENT_ALLOC:
	case EVENT_FREE:
		slot = forecast_slot(f, word);
		difference = word ^ (*slot & ASIDE);
		*slot = word;
		return difference;
	case 0:
	case EVENT_TIME:
		difference = (word & ~TICKS) | ((word - f->ticks) & TICKS);
		f->ticks = word;
		return difference;
	default:
		return word;
	}
}

static inline uint64_t to_word(struct forecast *f, uint64_t difference)
{
	uint64_t *slot, word;

	switch ((unsigned)event_op(difference)) {
	case EVENT_ALLOC:
	case EVENT_FREE:
		slot = forecast_slot(f, difference);
		word = difference ^ (*slot & ASIDE);
		*slot = word;
		return word;
	case 0:
	case EVENT_TIME:
		word = (difference & ~TICKS) | ((difference + f->ticks) & TICKS);
		f->ticks = word;
		return word;
	default:
		return difference;
	}
}

void columns_split(uint8_t *to, const uint64_t *words, size_t n)
{
	struct forecast f;

	memset(&f, 0, sizeof(f));
	for (size_t i = 0; i < n; i++) {
		uint64_t d = to_difference(&f, words[i]);

		for (size_t column = 0; column < 8; column++)
			to[column * n + i] = (uint8_t)(d >> (56 - 8 * column));
	}
}

void columns_join(uint64_t *words, const uint8_t *from, size_t n)
{
	struct forecast f;

	memset(&f, 0, sizeof(f));
	for (size_t i = 0; i < n; i++) {
		uint64_t d = 0;

		for (size_t column = 0; column < 8; column++)
			d = d << 8 | from[column * n + i];
		words[i] = to_word(&f, d);
	}
}
