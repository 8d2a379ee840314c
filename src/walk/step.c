/* step.c - one frame, by interpretation of its call frame information
 *
 * Used for what the cache cannot say in 16 bits: signal frames, expressions, frames over other registers than sp and fp, code
 * without tables. Also the compiler from rows to rules.
 */
#include "walk/step.h"

#include "walk/cfi.h"
#include "walk/find.h"

extern void *__libc_stack_end __attribute__((weak));

static bool read_word(void *arg, uint64_t addr, uint64_t *ret)
{
	return memory_read(arg, addr, ret);
}

/* The row of a pc. Return: as find_fde(); FIND_NO_FDE for malformed tables. */
static int row_of(uint64_t pc, struct cfi_input *in, struct cfi_row *row)
{
	uint64_t fde;
	int found = find_fde(pc, in, &fde);

	if (found != FIND_FDE)
		return found;
	return cfi_compile(in, fde, pc, row) == CFI_FOUND ? FIND_FDE : FIND_NO_FDE;
}

static bool looks_called(uint64_t ra)
{
	return memory_readable(ra - 8, 8) && arch_follows_call((const void *)ra);
}

static bool is_sigreturn(uint64_t pc)
{
	return memory_readable(pc, 16) && arch_is_sigreturn((const void *)pc);
}

/* The kernel put the registers of the interrupted code above the restorer's stack pointer. */
static enum step step_ucontext(struct memory_stacks *m, struct arch_regs *regs)
{
	uint64_t context = regs->r[ARCH_REG_SP] + ARCH_SIGINFO_BYTES;
	struct arch_regs interrupted;

	if (!memory_readable(context, offsetof(ucontext_t, uc_mcontext) + sizeof(mcontext_t)))
		return STEP_BROKEN;
	arch_regs_from_context(&interrupted, (const ucontext_t *)context);
	*regs = interrupted;
	return STEP_SIGNAL;
}

/* Code that nobody knows: if it was just called, its caller is known all the same. */
static enum step step_just_called(struct memory_stacks *m, struct arch_regs *regs)
{
	uint64_t ra;

	if (ARCH_RA_IN_REGISTER)
		ra = arch_strip(regs->r[ARCH_REG_RA]);
	else if (!memory_read(m, regs->r[ARCH_REG_SP], &ra))
		return STEP_BROKEN;
	if ((ARCH_RA_IN_REGISTER && !(regs->known >> ARCH_REG_RA & 1)) || !find_object(ra - 1) || !looks_called(ra))
		return STEP_BROKEN;
	regs->pc = ra;
	if (!ARCH_RA_IN_REGISTER)
		regs->r[ARCH_REG_SP] += 8;
	regs->known &= (uint32_t)ARCH_CALLEE_SAVED | 1u << ARCH_REG_SP;
	return STEP_CALLER;
}

/*
 * Nothing calls from the byte before a function, where no function is: a return to a function's first byte was made by hand,
 * at the bottom of a stack (makecontext's __start_context).
 */
static bool is_made_by_hand(uint64_t ra)
{
	struct cfi_input in;
	struct cfi_row row;

	return row_of(ra, &in, &row) == FIND_FDE && row.start == ra && !row.signal;
}

/* The loader's first code has no tables: the kernel left its stack pointer where argc lies, which glibc remembers. */
static bool is_process_entry(const struct arch_regs *regs)
{
	return &__libc_stack_end && regs->r[ARCH_REG_SP] == (uint64_t)__libc_stack_end;
}

static enum step step_without_cfi(struct memory_stacks *m, bool exact, int found, struct arch_regs *regs)
{
	if (is_sigreturn(regs->pc))
		return step_ucontext(m, regs);
	if (exact)
		return step_just_called(m, regs);
	if (found == FIND_NO_FDE && (is_made_by_hand(regs->pc) || is_process_entry(regs)))
		return STEP_END;
	return found == FIND_NO_FDE || looks_called(regs->pc) ? STEP_BROKEN : STEP_NO_CODE;
}

enum step step_frame(struct memory_stacks *m, bool exact, struct arch_regs *regs)
{
	const struct cfi_memory memory = { read_word, m };
	uint64_t sp = regs->r[ARCH_REG_SP];
	struct cfi_input in;
	struct cfi_row row;
	bool signal;
	int found = row_of(regs->pc - !exact, &in, &row);

	if (found != FIND_FDE)
		return step_without_cfi(m, exact, found, regs);
	if (row.signal && is_sigreturn(regs->pc))
		return step_ucontext(m, regs);
	signal = row.signal;
	switch (cfi_apply(&in, &row, &memory, regs)) {
	case 0:
		break;
	case CFI_OUTERMOST:
		return STEP_END;
	case CFI_UNKNOWN_REGISTER:
		return STEP_REGISTERS;
	default:
		return STEP_BROKEN;
	}
	if (signal)
		return STEP_SIGNAL;
	/* Outwards is upwards; only code that has pushed nothing may stay. */
	if (regs->r[ARCH_REG_SP] < sp + !exact || regs->r[ARCH_REG_SP] % ARCH_SP_ALIGN)
		return STEP_BROKEN;
	return STEP_CALLER;
}

/* The CFA of a PLT entry hangs on the pc, which is known here: rsp + 8 + (8 if (rip & 15) >= n). */
static bool is_plt_cfa(const struct cfi_input *in, uint64_t at, uint64_t pc, int64_t *ret_off)
{
	const uint8_t *p = in->data + at;

	if (at + 12 > in->size || p[0] != 11 || p[1] != 0x70 + ARCH_REG_SP || p[2] != 8 || p[3] != 0x70 + ARCH_REG_RA ||
	    p[4] != 0 || p[5] != 0x3f || p[6] != 0x1a || p[7] < 0x30 || p[7] > 0x4f || p[8] != 0x2a || p[9] != 0x33 ||
	    p[10] != 0x24 || p[11] != 0x22)
		return false;
	*ret_off = 8 + ((pc & 15) >= p[7] - 0x30u ? 8 : 0);
	return true;
}

/* breg<fp> + one-byte offset, and for @deref a dereference */
static bool is_fp_expression(const struct cfi_input *in, uint64_t at, bool deref, int32_t *ret_off)
{
	const uint8_t *p = in->data + at;

	if (at + 4 > in->size || p[0] != (deref ? 3 : 2) || p[1] != 0x70 + ARCH_REG_FP || p[2] & 0x80 || (deref && p[3] != 0x06))
		return false;
	*ret_off = p[2] & 0x40 ? (int32_t)p[2] - 128 : (int32_t)p[2];
	return true;
}

static uint32_t rule_of_offsets(bool on_fp, int64_t cfa_off, int64_t ra_off, int64_t fp_off)
{
	struct cache_wide wide = { (int32_t)cfa_off, (int32_t)ra_off, (int32_t)fp_off, on_fp ? WIDE_FP : WIDE_SP };
	uint16_t packed;

	if (arch_rule_pack(on_fp, cfa_off, ra_off, fp_off, &packed))
		return packed;
	if (wide.cfa_off != cfa_off || wide.ra_off != ra_off || wide.fp_off != fp_off || (ARCH_RA_BELOW_CFA && ra_off != -8))
		return CACHE_STEP;
	return cache_wide_rule(&wide);
}

static uint32_t rule_of_row(const struct cfi_input *in, const struct cfi_row *row, uint64_t pc)
{
	uint8_t fp_kind = row->kind[ARCH_REG_FP];
	struct cache_wide drap = { .ra_off = -8, .base = WIDE_FP_DEREF };
	int64_t ra_off = (int64_t)row->value[row->ra_reg], fp_off = 0, plt_off;

	if (row->signal)
		return CACHE_STEP;
	if (row->kind[row->ra_reg] == CFI_UNDEFINED)
		return CACHE_STOP;
	if (row->kind[row->ra_reg] != CFI_OFFSET || row->kind[ARCH_REG_SP] != CFI_UNSPECIFIED || ra_off == 0)
		return CACHE_STEP;
	if (row->cfa_kind == CFI_VAL_EXPRESSION && fp_kind == CFI_EXPRESSION && ra_off == -8 &&
	    is_fp_expression(in, row->cfa_value, true, &drap.cfa_off) &&
	    is_fp_expression(in, row->value[ARCH_REG_FP], false, &drap.fp_off))
		return cache_wide_rule(&drap);
	if (fp_kind == CFI_OFFSET)
		fp_off = (int64_t)row->value[ARCH_REG_FP];
	if ((fp_kind == CFI_OFFSET) != (fp_off != 0) || (fp_kind != CFI_OFFSET && fp_kind != CFI_UNSPECIFIED && fp_kind != CFI_SAME))
		return CACHE_STEP;
	if (row->cfa_kind == CFI_VAL_EXPRESSION && is_plt_cfa(in, row->cfa_value, pc, &plt_off))
		return rule_of_offsets(false, plt_off, ra_off, fp_off);
	if (row->cfa_kind == CFI_VAL_OFFSET && (row->cfa_reg == ARCH_REG_SP || row->cfa_reg == ARCH_REG_FP))
		return rule_of_offsets(row->cfa_reg == ARCH_REG_FP, (int64_t)row->cfa_value, ra_off, fp_off);
	return CACHE_STEP;
}

uint32_t step_rule(uint64_t ra)
{
	struct cfi_input in;
	struct cfi_row row;
	int found = row_of(ra - 1, &in, &row);

	if (found == FIND_FDE)
		return rule_of_row(&in, &row, ra - 1);
	if (is_sigreturn(ra))
		return CACHE_STEP;
	if (found == FIND_NO_FDE && is_made_by_hand(ra))
		return CACHE_STOP;
	return found == FIND_NO_FDE || looks_called(ra) ? CACHE_NO_CFI : CACHE_NO_CODE;
}
