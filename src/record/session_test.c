/*
 * session_test - what is written is what is read, and what happens when it cannot be written
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record/format.h"
#include "record/session_testing.h"

static char folder[] = "/tmp/tare-session-XXXXXX";
static char path[64];

static int make_folder(void **state)
{
	if (!mkdtemp(folder))
		return -1;
	snprintf(path, sizeof(path), "%s/x.tare", folder);
	return 0;
}

static int remove_folder(void **state)
{
	unlink(path);
	return rmdir(folder);
}

static struct session_writer *create(void)
{
	struct session_writer *w = NULL;
	struct err err = {0};

	assert_int_equal(session_create(&w, path, true, &err), 0);
	return w;
}

static void put(struct session_writer *w, const struct record *record)
{
	struct err err = {0};

	if (session_write(w, record, &err) != 0)
		fail_msg("%s", err.text);
}

/* The first records of a session in which process 0 exists. */
static void put_start(struct session_writer *w)
{
	for (size_t i = 0; i < 3; i++)
		put(w, &sample_records[i]);
}

static struct session_reader *open_again(struct session_writer *w)
{
	struct session_reader *r = NULL;
	struct err err = {0};

	assert_int_equal(session_close(w, &err), 0);
	assert_int_equal(session_open(&r, path, &err), 0);
	return r;
}

static void pass_over(struct session_reader *r, int n)
{
	struct record record;
	struct err err = {0};

	for (; n; n--)
		if (session_next(r, &record, &err) != SESSION_MORE)
			fail_msg("%s", err.text);
}

static void each_kind_of_record_is_read_as_it_was_written(void **state)
{
	struct session_writer *w = create();
	struct session_reader *r;
	struct record record;
	struct err err = {0};

	for (size_t i = 0; i < ARRAY_SIZE(sample_records); i++)
		put(w, &sample_records[i]);
	r = open_again(w);
	for (size_t i = 0; i < ARRAY_SIZE(sample_records); i++) {
		if (session_next(r, &record, &err) != SESSION_MORE)
			fail_msg("%s", err.text);
		assert_true(same_record(&record, &sample_records[i]));
	}
	assert_int_equal(session_next(r, &record, &err), SESSION_COMPLETE);
	assert_int_equal(session_next(r, &record, &err), SESSION_COMPLETE);
	session_reader_close(r);
}

/* A counter that was added to the struct and not to the table would be read as 0. */
static void each_counter_is_in_the_table(void **state)
{
	size_t size = 0;

	for (const struct format_field *f = format_records[REC_COUNTERS]; f->type != FORMAT_END; f++) {
		assert_int_equal(f->at, offsetof(struct record, counters) + size);
		size += f->type == FORMAT_U32 ? 4 : f->type == FORMAT_U64 ? 8 : sizeof(struct cost_sum) * COST_ITEMS;
	}
	assert_int_equal(size, sizeof(struct rec_counters));
}

static void a_list_of_arguments_ends_with_null(void **state)
{
	struct session_writer *w = create();
	struct session_reader *r;
	struct record record;

	put_start(w);
	r = open_again(w);
	assert_int_equal(session_next(r, &record, NULL), SESSION_MORE);
	assert_null(record.run.argv[record.run.argc]);
	session_reader_close(r);
}

static void a_session_without_end_is_cut(void **state)
{
	struct session_writer *w = create();
	struct session_reader *r;
	struct record record;

	put_start(w);
	r = open_again(w);
	pass_over(r, 3);
	assert_int_equal(session_next(r, &record, NULL), SESSION_CUT);
	session_reader_close(r);
}

static void a_session_without_records_is_cut(void **state)
{
	struct session_reader *r = open_again(create());
	struct record record;

	assert_int_equal(session_next(r, &record, NULL), SESSION_CUT);
	session_reader_close(r);
}

static void a_reader_goes_on_when_the_writer_has(void **state)
{
	struct session_writer *w = create();
	struct session_reader *r = NULL;
	struct record record;

	put_start(w);
	assert_int_equal(session_flush(w, NULL), 0);
	assert_int_equal(session_open(&r, path, NULL), 0);
	pass_over(r, 3);
	assert_int_equal(session_next(r, &record, NULL), SESSION_CUT);
	put(w, &sample_records[1]);
	assert_int_equal(session_next(r, &record, NULL), SESSION_CUT);
	assert_int_equal(session_flush(w, NULL), 0);
	assert_int_equal(session_next(r, &record, NULL), SESSION_MORE);
	assert_true(same_record(&record, &sample_records[1]));
	session_reader_close(r);
	assert_int_equal(session_close(w, NULL), 0);
}

/* A log with pairs of words all over: a time may look like any event. */
static uint64_t *long_log(uint32_t n)
{
	uint64_t *words = malloc(n * sizeof(*words)), x = 1;

	assert_non_null(words);
	for (uint32_t i = 0; i < n; i++) {
		x = x * 6364136223846793005u + 1442695040888963407u;
		words[i] = i % 3 ? x : event_word(EVENT_SAMPLE, 0, x >> 40, 0);
	}
	return words;
}

static void a_log_of_many_parts_is_read_word_for_word(void **state)
{
	const uint32_t n = 300001;
	CLEANUP_FREE uint64_t *words = long_log(n);
	struct record log = { REC_LOG, .log = { 0, 1, INSTRUMENT_HEAP, n, words } }, record;
	struct session_writer *w = create();
	struct session_reader *r;
	uint32_t done = 0;

	put_start(w);
	put(w, &log);
	r = open_again(w);
	pass_over(r, 3);
	while (session_next(r, &record, NULL) == SESSION_MORE) {
		assert_int_equal(record.kind, REC_LOG);
		assert_int_equal(record.log.slot, 1);
		assert_true(record.log.n <= n - done);
		assert_memory_equal(record.log.words, words + done, record.log.n * sizeof(*words));
		done += record.log.n;
	}
	assert_int_equal(done, n);
	session_reader_close(r);
}

static void a_log_is_divided_between_events_only(void **state)
{
	const uint32_t n = 200001;
	CLEANUP_FREE uint64_t *words = malloc(n * sizeof(*words));
	struct record log = { REC_LOG, .log = { 0, 1, INSTRUMENT_CPU, n, words } }, record;
	struct session_writer *w = create();
	struct session_reader *r;
	int parts = 0;

	words[0] = event_word(EVENT_TIME, 0, 0, 1);	/* so that pairs begin at odd places */
	for (uint32_t i = 1; i < n; i++)
		words[i] = i % 2 ? event_word(EVENT_SAMPLE, 0, 4, 0) : event_word(EVENT_WIDE, 0, 0, 1);
	put_start(w);
	put(w, &log);
	r = open_again(w);
	pass_over(r, 3);
	for (; session_next(r, &record, NULL) == SESSION_MORE; parts++)
		assert_int_equal(event_op(record.log.words[0]), parts ? EVENT_SAMPLE : EVENT_TIME);
	assert_true(parts > 1);
	session_reader_close(r);
}

static void nodes_of_many_parts_are_read_as_they_were_written(void **state)
{
	const uint32_t n = 100000;
	CLEANUP_FREE struct node *nodes = calloc(n, sizeof(*nodes));
	struct record many = { REC_NODES, .nodes = { 0, EVENT_FIRST_NODE, n, nodes } }, record;
	struct session_writer *w = create();
	struct session_reader *r;
	uint32_t done = 0;

	for (uint32_t i = 0; i < n; i++)
		nodes[i] = (struct node){ 0x400000 + 5 * i, i / 2 + 1, 0 };
	put_start(w);
	put(w, &many);
	r = open_again(w);
	pass_over(r, 3);
	while (session_next(r, &record, NULL) == SESSION_MORE) {
		assert_int_equal(record.nodes.first, EVENT_FIRST_NODE + done);
		assert_true(record.nodes.n <= n - done);
		assert_memory_equal(record.nodes.nodes, nodes + done, record.nodes.n * sizeof(*nodes));
		done += record.nodes.n;
	}
	assert_int_equal(done, n);
	session_reader_close(r);
}

static void nodes_that_were_left_out_are_read_as_nodes_without_address(void **state)
{
	const struct node node = { 0x401000, NODE_ROOT, 0 };
	const struct record late = { REC_NODES, .nodes = { 0, 10000, 1, &node } };
	struct session_writer *w = create();
	struct session_reader *r;
	struct record record;
	uint32_t next = EVENT_FIRST_NODE;

	put_start(w);
	put(w, &late);
	r = open_again(w);
	pass_over(r, 3);
	for (; session_next(r, &record, NULL) == SESSION_MORE; next += record.nodes.n) {
		assert_int_equal(record.nodes.first, next);
		for (uint32_t i = 0; i < record.nodes.n; i++)
			assert_true(record.nodes.nodes[i].pc == (next + i == 10000 ? 0x401000 : 0));
	}
	assert_int_equal(next, 10001);
	session_reader_close(r);
}

static void a_long_perf_map_is_divided_at_the_ends_of_lines(void **state)
{
	const uint32_t lines = 50000, line_size = 24;
	CLEANUP_FREE char *text = malloc(lines * line_size + 1);
	struct record map = { REC_PERF_MAP, .perf_map = { 0, lines * line_size, text } }, record;
	struct session_writer *w = create();
	struct session_reader *r;
	uint32_t done = 0;

	for (uint32_t i = 0; i < lines; i++)
		snprintf(text + i * line_size, line_size + 1, "%12x 10 name%03u\n", i, i % 1000);
	put_start(w);
	put(w, &map);
	r = open_again(w);
	pass_over(r, 3);
	while (session_next(r, &record, NULL) == SESSION_MORE) {
		assert_int_equal(record.perf_map.size % line_size, 0);
		assert_memory_equal(record.perf_map.text, text + done, record.perf_map.size);
		done += record.perf_map.size;
	}
	assert_int_equal(done, lines * line_size);
	session_reader_close(r);
}

static void an_existing_file_is_not_replaced_unasked(void **state)
{
	struct session_writer *w = create();
	struct err err = {0};

	session_close(w, NULL);
	w = NULL;
	assert_int_equal(session_create(&w, path, false, &err), -EEXIST);
	assert_null(w);
	assert_non_null(strstr(err.text, "next: --force"));
}

static void a_recording_in_a_missing_folder_is_refused_with_a_sentence(void **state)
{
	struct session_writer *w = NULL;
	struct err err = {0};

	assert_int_equal(session_create(&w, "/nonexistent/x.tare", false, &err), -ENOENT);
	assert_non_null(strstr(err.text, "/nonexistent/x.tare"));
}

static void what_no_session_may_hold_is_not_written(void **state)
{
	static const struct node own_parent = { 1, 4, 0 };
	static const struct record bad[] = {
		{ REC_NODES, .nodes = { 0, 3, 1, sample_nodes } }, { REC_NODES, .nodes = { 1, 4, 1, sample_nodes } },
		{ REC_NODES, .nodes = { 0, 4, 1, &own_parent } }, { REC_LOG, .log = { 0, 0, 3, 6, sample_words } },
		{ REC_THREAD, .thread = { 9, 1, "x" } }, { REC_RUN }, { REC_KINDS }
	};
	struct session_writer *w = create();
	struct session_reader *r;
	struct err err = {0};

	put_start(w);
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_int_equal(session_write(w, &bad[i], &err), -EINVAL);
	r = open_again(w);
	pass_over(r, 3);
	assert_int_equal(session_next(r, &(struct record){0}, &err), SESSION_CUT);
	session_reader_close(r);
}

static void a_full_disk_is_told_with_the_next_step(void **state)
{
	struct session_writer *w = NULL;
	struct err err = {0};

	/* /dev/full refuses every write, the header's already. */
	assert_int_equal(session_create(&w, "/dev/full", true, &err), -ENOSPC);
	assert_null(w);
	assert_non_null(strstr(err.text, "No space left"));
	assert_non_null(strstr(err.text, "next: make room"));
}

static void what_was_written_before_the_disk_was_full_can_be_read(void **state)
{
	const uint32_t n = 60000;
	CLEANUP_FREE uint64_t *words = long_log(n);
	struct record log = { REC_LOG, .log = { 0, 1, INSTRUMENT_HEAP, n, words } }, record;
	struct rlimit old, limit;
	struct session_writer *w = create();
	struct session_reader *r = NULL;
	void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
	struct err err = {0};
	struct stat st;
	int logs = 0;

	put_start(w);
	put(w, &log);
	assert_int_equal(session_flush(w, NULL), 0);
	getrlimit(RLIMIT_FSIZE, &old);
	limit = (struct rlimit){ session_bytes(w) + 1000, old.rlim_max };	/* the next chunk is torn */
	setrlimit(RLIMIT_FSIZE, &limit);
	assert_int_equal(session_write(w, &log, &err), -EFBIG);
	setrlimit(RLIMIT_FSIZE, &old);
	assert_non_null(strstr(err.text, "are kept and can be read"));
	assert_int_equal(session_write(w, &sample_records[1], &err), -EFBIG);
	assert_int_equal(session_flush(w, &err), -EFBIG);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_size, session_bytes(w));
	assert_int_equal(session_close(w, &err), -EFBIG);
	signal(SIGXFSZ, handler);

	assert_int_equal(session_open(&r, path, &err), 0);
	pass_over(r, 3);
	for (; session_next(r, &record, NULL) == SESSION_MORE; logs++)
		assert_true(same_log(&record.log, &log.log));
	assert_int_equal(logs, 1);
	assert_int_equal(session_next(r, &record, NULL), SESSION_CUT);
	session_reader_close(r);
}

static void a_recording_is_not_left_open_across_exec(void **state)
{
	int before = dup(0), flags;
	struct session_writer *w;

	close(before);
	w = create();	/* takes the lowest free descriptor */
	flags = fcntl(before, F_GETFD);
	assert_true(flags >= 0);
	assert_true(flags & FD_CLOEXEC);
	session_close(w, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_of_record_is_read_as_it_was_written),
		cmocka_unit_test(each_counter_is_in_the_table),
		cmocka_unit_test(a_list_of_arguments_ends_with_null),
		cmocka_unit_test(a_session_without_end_is_cut),
		cmocka_unit_test(a_session_without_records_is_cut),
		cmocka_unit_test(a_reader_goes_on_when_the_writer_has),
		cmocka_unit_test(a_log_of_many_parts_is_read_word_for_word),
		cmocka_unit_test(a_log_is_divided_between_events_only),
		cmocka_unit_test(nodes_of_many_parts_are_read_as_they_were_written),
		cmocka_unit_test(nodes_that_were_left_out_are_read_as_nodes_without_address),
		cmocka_unit_test(a_long_perf_map_is_divided_at_the_ends_of_lines),
		cmocka_unit_test(an_existing_file_is_not_replaced_unasked),
		cmocka_unit_test(a_recording_in_a_missing_folder_is_refused_with_a_sentence),
		cmocka_unit_test(what_no_session_may_hold_is_not_written),
		cmocka_unit_test(a_full_disk_is_told_with_the_next_step),
		cmocka_unit_test(what_was_written_before_the_disk_was_full_can_be_read),
		cmocka_unit_test(a_recording_is_not_left_open_across_exec),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
