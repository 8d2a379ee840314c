/*
 * demangle - readable names of C++ and Rust functions
 *
 * C++ is read by the C++ runtime's own demangler; the Rust schemes are read in demangle_rust.c, before it, since the
 * older one looks like C++ to it.
 */
#include "analyse/demangle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

enum { LONGEST_SYMBOL = 16384 };

/* Of the C++ ABI (cxxabi.h, which is no C): the result is malloc()ed. */
extern char *__cxa_demangle(const char *name, char *buffer, size_t *length, int *status);

static size_t digits(const char *s, size_t n)
{
	size_t i = 0;

	while (i < n && s[i] >= '0' && s[i] <= '9')
		i++;
	return i;
}

/* The length of the mark at s[0], e.g. ".part.12" or ".cold"; 0: none. */
static size_t mark_length(const char *s, size_t n)
{
	static const char *const marks[] = { ".cold", ".part", ".isra", ".constprop", ".lto_priv", ".llvm" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(marks); i++) {
		size_t len = strlen(marks[i]), number;

		if (n < len || memcmp(s, marks[i], len))
			continue;
		number = n > len && s[len] == '.' ? digits(s + len + 1, n - len - 1) : 0;
		if (number)
			len += 1 + number;
		if (len == n || s[len] == '.')
			return len;
	}
	return 0;
}

/* The name's length without a version and such marks at the end of it. */
static size_t plain_length(const char *name)
{
	size_t len = strcspn(name, "@"), i;

	if (!len)
		return strlen(name);
	for (i = 1; i < len; i++) {
		size_t at = i, mark;

		while (at < len && name[at] == '.' && (mark = mark_length(name + at, len - at)))
			at += mark;
		if (at == len)
			return i;
	}
	return len;
}

void demangle(const char *symbol, char out[DEMANGLE_BYTES])
{
	CLEANUP_FREE char *plain = NULL, *readable = NULL;
	size_t len = plain_length(symbol);
	int status;

	if (symbol[0] == '_' && len < LONGEST_SYMBOL) {
		if (demangle_rust(symbol, len, out, DEMANGLE_BYTES))
			return;
		plain = symbol[1] == 'Z' ? strndup(symbol, len) : NULL;
		readable = plain ? __cxa_demangle(plain, NULL, NULL, &status) : NULL;
	}
	if (readable && strlen(readable) < DEMANGLE_BYTES)
		memcpy(out, readable, strlen(readable) + 1);
	else
		snprintf(out, DEMANGLE_BYTES, "%.*s", (int)MIN(len, (size_t)DEMANGLE_BYTES - 1), symbol);
}
