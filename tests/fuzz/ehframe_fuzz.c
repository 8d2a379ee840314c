/*
 * ehframe_fuzz.c - hostile call frame information
 *
 * The first 8 bytes say where things lie and which address is asked for; the rest is taken as an object that begins with
 * .eh_frame_hdr or with .eh_frame. Whatever is found is compiled and applied to a register set.
 */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "walk/cfi.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool read_any(void *arg, uint64_t addr, uint64_t *ret)
{
	*ret = addr * 3;
	return addr % 64 != 8;
}

static void compile(const struct cfi_input *in, uint64_t fde, uint64_t pc)
{
	const struct cfi_memory memory = { read_any, NULL };
	struct arch_regs regs = { .pc = pc, .known = 0x7fff };
	struct cfi_row row;

	memset(regs.r, 0x11, sizeof(regs.r));
	if (cfi_compile(in, fde, pc, &row) == CFI_FOUND)
		(void)cfi_apply(in, &row, &memory, &regs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cfi_input in = { .addr = 0x100000, .data_base = 0x100000 };
	uint64_t fde, low, high, bytes, pc;
	uint16_t at[4];

	if (size < sizeof(at))
		return 0;
	memcpy(at, data, sizeof(at));
	in.data = data + sizeof(at);
	in.size = size - sizeof(at);
	in.data_base += at[2] % 16;
	pc = 0x100000 + (uint64_t)(int64_t)(int16_t)at[1];	/* code lies before its tables, often */
	if (cfi_find(&in, at[0] % 16, pc, &fde) == CFI_FOUND)
		compile(&in, fde, pc);
	if (cfi_scan(&in, at[0], pc, &fde) == CFI_FOUND)
		compile(&in, fde, pc);
	compile(&in, at[3], pc);
	(void)cfi_extent(&in, at[0], &low, &high, &bytes);
	return 0;
}
