/*
 * session_damage_test - a recording that was cut reads up to the last whole chunk; one that was changed is refused
 *
 * The damaged bytes lie at the end of a heap block of their exact size, so that a sanitized build sees a read beyond them.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "record/format.h"
#include "record/session_testing.h"

enum { RECORDS = ARRAY_SIZE(sample_records) };

/* A session with a chunk for each @per_chunk records. */
static uint8_t *sample_session(int per_chunk, size_t *ret_size)
{
	char path[] = "/tmp/tare-damage-XXXXXX";
	struct session_writer *w = NULL;
	struct stat st;
	uint8_t *bytes;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(session_create(&w, path, true, NULL), 0);
	for (int i = 0; i < RECORDS; i++) {
		assert_int_equal(session_write(w, &sample_records[i], NULL), 0);
		if ((i + 1) % per_chunk == 0)
			assert_int_equal(session_flush(w, NULL), 0);
	}
	assert_int_equal(session_close(w, NULL), 0);
	unlink(path);
	assert_int_equal(fstat(fd, &st), 0);
	bytes = malloc((size_t)st.st_size);
	assert_int_equal(read(fd, bytes, (size_t)st.st_size), st.st_size);
	close(fd);
	*ret_size = (size_t)st.st_size;
	return bytes;
}

/* Reads what is there; every record must be the one that was written. Returns how it ended. */
static int read_all(const uint8_t *bytes, size_t size, int *ret_n, struct err *err)
{
	uint8_t *copy = malloc(size);
	struct session_reader *r = NULL;
	struct record record;
	int e, n = 0;

	memcpy(copy, bytes, size);
	e = session_open_bytes(&r, copy, size, err);
	if (e == 0)
		for (; (e = session_next(r, &record, err)) == SESSION_MORE; n++) {
			assert_true(n < RECORDS);
			assert_true(same_record(&record, &sample_records[n]));
		}
	session_reader_close(r);
	free(copy);
	*ret_n = n;
	return e;
}

static void a_file_cut_anywhere_gives_the_records_of_its_whole_chunks(void **state)
{
	size_t size, at = FORMAT_HEADER_SIZE, next;
	CLEANUP_FREE uint8_t *bytes = sample_session(2, &size);
	int chunks = 0, n;

	for (size_t cut = 0; cut < size; cut++) {
		int end = read_all(bytes, cut, &n, NULL);

		if (cut < FORMAT_HEADER_SIZE) {
			assert_int_equal(end, -EBADMSG);
			continue;
		}
		next = at + FORMAT_CHUNK_SIZE + get_u32(bytes + at + 16);
		if (cut == next) {
			at = next;
			chunks++;
		}
		assert_int_equal(end, SESSION_CUT);
		assert_int_equal(n, 2 * chunks);
	}
	assert_int_equal(chunks, (RECORDS + 1) / 2 - 1);
	assert_int_equal(read_all(bytes, size, &n, NULL), SESSION_COMPLETE);
	assert_int_equal(n, RECORDS);
}

static void change_each_byte(int per_chunk)
{
	size_t size;
	CLEANUP_FREE uint8_t *bytes = sample_session(per_chunk, &size);
	static const uint8_t changes[] = { 0x01, 0x80, 0xff };
	int n;

	for (size_t at = 0; at < size; at++)
		for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
			struct err err = {0};

			bytes[at] ^= changes[i];
			assert_int_equal(read_all(bytes, size, &n, &err), -EBADMSG);
			assert_true(err.text[0] != 0);
			bytes[at] ^= changes[i];
		}
	assert_int_equal(read_all(bytes, size, &n, NULL), SESSION_COMPLETE);
}

static void any_changed_byte_of_a_packed_session_is_refused(void **state)
{
	change_each_byte(1000);
}

static void any_changed_byte_of_a_session_of_small_chunks_is_refused(void **state)
{
	change_each_byte(1);
}

static void a_chunk_that_is_missing_in_the_middle_is_noticed(void **state)
{
	size_t size, at = FORMAT_HEADER_SIZE, length;
	CLEANUP_FREE uint8_t *bytes = sample_session(1, &size);
	struct err err = {0};
	int n;

	for (int i = 0; i < 3; i++)
		at += FORMAT_CHUNK_SIZE + get_u32(bytes + at + 16);
	length = FORMAT_CHUNK_SIZE + get_u32(bytes + at + 16);
	memmove(bytes + at, bytes + at + length, size - at - length);
	assert_int_equal(read_all(bytes, size - length, &n, &err), -EBADMSG);
	assert_int_equal(n, 3);
	assert_non_null(strstr(err.text, "number"));
}

static void something_after_the_end_is_refused(void **state)
{
	size_t size;
	CLEANUP_FREE uint8_t *bytes = sample_session(1000, &size);
	int n;

	bytes = realloc(bytes, size + 1);
	bytes[size] = 0;
	assert_int_equal(read_all(bytes, size + 1, &n, NULL), -EBADMSG);
	assert_int_equal(n, RECORDS);
}

static void a_few_strange_bytes_at_the_end_are_no_cut(void **state)
{
	size_t size, at = FORMAT_HEADER_SIZE;
	CLEANUP_FREE uint8_t *bytes = sample_session(1, &size);
	int n;

	at += FORMAT_CHUNK_SIZE + get_u32(bytes + at + 16);
	bytes[at + 1] ^= 1;
	assert_int_equal(read_all(bytes, at + 2, &n, NULL), -EBADMSG);
	assert_int_equal(read_all(bytes, at + 1, &n, NULL), SESSION_CUT);
}

static void zeros_that_a_power_failure_left_are_a_cut(void **state)
{
	size_t size, whole = FORMAT_HEADER_SIZE;
	CLEANUP_FREE uint8_t *bytes = sample_session(1, &size);
	int n;

	for (int i = 0; i < 5; i++)
		whole += FORMAT_CHUNK_SIZE + get_u32(bytes + whole + 16);
	memset(bytes + whole, 0, size - whole);
	assert_int_equal(read_all(bytes, size, &n, NULL), SESSION_CUT);
	assert_int_equal(n, 5);
	bytes[size - 1] = 1;
	assert_int_equal(read_all(bytes, size, &n, NULL), -EBADMSG);
}

/* Gives the file header and the chunk header at @at the right checksums again. */
static void seal(uint8_t *bytes, size_t at)
{
	set_u32(bytes + 12, (uint32_t)crc32(0, bytes, 12));
	set_u32(bytes + at + 20, (uint32_t)crc32(0, bytes + at + FORMAT_CHUNK_SIZE, get_u32(bytes + at + 16)));
	set_u32(bytes + at + 24, (uint32_t)crc32(0, bytes + at, FORMAT_CHUNK_SIZE - 4));
}

static void a_newer_version_is_refused_with_the_next_step(void **state)
{
	size_t size;
	CLEANUP_FREE uint8_t *bytes = sample_session(1000, &size);
	struct err err = {0};
	int n;

	set_u32(bytes + 8, FORMAT_VERSION + 1);
	seal(bytes, FORMAT_HEADER_SIZE);
	assert_int_equal(read_all(bytes, size, &n, &err), -EPROTONOSUPPORT);
	assert_non_null(strstr(err.text, "newer tare"));
	assert_non_null(strstr(err.text, "next: "));
}

static void a_file_that_is_no_session_is_refused(void **state)
{
	struct session_reader *r = NULL;
	struct err err = {0};

	assert_int_equal(session_open(&r, "/proc/self/exe", &err), -EBADMSG);
	assert_non_null(strstr(err.text, "not a recording"));
	assert_int_equal(session_open(&r, "/", &err), -EINVAL);
	assert_int_equal(session_open(&r, "/dev/zero", &err), -EINVAL);
	assert_int_equal(session_open(&r, "/nonexistent", &err), -ENOENT);
	assert_null(r);
}

/* The session up to the chunk at @at, and that chunk with its payload unpacked. Owns: the caller. */
static uint8_t *unpacked(const uint8_t *bytes, size_t at, size_t *ret_size)
{
	size_t raw = get_u32(bytes + at + 12), stored = get_u32(bytes + at + 16), payload = at + FORMAT_CHUNK_SIZE;
	uint8_t *to = malloc(payload + raw);

	memcpy(to, bytes, payload);
	if (get_u32(bytes + at + 8) == ENCODING_PLAIN)
		memcpy(to + payload, bytes + payload, raw);
	else
		assert_int_equal(ZSTD_decompress(to + payload, raw, bytes + payload, stored), raw);
	set_u32(to + at + 8, ENCODING_PLAIN);
	set_u32(to + at + 16, (uint32_t)raw);
	*ret_size = payload + raw;
	return to;
}

/** struct lie - a number somewhere in the unpacked payload of a chunk that holds one record, and what is said of it */
struct lie {
	int record;	/* index in sample_records */
	int at;		/* in the payload; -1: the unpacked size in the chunk's header */
	uint32_t value;
	const char *what;
};

/* With checksums that are right, so that only the checks of contents are left. */
static void contents_that_lie_are_refused_with_their_reason(void **state)
{
	static const struct lie lies[] = {
		{ 1, 0, 0, "unknown kind" }, { 1, 0, 99, "unknown kind" }, { 1, 4, 0xffffffff, "longer than the chunk" },
		{ 1, 4, 24, "longer than the chunk" }, { 1, 4, 15, "shorter than its contents" },
		{ 5, 20, 7, "shorter than its contents" }, { 5, 20, 0x20000000, "shorter than its contents" },
		{ 5, 24, 2, "unknown form" }, { 5, 16, 4, "unknown instrument" }, { 5, 12, 1 << 20, "slot" },
		{ 5, 8, 1, "no record declared" }, { 4, 8, 5, "no record declared" }, { 4, 12, 5, "do not follow" },
		{ 4, 12, 3, "do not follow" }, { 4, 16, 4, "shorter than its contents" }, { 4, 16, 2, "longer than its contents" },
		{ 4, 24 + 8, 4, "does not come before" }, { 4, 24 + 16 + 8, 5, "does not come before" },
		{ 6, 4, 16, "without an end" },
		{ 9, 8, 0, "declared twice" }, { 9, 8, 1 << 20, "process number above" }, { 9, 20, 3, "forked from" },
		{ 9, 20, (uint32_t)-2, "forked from" }, { 9, 20, 7, "forked from" }, { 9, 24, 1 << 24, "first node" },
		{ 2, 36, 100, "more strings" }, { 2, 36, 0x7fffffff, "more strings" }, { 3, 40, 21, "build id" },
		{ 3, 20, 0x10000, "ends before" }, { 7, FORMAT_RECORD_SIZE + offsetof(struct rec_counters, cost), 5, "cost items" }, { 0, 16, 2, "yes or no" },
		{ 1, -1, 0, "impossible" }, { 1, -1, FORMAT_RAW_MAX + 8, "impossible" }, { 1, -1, 20, "impossible" },
	};
	size_t size;
	CLEANUP_FREE uint8_t *bytes = sample_session(1, &size);
	int n;

	for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
		CLEANUP_FREE uint8_t *lying = NULL;
		size_t at = FORMAT_HEADER_SIZE;
		struct err err = {0};

		for (int k = 0; k < lies[i].record; k++)
			at += FORMAT_CHUNK_SIZE + get_u32(bytes + at + 16);
		lying = unpacked(bytes, at, &size);
		set_u32(lying + (lies[i].at < 0 ? at + 12 : at + FORMAT_CHUNK_SIZE + (size_t)lies[i].at), lies[i].value);
		seal(lying, at);
		if (read_all(lying, size, &n, &err) != -EBADMSG || !strstr(err.text, lies[i].what))
			fail_msg("lie %zu: \"%s\" is not in: %s", i, lies[i].what, err.text);
		assert_int_equal(n, lies[i].record);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_cut_anywhere_gives_the_records_of_its_whole_chunks),
		cmocka_unit_test(any_changed_byte_of_a_packed_session_is_refused),
		cmocka_unit_test(any_changed_byte_of_a_session_of_small_chunks_is_refused),
		cmocka_unit_test(a_chunk_that_is_missing_in_the_middle_is_noticed),
		cmocka_unit_test(something_after_the_end_is_refused),
		cmocka_unit_test(a_few_strange_bytes_at_the_end_are_no_cut),
		cmocka_unit_test(zeros_that_a_power_failure_left_are_a_cut),
		cmocka_unit_test(a_newer_version_is_refused_with_the_next_step),
		cmocka_unit_test(a_file_that_is_no_session_is_refused),
		cmocka_unit_test(contents_that_lie_are_refused_with_their_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
