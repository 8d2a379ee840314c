/* export_test - one known profile through the formats, read back by others where they are installed */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <zlib.h>

#include "analyse/profile_testing.h"
#include "render/export.h"

static const struct export_format *format(const char *name)
{
	const struct export_format *f = export_formats;

	while (f->name && strcmp(f->name, name))
		f++;
	assert_non_null(f->name);
	return f;
}

static void make_samples(struct session_maker *m, uint32_t node, uint32_t n)
{
	while (n-- > 0)
		MAKE_CPU(m, 0, 0, SAMPLE(node, 0));
}

/* 840 samples at 997 Hz in thread worker-0: 842 527 583 ns. */
static struct profile *canonical(void)
{
	static struct session_maker m;
	struct err err = { 0 };
	struct profile *p;
	uint32_t main_node, handle, parse, render;

	make_begin(&m, INSTRUMENT_CPU);
	make(&m, (struct record){ REC_THREAD, .thread = { 0, 4713, "worker-0" } });
	main_node = make_node(&m, 0, make_node(&m, 0, NODE_ROOT, FN_START), FN_MAIN);
	handle = make_node(&m, 0, main_node, FN_HANDLE);
	parse = make_node(&m, 0, handle, FN_PARSE);
	render = make_node(&m, 0, handle, FN_RENDER);
	MAKE_CPU(&m, 0, 0, THREAD(4713));
	make_samples(&m, make_node(&m, 0, parse, FN_HASH), 417);
	make_samples(&m, parse, 60);
	make_samples(&m, make_node(&m, 0, render, FN_MEMCPY), 201);
	make_samples(&m, render, 122);
	make_samples(&m, make_node(&m, 0, render, FN_FLUSH), 31);
	make_samples(&m, main_node, 9);
	make_end(&m);
	p = make_profile(&m, &err);
	if (!p)
		fail_msg("%s", err.text);
	return p;
}

static struct out exported(const struct profile *p, const char *name, uint32_t what)
{
	struct out out = { 0 };
	struct err err = { 0 };

	if (export_write(p, format(name), what, &out, &err))
		fail_msg("%s", err.text);
	return out;
}

static void folded_lines_sum_to_the_samples(void **state)
{
	struct profile *p = canonical();
	struct out out = exported(p, "folded", EXPORT_CPU);
	uint64_t sum = 0;
	char *line, *rest = out.data;

	assert_non_null(strstr(out.data, "_start;main;handle_request;parse_headers;hash_mix 417\n"));
	assert_non_null(strstr(out.data, "_start;main 9\n"));
	while ((line = strsep(&rest, "\n")) && *line)
		sum += strtoull(strrchr(line, ' '), NULL, 10);
	assert_int_equal(sum, 840);
	out_fini(&out);
	profile_free(p);
}

static void speedscope_weights_sum_to_the_end(void **state)
{
	struct profile *p = canonical();
	struct out out = exported(p, "speedscope", EXPORT_CPU);
	json_t *o = json_loads(out.data, 0, NULL), *profile;
	json_int_t sum = 0;
	size_t i;

	assert_non_null(o);
	profile = json_array_get(json_object_get(o, "profiles"), 0);
	for (i = 0; i < json_array_size(json_object_get(profile, "weights")); i++)
		sum += json_integer_value(json_array_get(json_object_get(profile, "weights"), i));
	assert_int_equal(sum, 842527583);
	assert_int_equal(json_integer_value(json_object_get(profile, "endValue")), sum);
	assert_string_equal(json_string_value(json_object_get(profile, "name")), "worker-0 (4713)");
	json_decref(o);
	out_fini(&out);
	profile_free(p);
}

/* A reader of just enough of the wire format: varints of a message's fields. */
struct wire { const unsigned char *at, *end; };

static uint64_t wire_varint(struct wire *w)
{
	uint64_t n = 0;
	int shift = 0;

	while (w->at < w->end && *w->at & 0x80) {
		n |= (uint64_t)(*w->at++ & 0x7f) << shift;
		shift += 7;
	}
	assert_true(w->at < w->end);
	return n | (uint64_t)*w->at++ << shift;
}

static bool wire_next(struct wire *w, unsigned int *field, uint64_t *n, struct wire *message)
{
	uint64_t tag;

	if (w->at >= w->end)
		return false;
	tag = wire_varint(w);
	*field = (unsigned int)(tag >> 3);
	*n = wire_varint(w);
	*message = (struct wire){ NULL, NULL };
	if ((tag & 7) == 2) {
		assert_true(*n <= (uint64_t)(w->end - w->at));
		*message = (struct wire){ w->at, w->at + *n };
		w->at += *n;
	}
	return true;
}

static size_t gunzip(const struct out *in, unsigned char *bytes, size_t size)
{
	z_stream z = { .next_in = (unsigned char *)in->data, .avail_in = (unsigned int)in->len };

	z.next_out = bytes;
	z.avail_out = (unsigned int)size;
	assert_int_equal(inflateInit2(&z, 15 + 16), Z_OK);
	assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
	inflateEnd(&z);
	return size - z.avail_out;
}

/* Sums of each value over the samples of a gzipped profile. */
static void pprof_sums(const struct out *out, uint64_t sums[5], size_t *samples)
{
	static unsigned char bytes[1 << 20];
	struct wire w = { bytes, bytes + gunzip(out, bytes, sizeof(bytes)) }, sample, values;
	unsigned int field;
	uint64_t n, value;
	size_t i;

	while (wire_next(&w, &field, &n, &sample)) {
		if (field != 2)
			continue;
		++*samples;
		while (wire_next(&sample, &field, &n, &values))
			for (i = 0; field == 2 && values.at < values.end; i++) {
				value = wire_varint(&values);
				sums[i] += value;
			}
	}
}

static void pprof_values_sum_to_the_samples(void **state)
{
	struct profile *p = canonical();
	struct out out = exported(p, "pprof", EXPORT_CPU);
	uint64_t sums[5] = { 0 };
	size_t samples = 0;

	pprof_sums(&out, sums, &samples);
	assert_int_equal(samples, 6);
	assert_int_equal(sums[0], 840);
	assert_int_equal(sums[1], 842527583);
	out_fini(&out);
	profile_free(p);
}

static void pprof_of_a_heap_has_all_columns(void **state)
{
	struct session_maker m;
	struct err err = { 0 };
	struct profile *p;
	struct out out;
	uint64_t sums[5] = { 0 };
	size_t samples = 0;
	uint32_t a, b;

	make_begin(&m, INSTRUMENT_HEAP);
	a = make_node(&m, 0, NODE_ROOT, FN_MAIN);
	b = make_node(&m, 0, a, FN_LEAKY);
	MAKE_HEAP(&m, 0, 0, ALLOC(a, 100), ALLOC(b, 50), ALLOC(b, 50), FREE(a, 100, 0), ALLOC(NODE_LOST, 7));
	make_end(&m);
	p = make_profile(&m, &err);
	assert_non_null(p);
	out = exported(p, "pprof", 0);
	pprof_sums(&out, sums, &samples);
	assert_int_equal(samples, 3);	/* [lost] keeps its weight */
	assert_int_equal(sums[0], 4);
	assert_int_equal(sums[1], 207);
	assert_int_equal(sums[2], 3);
	assert_int_equal(sums[3], 107);
	assert_int_equal(sums[4], 200);
	out_fini(&out);
	profile_free(p);
}

static void go_tool_pprof_shows_the_same_totals(void **state)
{
	struct profile *p = canonical();
	struct out out = exported(p, "pprof", EXPORT_CPU);
	char path[] = "/tmp/tare-pprof-XXXXXX", command[128], text[4096] = "";
	FILE *f;
	size_t n;
	int fd = mkstemp(path);

	profile_free(p);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, out.data, out.len), (ssize_t)out.len);
	close(fd);
	out_fini(&out);
	if (system("command -v go >/dev/null 2>&1")) {
		unlink(path);
		print_message("skipped: no go (apt install golang-go)\n");
		skip();
	}
	snprintf(command, sizeof(command), "HOME=${HOME:-/tmp} go tool pprof -top %s 2>&1", path);
	f = popen(command, "r");
	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	text[n] = '\0';
	assert_int_equal(pclose(f), 0);
	unlink(path);
	assert_non_null(strstr(text, "842.53ms total"));
	assert_non_null(strstr(text, "418.25ms 49.64% 49.64%   418.25ms 49.64%  hash_mix"));
	assert_non_null(strstr(text, "measuring cost"));
}

static void csv_quotes_what_needs_it(void **state)
{
	struct profile *p = canonical();
	struct out out = exported(p, "csv", EXPORT_CPU);

	assert_int_equal(strncmp(out.data, "tid,samples,cpu_ns,function,", 28), 0);
	assert_non_null(strstr(out.data, "4713,417,418254764,\"hash_mix\","));
	assert_non_null(strstr(out.data, "\"main <- _start\"\r\n"));
	out_fini(&out);
	profile_free(p);
}

static void a_profile_that_is_not_there_is_refused(void **state)
{
	struct profile *p = canonical();
	struct out out = { 0 };
	struct err err = { 0 };

	assert_int_equal(export_write(p, format("pprof"), EXPORT_HEAP, &out, &err), -ENOTSUP);
	assert_non_null(strstr(err.text, "no heap profile"));
	profile_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(folded_lines_sum_to_the_samples),
		cmocka_unit_test(speedscope_weights_sum_to_the_end),
		cmocka_unit_test(pprof_values_sum_to_the_samples),
		cmocka_unit_test(pprof_of_a_heap_has_all_columns),
		cmocka_unit_test(go_tool_pprof_shows_the_same_totals),
		cmocka_unit_test(csv_quotes_what_needs_it),
		cmocka_unit_test(a_profile_that_is_not_there_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
