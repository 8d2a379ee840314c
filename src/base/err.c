/*
 * err - one sentence about a failure
 *
 * Library code never prints: it says what failed into a struct err of its caller, and only main() shows it. The text is
 * of a fixed size, so that saying "out of memory" needs none.
 */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set_at(struct err *err, int code, const char *file, int line, const char *format, ...)
{
	va_list ap;

	if (!err)
		return code;
	va_start(ap, format);
	vsnprintf(err->text, sizeof(err->text), format, ap);
	va_end(ap);
	err->file = file;
	err->line = line;
	return code;
}

void err_next(struct err *err, const char *format, ...)
{
	static const char lead[] = "\n  next: ";
	size_t used;
	va_list ap;

	if (!err)
		return;
	used = strlen(err->text);
	if (used + sizeof(lead) >= sizeof(err->text))
		return;
	memcpy(err->text + used, lead, sizeof(lead));
	used += sizeof(lead) - 1;
	va_start(ap, format);
	vsnprintf(err->text + used, sizeof(err->text) - used, format, ap);
	va_end(ap);
}
