/* arch.c - aarch64: a signal's registers, and the few instructions that a walk recognises by their bytes */
#include "arch/arch.h"

#include <string.h>

void arch_regs_from_context(struct arch_regs *regs, const ucontext_t *context)
{
	for (int i = 0; i < 31; i++)
		regs->r[i] = context->uc_mcontext.regs[i];
	regs->r[ARCH_REG_SP] = context->uc_mcontext.sp;
	regs->pc = context->uc_mcontext.pc;
	regs->known = ~0u;
}

bool arch_is_sigreturn(const void *pc)
{
	static const uint32_t code[] = { 0xd2801168, 0xd4000001 };	/* mov x8, #139; svc #0 */

	return memcmp(pc, code, sizeof(code)) == 0;
}

bool arch_follows_call(const void *pc)
{
	uint32_t code;

	memcpy(&code, (const uint8_t *)pc - 4, sizeof(code));
	if (code >> 26 == 0x25)				/* bl */
		return true;
	return (code & 0xfffffc1f) == 0xd63f0000 ||	/* blr */
	       (code & 0xfefff800) == 0xd63f0800;	/* blraa, blrab, blraaz, blrabz */
}
