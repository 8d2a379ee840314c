/* state.h - what a struct walk_state keeps privately, and what a walk under way carries with it */
#ifndef TARE_WALK_STATE_H
#define TARE_WALK_STATE_H

#include "walk/cache.h"
#include "walk/memory.h"
#include "walk/walk.h"

enum { STATE_WORDS = 2 * WALK_MAX + 2 };	/* words that a walk read beside the return addresses below each CFA */

/*
 * Frames i of the last walk, parallel to pc[]. The return address of frame i was read right below sp[i] (x86_64); all other
 * words that decide about the frames from i outwards are word[words_from[i]] and up. The word before is the frame's fp, since
 * whatever a frame reads, the saved fp is the last. The arrays' lengths differ a little on purpose: ends that lie at
 * the same offset of a page would compete for the same cache lines.
 */
struct state_frames {
	uint64_t sp[WALK_MAX + 8];	/* of the frame at its pc, that is, after the return */
	uint64_t word_at[STATE_WORDS + 22];
	uint64_t word[STATE_WORDS + 38];
	uint16_t words_from[WALK_MAX + 64];
};

struct state {
	uint64_t busy;			/* frame address of the walk under way; 0: none */
	uint32_t generation;		/* of the rules that the last walk went by */
	uint32_t join_from;		/* frames from here outwards may be joined: plain ones, on one stack; WALK_MAX: none */
	struct memory_range range;	/* the memory they lie in */
	struct memory_stacks memory;
	struct state_frames last;	/* of the last walk, at the arrays' ends, as pc[] is */
	struct state_frames fresh;	/* the frames that this walk has found, at the arrays' begins */
	uint64_t fresh_pc[WALK_MAX + 8];
};

_Static_assert(sizeof(struct state) <= sizeof(((struct walk_state *)0)->priv), "walk_state.priv is too small");

static inline struct state *state_of(struct walk_state *w)
{
	return (struct state *)(void *)w->priv;
}

/** state_fp - fp of frame @i */
static inline uint64_t state_fp(const struct state_frames *f, uint32_t i)
{
	return f->word[f->words_from[i] - 1u];
}

/** struct run - a walk under way */
struct run {
	struct walk_state *w;
	struct state *s;
	struct cache_view view;
	uint64_t pc, sp, fp;		/* the frame to be added next */
	uint32_t n;			/* fresh frames */
	uint32_t words;			/* their words */
	uint32_t barrier;		/* the first so many of them cannot be verified, only walked again */
	uint32_t join_from;		/* frames of the last walk that this one may join; WALK_MAX: none */
	uint32_t joined;		/* the frame of the last walk that this one goes on with; WALK_MAX: none */
	uint32_t max;
	enum walk_end end;
	const struct walk_start *start;
	const ucontext_t *context;	/* or NULL */
};

/** full_walk - the whole walk again, with all registers that are known, frame by frame */
void full_walk(struct run *r);

/** walk_count_miss, walk_count_full - for walk_stats() */
void walk_count_miss(void);
void walk_count_full(void);

#endif
