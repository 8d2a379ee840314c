/*
 * json_value - values of our documents
 *
 * Names and arguments are bytes of other people; JSON is UTF-8. A frame occurs in thousands of stacks: it is turned into text
 * once, and copied from there.
 */
#include "render/json_value.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/util.h"

/* Length of the UTF-8 sequence at @s; 0 where it is none. */
static size_t utf8_length(const unsigned char *s)
{
	uint32_t code;
	size_t n, i;

	if (s[0] < 0x80)
		return 1;
	n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	code = s[0] & (0xff >> (n + 1));
	for (i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if ((n == 3 && code < 0x800) || (n == 4 && (code < 0x10000 || code > 0x10ffff)) || (code >= 0xd800 && code < 0xe000))
		return 0;
	return n;
}

json_t *json_text(const char *s)
{
	CLEANUP(out_fini) struct out clean = { 0 };
	json_t *string;
	size_t n;

	if (!s)
		return json_null();
	string = json_string(s);	/* refuses what is not UTF-8 */
	if (string)
		return string;
	while (*s) {
		n = utf8_length((const unsigned char *)s);
		if (n)
			out_bytes(&clean, s, n);
		else
			out_text(&clean, "\357\277\275");
		s += n ? n : 1;
	}
	return json_string(clean.data);
}

json_t *json_text_or_null(const char *s)
{
	return s && *s ? json_text(s) : json_null();
}

json_t *json_count(uint64_t n)
{
	return json_integer((json_int_t)MIN(n, (uint64_t)INT64_MAX));
}

json_t *json_known(uint64_t n)
{
	return n ? json_count(n) : json_null();
}

json_t *json_number(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

json_t *json_estimate(const struct estimate *e)
{
	if (!e->known)
		return json_null();
	return json_pack("{s:o,s:o,s:o,s:o}", "value", json_number(e->value), "lo", json_number(e->lo), "hi", json_number(e->hi),
			 "n", json_count(e->n));
}

json_t *json_strings(const char *const *list, uint32_t n)
{
	json_t *array = json_array();
	uint32_t i;

	for (i = 0; i < n; i++)
		json_array_append_new(array, json_text(list[i]));
	return array;
}

static int json_chunk(const char *buffer, size_t size, void *out)
{
	out_bytes(out, buffer, size);
	return 0;
}

enum { JSON_FLAGS = JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(12) };

int json_line(json_t *document, struct out *out)
{
	if (!document || json_dump_callback(document, json_chunk, out, JSON_FLAGS))
		return -ENOMEM;
	out_char(out, '\n');
	return out_result(out);
}

void json_members(json_t *object, struct out *out)
{
	CLEANUP_FREE char *text = json_dumps(object, JSON_FLAGS);

	json_decref(object);
	if (text)
		out_bytes(out, text + 1, strlen(text) - 2);
	else
		out->full = true;
}

void json_frames_fini(struct json_frames *f)
{
	size_t i;

	for (i = 0; i < f->n; i++)
		free(f->by_id[i]);
	free(f->by_id);
	*f = (struct json_frames){ 0 };
}

static char *json_frame_text(const struct frame *frame)
{
	json_t *object = json_pack("{s:o,s:o,s:o,s:o}", "name", json_text(frame->name), "module", json_text_or_null(frame->module),
				   "file", json_text_or_null(frame->file), "line", json_known(frame->line));
	char *text = json_dumps(object, JSON_FLAGS);

	json_decref(object);
	return text;
}

static const char *json_frame(struct json_frames *f, const struct frame *frame)
{
	size_t n = f->n ? f->n : 64;
	char **by_id;

	if (frame->id >= f->n) {
		while (n <= frame->id)
			n *= 2;
		by_id = realloc(f->by_id, n * sizeof(*by_id));
		if (!by_id)
			return NULL;
		memset(by_id + f->n, 0, (n - f->n) * sizeof(*by_id));
		f->by_id = by_id;
		f->n = n;
	}
	if (!f->by_id[frame->id])
		f->by_id[frame->id] = json_frame_text(frame);
	return f->by_id[frame->id];
}

void json_stack(struct json_frames *f, const struct tree_node *leaf, struct out *out)
{
	const char *text;
	bool first = true;

	out_char(out, '[');
	for (; leaf && leaf->frame; leaf = leaf->parent, first = false) {
		text = json_frame(f, leaf->frame);
		if (!first)
			out_char(out, ',');
		if (text)
			out_text(out, text);
		else
			out->full = true;
	}
	out_char(out, ']');
}
