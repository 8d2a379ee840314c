/* cfi_test.c - rows and expressions from bytes made by hand */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "walk/cfi.h"

enum { AT = 0x10000, FUNCTION = 0x400000, SIZE = 0x100 };

/* An .eh_frame of one CIE and one FDE with absolute addresses, growing in a buffer. */
struct frame {
	uint8_t bytes[512];
	uint64_t size, fde;
};

static void put(struct frame *f, const void *p, size_t n)
{
	memcpy(f->bytes + f->size, p, n);
	f->size += n;
}

static void put32(struct frame *f, uint32_t v)
{
	put(f, &v, sizeof(v));
}

static void put64(struct frame *f, uint64_t v)
{
	put(f, &v, sizeof(v));
}

static void make(struct frame *f, const char *letters, const void *program, size_t n)
{
	static const uint8_t initial[] = { 0x0c, ARCH_REG_SP, 8, 0x80 | ARCH_REG_RA, 1 };	/* CFA = sp + 8, RA at CFA - 8 */
	uint32_t augmented = letters[0] == 'z';

	memset(f, 0, sizeof(*f));
	put32(f, (uint32_t)(4 + 1 + strlen(letters) + 1 + 3 + augmented + sizeof(initial)));
	put32(f, 0);
	put(f, "\1", 1);
	put(f, letters, strlen(letters) + 1);
	put(f, (uint8_t[]){ 1, 0x78, ARCH_REG_RA }, 3);
	if (augmented)
		put(f, "\0", 1);
	put(f, initial, sizeof(initial));
	f->fde = f->size;
	put32(f, (uint32_t)(4 + 16 + augmented + n));
	put32(f, (uint32_t)f->size);
	put64(f, FUNCTION);
	put64(f, SIZE);
	if (augmented)
		put(f, "\0", 1);
	put(f, program, n);
	put32(f, 0);
}

static struct cfi_input input(const struct frame *f)
{
	return (struct cfi_input){ .data = f->bytes, .size = f->size, .addr = AT };
}

static int row_at(const struct frame *f, uint64_t offset, struct cfi_row *row)
{
	struct cfi_input in = input(f);

	return cfi_compile(&in, f->fde, FUNCTION + offset, row);
}

#define MAKE(f, letters, ...) make(f, letters, (uint8_t[]){ __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ }))

static void a_row_holds_until_the_next_location(void **state)
{
	struct frame f;
	struct cfi_row row;

	MAKE(&f, "", 0x44, 0x0e, 32);	/* 4 on: CFA = sp + 32 */
	assert_int_equal(row_at(&f, 3, &row), CFI_FOUND);
	assert_int_equal(row.cfa_value, 8);
	assert_int_equal(row_at(&f, 4, &row), CFI_FOUND);
	assert_int_equal(row.cfa_value, 32);
}

static void an_address_beyond_the_function_has_no_row(void **state)
{
	struct frame f;
	struct cfi_row row;

	MAKE(&f, "", 0);
	assert_int_equal(row_at(&f, SIZE - 1, &row), CFI_FOUND);
	assert_int_equal(row_at(&f, SIZE, &row), CFI_NONE);
	assert_int_equal(row_at(&f, (uint64_t)-1, &row), CFI_NONE);
}

static void remembered_states_nest(void **state)
{
	struct frame f;
	struct cfi_row row;

	MAKE(&f, "", 0x0e, 16, 0x0a, 0x0e, 24, 0x0a, 0x0e, 32, 0x41, 0x0b, 0x41, 0x0b, 0x41);
	assert_int_equal(row_at(&f, 0, &row), CFI_FOUND);
	assert_int_equal(row.cfa_value, 32);
	assert_int_equal(row_at(&f, 1, &row), CFI_FOUND);
	assert_int_equal(row.cfa_value, 24);
	assert_int_equal(row_at(&f, 2, &row), CFI_FOUND);
	assert_int_equal(row.cfa_value, 16);
}

static void more_remembered_states_than_places_are_refused(void **state)
{
	struct frame f;
	struct cfi_row row;

	MAKE(&f, "", 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a);
	assert_int_equal(row_at(&f, 0, &row), -EOPNOTSUPP);
}

static void a_restore_without_remembered_state_is_refused(void **state)
{
	struct frame f;
	struct cfi_row row;

	MAKE(&f, "", 0x0b);
	assert_int_equal(row_at(&f, 0, &row), -EBADMSG);
}

static void restore_gives_the_rule_of_the_cie(void **state)
{
	struct frame f;
	struct cfi_row row;

	MAKE(&f, "", 0x07, ARCH_REG_RA, 0x41, 0x06, ARCH_REG_RA);
	assert_int_equal(row_at(&f, 0, &row), CFI_FOUND);
	assert_int_equal(row.kind[ARCH_REG_RA], CFI_UNDEFINED);
	assert_int_equal(row_at(&f, 1, &row), CFI_FOUND);
	assert_int_equal(row.kind[ARCH_REG_RA], CFI_OFFSET);
	assert_int_equal(row.value[ARCH_REG_RA], (uint64_t)-8);
}

static void signal_frames_are_told_by_their_augmentation(void **state)
{
	struct frame f;
	struct cfi_row row;

	MAKE(&f, "zS", 0);
	assert_int_equal(row_at(&f, 0, &row), CFI_FOUND);
	assert_true(row.signal);
	MAKE(&f, "z", 0);
	assert_int_equal(row_at(&f, 0, &row), CFI_FOUND);
	assert_false(row.signal);
}

static void an_unknown_instruction_is_refused(void **state)
{
	struct frame f;
	struct cfi_row row;

	MAKE(&f, "", 0x3f);
	assert_int_equal(row_at(&f, 0, &row), -EOPNOTSUPP);
}

static void bytes_cut_anywhere_are_refused(void **state)
{
	struct frame f;
	struct cfi_row row;
	struct cfi_input in;

	MAKE(&f, "z", 0x44, 0x0e, 0x20, 0x0f, 3, 0x77, 8, 6);
	for (uint64_t size = 0; size < f.size - 4; size++) {
		in = input(&f);
		in.size = size;
		assert_int_equal(cfi_compile(&in, f.fde, FUNCTION + 8, &row), -EBADMSG);
	}
}

static void a_scan_finds_the_function(void **state)
{
	struct frame f;
	struct cfi_input in;
	uint64_t fde = 0, low, high, size;

	MAKE(&f, "", 0);
	in = input(&f);
	assert_int_equal(cfi_scan(&in, 0, FUNCTION + 5, &fde), CFI_FOUND);
	assert_int_equal(fde, f.fde);
	assert_int_equal(cfi_scan(&in, 0, FUNCTION + SIZE, &fde), CFI_NONE);
	assert_int_equal(cfi_extent(&in, 0, &low, &high, &size), CFI_FOUND);
	assert_int_equal(low, FUNCTION);
	assert_int_equal(high, FUNCTION + SIZE);
	assert_int_equal(size, f.size - 4);
}

static uint64_t words[] = { 11, 22, 33, 44 };

static bool read_words(void *arg, uint64_t addr, uint64_t *ret)
{
	if (addr % 8 || addr / 8 >= 4)
		return false;
	*ret = words[addr / 8];
	return true;
}

static const struct cfi_memory memory = { read_words, NULL };

static int evaluate(const uint8_t *code, size_t n, uint64_t *ret)
{
	uint8_t block[64] = { (uint8_t)n };
	struct cfi_input in = { .data = block, .size = n + 1 };
	struct arch_regs regs = { .pc = 0x1234b, .known = 1u << ARCH_REG_SP };

	regs.r[ARCH_REG_SP] = 0x7000;
	memcpy(block + 1, code, n);
	return cfi_expression(&in, 0, &regs, &memory, NULL, ret);
}

#define EVALUATE(ret, ...) evaluate((uint8_t[]){ __VA_ARGS__ }, sizeof((uint8_t[]){ __VA_ARGS__ }), ret)

static void expressions_compute(void **state)
{
	uint64_t v;

	assert_int_equal(EVALUATE(&v, 0x3a, 0x33, 0x24, 0x35, 0x1c), 0);	/* (10 << 3) - 5 */
	assert_int_equal(v, 75);
	assert_int_equal(EVALUATE(&v, 0x70 + ARCH_REG_SP, 0x78), 0);		/* sp - 8 */
	assert_int_equal(v, 0x6ff8);
	assert_int_equal(EVALUATE(&v, 0x38, 0x06), 0);				/* [8] */
	assert_int_equal(v, 22);
	assert_int_equal(EVALUATE(&v, 0x34, 0x94, 4), 0);			/* 4 bytes at 4: the high half of word 0 */
	assert_int_equal(v, 0);
	assert_int_equal(EVALUATE(&v, 0x31, 0x28, 1, 0, 0x30, 0x39), 0);	/* a branch over one byte */
	assert_int_equal(v, 9);
}

static void an_unknown_register_is_not_invented(void **state)
{
	uint64_t v = 7;

	assert_int_equal(EVALUATE(&v, 0x70, 0), CFI_UNKNOWN_REGISTER);
	assert_int_equal(v, 7);
}

static void an_unreadable_address_ends_an_expression(void **state)
{
	uint64_t v;

	assert_int_equal(EVALUATE(&v, 0x0a, 0, 0x10, 0x06), CFI_UNREADABLE);
}

static void an_endless_expression_is_refused(void **state)
{
	uint64_t v;

	assert_int_equal(EVALUATE(&v, 0x2f, 0xfd, 0xff), -EBADMSG);
}

static void stack_faults_of_an_expression_are_refused(void **state)
{
	uint64_t v;

	assert_int_equal(EVALUATE(&v, 0x22), -EBADMSG);
	assert_int_equal(EVALUATE(&v, 0x31, 0x30, 0x1b), -EBADMSG);		/* a division by 0 */
	assert_int_equal(EVALUATE(&v, 0x31, 0x12, 0x2f, 0xfc, 0xff), -EBADMSG);	/* pushes for ever */
}

static void a_row_gives_the_registers_of_the_caller(void **state)
{
	struct frame f;
	struct cfi_row row;
	struct cfi_input in;
	struct arch_regs regs = { .known = 1u << ARCH_REG_SP | 1u << ARCH_REG_FP };

	MAKE(&f, "", 0x0e, 24, 0x80 | ARCH_REG_FP, 2);		/* CFA = sp + 24, fp at CFA - 16 */
	in = input(&f);
	assert_int_equal(row_at(&f, 0, &row), CFI_FOUND);
	regs.r[ARCH_REG_SP] = 8;				/* CFA = 32 */
	regs.r[ARCH_REG_FP] = 5;
	assert_int_equal(cfi_apply(&in, &row, &memory, &regs), 0);
	assert_int_equal(regs.pc, 44);
	assert_int_equal(regs.r[ARCH_REG_FP], 33);
	assert_int_equal(regs.r[ARCH_REG_SP], 32);
	assert_int_equal(regs.known, 1u << ARCH_REG_SP | 1u << ARCH_REG_FP);
}

static void an_undefined_return_address_is_the_outermost_frame(void **state)
{
	struct frame f;
	struct cfi_row row;
	struct cfi_input in;
	struct arch_regs regs = { .known = 1u << ARCH_REG_SP };

	MAKE(&f, "", 0x07, ARCH_REG_RA);
	in = input(&f);
	assert_int_equal(row_at(&f, 0, &row), CFI_FOUND);
	assert_int_equal(cfi_apply(&in, &row, &memory, &regs), CFI_OUTERMOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_holds_until_the_next_location),
		cmocka_unit_test(an_address_beyond_the_function_has_no_row),
		cmocka_unit_test(remembered_states_nest),
		cmocka_unit_test(more_remembered_states_than_places_are_refused),
		cmocka_unit_test(a_restore_without_remembered_state_is_refused),
		cmocka_unit_test(restore_gives_the_rule_of_the_cie),
		cmocka_unit_test(signal_frames_are_told_by_their_augmentation),
		cmocka_unit_test(an_unknown_instruction_is_refused),
		cmocka_unit_test(bytes_cut_anywhere_are_refused),
		cmocka_unit_test(a_scan_finds_the_function),
		cmocka_unit_test(expressions_compute),
		cmocka_unit_test(an_unknown_register_is_not_invented),
		cmocka_unit_test(an_unreadable_address_ends_an_expression),
		cmocka_unit_test(an_endless_expression_is_refused),
		cmocka_unit_test(stack_faults_of_an_expression_are_refused),
		cmocka_unit_test(a_row_gives_the_registers_of_the_caller),
		cmocka_unit_test(an_undefined_return_address_is_the_outermost_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
