/* expr.c - DWARF expressions, and a row applied to a register set
 *
 * What is not known is never invented: an expression or rule over a register without its bit in @known says so, and the walk
 * then gets all registers or ends.
 */
#include <errno.h>

#include "walk/cfi.h"
#include "walk/reader.h"

enum { DEPTH = 64, STEPS = 1000 };	/* branches could loop for ever */

struct evaluation {
	const struct cfi_input *in;
	const struct arch_regs *regs;
	const struct cfi_memory *memory;
	struct reader code;
	const uint8_t *start;
	uint64_t stack[DEPTH];
	unsigned n;
	int error;
};

static void push(struct evaluation *e, uint64_t v)
{
	if (e->n == DEPTH)
		e->error = -EBADMSG;
	else
		e->stack[e->n++] = v;
}

static uint64_t pop(struct evaluation *e)
{
	if (e->n == 0) {
		e->error = -EBADMSG;
		return 0;
	}
	return e->stack[--e->n];
}

/* The entry @depth below the top. */
static uint64_t pick(struct evaluation *e, unsigned depth)
{
	if (depth >= e->n) {
		e->error = -EBADMSG;
		return 0;
	}
	return e->stack[e->n - 1 - depth];
}

static uint64_t register_value(struct evaluation *e, uint64_t reg)
{
	if (reg == ARCH_REG_RA && !ARCH_RA_IN_REGISTER)
		return e->regs->pc;
	if (reg >= ARCH_NREGS || !(e->regs->known >> reg & 1)) {
		e->error = CFI_UNKNOWN_REGISTER;
		return 0;
	}
	return e->regs->r[reg];
}

static uint64_t dereference(struct evaluation *e, uint64_t addr, unsigned bytes)
{
	uint64_t v = 0, base = addr & ~7ull, shift = (addr & 7) * 8, high = 0;

	if (e->error)
		return 0;
	if (bytes == 0 || bytes > 8) {
		e->error = -EBADMSG;
		return 0;
	}
	if (!e->memory->read(e->memory->arg, base, &v) ||
	    (shift + bytes * 8 > 64 && !e->memory->read(e->memory->arg, base + 8, &high))) {
		e->error = CFI_UNREADABLE;
		return 0;
	}
	v >>= shift;
	if (shift)
		v |= high << (64 - shift);
	return bytes == 8 ? v : v & ((1ull << bytes * 8) - 1);
}

static void binary(struct evaluation *e, uint8_t op)
{
	uint64_t b = pop(e), a = pop(e);
	int64_t sa = (int64_t)a, sb = (int64_t)b;

	switch (op) {
	case 0x1a: push(e, a & b); break;
	case 0x1b:
		if (b == 0)
			e->error = -EBADMSG;
		else
			push(e, sb == -1 ? -a : (uint64_t)(sa / sb));
		break;
	case 0x1c: push(e, a - b); break;
	case 0x1d:
		if (b == 0)
			e->error = -EBADMSG;
		else
			push(e, a % b);
		break;
	case 0x1e: push(e, a * b); break;
	case 0x21: push(e, a | b); break;
	case 0x22: push(e, a + b); break;
	case 0x24: push(e, b < 64 ? a << b : 0); break;
	case 0x25: push(e, b < 64 ? a >> b : 0); break;
	case 0x26: push(e, (uint64_t)(sa >> (b < 63 ? b : 63))); break;
	case 0x27: push(e, a ^ b); break;
	case 0x29: push(e, a == b); break;
	case 0x2a: push(e, sa >= sb); break;
	case 0x2b: push(e, sa > sb); break;
	case 0x2c: push(e, sa <= sb); break;
	case 0x2d: push(e, sa < sb); break;
	case 0x2e: push(e, a != b); break;
	default: e->error = -EBADMSG;
	}
}

static void branch(struct evaluation *e, bool taken)
{
	int64_t delta = (int16_t)read_fixed(&e->code, 2);

	if (!taken)
		return;
	if (delta < e->start - e->code.p || delta > e->code.end - e->code.p)
		e->error = -EBADMSG;
	else
		e->code.p += delta;
}

static void rearrange(struct evaluation *e, uint8_t op)
{
	uint64_t a, b, c;

	switch (op) {
	case 0x12: push(e, pick(e, 0)); break;			/* dup */
	case 0x13: pop(e); break;				/* drop */
	case 0x14: push(e, pick(e, 1)); break;			/* over */
	case 0x15: push(e, pick(e, read_u8(&e->code))); break;	/* pick */
	case 0x16:						/* swap */
		a = pop(e), b = pop(e);
		push(e, a), push(e, b);
		break;
	case 0x17:						/* rot */
		a = pop(e), b = pop(e), c = pop(e);
		push(e, a), push(e, c), push(e, b);
		break;
	}
}

static void operation(struct evaluation *e, uint8_t op)
{
	struct reader *r = &e->code;
	uint64_t a;

	switch (op) {
	case 0x03: push(e, read_fixed(r, 8)); break;
	case 0x06: push(e, dereference(e, pop(e), 8)); break;
	case 0x94: a = pop(e); push(e, dereference(e, a, read_u8(r))); break;
	case 0x08: push(e, read_u8(r)); break;
	case 0x09: push(e, (uint64_t)(int64_t)(int8_t)read_u8(r)); break;
	case 0x0a: push(e, read_fixed(r, 2)); break;
	case 0x0b: push(e, (uint64_t)(int64_t)(int16_t)read_fixed(r, 2)); break;
	case 0x0c: push(e, read_fixed(r, 4)); break;
	case 0x0d: push(e, (uint64_t)(int64_t)(int32_t)read_fixed(r, 4)); break;
	case 0x0e: case 0x0f: push(e, read_fixed(r, 8)); break;
	case 0x10: push(e, read_uleb(r)); break;
	case 0x11: push(e, (uint64_t)read_sleb(r)); break;
	case 0x12 ... 0x17: rearrange(e, op); break;
	case 0x19: a = pop(e); push(e, (int64_t)a < 0 ? -a : a); break;
	case 0x1f: push(e, -pop(e)); break;
	case 0x20: push(e, ~pop(e)); break;
	case 0x23: a = pop(e); push(e, a + read_uleb(r)); break;
	case 0x1a ... 0x1e: case 0x21: case 0x22: case 0x24 ... 0x27: case 0x29 ... 0x2e: binary(e, op); break;
	case 0x28: branch(e, pop(e) != 0); break;
	case 0x2f: branch(e, true); break;
	case 0x30 ... 0x4f: push(e, op - 0x30u); break;
	case 0x50 ... 0x6f: push(e, register_value(e, op - 0x50u)); break;
	case 0x70 ... 0x8f: a = register_value(e, op - 0x70u); push(e, a + (uint64_t)read_sleb(r)); break;
	case 0x90: push(e, register_value(e, read_uleb(r))); break;
	case 0x92: a = register_value(e, read_uleb(r)); push(e, a + (uint64_t)read_sleb(r)); break;
	case 0x96: break;
	default: e->error = -EBADMSG;
	}
}

int cfi_expression(const struct cfi_input *in, uint64_t at, const struct arch_regs *regs, const struct cfi_memory *memory,
		   const uint64_t *initial, uint64_t *ret)
{
	struct evaluation e;
	struct reader r = reader_at(in, at, in->size);
	uint64_t length = read_uleb(&r), v;

	if (r.bad || length > (uint64_t)(r.end - r.p))
		return -EBADMSG;
	r.end = r.p + length;
	e.in = in;
	e.regs = regs;
	e.memory = memory;
	e.code = r;
	e.start = r.p;
	e.n = 0;
	e.error = 0;
	if (initial)
		push(&e, *initial);
	for (int steps = 0; e.code.p < e.code.end && !e.error; steps++) {
		if (steps == STEPS)
			return -EBADMSG;
		operation(&e, read_u8(&e.code));
		if (e.code.bad)
			return -EBADMSG;
	}
	if (e.error)
		return e.error;
	v = pop(&e);
	if (e.error)
		return e.error;
	*ret = v;
	return 0;
}

/* What column @reg of the caller is. Return: 0; CFI_UNKNOWN_REGISTER, CFI_UNREADABLE; -EBADMSG. */
static int column(const struct cfi_input *in, const struct cfi_row *row, const struct cfi_memory *memory,
		  const struct arch_regs *regs, uint64_t cfa, unsigned reg, uint64_t *ret)
{
	uint64_t v = row->value[reg];
	bool known = regs->known >> reg & 1;
	int error;

	switch (row->kind[reg]) {
	case CFI_UNSPECIFIED:
		/* A caller-saved register is lost, but a signal does not call. */
		if (!known || !(row->signal || (uint32_t)ARCH_CALLEE_SAVED >> reg & 1 || reg == ARCH_REG_RA) ||
		    (reg == ARCH_REG_RA && !ARCH_RA_IN_REGISTER))
			return CFI_UNKNOWN_REGISTER;
		*ret = regs->r[reg];
		return 0;
	case CFI_SAME:
		if (!known)
			return CFI_UNKNOWN_REGISTER;
		*ret = regs->r[reg];
		return 0;
	case CFI_OFFSET:
		return memory->read(memory->arg, cfa + v, ret) ? 0 : CFI_UNREADABLE;
	case CFI_VAL_OFFSET:
		*ret = cfa + v;
		return 0;
	case CFI_REGISTER:
		if (v >= ARCH_NREGS || !(regs->known >> v & 1))
			return CFI_UNKNOWN_REGISTER;
		*ret = regs->r[v];
		return 0;
	case CFI_EXPRESSION:
		error = cfi_expression(in, v, regs, memory, &cfa, &v);
		if (error)
			return error;
		return memory->read(memory->arg, v, ret) ? 0 : CFI_UNREADABLE;
	case CFI_VAL_EXPRESSION:
		return cfi_expression(in, v, regs, memory, &cfa, ret);
	default:
		return CFI_UNKNOWN_REGISTER;
	}
}

static int cfa_of(const struct cfi_input *in, const struct cfi_row *row, const struct cfi_memory *memory,
		  const struct arch_regs *regs, uint64_t *ret)
{
	if (row->cfa_kind == CFI_VAL_EXPRESSION)
		return cfi_expression(in, row->cfa_value, regs, memory, NULL, ret);
	if (row->cfa_kind != CFI_VAL_OFFSET)
		return -EBADMSG;
	if (row->cfa_reg >= ARCH_NREGS || !(regs->known >> row->cfa_reg & 1))
		return CFI_UNKNOWN_REGISTER;
	*ret = regs->r[row->cfa_reg] + row->cfa_value;
	return 0;
}

int cfi_apply(const struct cfi_input *in, const struct cfi_row *row, const struct cfi_memory *memory, struct arch_regs *regs)
{
	struct arch_regs caller = { .known = 0 };
	uint64_t cfa;
	int error;

	if (row->kind[row->ra_reg] == CFI_UNDEFINED)
		return CFI_OUTERMOST;
	error = cfa_of(in, row, memory, regs, &cfa);
	if (error)
		return error;
	for (unsigned reg = 0; reg < ARCH_NREGS; reg++) {
		bool needed = reg == row->ra_reg || (reg == ARCH_REG_SP && row->kind[reg] != CFI_UNSPECIFIED);

		error = reg == ARCH_REG_SP && row->kind[reg] == CFI_UNSPECIFIED ? (caller.r[reg] = cfa, 0) :
			column(in, row, memory, regs, cfa, reg, &caller.r[reg]);
		if (error && (needed || error < 0))
			return error;
		if (!error)
			caller.known |= 1u << reg;
	}
	caller.pc = arch_strip(caller.r[row->ra_reg]);
	if (caller.pc == 0)
		return CFI_OUTERMOST;
	if (!row->signal || !ARCH_RA_IN_REGISTER)
		caller.known &= ~(1u << ARCH_REG_RA);
	*regs = caller;
	return 0;
}
