/* json_value.h - values of our documents; private to render/
 *
 * jansson's functions take NULL for an earlier failure and pass it on, so values are built without a check at each step.
 */
#ifndef TARE_RENDER_JSON_VALUE_H
#define TARE_RENDER_JSON_VALUE_H

#include <jansson.h>
#include <stdint.h>

#include "analyse/profile.h"
#include "render/out.h"

/** json_text - a string; bytes that are not UTF-8 become U+FFFD; NULL is null */
json_t *json_text(const char *s);
/** json_text_or_null - the same; "" is null, too */
json_t *json_text_or_null(const char *s);
json_t *json_count(uint64_t n);
/** json_known - n, or null where it is 0: not known */
json_t *json_known(uint64_t n);
json_t *json_number(double value);	/* null where it is not finite */
json_t *json_estimate(const struct estimate *e);	/* null where not known */
json_t *json_strings(const char *const *list, uint32_t n);
/** json_line - writes a document as one line; Return: 0; -ENOMEM */
int json_line(json_t *document, struct out *out);

/**
 * json_members - the members of an object, without its braces, so that more can follow; takes @object
 *
 * Stacks are most of a document: they are written as text (below), not built as values.
 */
void json_members(json_t *object, struct out *out);

/** struct json_frames - frames as text, by id */
struct json_frames {
	char **by_id;
	size_t n;
};

void json_frames_fini(struct json_frames *f);
/** json_stack - writes an array of frames, innermost first */
void json_stack(struct json_frames *f, const struct tree_node *leaf, struct out *out);

#endif
