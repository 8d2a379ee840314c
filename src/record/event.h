/* event.h - the events that the agent writes and the session file keeps, word for word
 *
 * A thread writes its events into logs: arrays of 64-bit words, one log an instrument. An event is one word; CPU samples
 * take two. A block that is freed is named by the call-tree node that allocated it and its size, not by its address: so
 * replaying a log needs no table of live blocks, and logs of different threads may be replayed in any order but for the
 * peak, whose precision the EVENT_TIME words give.
 *
 *   bits 63..61 op   60..48 small argument   47..24 node or argument   23..0 argument
 */
#ifndef TARE_RECORD_EVENT_H
#define TARE_RECORD_EVENT_H

#include <stdbool.h>
#include <stdint.h>

enum event_op {
	EVENT_ALLOC = 1,	/* node, low 24 bits of size */
	EVENT_FREE = 2,		/* node and low 24 bits of size of the block; small: bit 0 temporary, bits 1..4 age class */
	EVENT_WIDE = 3,		/* the next ALLOC or FREE has these bits 24 and up of its size (in bits 37..0 of this word) */
	EVENT_TIME = 4,		/* bits 60..0: ticks; holds for the words that follow */
	EVENT_THREAD = 5,	/* bits 31..0: tid; the words that follow are of this thread */
	EVENT_SAMPLE = 6,	/* node; small: periods of CPU time before this one that could not be sampled (in the kernel);
				   low 24 bits: ticks the handler took, 0: not timed. The next word is the time in ticks (all 64 bits) */
	EVENT_UNSAMPLED = 7,	/* small: periods of CPU time that passed without a sample, at the end of a process */
};

enum {
	EVENT_NODE_BITS = 24,
	EVENT_SIZE_BITS = 24,
	EVENT_SMALL_BITS = 13,
	/* Age of a freed block, from coarse time stamps: class c >= 1 means less than 10^(c-1) ms; 0: not known; */
	EVENT_AGE_CLASSES = 8,	/* 1: < 1 ms, 2: < 10 ms ... 6: < 100 s, 7: longer */
};

#define EVENT_MASK(bits) ((1ull << (bits)) - 1)

/* Call-tree nodes that every process has. Others are numbered from EVENT_FIRST_NODE. */
enum {
	NODE_LOST = 0,		/* the node table was full; parent of nothing */
	NODE_ROOT = 1,		/* parent of outermost frames */
	NODE_BROKEN = 2,	/* root of stacks that ended at a frame that could not be stepped over */
	NODE_TRUNCATED = 3,	/* root of stacks that are deeper than the limit */
	EVENT_FIRST_NODE = 4
};

static inline uint64_t event_word(enum event_op op, uint64_t small, uint64_t node, uint64_t low)
{
	return (uint64_t)op << 61 | small << 48 | node << 24 | low;
}

static inline enum event_op event_op(uint64_t word)
{
	return (enum event_op)(word >> 61);
}

static inline uint32_t event_small(uint64_t word)
{
	return (uint32_t)(word >> 48 & EVENT_MASK(EVENT_SMALL_BITS));
}

static inline uint32_t event_node(uint64_t word)
{
	return (uint32_t)(word >> 24 & EVENT_MASK(EVENT_NODE_BITS));
}

static inline uint64_t event_low(uint64_t word)
{
	return word & EVENT_MASK(EVENT_SIZE_BITS);
}

/* EVENT_TIME, EVENT_THREAD and EVENT_WIDE have one argument that is wider than a field: event_word(op, 0, 0, argument). */
static inline uint64_t event_ticks(uint64_t word)
{
	return word & EVENT_MASK(61);
}

static inline uint32_t event_tid(uint64_t word)
{
	return (uint32_t)word;
}

/* What EVENT_WIDE adds to the size of the ALLOC or FREE that follows. */
static inline uint64_t event_wide(uint64_t word)
{
	return (word & EVENT_MASK(38)) << EVENT_SIZE_BITS;
}

#endif
