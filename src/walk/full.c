/* full.c - the slow walk: all callee-saved registers, every frame interpreted
 *
 * The loader calls malloc from frames whose CFA hangs on rbx (lazy binding, thread-local storage of dlopen'ed objects), and a
 * signal can interrupt code that keeps its CFA in any register. The fast walk tracks fp alone; when it meets such a frame
 * the walk begins again here, from a point where all registers are known: this function itself, or the signal's context.
 */
#include <stddef.h>

#include "walk/state.h"
#include "walk/step.h"

enum { OWN_FRAMES = 64 };	/* between here and the start frame, at most */

/* From this point out to the frame that the walk begins with. */
static bool reach_start(struct run *r, struct arch_regs *regs)
{
	bool exact = true;

	ARCH_CAPTURE(regs);
	for (int i = 0; i < OWN_FRAMES; i++) {
		if (step_frame(&r->s->memory, exact, regs) != STEP_CALLER)
			return false;
		exact = false;
		if (regs->pc == r->start->pc && regs->r[ARCH_REG_SP] == r->start->sp)
			return true;
	}
	return false;
}

__attribute__((noinline)) void full_walk(struct run *r)
{
	struct state *s = r->s;
	struct arch_regs regs;
	bool exact = r->context != NULL;
	enum step step;

	walk_count_full();
	r->n = 0;
	r->words = 1;
	r->joined = WALK_MAX;
	r->end = WALK_BROKEN;
	if (r->context)
		arch_regs_from_context(&regs, r->context);
	else if (!memory_enter(&s->memory, (uint64_t)__builtin_frame_address(0) - ARCH_RULE_REACH, true) ||
		 !reach_start(r, &regs))
		return;
	for (;;) {
		if (r->n == r->max) {
			r->end = WALK_TRUNCATED;
			break;
		}
		s->fresh_pc[r->n] = regs.pc | (exact ? WALK_PC_EXACT : 0);
		s->fresh.sp[r->n] = regs.r[ARCH_REG_SP];
		s->fresh.words_from[r->n++] = 1;
		if (exact && !memory_enter(&s->memory, regs.r[ARCH_REG_SP], false))
			break;
		step = step_frame(&s->memory, exact, &regs);
		if (step == STEP_NO_CODE)
			r->n--;
		if (step == STEP_END)
			r->end = WALK_WHOLE;
		if (step != STEP_CALLER && step != STEP_SIGNAL)
			break;
		if (step == STEP_CALLER && !memory_extend(&s->memory, regs.r[ARCH_REG_SP]))
			break;
		exact = step == STEP_SIGNAL;
	}
	r->barrier = r->n;
}
