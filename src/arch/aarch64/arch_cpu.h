/* arch_cpu.h - aarch64: registers, counters, syscalls, and how a cell of the rule cache packs a frame layout
 *
 * Calls leave the return address in x30; a function that calls saves it in a frame record, beside x29, at the bottom of its
 * frame (gcc) or at the top (clang): the packed rule tells which.
 */
#ifndef TARE_ARCH_CPU_H
#define TARE_ARCH_CPU_H

#include <stdbool.h>
#include <stdint.h>

#define ARCH_NAME "aarch64"

enum {
	ARCH_NREGS = 32,
	ARCH_REG_FP = 29,
	ARCH_REG_RA = 30,
	ARCH_REG_SP = 31,
	ARCH_CALLEE_SAVED = 0x7ff << 19,	/* x19 to x29 */
	ARCH_RA_BELOW_CFA = 0,
	ARCH_RA_IN_REGISTER = 1,
	ARCH_SP_ALIGN = 16,
	ARCH_ADDRESS_BITS = 48,
	ARCH_SIGINFO_BYTES = 128
};

static inline uint64_t arch_ticks(void)
{
	uint64_t t;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(t));
	return t;
}

/* xpaclri is a hint: nothing happens where there is no PAC */
static inline uint64_t arch_strip(uint64_t ra)
{
	register uint64_t x30 __asm__("x30") = ra;

	__asm__("hint #7" : "+r"(x30));
	return x30;
}

static inline long arch_syscall6(long n, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = n;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5) : "memory");
	return x0;
}

/** arch_call_on - calls @fn(@arg) on another stack; it must return */
static inline void arch_call_on(void *stack_top, void (*fn)(void *), void *arg)
{
	register void *x0 __asm__("x0") = arg;

	__asm__ volatile("mov x19, sp\n\t mov sp, %1\n\t blr %2\n\t mov sp, x19"
			 : "+r"(x0) : "r"(stack_top), "r"(fn)
			 : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16",
			   "x17", "x19", "x30", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16", "v17", "v18", "v19",
			   "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30", "v31", "cc", "memory");
}

static inline long arch_syscall4(long n, long a, long b, long c, long d)
{
	return arch_syscall6(n, a, b, c, d, 0, 0);
}

/* The CFA of the function in which it stands: x29 points to the frame record, which gcc puts at the frame's bottom. */
#ifdef __clang__
#define ARCH_FRAME_CFA() ((uint64_t)__builtin_frame_address(0) + 16)
#else
#define ARCH_FRAME_CFA() ((uint64_t)__builtin_dwarf_cfa())
#endif

#define ARCH_CAPTURE(regs)                                                                                       \
	do {                                                                                                     \
		struct arch_regs *capture_ = (regs);                                                             \
		__asm__ volatile("stp x19, x20, [%0, #19*8]\n\t stp x21, x22, [%0, #21*8]\n\t"                   \
				 "stp x23, x24, [%0, #23*8]\n\t stp x25, x26, [%0, #25*8]\n\t"                   \
				 "stp x27, x28, [%0, #27*8]\n\t stp x29, x30, [%0, #29*8]\n\t"                   \
				 "mov x9, sp\n\t adr x10, 1f\n\t stp x9, x10, [%0, #31*8]\n1:"                   \
				 : : "r"(capture_) : "x9", "x10", "memory");                                     \
		capture_->known = (uint32_t)ARCH_CALLEE_SAVED | 1u << ARCH_REG_RA | 1u << ARCH_REG_SP;           \
	} while (0)

/*
 * The packed rule: 16 bits.
 *
 *   15  the CFA hangs on x29      14..3  (CFA - base) / 8, never 0
 *   2..0  frame record: 1 at the frame's bottom (CFA - size), 2 at its top (CFA - 16), 3 x30 alone at the bottom;
 *         7: not a packed rule
 */
enum { ARCH_RULE_SPECIAL = 7 };		/* in the low three bits */

static inline bool arch_rule_pack(bool on_fp, int64_t cfa_off, int64_t ra_off, int64_t fp_off, uint16_t *ret)
{
	bool bottom = !on_fp && fp_off == -cfa_off && ra_off == 8 - cfa_off, top = fp_off == -16 && ra_off == -8;

	bool alone = !on_fp && fp_off == 0 && ra_off == -cfa_off;

	if (cfa_off <= 0 || cfa_off % 8 || cfa_off > 0x7ff8 || (!bottom && !top && !alone))
		return false;
	*ret = (uint16_t)((on_fp ? 1 << 15 : 0) | cfa_off | (top ? 2 : alone ? 3 : 1));
	return true;
}

static inline bool arch_rule_special(uint32_t rule)
{
	return (rule & 7) == ARCH_RULE_SPECIAL;
}

static inline bool arch_rule_on_fp(uint32_t rule)
{
	return rule & 1 << 15;
}

static inline uint64_t arch_rule_cfa(uint32_t rule)
{
	return rule & 0x7ff8;
}

static inline bool arch_rule_saves_fp(uint32_t rule)
{
	return (rule & 7) != 3;
}

/** arch_rule_fp_below - the distance from the saved x29 up to the CFA; a readable slot if none is saved */
static inline uint64_t arch_rule_fp_below(uint32_t rule)
{
	return (rule & 7) == 2 ? 16 : arch_rule_cfa(rule);
}

static inline uint64_t arch_rule_ra_below(uint32_t rule)
{
	return arch_rule_fp_below(rule) - ((rule & 7) == 3 ? 0 : 8);
}

enum { ARCH_RULE_REACH = 16 };	/* below the lower one of CFA and stack pointer */

#endif
