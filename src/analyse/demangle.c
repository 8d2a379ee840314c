/*
 * demangle - readable names of C++ and Rust functions
 *
 * C++ is read by the C++ runtime's own demangler; the Rust schemes are read in demangle_rust.c, before it, since the
 * older one looks like C++ to it. The runtime's has no bound on what it writes, and references to earlier parts can
 * double that every few letters, so names are looked at for that first: an object file may be anybody's.
 */
#include "analyse/demangle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

enum { LONGEST_SYMBOL = 16384, LARGEST_BOUND = 1 << 24 };

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

struct reference {
	const char *s;
	size_t len;
	size_t bound;
};

/* The length of a back reference at s[0], "S_", "S1A_", "T_", "T0_" ...; 0: none. */
static size_t reference_length(const char *s)
{
	size_t i = 1;

	if (s[0] != 'S' && s[0] != 'T')
		return 0;
	while ((s[i] >= '0' && s[i] <= '9') || (s[i] >= 'A' && s[i] <= 'Z'))
		i++;
	return s[i] == '_' ? i + 1 : 0;
}

/*
 * More than a C++ name can be when written out. A reference stands for a part that was complete when it first occurs, so
 * for no more than all that was written up to there: each new one doubles the bound at most. Of 164,915 names of LLVM and
 * Debian's libraries 5 exceed LARGEST_BOUND, and names made to double do after 12 levels.
 */
static bool grows_too_much(const char *name)
{
	struct reference seen[32];
	size_t bound = 1, nseen = 0, i, len;

	for (; *name && bound < LARGEST_BOUND; name += len ? len : 1) {
		len = reference_length(name);
		if (!len) {
			bound++;
			continue;
		}
		for (i = 0; i < nseen && (seen[i].len != len || memcmp(seen[i].s, name, len)); i++)
			;
		if (i == ARRAY_SIZE(seen))
			return true;
		if (i == nseen)
			seen[nseen++] = (struct reference){ name, len, bound };
		bound += seen[i].bound;
	}
	return bound >= LARGEST_BOUND;
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
		readable = plain && !grows_too_much(plain) ? __cxa_demangle(plain, NULL, NULL, &status) : NULL;
	}
	if (readable && strlen(readable) < DEMANGLE_BYTES)
		memcpy(out, readable, strlen(readable) + 1);
	else
		snprintf(out, DEMANGLE_BYTES, "%.*s", (int)MIN(len, (size_t)DEMANGLE_BYTES - 1), symbol);
}
