/* out.h - text that grows in memory; cli/ writes it to where it belongs */
#ifndef TARE_RENDER_OUT_H
#define TARE_RENDER_OUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** struct out - {0} is empty; @full: there was no memory for all of it, the text is not whole */
struct out {
	char *data;
	size_t len, room;
	bool full;
};

void out_bytes(struct out *o, const void *bytes, size_t n);
void out_text(struct out *o, const char *s);
void out_char(struct out *o, char c);
void out_printf(struct out *o, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** out_spaces - @n spaces; none if @n is below 1 */
/** out_end_line - a newline, after taking off the spaces before it */
void out_end_line(struct out *o);
void out_spaces(struct out *o, int n);
/** out_result - Return: 0, or -ENOMEM if something did not fit */
int out_result(const struct out *o);
void out_fini(struct out *o);

#endif
