/* cfi.h - call frame information (.eh_frame) for one address: find the FDE, compile it to a row, evaluate expressions
 *
 * All of it works on a range of bytes with explicit bounds: hostile bytes give an error, never a read outside. The range may
 * be a loaded object (data is where it lies) or a file's section mapped anywhere (addr says where it would lie).
 */
#ifndef TARE_WALK_CFI_H
#define TARE_WALK_CFI_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"

/** struct cfi_input - bytes that hold an .eh_frame and what it refers to */
struct cfi_input {
	const uint8_t *data;
	uint64_t size;
	uint64_t addr;		/* the address of data[0] in the program; added modulo 2^64 */
	uint64_t data_base;	/* for DW_EH_PE_datarel: the address of .eh_frame_hdr */
};

enum cfi_kind {
	CFI_UNSPECIFIED = 0,	/* as the CPU's calling convention has it */
	CFI_UNDEFINED,
	CFI_SAME,
	CFI_OFFSET,		/* at CFA + value */
	CFI_VAL_OFFSET,		/* is CFA + value */
	CFI_REGISTER,		/* in register value */
	CFI_EXPRESSION,		/* at the address that the expression gives */
	CFI_VAL_EXPRESSION	/* is what the expression gives */
};

/** struct cfi_row - how to get from the frame of an address to its caller */
struct cfi_row {
	uint64_t cfa_value;	/* CFI_VAL_OFFSET: offset from register cfa_reg. CFI_VAL_EXPRESSION: offset in data */
	uint32_t cfa_reg;
	uint8_t cfa_kind;
	uint8_t kind[ARCH_NREGS];
	uint64_t value[ARCH_NREGS];	/* expressions: the offset in data of their length */
	uint32_t ra_reg;	/* column of the return address */
	bool signal;		/* augmentation "S" */
	uint64_t start, end;	/* addresses the FDE covers */
};

/** Named outcomes of a search. */
enum { CFI_FOUND = 0, CFI_NONE = 1 };

/**
 * cfi_find - searches the FDE that covers @pc by .eh_frame_hdr
 * @hdr:      its offset in data
 * @ret_fde:  offset of the FDE
 *
 * Without a sorted table .eh_frame is scanned.
 * Return: CFI_FOUND; CFI_NONE; -EBADMSG.
 */
int cfi_find(const struct cfi_input *in, uint64_t hdr, uint64_t pc, uint64_t *ret_fde);

/** cfi_scan - the same by reading the .eh_frame at offset @eh_frame from its begin to its terminator */
int cfi_scan(const struct cfi_input *in, uint64_t eh_frame, uint64_t pc, uint64_t *ret_fde);

/**
 * cfi_extent - the addresses that an .eh_frame covers, from the lowest to behind the highest
 * @ret_size:  bytes to its end, the terminator not counted
 *
 * Return: CFI_FOUND; CFI_NONE: no FDE; -EBADMSG.
 */
int cfi_extent(const struct cfi_input *in, uint64_t eh_frame, uint64_t *ret_low, uint64_t *ret_high, uint64_t *ret_size);

/**
 * cfi_compile - runs CIE and FDE to the row that holds at @pc
 *
 * Return: CFI_FOUND; CFI_NONE: the FDE does not cover @pc; -EBADMSG: malformed; -EOPNOTSUPP: an unknown instruction.
 */
int cfi_compile(const struct cfi_input *in, uint64_t fde, uint64_t pc, struct cfi_row *ret);

/** struct cfi_memory - how an evaluation reads the program's memory: 8 bytes, or false */
struct cfi_memory {
	bool (*read)(void *arg, uint64_t addr, uint64_t *ret);
	void *arg;
};

/** Outcomes of cfi_expression() and cfi_apply() beside 0 and -EBADMSG. */
enum {
	CFI_UNKNOWN_REGISTER = 1,	/* a register that is not known decides */
	CFI_UNREADABLE = 2,
	CFI_OUTERMOST = 3		/* cfi_apply: no caller */
};

/**
 * cfi_expression - evaluates a DWARF expression
 * @at:       offset in data of its length (ULEB128)
 * @initial:  pushed first; NULL: nothing is
 */
int cfi_expression(const struct cfi_input *in, uint64_t at, const struct arch_regs *regs, const struct cfi_memory *memory,
		   const uint64_t *initial, uint64_t *ret);

/**
 * cfi_apply - the registers of the caller
 * @regs:  of the frame, replaced by the caller's; what cannot be known loses its bit. Unchanged unless 0 is returned
 *
 * Return: 0; CFI_UNKNOWN_REGISTER, CFI_UNREADABLE (for CFA or return address), CFI_OUTERMOST; -EBADMSG.
 */
int cfi_apply(const struct cfi_input *in, const struct cfi_row *row, const struct cfi_memory *memory, struct arch_regs *regs);

#endif
