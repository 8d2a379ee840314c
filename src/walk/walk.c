/* walk.c - the fast walk: pc, sp and fp alone; rules from the cache; what is known of the last walk is verified, not walked
 *
 * A walk is a function of where it starts and of the words it reads: the return addresses and the saved fps (and for aligned
 * frames the saved CFA). So if a frame of this walk equals one of the last walk in pc, sp and fp, and all words that the
 * last walk read from there on are unchanged, the rest of the stack is unchanged. Comparing them is a row of
 * independent loads; walking is a chain of dependent ones (slot, return address, rule, slot). At the first word that differs
 * the walk goes on from the frame before it, and tries to join again farther out.
 *
 * New frames are collected at the begin of the state's arrays, since how many there will be is not known, and then
 * moved to their place in front of the frames that were joined.
 */
#include "walk/walk.h"

#include <string.h>

#include "walk/find.h"
#include "walk/state.h"
#include "walk/step.h"
#include "walk/verify.h"

static _Atomic uint64_t misses, fulls;

void walk_count_miss(void)
{
	atomic_fetch_add_explicit(&misses, 1, memory_order_relaxed);
}

void walk_count_full(void)
{
	atomic_fetch_add_explicit(&fulls, 1, memory_order_relaxed);
}

int walk_init(void)
{
	return cache_init();
}

uint32_t walk_generation(void)
{
	return cache_generation();
}

void walk_stats(struct walk_stats *ret)
{
	ret->misses = atomic_load_explicit(&misses, memory_order_relaxed);
	ret->full = atomic_load_explicit(&fulls, memory_order_relaxed);
	ret->memory_bytes = cache_memory_bytes();
}

void walk_state_reset(struct walk_state *w)
{
	struct state *s = state_of(w);

	w->top = WALK_MAX;
	w->kept = 0;
	s->busy = 0;
	s->join_from = WALK_MAX;
	s->generation = 0;
	memset(&s->memory, 0, sizeof(s->memory));
}

/* Which frames of the last walk may be joined from the current stack. */
static uint32_t joinable(const struct run *r)
{
	const struct memory_range *now = &r->s->memory.range[r->s->memory.current], *then = &r->s->range;

	if (r->view.open || r->s->generation != r->view.generation || now->low > then->low || now->high < then->high)
		return WALK_MAX;
	return r->s->join_from;
}

static inline void copy_words(uint64_t *to, const uint64_t *from, uint32_t n)
{
	for (; n >= 4; n -= 4, to += 4, from += 4)
		memcpy(to, from, 4 * sizeof(*to));	/* of a constant length: two moves, no call */
	for (; n; n--)
		*to++ = *from++;
}

static inline void copy_frames(uint64_t *to_pc, const uint64_t *from_pc, uint64_t *to_sp, const uint64_t *from_sp, uint32_t n)
{
	for (; n >= 4; n -= 4, to_pc += 4, from_pc += 4, to_sp += 4, from_sp += 4) {
		memcpy(to_pc, from_pc, 4 * sizeof(*to_pc));
		memcpy(to_sp, from_sp, 4 * sizeof(*to_sp));
	}
	for (; n; n--) {
		*to_pc++ = *from_pc++;
		*to_sp++ = *from_sp++;
	}
}

/* Four counters at a time in one word: no sum reaches 2^16. @by may be negative, but no sum is. */
static inline void copy_counters(uint16_t *to, const uint16_t *from, uint32_t n, uint16_t by)
{
	for (; n >= 4 && by < 0x8000; n -= 4, to += 4, from += 4) {
		uint64_t four;

		memcpy(&four, from, sizeof(four));
		four += by * 0x0001000100010001ull;
		memcpy(to, &four, sizeof(four));
	}
	for (; n; n--)
		*to++ = (uint16_t)(*from++ + by);
}

/*
 * The frame to be added equals frame @j of the last walk. Return: true if the walk is complete by that. Else the frames up to
 * the last one that holds are added, and that one is the frame to go on with.
 */
static __attribute__((noinline)) bool join(struct run *r, uint32_t j)
{
	struct state *s = r->s;
	uint32_t to, n, first = s->last.words_from[j], words;

	if (rest_holds(r->w, s, j)) {
		r->joined = j;
		r->end = WALK_WHOLE;
		return true;
	}
	to = last_that_holds(r->w, s, j);
	n = MIN(to - j, r->max - r->n);
	words = s->last.words_from[j + n] - first;
	copy_frames(s->fresh_pc + r->n, r->w->pc + j, s->fresh.sp + r->n, s->last.sp + j, n);
	copy_words(s->fresh.word_at + r->words, s->last.word_at + first, words);
	copy_words(s->fresh.word + r->words, s->last.word + first, words);
	copy_counters(s->fresh.words_from + r->n, s->last.words_from + j, n, (uint16_t)(r->words - first));
	r->n += n;
	r->words += words;
	r->pc = r->w->pc[j + n];
	r->sp = s->last.sp[j + n];
	r->fp = state_fp(&s->last, j + n);
	r->join_from = j + n + 1;
	return false;
}

/* More frames than the limit: those that were joined are cut, and nothing can be kept. */
static void truncate_frames(struct run *r)
{
	uint32_t more = r->max - r->n;

	copy_frames(r->s->fresh_pc + r->n, r->w->pc + r->joined, r->s->fresh.sp + r->n, r->s->last.sp + r->joined, more);
	r->n += more;
	r->joined = WALK_MAX;
	r->end = WALK_TRUNCATED;
}

/* The result: what was joined stays, fresh frames go in front of it. */
static void commit(struct run *r)
{
	struct walk_state *w = r->w;
	struct state *s = r->s;
	uint32_t top, first;

	if (r->n + (WALK_MAX - r->joined) > r->max)
		truncate_frames(r);
	if (r->end == WALK_TRUNCATED)
		r->words = 1;
	top = r->joined - r->n;
	/* The first fresh word is no word read, but the fp that the first plain frame began with. */
	first = (r->joined < WALK_MAX ? s->last.words_from[r->joined] : STATE_WORDS) - r->words;
	copy_frames(w->pc + top, s->fresh_pc, s->last.sp + top, s->fresh.sp, r->n);
	copy_words(s->last.word_at + first, s->fresh.word_at, r->words);
	copy_words(s->last.word + first, s->fresh.word, r->words);
	copy_counters(s->last.words_from + top, s->fresh.words_from, r->n, (uint16_t)first);
	w->top = top;
	w->kept = WALK_MAX - r->joined;
	w->end = r->end;
	s->generation = r->view.generation;
	s->join_from = r->end == WALK_WHOLE && !r->view.open ? top + r->barrier : WALK_MAX;
	if (r->end == WALK_BROKEN && r->n)
		memory_shrink(&s->memory, s->fresh.sp[r->n - 1]);
	s->range = s->memory.range[s->memory.current];
}

/* Named outcomes of the parts of follow() that are not fast: */
enum { GO_ON = 0, DONE = 1 };

static int done(struct run *r, enum walk_end end)
{
	r->end = end;
	return DONE;
}

/* A rule that was not at its home in the cache. */
static __attribute__((noinline)) uint32_t rule_beside(const struct run *r, uint64_t pc)
{
	uint32_t rule = cache_lookup(r->view.table, pc);

	if (rule)
		return rule;
	walk_count_miss();
	rule = step_rule(pc);
	cache_store(&r->view, pc, rule);
	return rule;
}

/* What was read up to here cannot be verified; the frames from here on need none of it but fp. */
static void words_restart(struct run *r)
{
	r->s->fresh.word[0] = r->fp;
	r->s->fresh.word_at[0] = (uint64_t)&r->s->fresh.word[0];	/* never wrong, at least */
	r->words = 1;
}

/* Adds the code that a signal interrupted, and goes on to its caller; all registers are known. */
static int pass_interrupted(struct run *r, struct arch_regs *regs)
{
	struct state *s = r->s;

	for (;;) {
		enum step step;

		if (r->n == r->max)
			return done(r, WALK_TRUNCATED);
		s->fresh_pc[r->n] = regs->pc | WALK_PC_EXACT;
		s->fresh.sp[r->n] = regs->r[ARCH_REG_SP];
		s->fresh.words_from[r->n++] = 1;
		r->barrier = r->n;
		if (!memory_enter(&s->memory, regs->r[ARCH_REG_SP], false))
			return done(r, WALK_BROKEN);
		step = step_frame(&s->memory, true, regs);
		if (step == STEP_SIGNAL)
			continue;
		if (step != STEP_CALLER)
			return done(r, step == STEP_END ? WALK_WHOLE : WALK_BROKEN);
		if (!(regs->known >> ARCH_REG_FP & 1)) {
			full_walk(r);	/* it can do without fp, unless a frame needs it */
			return DONE;
		}
		r->pc = regs->pc;
		r->sp = regs->r[ARCH_REG_SP];
		r->fp = regs->r[ARCH_REG_FP];
		words_restart(r);
		if (!memory_enter(&s->memory, r->sp - ARCH_RULE_REACH, false) || !memory_extend(&s->memory, r->sp))
			return done(r, WALK_BROKEN);
		r->join_from = joinable(r);
		return GO_ON;
	}
}

/* The frame just added needs the interpreter. */
static int pass_by_step(struct run *r)
{
	struct arch_regs regs = { .pc = r->pc, .known = 1u << ARCH_REG_SP | 1u << ARCH_REG_FP };
	enum step step;

	regs.r[ARCH_REG_SP] = r->sp;
	regs.r[ARCH_REG_FP] = r->fp;
	step = step_frame(&r->s->memory, false, &regs);
	r->barrier = r->n;
	if (step == STEP_REGISTERS || (step == STEP_CALLER && !(regs.known >> ARCH_REG_FP & 1))) {
		full_walk(r);
		return DONE;
	}
	if (step == STEP_SIGNAL)
		return pass_interrupted(r, &regs);
	if (step == STEP_NO_CODE)
		r->n--;
	if (step != STEP_CALLER)
		return done(r, step == STEP_END ? WALK_WHOLE : WALK_BROKEN);
	r->pc = regs.pc;
	r->sp = regs.r[ARCH_REG_SP];
	r->fp = regs.r[ARCH_REG_FP];
	words_restart(r);
	return memory_extend(&r->s->memory, r->sp) ? GO_ON : done(r, WALK_BROKEN);
}

static void word_add(struct run *r, uint64_t at, uint64_t word)
{
	r->s->fresh.word_at[r->words] = at;
	r->s->fresh.word[r->words++] = word;
}

/* A word of the current stack, which the next walk will have to verify. */
RAW static bool word_read(struct run *r, uint64_t at, uint64_t *ret)
{
	const struct memory_range *range = &r->s->memory.range[r->s->memory.current];

	if (at < range->low || at >= range->high || at % 8)
		return false;
	*ret = word_at(at);
	word_add(r, at, *ret);
	return true;
}

/* The frame just added has a layout that the packed rule cannot hold. */
static int pass_wide(struct run *r, const struct cache_wide *wide)
{
	uint64_t fp = r->fp, cfa = (wide->base == WIDE_SP ? r->sp : fp) + (uint64_t)(int64_t)wide->cfa_off, ra, at;

	if (wide->base == WIDE_FP_DEREF && !word_read(r, cfa, &cfa))
		return done(r, WALK_BROKEN);
	if (cfa <= r->sp || cfa % ARCH_SP_ALIGN || !memory_extend(&r->s->memory, cfa))
		return done(r, WALK_BROKEN);
	if (ARCH_RA_BELOW_CFA)
		ra = word_at(cfa - 8);
	else if (!word_read(r, cfa + (uint64_t)(int64_t)wide->ra_off, &ra))
		return done(r, WALK_BROKEN);
	if (wide->base == WIDE_FP_DEREF || wide->fp_off) {
		at = (wide->base == WIDE_FP_DEREF ? fp : cfa) + (uint64_t)(int64_t)wide->fp_off;
		if (!word_read(r, at, &r->fp))
			return done(r, WALK_BROKEN);
	} else if (!ARCH_RA_BELOW_CFA) {
		word_add(r, r->s->fresh.word_at[r->words - 2], fp);	/* the last word is fp, always */
	}
	r->pc = arch_strip(ra);
	r->sp = cfa;
	return GO_ON;
}

/* What no packed rule says. The frame r->pc was just added. */
static __attribute__((noinline)) int pass_special(struct run *r, uint32_t rule)
{
	if (rule >= CACHE_WIDE)
		return pass_wide(r, cache_wide(rule));
	if ((rule == CACHE_NO_CFI || rule == CACHE_NO_CODE) && find_object(r->pc - 1))
		return pass_by_step(r);		/* it may have got tables since */
	switch (rule) {
	case CACHE_STOP:
		return done(r, WALK_WHOLE);
	case CACHE_STEP:
		return pass_by_step(r);
	case CACHE_NO_CODE:
		r->n--;
		return done(r, WALK_BROKEN);
	default:
		return done(r, WALK_BROKEN);
	}
}

/* The first frame of the last walk from @from on that does not lie below @sp. */
static uint32_t frame_at(const struct state *s, uint32_t from, uint64_t sp)
{
	uint32_t n = WALK_MAX - from;

	while (n > 1) {		/* the compiler makes no branch of it */
		uint32_t half = n / 2;

		from += s->last.sp[from + half - 1] < sp ? half : 0;
		n -= half;
	}
	return from;
}

/*
 * The loop's variables live in registers, and not two and two in vector registers, where compilers would like to have them
 * because they are stored side by side: the way back would be longer than the chain.
 */
static __attribute__((noinline, cold)) void spill(struct run *r, uint64_t pc, uint64_t sp, uint64_t fp, uint32_t n, uint32_t words)
{
	r->pc = pc;
	r->sp = sp;
	r->fp = fp;
	r->n = n;
	r->words = words;
}

#define RELOADED(field) (*(volatile __typeof__(r->field) *)&r->field)

/*
 * Frame after frame from r->pc, r->sp, r->fp to the end. Cost: the chain return address, multiplication, hint, CFA, return
 * address; everything else goes on beside it. Beside it, too, goes j, the frame of the last walk that lies where this one is:
 * two steps a frame keep up with it, and a branch that depends on the stacks' shapes would not be predicted.
 */
RAW static __attribute__((noinline)) void follow(struct run *r)
{
	struct state *s = r->s;
	struct state_frames *fresh = &s->fresh;
	const struct state_frames *last = &s->last;
	/* pc[], by the pointer that all else hangs on: the loop has no register to spare */
	const uint64_t *last_pc = (const uint64_t *)((const char *)s - (offsetof(struct walk_state, priv) -
									offsetof(struct walk_state, pc)));
	const _Atomic uint64_t *cells = r->view.table->cells;
	const _Atomic uint16_t *hints = r->view.table->hints;
	const uint32_t shift = r->view.table->shift, max = r->max;
	uint64_t pc = RELOADED(pc), sp = RELOADED(sp), fp = RELOADED(fp), high = s->memory.range[s->memory.current].high;
	uint32_t n = RELOADED(n), words = RELOADED(words);
	uint64_t j = frame_at(s, r->join_from, sp);

#define SPILL() spill(r, pc, sp, fp, n, words)
#define RELOAD() (pc = RELOADED(pc), sp = RELOADED(sp), fp = RELOADED(fp), n = RELOADED(n), words = RELOADED(words), \
		  high = s->memory.range[s->memory.current].high, j = frame_at(s, r->join_from, sp))
	for (;;) {
		uint64_t hash, cfa, at, saved;
		uint32_t rule;
		bool saves;

		j += last->sp[j] < sp;
		j += last->sp[j] < sp;
		if (UNLIKELY(last->sp[j] == sp) && last_pc[j] == pc && state_fp(last, (uint32_t)j) == fp) {
			SPILL();
			r->join_from = (uint32_t)j;
			if (join(r, (uint32_t)j))
				return;
			RELOAD();
		}
		hash = cache_hash(pc);
		if (UNLIKELY(pc - 1 >= (1ull << ARCH_ADDRESS_BITS) - 1)) {
			r->end = pc == 0 ? WALK_WHOLE : WALK_BROKEN;
			break;
		}
		if (UNLIKELY(n == max)) {
			r->end = WALK_TRUNCATED;
			break;
		}
		s->fresh_pc[n] = pc;
		fresh->sp[n] = sp;
		fresh->words_from[n] = (uint16_t)words;
		n++;
		rule = atomic_load_explicit(&hints[hash >> shift], memory_order_relaxed);
		if (UNLIKELY(atomic_load_explicit(&cells[hash >> shift], memory_order_relaxed) != (hash | rule)))
			rule = rule_beside(r, pc);
		if (UNLIKELY(arch_rule_special(rule))) {
			SPILL();
			r->join_from = MAX(r->join_from, (uint32_t)j);
			if (pass_special(r, rule) == DONE)
				return;
			RELOAD();
			continue;
		}
		cfa = (arch_rule_on_fp(rule) ? fp : sp) + arch_rule_cfa(rule);
		if (UNLIKELY(cfa <= sp || cfa > high || cfa % ARCH_SP_ALIGN)) {
			SPILL();
			if (cfa <= sp || cfa % ARCH_SP_ALIGN || !memory_extend(&s->memory, cfa)) {
				r->end = WALK_BROKEN;
				return;
			}
			high = s->memory.range[s->memory.current].high;
		}
		pc = word_at(cfa - arch_rule_ra_below(rule));
		if (!ARCH_RA_BELOW_CFA) {
			fresh->word_at[words] = cfa - arch_rule_ra_below(rule);
			fresh->word[words++] = pc;
		}
		saves = arch_rule_saves_fp(rule);
		at = cfa - arch_rule_fp_below(rule);
		saved = word_at(at);
		if (!ARCH_RA_BELOW_CFA && !saves) {
			at = fresh->word_at[words - 2];
			saved = fp;	/* once more: the last word is fp, always */
		}
		fresh->word_at[words] = at;
		fresh->word[words] = saved;
		words += saves || !ARCH_RA_BELOW_CFA;
		fp = saves ? saved : fp;
		pc = arch_strip(pc);
		sp = cfa;
	}
	SPILL();
#undef SPILL
#undef RELOAD
}

/* A walk that a signal handler left by siglongjmp() stays busy: it is dead if its stack frame is below this one. */
static bool busy(struct state *s, uint64_t frame)
{
	uint64_t other = s->busy;

	if (LIKELY(other == 0))
		return false;
	if (other >= frame || frame - other > MEMORY_MAX_FRAME || other < s->memory.range[s->memory.current].low)
		return true;
	s->join_from = WALK_MAX;	/* it may have been moving the frames */
	return false;
}

static void run_begin(struct run *r, struct walk_state *w)
{
	r->w = w;
	r->s = state_of(w);
	r->n = r->barrier = 0;
	r->s->last.sp[WALK_MAX] = ~0ull;	/* where the search for a frame to join ends */
	r->s->last.words_from[WALK_MAX] = 1;
	r->joined = WALK_MAX;
	r->max = w->max && w->max < WALK_MAX ? w->max : WALK_MAX;
	if (r->s->generation == 0)
		r->s->join_from = WALK_MAX;	/* never used: {0} */
}

/* The walk when something has changed since the last one. */
static __attribute__((noinline)) void walk_again(struct walk_state *w, const struct walk_start *start, struct cache_view view)
{
	struct run r;

	run_begin(&r, w);
	r.view = view;
	r.context = NULL;
	r.start = start;
	r.pc = arch_strip(start->pc);
	r.sp = start->sp;
	r.fp = start->fp;
	words_restart(&r);
	if (memory_enter(&r.s->memory, r.sp - ARCH_RULE_REACH, true) && memory_extend(&r.s->memory, r.sp)) {
		r.join_from = joinable(&r);
		follow(&r);
	} else {
		r.end = WALK_BROKEN;
	}
	commit(&r);
}

bool walk_here(struct walk_state *w, const struct walk_start *start)
{
	struct state *s = state_of(w);
	struct cache_view view;
	uint32_t top = w->top;

	if (UNLIKELY(busy(s, (uint64_t)__builtin_frame_address(0))))
		return false;
	s->busy = (uint64_t)__builtin_frame_address(0);
	atomic_signal_fence(memory_order_seq_cst);
	view = cache_view();
	if (top >= s->join_from && top < WALK_MAX && w->pc[top] == start->pc && s->last.sp[top] == start->sp &&
	    state_fp(&s->last, top) == start->fp && s->generation == view.generation && !view.open && memory_current(&s->memory, &s->range) &&
	    rest_holds(w, s, top))
		w->kept = WALK_MAX - top;
	else
		walk_again(w, start, view);
	atomic_signal_fence(memory_order_seq_cst);
	s->busy = 0;
	return true;
}

bool walk_context(struct walk_state *w, const ucontext_t *context)
{
	struct state *s = state_of(w);
	struct arch_regs regs;
	struct run r;

	if (busy(s, (uint64_t)__builtin_frame_address(0)))
		return false;
	s->busy = (uint64_t)__builtin_frame_address(0);
	atomic_signal_fence(memory_order_seq_cst);
	run_begin(&r, w);
	r.fp = 0;
	r.view = cache_view();
	r.context = context;
	r.start = NULL;
	words_restart(&r);
	arch_regs_from_context(&regs, context);
	if (pass_interrupted(&r, &regs) == GO_ON)
		follow(&r);
	commit(&r);
	atomic_signal_fence(memory_order_seq_cst);
	s->busy = 0;
	return true;
}
