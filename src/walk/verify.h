/* verify.h - whether the last walk still holds: its words against the stack's, as many at a time as the CPU can load
 *
 * No load depends on another, and no branch on a word: so it runs at the speed of the cache. Which word differs is asked only
 * when one does.
 */
#ifndef TARE_WALK_VERIFY_H
#define TARE_WALK_VERIFY_H

#include "walk/state.h"

/* Stack words are read as the machine sees them, whatever the compiler thinks of their frames. */
#define RAW __attribute__((no_sanitize("address", "undefined")))

enum { VERIFY_BLOCK = 8 };

RAW static inline uint64_t word_at(uint64_t addr)
{
	return *(const volatile uint64_t *)addr;
}

/* The bits in which @n return addresses in the stack differ from those of the last walk. x86_64 */
RAW static inline uint64_t slots_differ(const uint64_t *sp, const uint64_t *pc, uint32_t n)
{
	uint64_t a = 0, b = 0;

	for (; n >= VERIFY_BLOCK; n -= VERIFY_BLOCK, sp += VERIFY_BLOCK, pc += VERIFY_BLOCK) {
		a |= (word_at(sp[0] - 8) ^ pc[0]) | (word_at(sp[1] - 8) ^ pc[1]);
		b |= (word_at(sp[2] - 8) ^ pc[2]) | (word_at(sp[3] - 8) ^ pc[3]);
		a |= (word_at(sp[4] - 8) ^ pc[4]) | (word_at(sp[5] - 8) ^ pc[5]);
		b |= (word_at(sp[6] - 8) ^ pc[6]) | (word_at(sp[7] - 8) ^ pc[7]);
	}
	for (; n; n--, sp++, pc++)
		a |= word_at(*sp - 8) ^ *pc;
	return a | b;
}

RAW static inline uint64_t words_differ(const uint64_t *at, const uint64_t *word, uint32_t n)
{
	uint64_t a = 0, b = 0;

	for (; n >= VERIFY_BLOCK; n -= VERIFY_BLOCK, at += VERIFY_BLOCK, word += VERIFY_BLOCK) {
		a |= (word_at(at[0]) ^ word[0]) | (word_at(at[1]) ^ word[1]);
		b |= (word_at(at[2]) ^ word[2]) | (word_at(at[3]) ^ word[3]);
		a |= (word_at(at[4]) ^ word[4]) | (word_at(at[5]) ^ word[5]);
		b |= (word_at(at[6]) ^ word[6]) | (word_at(at[7]) ^ word[7]);
	}
	for (; n; n--, at++, word++)
		a |= word_at(*at) ^ *word;
	return a | b;
}

/* Whether the last walk, from its frame @from outwards, still holds. */
RAW static inline bool rest_holds(const struct walk_state *w, const struct state *s, uint32_t from)
{
	uint32_t first = s->last.words_from[from];
	uint64_t differ = words_differ(s->last.word_at + first, s->last.word + first, STATE_WORDS - first);

	if (ARCH_RA_BELOW_CFA)
		differ |= slots_differ(s->last.sp + from + 1, w->pc + from + 1, WALK_MAX - 1 - from);
	return differ == 0;
}

/* The outermost frame from @from on whose own words, and those of the frames between, still hold: the walk gets as far as it. */
RAW static inline uint32_t last_that_holds(const struct walk_state *w, const struct state *s, uint32_t from)
{
	uint32_t frame = from, word = s->last.words_from[from];

	for (; frame + 1 < WALK_MAX; frame++) {
		for (; word < s->last.words_from[frame + 1]; word++)
			if (word_at(s->last.word_at[word]) != s->last.word[word])
				return frame;
		if (ARCH_RA_BELOW_CFA && word_at(s->last.sp[frame + 1] - 8) != w->pc[frame + 1])
			return frame;
	}
	return frame;
}

#endif
