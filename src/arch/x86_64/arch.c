/* arch.c - x86_64: a signal's registers, and the few instructions that a walk recognises by their bytes
 *
 * Code is recognised only where tables say nothing: a signal restorer without CFI, and whether a word on the stack of a frame
 * without code is a return address.
 */
#include "arch/arch.h"


void arch_regs_from_context(struct arch_regs *regs, const ucontext_t *context)
{
	static const int greg[16] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
				      REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15 };

	for (int i = 0; i < 16; i++)
		regs->r[i] = (uint64_t)context->uc_mcontext.gregs[greg[i]];
	regs->pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
	regs->r[ARCH_REG_RA] = regs->pc;
	regs->known = (1u << 16) - 1;
}

/* What lies at an address that a stack happens to hold is nobody's object: the sanitizer has no say in it. */
#define UNCHECKED __attribute__((no_sanitize("address")))

UNCHECKED static bool arch_same_bytes(const void *at, const uint8_t *code, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (((const uint8_t *)at)[i] != code[i])
			return false;
	return true;
}

UNCHECKED bool arch_is_sigreturn(const void *pc)
{
	static const uint8_t code[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };	/* mov $15, %rax; syscall */

	return arch_same_bytes(pc, code, sizeof(code));
}

/* e8 rel32, or ff /2 with every form of operand: 2 to 7 bytes, 8 with a REX prefix (which need not be looked at) */
UNCHECKED bool arch_follows_call(const void *pc)
{
	const uint8_t *p = pc;

	if (p[-5] == 0xe8)
		return true;
	for (int n = 2; n <= 7; n++) {
		uint8_t modrm = p[-n + 1], mod = modrm >> 6, rm = modrm & 7;
		int length = 2;

		if (p[-n] != 0xff || (modrm >> 3 & 7) != 2)
			continue;
		if (mod != 3 && rm == 4) {
			if (n < 3)
				continue;
			length++;
			if (mod == 0 && (p[-n + 2] & 7) == 5)
				length += 4;
		}
		if (mod == 1)
			length++;
		if (mod == 2 || (mod == 0 && rm == 5))
			length += 4;
		if (length == n)
			return true;
	}
	return false;
}
