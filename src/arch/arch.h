/* arch.h - all that depends on the CPU; a new CPU is a folder that implements this (docs/add-a-cpu.md) */
#ifndef TARE_ARCH_ARCH_H
#define TARE_ARCH_ARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#include "arch_cpu.h"	/* of the CPU's folder: ARCH_NREGS, ARCH_REG_*, arch_ticks() */

/*
 * arch_cpu.h defines
 *
 *   ARCH_NREGS		DWARF registers that a walk may need (x86_64: 17, 16 is the return address); at most 32
 *   ARCH_REG_SP, ARCH_REG_FP, ARCH_REG_RA	DWARF numbers
 *   ARCH_CALLEE_SAVED	bit mask of DWARF numbers that a function keeps for its caller, but for sp
 *   ARCH_RA_BELOW_CFA	1: a caller's return address always lies in the word below the CFA
 *   ARCH_RA_IN_REGISTER	1: a function begins with its return address in ARCH_REG_RA; 0: at [sp]
 *   ARCH_SP_ALIGN, ARCH_ADDRESS_BITS, ARCH_SIGINFO_BYTES
 *   ARCH_NAME		"x86_64"
 *   static inline uint64_t arch_ticks(void)	a counter that all CPUs share and that never stops; async-signal-safe
 *   static inline uint64_t arch_strip(uint64_t ra)	a return address without its authentication code (aarch64 PAC)
 *   static inline long arch_syscall4(), arch_syscall6()	a syscall; returns -errno, does not touch errno
 *   static inline void arch_call_on(stack_top, fn, arg)	calls fn(arg) on another stack
 *   ARCH_CAPTURE(regs)	statement: fills a struct arch_regs with pc, sp and all callee-saved registers of this point
 *   ARCH_FRAME_CFA()	the CFA of the function in which it stands, which must keep a frame pointer
 *   arch_rule_*()	a frame layout in 16 bits, for the rule cache
 */

/** struct arch_regs - a register set by DWARF numbers; bit n of @known says that r[n] holds a value */
struct arch_regs {
	uint64_t r[ARCH_NREGS];
	uint64_t pc;
	uint32_t known;
};

/** arch_regs_from_context - the registers of the code that a signal interrupted; Context: signal handler */
void arch_regs_from_context(struct arch_regs *regs, const ucontext_t *context);

/** arch_is_sigreturn - whether the code at @pc (16 bytes must be readable) is a signal restorer */
bool arch_is_sigreturn(const void *pc);

/** arch_follows_call - whether the bytes before @pc (8 must be readable) end a call instruction, as those of a return address do */
bool arch_follows_call(const void *pc);

/** arch_hypervisor - the name of the hypervisor this runs under, "unknown" where it has none */
void arch_hypervisor(char *ret, size_t size);

#endif
