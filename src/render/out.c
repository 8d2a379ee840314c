/*
 * out - text that grows in memory
 *
 * Renderers write here without looking at errors; whether all went in is asked once, at the end.
 */
#include "render/out.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

static bool out_reserve(struct out *o, size_t n)
{
	size_t room = MAX(o->room, (size_t)1024);
	char *data;

	if (o->full)
		return false;
	if (o->room - o->len > n)
		return true;
	while (room - o->len <= n)
		room *= 2;
	data = realloc(o->data, room);
	if (!data) {
		o->full = true;
		return false;
	}
	o->data = data;
	o->room = room;
	return true;
}

void out_bytes(struct out *o, const void *bytes, size_t n)
{
	if (!n || !out_reserve(o, n))
		return;
	memcpy(o->data + o->len, bytes, n);
	o->len += n;
	o->data[o->len] = '\0';
}

void out_text(struct out *o, const char *s)
{
	out_bytes(o, s, strlen(s));
}

void out_char(struct out *o, char c)
{
	out_bytes(o, &c, 1);
}

void out_printf(struct out *o, const char *format, ...)
{
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(NULL, 0, format, ap);
	va_end(ap);
	if (n < 0 || !out_reserve(o, (size_t)n + 1))
		return;
	va_start(ap, format);
	vsnprintf(o->data + o->len, (size_t)n + 1, format, ap);
	va_end(ap);
	o->len += (size_t)n;
}

void out_spaces(struct out *o, int n)
{
	while (n-- > 0)
		out_char(o, ' ');
}

void out_end_line(struct out *o)
{
	while (o->len && o->data[o->len - 1] == ' ')
		o->len--;
	out_char(o, '\n');
}

int out_result(const struct out *o)
{
	return o->full ? -ENOMEM : 0;
}

void out_fini(struct out *o)
{
	free(o->data);
	*o = (struct out){ 0 };
}
