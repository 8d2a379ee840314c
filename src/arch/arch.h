/* arch.h - all that depends on the CPU; a new CPU is a folder that implements this (docs/add-a-cpu.md) */
#ifndef TARE_ARCH_ARCH_H
#define TARE_ARCH_ARCH_H

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "arch_cpu.h"	/* of the CPU's folder: ARCH_NREGS, ARCH_REG_*, arch_ticks() */

/*
 * arch_cpu.h defines
 *
 *   ARCH_NREGS		DWARF registers that a walk may need (x86_64: 17, 16 is the return address)
 *   ARCH_REG_SP, ARCH_REG_FP, ARCH_REG_RA	DWARF numbers
 *   ARCH_NAME		"x86_64"
 *   static inline uint64_t arch_ticks(void)	a counter that all CPUs share and that never stops; async-signal-safe
 *   ARCH_CAPTURE(regs)	statement: fills a struct arch_regs with pc, sp and all callee-saved registers of this point
 */

/** struct arch_regs - a register set by DWARF numbers; bit n of @known says that r[n] holds a value */
struct arch_regs {
	uint64_t r[ARCH_NREGS];
	uint64_t pc;
	uint32_t known;
};

/** arch_regs_from_context - the registers of the code that a signal interrupted; Context: signal handler */
void arch_regs_from_context(struct arch_regs *regs, const ucontext_t *context);

/** arch_is_sigreturn - whether the code at @pc, which must be readable, is a signal restorer without CFI */
bool arch_is_sigreturn(const void *pc);

/** arch_follows_call - whether the bytes before @pc (readable) end a call instruction, as those of a return address do */
bool arch_follows_call(const void *pc);

/** arch_strip - a return address without its authentication code (aarch64 PAC); x86_64: unchanged */
static inline uint64_t arch_strip(uint64_t ra);

#endif
