/* cfi.c - from .eh_frame bytes to the row of one address
 *
 * A table is never built ahead: an address is looked up once and what it needs goes to the rule cache, so the cost of this
 * file is paid once an address. Hence one pass over one FDE, on the stack, without allocation.
 */
#include "walk/cfi.h"

#include <errno.h>

#include "walk/reader.h"

enum { STATES = 8 };	/* of DW_CFA_remember_state; compilers nest 2 deep */

struct cie {
	uint64_t code_align;
	int64_t data_align;
	uint32_t ra_reg;
	uint8_t pointer;	/* encoding of addresses in FDEs */
	bool sized;		/* augmentation "z": FDEs carry the size of theirs */
	bool signal;
	struct reader program;
};

struct entry {
	struct reader body;	/* behind the length */
	uint64_t id_offset;	/* offset of the id field */
	uint64_t id;
	uint64_t next;		/* offset of the next entry */
};

/* Return: CFI_FOUND; CFI_NONE: the terminator; -EBADMSG. */
static int entry_read(const struct cfi_input *in, uint64_t offset, struct entry *ret)
{
	struct reader r = reader_at(in, offset, in->size);
	uint64_t length = read_fixed(&r, 4), left;
	bool wide = length == 0xffffffff;

	if (wide)
		length = read_fixed(&r, 8);
	if (r.bad)
		return -EBADMSG;
	if (length == 0)
		return CFI_NONE;
	left = (uint64_t)(r.end - r.p);
	if (length > left || length < 4)
		return -EBADMSG;
	r.end = r.p + length;
	ret->next = reader_offset(in, &r) + length;
	ret->id_offset = reader_offset(in, &r);
	ret->id = read_fixed(&r, 4);	/* .eh_frame: 4 bytes in the 64-bit format too */
	ret->body = r;
	return r.bad ? -EBADMSG : CFI_FOUND;
}

static int augmentation_read(const struct cfi_input *in, const char *letters, struct reader *r, struct cie *cie)
{
	uint64_t length;
	struct reader data;

	if (letters[0] == 0)
		return 0;
	if (letters[0] != 'z')
		return -EBADMSG;
	if (LIKELY(letters[1] == 'R' && letters[2] == 0 && r->end - r->p >= 2 && r->p[0] == 1)) {
		cie->sized = true;
		cie->pointer = r->p[1];
		r->p += 2;
		return 0;
	}
	cie->sized = true;
	length = read_uleb(r);
	if (r->bad || length > (uint64_t)(r->end - r->p))
		return -EBADMSG;
	data = *r;
	data.end = r->p + length;
	read_skip(r, length);
	for (const char *c = letters + 1; *c; c++) {
		uint8_t encoding;

		switch (*c) {
		case 'R':
			cie->pointer = read_u8(&data);
			break;
		case 'L':
			read_u8(&data);
			break;
		case 'P':
			encoding = read_u8(&data);
			read_encoded(&data, in, encoding);
			break;
		case 'S':
			cie->signal = true;
			break;
		case 'B':
		case 'G':
			break;
		default:
			return data.bad ? -EBADMSG : 0;	/* the rest has a size, but no known meaning */
		}
	}
	return data.bad ? -EBADMSG : 0;
}

static int cie_read(const struct cfi_input *in, uint64_t offset, struct cie *ret)
{
	struct cie cie = { .pointer = PE_ABSPTR };
	const char *letters;
	struct entry e;
	uint8_t version;
	int error = entry_read(in, offset, &e);

	if (error != CFI_FOUND || e.id != 0)
		return -EBADMSG;
	version = read_u8(&e.body);
	if (version != 1 && version != 3 && version != 4)
		return -EBADMSG;
	letters = (const char *)e.body.p;
	while (read_u8(&e.body) != 0)
		if (e.body.bad)
			return -EBADMSG;
	if (letters[0] == 'e' && letters[1] == 'h' && letters[2] == 0) {
		read_skip(&e.body, 8);
		letters += 2;
	}
	if (version == 4)
		read_skip(&e.body, 2);	/* sizes of address and segment selector */
	if (e.body.bad)
		return -EBADMSG;
	cie.code_align = read_uleb(&e.body);
	cie.data_align = read_sleb(&e.body);
	cie.ra_reg = version == 1 ? read_u8(&e.body) : (uint32_t)read_uleb(&e.body);
	error = augmentation_read(in, letters, &e.body, &cie);
	if (error || e.body.bad || cie.ra_reg >= ARCH_NREGS)
		return -EBADMSG;
	cie.program = e.body;
	*ret = cie;
	return 0;
}

struct machine {
	const struct cfi_input *in;
	const struct cie *cie;
	struct cfi_row *row;
	struct cfi_row *initial;	/* after the CIE's program; NULL while it runs */
	uint64_t pc, location;
	struct cfi_row states[STATES];
	unsigned n_states;
};

static void rule_set(struct machine *m, uint64_t reg, enum cfi_kind kind, uint64_t value)
{
	if (reg < ARCH_NREGS) {
		m->row->kind[reg] = (uint8_t)kind;
		m->row->value[reg] = value;
	}
}

static void rule_restore(struct machine *m, uint64_t reg)
{
	if (reg < ARCH_NREGS) {
		m->row->kind[reg] = m->initial ? m->initial->kind[reg] : CFI_UNSPECIFIED;
		m->row->value[reg] = m->initial ? m->initial->value[reg] : 0;
	}
}

static void cfa_set(struct machine *m, uint64_t reg, uint64_t offset)
{
	m->row->cfa_kind = CFI_VAL_OFFSET;
	m->row->cfa_reg = reg < ARCH_NREGS ? (uint32_t)reg : ARCH_NREGS;
	m->row->cfa_value = offset;
}

/* The offset of an expression; the reader moves behind it. */
static uint64_t block_read(struct machine *m, struct reader *r)
{
	uint64_t at = reader_offset(m->in, r);

	read_skip(r, read_uleb(r));
	return at;
}

enum { PROGRAM_GO = 0, PROGRAM_PASSED = 1 };

static int advance(struct machine *m, uint64_t delta)
{
	m->location += delta * m->cie->code_align;
	return m->location > m->pc ? PROGRAM_PASSED : PROGRAM_GO;
}

/* The less frequent half of the instructions. */
static int extended(struct machine *m, struct reader *r, uint8_t op)
{
	int64_t align = m->cie->data_align;
	uint64_t reg;

	switch (op) {
	case 0x0f:	/* def_cfa_expression */
		m->row->cfa_kind = CFI_VAL_EXPRESSION;
		m->row->cfa_value = block_read(m, r);
		break;
	case 0x10:	/* expression */
		reg = read_uleb(r);
		rule_set(m, reg, CFI_EXPRESSION, block_read(m, r));
		break;
	case 0x11:	/* offset_extended_sf */
		reg = read_uleb(r);
		rule_set(m, reg, CFI_OFFSET, (uint64_t)read_sleb(r) * (uint64_t)align);
		break;
	case 0x12:	/* def_cfa_sf */
		reg = read_uleb(r);
		cfa_set(m, reg, (uint64_t)read_sleb(r) * (uint64_t)align);
		break;
	case 0x13:	/* def_cfa_offset_sf */
		m->row->cfa_value = (uint64_t)read_sleb(r) * (uint64_t)align;
		break;
	case 0x14:	/* val_offset */
		reg = read_uleb(r);
		rule_set(m, reg, CFI_VAL_OFFSET, read_uleb(r) * (uint64_t)align);
		break;
	case 0x15:	/* val_offset_sf */
		reg = read_uleb(r);
		rule_set(m, reg, CFI_VAL_OFFSET, (uint64_t)read_sleb(r) * (uint64_t)align);
		break;
	case 0x16:	/* val_expression */
		reg = read_uleb(r);
		rule_set(m, reg, CFI_VAL_EXPRESSION, block_read(m, r));
		break;
	case 0x1d:	/* MIPS_advance_loc8 */
		return advance(m, read_fixed(r, 8));
	case 0x2d:	/* AARCH64_negate_ra_state: return addresses are stripped, signed or not */
		break;
	case 0x2e:	/* GNU_args_size */
		read_uleb(r);
		break;
	case 0x2f:	/* GNU_negative_offset_extended */
		reg = read_uleb(r);
		rule_set(m, reg, CFI_OFFSET, -(read_uleb(r) * (uint64_t)align));
		break;
	default:
		return -EOPNOTSUPP;
	}
	return PROGRAM_GO;
}

static int state_push(struct machine *m)
{
	if (m->n_states == STATES)
		return -EOPNOTSUPP;
	m->states[m->n_states++] = *m->row;
	return PROGRAM_GO;
}

static int state_pop(struct machine *m)
{
	if (m->n_states == 0)
		return -EBADMSG;
	*m->row = m->states[--m->n_states];
	return PROGRAM_GO;
}

static int ordinary(struct machine *m, struct reader *r, uint8_t op)
{
	uint64_t reg;

	switch (op) {
	case 0x00:	/* nop */
		break;
	case 0x01:	/* set_loc */
		m->location = read_encoded(r, m->in, m->cie->pointer);
		return m->location > m->pc ? PROGRAM_PASSED : PROGRAM_GO;
	case 0x02:	/* advance_loc1, 2, 4 */
		return advance(m, read_u8(r));
	case 0x03:
		return advance(m, read_fixed(r, 2));
	case 0x04:
		return advance(m, read_fixed(r, 4));
	case 0x05:	/* offset_extended */
		reg = read_uleb(r);
		rule_set(m, reg, CFI_OFFSET, read_uleb(r) * (uint64_t)m->cie->data_align);
		break;
	case 0x06:	/* restore_extended */
		rule_restore(m, read_uleb(r));
		break;
	case 0x07:	/* undefined */
		rule_set(m, read_uleb(r), CFI_UNDEFINED, 0);
		break;
	case 0x08:	/* same_value */
		rule_set(m, read_uleb(r), CFI_SAME, 0);
		break;
	case 0x09:	/* register */
		reg = read_uleb(r);
		rule_set(m, reg, CFI_REGISTER, read_uleb(r));
		break;
	case 0x0a:
		return state_push(m);
	case 0x0b:
		return state_pop(m);
	case 0x0c:	/* def_cfa */
		reg = read_uleb(r);
		cfa_set(m, reg, read_uleb(r));
		break;
	case 0x0d:	/* def_cfa_register */
		cfa_set(m, read_uleb(r), m->row->cfa_value);
		break;
	case 0x0e:	/* def_cfa_offset */
		m->row->cfa_value = read_uleb(r);
		break;
	default:
		return extended(m, r, op);
	}
	return PROGRAM_GO;
}

static int program_run(struct machine *m, struct reader r)
{
	int outcome = PROGRAM_GO;

	while (r.p < r.end && outcome == PROGRAM_GO) {
		uint8_t byte = *r.p++, low = byte & 0x3f;

		switch (byte >> 6) {
		case 1:	/* advance_loc */
			outcome = advance(m, low);
			break;
		case 2:	/* offset */
			rule_set(m, low, CFI_OFFSET, read_uleb(&r) * (uint64_t)m->cie->data_align);
			break;
		case 3:	/* restore */
			rule_restore(m, low);
			break;
		default:
			outcome = ordinary(m, &r, byte);
		}
		if (r.bad)
			return -EBADMSG;
	}
	return outcome < 0 ? outcome : 0;
}

/* Reads the head of an FDE. Return: CFI_FOUND; -EBADMSG. */
static int fde_read(const struct cfi_input *in, struct entry *e, struct cie *ret_cie, uint64_t *ret_start, uint64_t *ret_end)
{
	uint64_t start;

	if (e->id == 0 || e->id > e->id_offset || cie_read(in, e->id_offset - e->id, ret_cie))
		return -EBADMSG;
	start = read_encoded(&e->body, in, ret_cie->pointer);
	*ret_start = start;
	*ret_end = start + read_encoded_number(&e->body, ret_cie->pointer);
	if (ret_cie->sized)
		read_skip(&e->body, read_uleb(&e->body));
	return e->body.bad ? -EBADMSG : CFI_FOUND;
}

int cfi_compile(const struct cfi_input *in, uint64_t fde, uint64_t pc, struct cfi_row *ret)
{
	struct cfi_row row = { .cfa_kind = CFI_UNSPECIFIED }, initial;
	struct cie cie;
	struct entry e;
	struct machine m;
	int error = entry_read(in, fde, &e);

	if (error == CFI_NONE)
		return CFI_NONE;
	if (error == CFI_FOUND)
		error = fde_read(in, &e, &cie, &row.start, &row.end);
	if (error)
		return error;
	if (pc < row.start || pc >= row.end)
		return CFI_NONE;
	row.ra_reg = cie.ra_reg;
	row.signal = cie.signal;
	m.in = in;
	m.cie = &cie;
	m.row = &row;
	m.initial = NULL;
	m.pc = pc;
	m.location = row.start;
	m.n_states = 0;
	error = program_run(&m, cie.program);
	if (error)
		return error;
	initial = row;
	m.initial = &initial;
	m.location = row.start;
	error = program_run(&m, e.body);
	if (error)
		return error;
	*ret = row;
	return CFI_FOUND;
}

int cfi_scan(const struct cfi_input *in, uint64_t eh_frame, uint64_t pc, uint64_t *ret_fde)
{
	uint64_t start, end, offset = eh_frame;
	struct entry e;
	struct cie cie;
	int error;

	for (;; offset = e.next) {
		if (offset == in->size)
			return CFI_NONE;
		error = entry_read(in, offset, &e);
		if (error)
			return error;
		if (e.id == 0)
			continue;
		error = fde_read(in, &e, &cie, &start, &end);
		if (error)
			return error;
		if (pc >= start && pc < end) {
			*ret_fde = offset;
			return CFI_FOUND;
		}
	}
}

int cfi_extent(const struct cfi_input *in, uint64_t eh_frame, uint64_t *ret_low, uint64_t *ret_high, uint64_t *ret_size)
{
	uint64_t start, end, offset = eh_frame, low = ~0ull, high = 0;
	struct entry e;
	struct cie cie;
	int error;

	for (; offset < in->size; offset = e.next) {
		error = entry_read(in, offset, &e);
		if (error == CFI_NONE)
			break;
		if (error == CFI_FOUND && e.id != 0)
			error = fde_read(in, &e, &cie, &start, &end);
		if (error)
			return error;
		if (e.id != 0 && end > start) {
			low = MIN(low, start);
			high = MAX(high, end);
		}
	}
	if (low >= high)
		return CFI_NONE;
	*ret_low = low;
	*ret_high = high;
	*ret_size = offset - eh_frame;
	return CFI_FOUND;
}

/* The last row whose address is not above @pc. */
static int table_search(const struct cfi_input *in, uint64_t table, uint64_t rows, uint64_t pc, uint64_t *ret_fde)
{
	const uint8_t *p = in->data + table;
	uint64_t low = 0, n = rows, half, fde;
	int32_t row[2];

	for (; n > 1; n -= half) {	/* no branch: it would be guessed wrong half of the time */
		half = n / 2;
		memcpy(row, p + (low + half) * sizeof(row), sizeof(row[0]));
		low += in->data_base + (uint64_t)(int64_t)row[0] <= pc ? half : 0;
	}
	memcpy(row, p + low * sizeof(row), sizeof(row));
	if (in->data_base + (uint64_t)(int64_t)row[0] > pc)
		return CFI_NONE;
	fde = in->data_base + (uint64_t)(int64_t)row[1] - in->addr;
	if (fde >= in->size)
		return -EBADMSG;
	*ret_fde = fde;
	return CFI_FOUND;
}

int cfi_find(const struct cfi_input *in, uint64_t hdr, uint64_t pc, uint64_t *ret_fde)
{
	struct reader r = reader_at(in, hdr, in->size);
	uint8_t version = read_u8(&r), frame_encoding = read_u8(&r), count_encoding = read_u8(&r), table_encoding = read_u8(&r);
	uint64_t frame = 0, rows = 0, table;

	if (r.bad || version != 1)
		return -EBADMSG;
	if (frame_encoding != PE_OMIT)
		frame = read_encoded(&r, in, frame_encoding) - in->addr;
	if (count_encoding != PE_OMIT)
		rows = read_encoded(&r, in, count_encoding);
	if (r.bad)
		return -EBADMSG;
	table = reader_offset(in, &r);
	if (rows && table_encoding == (PE_DATAREL | PE_SDATA4) && rows <= (in->size - table) / 8)
		return table_search(in, table, rows, pc, ret_fde);
	if (frame_encoding == PE_OMIT || frame >= in->size)
		return -EBADMSG;
	return cfi_scan(in, frame, pc, ret_fde);
}
