/*
 * symbols_files_test - copies of this program: stripped, with separate debug files, changed, gone, broken
 *
 * objcopy and strip make the copies; where they cannot read this program (another CPU's) the tests are skipped.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "analyse/symbols.h"
#include "analyse/symbols_fixture.h"
#include "base/util.h"

enum { MARKED_LINE = __LINE__ + 4 };
static NOINLINE int marked(volatile int *x)
{
	__asm__ volatile("" : : "r"(x) : "memory");
	*x += 1;
	__asm__ volatile("" : : "r"(x) : "memory");
	*x += 2;
	return *x;
}

static NOINLINE int other(volatile int *x)
{
	__asm__ volatile("" : : "r"(x) : "memory");
	*x += 3;
	return *x;
}

static char dir[] = "/tmp/tare-symbols-XXXXXX";
static char copy[200], debug_file[200];
static struct symbols *symbols;

/* Runs a shell command in the test's directory; $self is this program. */
static bool run(const char *command)
{
	CLEANUP_FREE char *line = NULL;

	if (asprintf(&line, "cd '%s' && { %s; } >/dev/null 2>&1", dir, command) < 0)
		return false;
	return system(line) == 0;
}

static void need(const char *command)
{
	if (!run(command)) {
		print_message("this fails here: %s\n", command);
		skip();
	}
}

static void need_build_id(void)
{
	if (!self_id_len) {
		print_message("this program was linked without a build id\n");
		skip();
	}
}

static int make_dir(void **state)
{
	if (find_self(state) || !mkdtemp(dir))
		return -1;
	setenv("self", self_path, 1);
	snprintf(copy, sizeof(copy), "%s/copy", dir);
	snprintf(debug_file, sizeof(debug_file), "%s/copy.debug", dir);
	return 0;
}

static int remove_dir(void **state)
{
	CLEANUP_FREE char *line = NULL;

	return asprintf(&line, "rm -rf '%s'", dir) < 0 || system(line);
}

static int start(void **state)
{
	symbols = symbols_new();
	symbols_debug_dirs(symbols, dir);
	return run("rm -rf copy copy.debug .debug .build-id packed*") ? 0 : -1;
}

static int stop(void **state)
{
	symbols_free(symbols);
	return 0;
}

static const struct frame *find(const uint8_t *id, uint32_t id_len, uint64_t address)
{
	const struct frame *const *frames;
	int n = symbols_find(symbols, symbols_module(symbols, copy, id, id_len, 0), address, &frames);

	return frames[n - 1];
}

static const struct frame *find_marked(void)
{
	return find(self_id_len ? self_id : NULL, self_id_len, in_self((void *)marked));
}

static void assert_is_offset(const struct frame *frame, uint64_t offset)
{
	char expected[64];

	snprintf(expected, sizeof(expected), "copy+0x%llx", (unsigned long long)offset);
	assert_string_equal(frame->name, expected);
	assert_null(frame->file);
}

static void assert_is_marked(const struct frame *frame)
{
	assert_string_equal(frame->name, "marked");
	assert_non_null(frame->file);
	assert_non_null(strstr(frame->file, "symbols_files_test.c"));
	assert_in_range(frame->line, MARKED_LINE - 3, MARKED_LINE + 6);
	assert_int_equal(frame->function->line, MARKED_LINE - 3);
}

static struct symbols_gaps gaps(void)
{
	struct symbols_gaps g;

	symbols_gaps(symbols, &g);
	return g;
}

/* libdw's ways to a server are closed: a debug server on this machine is never called. */
static void no_server_is_asked(void **state)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int server = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	socklen_t size = sizeof(address);
	char url[64];

	need("objcopy -S \"$self\" copy");
	assert_false(bind(server, (struct sockaddr *)&address, size) || listen(server, 5));
	assert_false(getsockname(server, (struct sockaddr *)&address, &size));
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", ntohs(address.sin_port));
	setenv("DEBUGINFOD_URLS", url, 1);
	assert_is_offset(find_marked(), in_self((void *)marked));
	assert_int_equal(accept(server, NULL, NULL), -1);
	unsetenv("DEBUGINFOD_URLS");
	close(server);
}

static void a_plain_copy_is_read(void **state)
{
	need("cp \"$self\" copy");
	assert_is_marked(find_marked());
	assert_int_equal(gaps().stripped + gaps().changed + gaps().missing, 0);
}

static void a_stripped_function_is_its_start(void **state)
{
	need("objcopy -S \"$self\" copy");
	assert_is_offset(find(NULL, 0, in_self((void *)marked)), in_self((void *)marked));
	assert_is_offset(find(NULL, 0, in_self((void *)marked) + 5), in_self((void *)marked));
	assert_ptr_equal(find(NULL, 0, in_self((void *)marked)), find(NULL, 0, in_self((void *)marked) + 5));
	assert_is_offset(find(NULL, 0, in_self((void *)other) + 2), in_self((void *)other));
	assert_int_equal(gaps().stripped, 1);
	assert_string_equal(gaps().first_stripped, copy);
}

/* Without .eh_frame_hdr the entries are read one by one; the file's header of it is made unreadable. */
static void a_stripped_function_is_its_start_without_the_sorted_table(void **state)
{
	need("objcopy -S \"$self\" copy && printf X > x && objcopy --update-section .eh_frame_hdr=x copy");
	assert_is_offset(find(NULL, 0, in_self((void *)marked) + 5), in_self((void *)marked));
}

static void a_neighbour_is_not_given(void **state)
{
	need("objcopy -S -K other \"$self\" copy");
	assert_string_equal(find(NULL, 0, in_self((void *)other) + 2)->name, "other");
	assert_is_offset(find(NULL, 0, in_self((void *)marked) + 2), in_self((void *)marked));
}

static void symbols_without_lines_give_names(void **state)
{
	need("objcopy -g \"$self\" copy");
	assert_string_equal(find_marked()->name, "marked");
	assert_null(find_marked()->file);
	assert_int_equal(gaps().stripped, 0);
}

static void packed_symbols_give_names(void **state)
{
	need("objcopy -S -K marked \"$self\" packed && xz packed && objcopy -S --add-section .gnu_debugdata=packed.xz \"$self\" copy");
	assert_string_equal(find_marked()->name, "marked");
	assert_is_offset(find(NULL, 0, in_self((void *)other)), in_self((void *)other));
}

#define SPLIT "objcopy --only-keep-debug \"$self\" copy.debug && objcopy -S \"$self\" copy && "

static void a_debug_file_is_found_by_its_link(void **state)
{
	need(SPLIT "objcopy --add-gnu-debuglink=copy.debug copy");
	assert_is_marked(find_marked());
	assert_int_equal(gaps().stripped, 0);
}

static void a_debug_file_is_found_in_the_folder_beside(void **state)
{
	need(SPLIT "objcopy --add-gnu-debuglink=copy.debug copy && mkdir .debug && mv copy.debug .debug");
	assert_is_marked(find_marked());
}

static void a_debug_file_is_found_in_the_tree_of_copies(void **state)
{
	need(SPLIT "objcopy --add-gnu-debuglink=copy.debug copy && mkdir -p \"tree$PWD\" && mv copy.debug \"tree$PWD\"");
	CLEANUP_FREE char *dirs = NULL;

	assert_true(asprintf(&dirs, "/nowhere:%s/tree", dir) > 0);
	symbols_debug_dirs(symbols, dirs);
	assert_is_marked(find_marked());
}

static void without_build_ids_the_checksum_of_a_link_counts(void **state)
{
	need("objcopy --remove-section .note.gnu.build-id \"$self\" plain && objcopy --only-keep-debug plain copy.debug && "
	     "objcopy -S plain copy && objcopy --add-gnu-debuglink=copy.debug copy");
	assert_is_marked(find(NULL, 0, in_self((void *)marked)));
}

static void a_debug_file_with_another_checksum_is_not_used(void **state)
{
	need("objcopy --remove-section .note.gnu.build-id \"$self\" plain && objcopy --only-keep-debug plain copy.debug && "
	     "objcopy -S plain copy && objcopy --add-gnu-debuglink=copy.debug copy && printf X >> copy.debug");
	assert_is_offset(find(NULL, 0, in_self((void *)marked)), in_self((void *)marked));
}

static void store_by_build_id(void)
{
	char folder[200], command[1000];
	uint32_t i, n;

	snprintf(folder, sizeof(folder), ".build-id/%02x", self_id[0]);
	n = (uint32_t)snprintf(command, sizeof(command), "mkdir -p %s && mv copy.debug %s/", folder, folder);
	for (i = 1; i < self_id_len; i++)
		n += (uint32_t)snprintf(command + n, sizeof(command) - n, "%02x", self_id[i]);
	snprintf(command + n, sizeof(command) - n, ".debug");
	need(command);
}

static void a_debug_file_is_found_by_build_id(void **state)
{
	need_build_id();
	need(SPLIT "true");
	store_by_build_id();
	assert_is_marked(find_marked());
}

static void an_object_that_is_gone_is_named_by_its_debug_file(void **state)
{
	need_build_id();
	need(SPLIT "rm copy");
	store_by_build_id();
	assert_is_marked(find_marked());
	assert_int_equal(gaps().missing, 1);
}

static void a_debug_file_of_another_build_is_not_used(void **state)
{
	uint8_t id[64];

	need_build_id();
	need(SPLIT "true");
	store_by_build_id();
	memcpy(id, self_id, sizeof(id));
	id[1] ^= 1;
	assert_is_offset(find(id, self_id_len, in_self((void *)marked) + 3), in_self((void *)marked) + 3);
}

static void a_changed_file_is_not_used(void **state)
{
	uint8_t id[20] = { 1 };

	need("cp \"$self\" copy");
	assert_is_offset(find(id, sizeof(id), in_self((void *)marked) + 3), in_self((void *)marked) + 3);
	assert_int_equal(gaps().changed, 1);
	assert_int_equal(gaps().stripped, 0);
	assert_string_equal(gaps().first_changed, copy);
}

static void a_file_that_lost_its_build_id_is_a_changed_one(void **state)
{
	need_build_id();
	need("objcopy --remove-section .note.gnu.build-id \"$self\" copy");
	assert_is_offset(find_marked(), in_self((void *)marked));
	assert_int_equal(gaps().changed, 1);
}

static void a_file_that_is_gone_is_counted(void **state)
{
	assert_is_offset(find(NULL, 0, 0x1234), 0x1234);
	assert_is_offset(find(NULL, 0, 0x1235), 0x1235);
	assert_int_equal(gaps().missing, 1);
	assert_string_equal(gaps().first_missing, copy);
}

static void a_file_that_nobody_asks_for_is_not_counted(void **state)
{
	symbols_module(symbols, copy, NULL, 0, 0);
	assert_int_equal(gaps().missing, 0);
}

static void a_pipe_in_place_of_the_file_is_not_waited_for(void **state)
{
	assert_false(mkfifo(copy, 0600));
	assert_is_offset(find(NULL, 0, 0x1234), 0x1234);
}

static void memory_without_a_file_has_offsets(void **state)
{
	static const char *const paths[] = { "//anon", "[heap]", "relative/name", "" };
	const struct frame *const *frames;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(paths); i++) {
		assert_int_equal(symbols_find(symbols, symbols_module(symbols, paths[i], NULL, 0, 0x1000), 0x1234, &frames), 1);
		assert_non_null(strstr(frames[0]->name, "+0x234"));
	}
	assert_int_equal(gaps().missing + gaps().changed, 0);
}

static void ask_broken_copy(const uint8_t *bytes, size_t size)
{
	struct symbols *s = symbols_new();
	const struct frame *const *frames;
	FILE *f = fopen(copy, "w");
	int module;

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, size, f), size);
	fclose(f);
	module = symbols_module(s, copy, NULL, 0, 0);
	assert_true(symbols_find(s, module, in_self((void *)marked), &frames) >= 1);
	assert_true(symbols_find(s, module, in_self((void *)other), &frames) >= 1);
	assert_true(symbols_find(s, module, 0, &frames) >= 1);
	assert_true(symbols_find(s, module, UINT64_MAX, &frames) >= 1);
	assert_string_equal(frames[0]->module, "copy");
	symbols_free(s);
}

static uint8_t *read_whole(const char *path, size_t *ret_size)
{
	FILE *f = fopen(path, "r");
	uint8_t *bytes;

	assert_non_null(f);
	fseek(f, 0, SEEK_END);
	*ret_size = (size_t)ftell(f);
	rewind(f);
	bytes = malloc(*ret_size);
	assert_int_equal(fread(bytes, 1, *ret_size, f), *ret_size);
	fclose(f);
	return bytes;
}

static void a_cut_file_gives_some_frame(void **state)
{
	size_t size, i;
	CLEANUP_FREE uint8_t *bytes = read_whole(self_path, &size);

	for (i = 0; i < 40; i++)
		ask_broken_copy(bytes, size * i / 40);
	for (i = 0; i < 80; i++)
		ask_broken_copy(bytes, i);
}

/* The header, the section headers at the end and the tables in between are hit alike often. */
static void a_corrupt_file_gives_some_frame(void **state)
{
	size_t size, i, k;
	CLEANUP_FREE uint8_t *bytes = read_whole(self_path, &size);
	CLEANUP_FREE uint8_t *broken = malloc(size);
	unsigned int seed = 1;

	for (i = 0; i < 150; i++) {
		size_t start = i % 3 == 0 ? 0 : i % 3 == 1 ? size - 3000 : (size_t)rand_r(&seed) % (size - 3000);

		memcpy(broken, bytes, size);
		for (k = 0; k < 30; k++)
			broken[start + (size_t)rand_r(&seed) % 3000] = (uint8_t)rand_r(&seed);
		memcpy(broken, bytes, 20);
		ask_broken_copy(broken, size);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(no_server_is_asked),
		TEST(a_plain_copy_is_read),
		TEST(a_stripped_function_is_its_start),
		TEST(a_stripped_function_is_its_start_without_the_sorted_table),
		TEST(a_neighbour_is_not_given),
		TEST(symbols_without_lines_give_names),
		TEST(packed_symbols_give_names),
		TEST(a_debug_file_is_found_by_its_link),
		TEST(a_debug_file_is_found_in_the_folder_beside),
		TEST(a_debug_file_is_found_in_the_tree_of_copies),
		TEST(without_build_ids_the_checksum_of_a_link_counts),
		TEST(a_debug_file_with_another_checksum_is_not_used),
		TEST(a_debug_file_is_found_by_build_id),
		TEST(an_object_that_is_gone_is_named_by_its_debug_file),
		TEST(a_debug_file_of_another_build_is_not_used),
		TEST(a_changed_file_is_not_used),
		TEST(a_file_that_lost_its_build_id_is_a_changed_one),
		TEST(a_file_that_is_gone_is_counted),
		TEST(a_file_that_nobody_asks_for_is_not_counted),
		TEST(a_pipe_in_place_of_the_file_is_not_waited_for),
		TEST(memory_without_a_file_has_offsets),
		TEST(a_cut_file_gives_some_frame),
		TEST(a_corrupt_file_gives_some_frame),
	};
	volatile int x = 0;

	if (marked(&x) + other(&x) < 0)
		return 1;
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
