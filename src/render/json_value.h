/* json_value.h - values of our documents; private to render/
 *
 * jansson's functions take NULL for an earlier failure and pass it on, so documents are built without a check at each step.
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

/** struct json_frames - frames by id, each one object that stacks share */
struct json_frames {
	json_t **by_id;
	size_t n;
};

void json_frames_fini(struct json_frames *f);
/** json_stack - innermost first */
json_t *json_stack(struct json_frames *f, const struct tree_node *leaf);

#endif
