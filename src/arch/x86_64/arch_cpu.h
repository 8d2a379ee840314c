/* arch_cpu.h - x86_64: registers, counters, syscalls, and how a cell of the rule cache packs a frame layout
 *
 * A call pushes the return address and nothing else, so it lies right below the CFA, always: the packed rule has no field for
 * it, and a walk knows a frame's return-address slot from its stack pointer alone.
 */
#ifndef TARE_ARCH_CPU_H
#define TARE_ARCH_CPU_H

#include <stdbool.h>
#include <stdint.h>

#define ARCH_NAME "x86_64"

enum {
	ARCH_NREGS = 17,
	ARCH_REG_FP = 6,	/* rbp */
	ARCH_REG_SP = 7,
	ARCH_REG_RA = 16,	/* the column of rip */
	ARCH_CALLEE_SAVED = 1 << 3 | 1 << 6 | 1 << 12 | 1 << 13 | 1 << 14 | 1 << 15,
	ARCH_RA_BELOW_CFA = 1,	/* the return address of every called frame lies at CFA - 8 */
	ARCH_RA_IN_REGISTER = 0,
	ARCH_SP_ALIGN = 8,
	ARCH_ADDRESS_BITS = 47,	/* of user code */
	ARCH_SIGINFO_BYTES = 0	/* between sp in the signal restorer and the ucontext */
};

static inline uint64_t arch_ticks(void)
{
	uint32_t lo, hi;

	__asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
	return (uint64_t)hi << 32 | lo;
}

static inline uint64_t arch_strip(uint64_t ra)
{
	return ra;
}

static inline long arch_syscall4(long n, long a, long b, long c, long d)
{
	register long r10 __asm__("r10") = d;
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
	return ret;
}

static inline long arch_syscall6(long n, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

/* The CFA of the function in which it stands, which must keep a frame pointer. */
#define ARCH_FRAME_CFA() ((uint64_t)__builtin_frame_address(0) + 16)

/** arch_call_on - calls @fn(@arg) on another stack; it must return */
static inline void arch_call_on(void *stack_top, void (*fn)(void *), void *arg)
{
	__asm__ volatile("movq %%rsp, %%rbx\n\t movq %1, %%rsp\n\t call *%2\n\t movq %%rbx, %%rsp"
			 : "+D"(arg) : "r"(stack_top), "r"(fn)
			 : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",
			   "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "cc",
			   "memory");
}

/* One asm statement, so that no instruction of the compiler lies between the registers and the pc that they belong to. */
#define ARCH_CAPTURE(regs)                                                                                       \
	do {                                                                                                     \
		struct arch_regs *capture_ = (regs);                                                             \
		__asm__ volatile("movq %%rbx, 3*8(%0)\n\t movq %%rbp, 6*8(%0)\n\t movq %%rsp, 7*8(%0)\n\t"       \
				 "movq %%r12, 12*8(%0)\n\t movq %%r13, 13*8(%0)\n\t movq %%r14, 14*8(%0)\n\t"    \
				 "movq %%r15, 15*8(%0)\n\t leaq 1f(%%rip), %%rax\n\t movq %%rax, 17*8(%0)\n1:"   \
				 : : "r"(capture_) : "rax", "memory");                                           \
		capture_->known = ARCH_CALLEE_SAVED | 1u << ARCH_REG_SP;                                         \
	} while (0)

/*
 * The packed rule of a called frame: 16 bits. It is laid out so that the CFA costs one AND and one addition.
 *
 *   15  the CFA hangs on rbp, not on rsp      14..3  (CFA - base) / 8, never 0
 *   2..0  where rbp is saved: 0 nowhere, k = 1..6: at CFA - 8 - 8k; 7: not a packed rule, but one of the cache's own
 */
enum { ARCH_RULE_SPECIAL = 7 };		/* in the low three bits */

static inline bool arch_rule_pack(bool on_fp, int64_t cfa_off, int64_t ra_off, int64_t fp_off, uint16_t *ret)
{
	int64_t save = fp_off ? (-8 - fp_off) / 8 : 0;

	if (cfa_off <= 0 || cfa_off % 8 || cfa_off > 0x7ff8 || ra_off != -8)
		return false;
	if (fp_off && (fp_off % 8 || save < 1 || save > 6))
		return false;
	*ret = (uint16_t)((on_fp ? 1 << 15 : 0) | cfa_off | save);
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
	return rule & 7;
}

/** arch_rule_fp_below - the distance from the saved fp up to the CFA; a readable slot if none is saved */
static inline uint64_t arch_rule_fp_below(uint32_t rule)
{
	return 8 + (rule & 7) * 8;
}

static inline uint64_t arch_rule_ra_below(uint32_t rule)
{
	(void)rule;
	return 8;
}

enum { ARCH_RULE_REACH = 56 };	/* the largest distance below the CFA that a packed rule reads */

#endif
