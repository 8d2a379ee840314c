/*
 * symbols_test - names, lines and inlined calls, asked of this program about itself, of libc and of the vDSO
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <dlfcn.h>
#include <elf.h>
#include <stdlib.h>
#include <sys/auxv.h>

#include "analyse/symbols.h"
#include "analyse/symbols_fixture.h"
#include "base/util.h"

struct place {
	uint64_t address;
	uint32_t lines[3];	/* innermost first */
};

void __fixture_public(void);
void fixture_public(void);

enum { INNER_DECLARED = __LINE__ + 1 };
static inline __attribute__((always_inline)) void inner(struct place *p)
{
	p->lines[0] = __LINE__ + 1;
	p->address = call_address();
	__asm__ volatile("" : : "r"(p) : "memory");
}

static inline __attribute__((always_inline)) void middle(struct place *p)
{
	p->lines[1] = __LINE__ + 1;
	inner(p);
	__asm__ volatile("" : : "r"(p) : "memory");
}

enum { OUTER_DECLARED = __LINE__ + 1 };
static NOINLINE void outer(struct place *p)
{
	p->lines[2] = __LINE__ + 1;
	middle(p);
	__asm__ volatile("" : : "r"(p) : "memory");
}

NOINLINE void __fixture_public(void)
{
	__asm__ volatile("");
}

void fixture_public(void) __attribute__((weak, alias("__fixture_public")));

/* 16 bytes whose symbol has no size; 8 whose symbol has one; 8 of nobody. */
extern const unsigned char fixture_unsized[], fixture_sized[];
__asm__(".pushsection .text\n.globl fixture_unsized\n.globl fixture_sized\nfixture_unsized:\n.fill 16, 1, 0\n"
	".type fixture_sized, %function\nfixture_sized:\n.fill 8, 1, 0\n.size fixture_sized, 8\n.fill 8, 1, 0\n"
	".popsection\n");

static struct symbols *symbols;

static int start(void **state)
{
	symbols = symbols_new();
	return 0;
}

static int stop(void **state)
{
	symbols_free(symbols);
	return 0;
}

static const struct frame *const *find_in_self(uint64_t address, int *ret_count)
{
	int module = symbols_module(symbols, self_path, self_id_len ? self_id : NULL, self_id_len, self_bias);
	const struct frame *const *frames;

	*ret_count = symbols_find(symbols, module, address, &frames);
	return frames;
}

static const char *base_name(const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	return slash ? slash + 1 : path;
}

static void inlined_calls_give_a_frame_each(void **state)
{
	static const char *const names[] = { "inner", "middle", "outer" };
	const struct frame *const *frames;
	struct place place;
	int n, i;

	outer(&place);
	frames = find_in_self(place.address, &n);
	assert_int_equal(n, 3);
	for (i = 0; i < 3; i++) {
		assert_string_equal(frames[i]->name, names[i]);
		assert_int_equal(frames[i]->line, place.lines[i]);
		assert_string_equal(base_name(frames[i]->file), base_name(__FILE__));
		assert_string_equal(frames[i]->module, base_name(self_path));
	}
}

static void a_function_says_where_it_is_declared(void **state)
{
	const struct frame *const *frames;
	struct place place;
	int n;

	outer(&place);
	frames = find_in_self(place.address, &n);
	assert_int_equal(frames[0]->function->line, INNER_DECLARED);
	assert_int_equal(frames[2]->function->line, OUTER_DECLARED);
	assert_string_equal(base_name(frames[2]->function->file), base_name(__FILE__));
}

static void an_address_gives_the_same_frames_again(void **state)
{
	const struct frame *const *first, *const *again;
	struct place place;
	int n, m;

	outer(&place);
	first = find_in_self(place.address, &n);
	again = find_in_self(place.address, &m);
	assert_ptr_equal(first, again);
	assert_int_equal(n, m);
}

static void places_in_one_function_share_it(void **state)
{
	const struct frame *const *a, *const *b;
	struct place place;
	int n, m;

	outer(&place);
	a = find_in_self(place.address, &n);
	b = find_in_self((uint64_t)&outer, &m);
	assert_ptr_not_equal(a[0], b[0]);
	assert_ptr_equal(a[n - 1]->function, b[m - 1]->function);
}

static void two_layouts_of_one_object_share_what_is_known(void **state)
{
	int a = symbols_module(symbols, self_path, NULL, 0, self_bias);
	int b = symbols_module(symbols, self_path, NULL, 0, self_bias + 4096);
	const struct frame *const *x, *const *y;

	assert_int_not_equal(a, b);
	assert_int_equal(a, symbols_module(symbols, self_path, NULL, 0, self_bias));
	symbols_find(symbols, a, (uint64_t)&outer, &x);
	symbols_find(symbols, b, (uint64_t)&outer + 4096, &y);
	assert_ptr_equal(x, y);
}

static void ids_are_dense(void **state)
{
	const struct frame *a = symbols_frame(symbols, "f", "m", "f.c", 1), *b = symbols_frame(symbols, "f", "m", "f.c", 2);
	const struct frame *c = symbols_frame(symbols, "g", "m", NULL, 0);

	assert_ptr_equal(a, symbols_frame(symbols, "f", "m", "f.c", 1));
	assert_ptr_equal(a->function, b->function);
	assert_int_equal(b->id, a->id + 1);
	assert_int_equal(c->id, a->id + 2);
	assert_int_equal(c->function->id, a->function->id + 1);
	assert_int_equal(symbols_functions(symbols), c->function->id + 1);
}

static void no_module_is_unknown(void **state)
{
	const struct frame *const *frames;

	assert_int_equal(symbols_find(symbols, -1, 0x1234, &frames), 1);
	assert_string_equal(frames[0]->name, "[unknown]");
	assert_string_equal(frames[0]->module, "");
	assert_int_equal(symbols_find(symbols, 77, 0x1234, &frames), 1);
	assert_ptr_equal(frames[0], symbols_special(symbols, "[unknown]"));
}

static void the_public_one_of_two_names_is_given(void **state)
{
	int n;

	assert_string_equal(find_in_self((uint64_t)&__fixture_public, &n)[0]->name, "fixture_public");
}

static void a_symbol_without_a_size_reaches_to_the_next(void **state)
{
	int n;

	assert_string_equal(find_in_self((uint64_t)fixture_unsized + 15, &n)[0]->name, "fixture_unsized");
	assert_string_equal(find_in_self((uint64_t)fixture_sized, &n)[0]->name, "fixture_sized");
}

static void bytes_behind_a_symbol_with_a_size_are_not_its_own(void **state)
{
	char expected[4200];
	int n;

	snprintf(expected, sizeof(expected), "%s+0x%lx", base_name(self_path), (unsigned long)in_self(fixture_sized) + 12);
	assert_string_equal(find_in_self((uint64_t)fixture_sized + 7, &n)[0]->name, "fixture_sized");
	assert_string_equal(find_in_self((uint64_t)fixture_sized + 12, &n)[0]->name, expected);
}

/* nm knows the same symbols by another reader; a name with a mark such as .cold is given without it. */
static void every_function_that_nm_lists_has_a_name_of_its_address(void **state)
{
	char command[5000], line[4096], name[4096], type;
	unsigned long address, size, checked = 0;
	int module = symbols_module(symbols, self_path, NULL, 0, 0);
	FILE *nm;

	snprintf(command, sizeof(command), "nm --defined-only -S '%s' 2>/dev/null", self_path);
	nm = popen(command, "r");
	assert_non_null(nm);
	while (fgets(line, sizeof(line), nm)) {
		const struct frame *const *frames;
		int n;

		if (sscanf(line, "%lx %lx %c %4095s", &address, &size, &type, name) != 4 || (type | 32) != 't' ||
		    name[0] == '_' || strchr(name, '@') || strchr(name, '.') || size < 2)
			continue;
		if (!strncmp(name, "fixture_public", 14))
			continue;
		n = symbols_find(symbols, module, address + size - 1, &frames);
		assert_string_equal(frames[n - 1]->name, name);
		checked++;
	}
	if (pclose(nm) || !checked) {
		print_message("nm cannot read this program here\n");
		skip();
	}
	assert_true(checked > 20);
}

struct loaded {
	const void *inside;
	uint64_t bias;
	char path[4096];
	uint8_t id[64];
	uint32_t id_len;
};

static int take_loaded(struct dl_phdr_info *info, size_t size, void *data)
{
	struct loaded *l = data;
	int i;

	for (i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && (uint64_t)l->inside - start < p->p_memsz) {
			l->bias = info->dlpi_addr;
			snprintf(l->path, sizeof(l->path), "%s", info->dlpi_name);
			return 1;
		}
	}
	return 0;
}

static void libc_functions_have_their_public_names(void **state)
{
	static const char *const names[] = { "malloc", "free", "qsort", "calloc", "getenv", "fopen" };
	void *libc = dlopen("libc.so.6", RTLD_LAZY);
	size_t i;

	assert_non_null(libc);
	for (i = 0; i < ARRAY_SIZE(names); i++) {
		struct loaded l = { .inside = dlsym(libc, names[i]) };
		const struct frame *const *frames;
		int n;

		assert_true(dl_iterate_phdr(take_loaded, &l));
		l.id_len = read_build_id(l.path, l.id);
		n = symbols_find(symbols, symbols_module(symbols, l.path, l.id, l.id_len, l.bias), (uint64_t)l.inside, &frames);
		assert_string_equal(frames[n - 1]->name, names[i]);
		assert_string_equal(frames[n - 1]->module, "libc.so.6");
	}
	dlclose(libc);
}

static int take_vdso_id(struct dl_phdr_info *info, size_t size, void *data)
{
	struct loaded *l = data;
	int i;

	for (i = 0; i < info->dlpi_phnum && strstr(info->dlpi_name, "vdso"); i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const char *at = (const char *)info->dlpi_addr + p->p_vaddr, *end = at + p->p_memsz;

		while (p->p_type == PT_NOTE && at < end) {
			const ElfW(Nhdr) *note = (const void *)at;

			at += sizeof(*note);
			if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && !memcmp(at, "GNU", 4)) {
				l->bias = info->dlpi_addr;
				l->id_len = note->n_descsz;
				memcpy(l->id, at + 4, MIN(l->id_len, 64u));
			}
			at += ((note->n_namesz + 3) & ~3u) + ((note->n_descsz + 3) & ~3u);
		}
	}
	return 0;
}

static bool find_vdso(struct loaded *l)
{
	void *vdso = dlopen("linux-vdso.so.1", RTLD_LAZY | RTLD_NOLOAD);

	l->inside = vdso ? dlsym(vdso, "__vdso_clock_gettime") : NULL;
	dl_iterate_phdr(take_vdso_id, l);
	return l->inside && l->id_len;
}

static void the_vdso_is_read_from_this_process(void **state)
{
	const struct frame *const *frames;
	struct loaded l = { 0 };

	if (!find_vdso(&l)) {
		print_message("no vDSO with clock_gettime and a build id here\n");
		skip();
	}
	symbols_find(symbols, symbols_module(symbols, "[vdso]", l.id, l.id_len, l.bias), (uint64_t)l.inside, &frames);
	assert_string_equal(frames[0]->name, "clock_gettime");
	assert_string_equal(frames[0]->module, "[vdso]");
}

static void the_vdso_of_another_kernel_is_not_read(void **state)
{
	const struct frame *const *frames;
	struct symbols_gaps gaps;
	uint8_t id[20] = { 1, 2, 3 };

	symbols_find(symbols, symbols_module(symbols, "[vdso]", id, sizeof(id), 0x7000), 0x7123, &frames);
	assert_string_equal(frames[0]->name, "[vdso]+0x123");
	symbols_gaps(symbols, &gaps);
	assert_int_equal(gaps.changed + gaps.missing + gaps.stripped, 0);
}

static const char *jit_name(int map, uint64_t address)
{
	const struct frame *const *frames;

	assert_int_equal(symbols_find(symbols, map, address, &frames), 1);
	return frames[0]->name;
}

static void a_perf_map_names_code_of_a_jit(void **state)
{
	static const char text[] = "1000 20 first\n0x2000 0x10 second with spaces\r\n3000 8 last without an end";
	int map = symbols_perf_map(symbols, text, sizeof(text) - 1);

	assert_string_equal(jit_name(map, 0x1000), "first");
	assert_string_equal(jit_name(map, 0x101f), "first");
	assert_string_equal(jit_name(map, 0x1020), "[unknown]");
	assert_string_equal(jit_name(map, 0xfff), "[unknown]");
	assert_string_equal(jit_name(map, 0x200f), "second with spaces");
	assert_string_equal(jit_name(map, 0x3007), "last without an end");
}

static void the_later_of_two_lines_of_a_perf_map_wins(void **state)
{
	static const char text[] = "1000 100 old\n1040 10 new\n1000 10 newest\n";
	int map = symbols_perf_map(symbols, text, sizeof(text) - 1);

	assert_string_equal(jit_name(map, 0x1000), "newest");
	assert_string_equal(jit_name(map, 0x1010), "old");
	assert_string_equal(jit_name(map, 0x1045), "new");
	assert_string_equal(jit_name(map, 0x1050), "old");
}

static void lines_that_are_none_of_a_perf_map_are_skipped(void **state)
{
	static const char text[] = "\n \nname\n1000\n1000 \n1000 10\n1000 10 \nzz 10 a\n1000 0 empty\n11112222333344445 1 long\n"
				   "ffffffffffffffff 10 over\n1000 10 good\n";
	int map = symbols_perf_map(symbols, text, sizeof(text) - 1);
	int none = symbols_perf_map(symbols, "", 0);

	assert_string_equal(jit_name(map, 0x1000), "good");
	assert_string_equal(jit_name(map, UINT64_MAX), "[unknown]");
	assert_string_equal(jit_name(none, 0x1000), "[unknown]");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(inlined_calls_give_a_frame_each),
		TEST(a_function_says_where_it_is_declared),
		TEST(an_address_gives_the_same_frames_again),
		TEST(places_in_one_function_share_it),
		TEST(two_layouts_of_one_object_share_what_is_known),
		TEST(ids_are_dense),
		TEST(no_module_is_unknown),
		TEST(the_public_one_of_two_names_is_given),
		TEST(a_symbol_without_a_size_reaches_to_the_next),
		TEST(bytes_behind_a_symbol_with_a_size_are_not_its_own),
		TEST(every_function_that_nm_lists_has_a_name_of_its_address),
		TEST(libc_functions_have_their_public_names),
		TEST(the_vdso_is_read_from_this_process),
		TEST(the_vdso_of_another_kernel_is_not_read),
		TEST(a_perf_map_names_code_of_a_jit),
		TEST(the_later_of_two_lines_of_a_perf_map_wins),
		TEST(lines_that_are_none_of_a_perf_map_are_skipped),
	};

	return cmocka_run_group_tests(tests, find_self, NULL);
}
