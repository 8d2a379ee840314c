/*
 * demangle_legacy - readable names of Rust functions, the scheme before v0
 *
 * They are C++ nested names whose last part is a hash, with signs written as $..$.
 */
#include <stdio.h>
#include <string.h>

#include "analyse/demangle_reader.h"
#include "base/util.h"

/* One part of a legacy name: $LT$ is '<', ".." is "::", $u7e$ is '~'. */
static bool legacy_part(struct rust *r, const char *s, size_t n)
{
	static const struct { const char *code, *text; } signs[] = {
		{ "SP", "@" }, { "BP", "*" }, { "RF", "&" }, { "LT", "<" }, { "GT", ">" }, { "LP", "(" }, { "RP", ")" },
		{ "C", "," },
	};
	size_t i = n > 1 && s[0] == '_' && s[1] == '$', j, k;

	while (i < n) {
		const char *end = s[i] == '$' ? memchr(s + i + 1, '$', n - i - 1) : NULL;
		unsigned int rune;
		char code[8];

		if (s[i] == '.' && i + 1 < n && s[i + 1] == '.') {
			rust_put(r, "::");
			i += 2;
			continue;
		}
		if (s[i] != '$') {
			rust_put_bytes(r, s + i++, 1);
			continue;
		}
		k = end ? (size_t)(end - s) - i - 1 : 0;
		if (!k || k >= sizeof(code))
			return false;
		memcpy(code, s + i + 1, k);
		code[k] = 0;
		for (j = 0; j < ARRAY_SIZE(signs) && strcmp(signs[j].code, code); j++)
			;
		if (j < ARRAY_SIZE(signs))
			rust_put(r, signs[j].text);
		else if (code[0] == 'u' && sscanf(code + 1, "%6x", &rune) == 1)
			rust_put_rune(r, rune);
		else
			return false;
		i += k + 2;
	}
	return !r->failed;
}

static bool is_hash(const char *s, size_t n)
{
	return n == 17 && s[0] == 'h' && strspn(s + 1, "0123456789abcdef") >= 16;
}

bool demangle_legacy(const char *name, size_t len, char *out, size_t size)
{
	struct rust r = { .in = name, .len = len, .at = 3, .out = out, .room = size };
	struct identifier part, last = { 0 };
	bool first = true;

	if (len < 3 + 2 + 17 + 1 || !memmem(name, len, "17h", 3))
		return false;
	while (!r.failed && rust_peek(&r) >= '1' && rust_peek(&r) <= '9') {
		part.n = rust_decimal(&r);
		if (r.failed || part.n > r.len - r.at)
			return false;
		part.s = r.in + r.at;
		r.at += part.n;
		if (last.n) {
			if (!first)
				rust_put(&r, "::");
			first = false;
			if (!legacy_part(&r, last.s, last.n))
				return false;
		}
		last = part;
	}
	return !r.failed && rust_eat(&r, 'E') && is_hash(last.s, last.n) && r.used && (r.at == r.len || rust_peek(&r) == '.');
}
