/* step.h - from one frame to its caller by interpretation, and the rule that the cache keeps of an address */
#ifndef TARE_WALK_STEP_H
#define TARE_WALK_STEP_H

#include "arch/arch.h"
#include "walk/cache.h"
#include "walk/memory.h"

/** Named outcomes of step_frame(). */
enum step {
	STEP_CALLER = 0,	/* @regs are the caller's, at a return address */
	STEP_SIGNAL = 1,	/* @regs are those of the code that a signal interrupted: all known, the pc is exact */
	STEP_END = 2,		/* the frame is the outermost one */
	STEP_REGISTERS = 3,	/* a register that is not known decides */
	STEP_BROKEN = 4,
	STEP_NO_CODE = 5	/* the frame's pc is no return address */
};

/**
 * step_frame - replaces the registers of a frame by its caller's
 * @exact: regs->pc is the address of an instruction to be executed, not a return address
 */
enum step step_frame(struct memory_stacks *m, bool exact, struct arch_regs *regs);

/** step_rule - what the cache shall keep for return address @ra; Cost: bench/walk, "first visit" */
uint32_t step_rule(uint64_t ra);

#endif
