/*
 * demangle_rust - readable names of Rust functions
 *
 * Legacy names are C++ nested names whose last part is a hash, with signs written as $..$. The v0 scheme is that of RFC
 * 2603: a grammar in prefix form, one function here per rule, and back references to earlier positions of the name.
 * Printed as Rust writes it, without crate hashes and types of constants.
 *
 * A name comes from a file that anybody may have written: nesting, output and steps are bounded, and where a bound or
 * the grammar is broken the name is refused as a whole. What is read only to be skipped does not follow back references.
 */
#include "analyse/demangle.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"

enum { MAX_DEPTH = 200, MAX_STEPS = 100000, MAX_PUNYCODE = 512 };

struct rust {
	const char *in;		/* behind "_R" */
	size_t len, at;
	char *out;
	size_t room, used;
	unsigned int depth, steps;
	uint64_t lifetimes;	/* bound around here */
	bool skip;		/* reads without writing */
	bool failed;
};

static void path(struct rust *r, bool in_value);
static void type(struct rust *r);
static void constant(struct rust *r);

static void put_bytes(struct rust *r, const char *s, size_t n)
{
	if (r->skip || r->failed)
		return;
	if (n >= r->room - r->used) {
		r->failed = true;
		return;
	}
	memcpy(r->out + r->used, s, n);
	r->used += n;
	r->out[r->used] = 0;
}

static void put(struct rust *r, const char *s)
{
	put_bytes(r, s, strlen(s));
}

static void put_number(struct rust *r, uint64_t n)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRIu64, n);
	put(r, digits);
}

static void put_rune(struct rust *r, uint32_t c)
{
	char s[4];
	size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4, i;

	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) {
		r->failed = true;
		return;
	}
	for (i = n; i-- > 1; c >>= 6)
		s[i] = (char)(0x80 | (c & 0x3f));
	s[0] = (char)(n == 1 ? c : (0xf00u >> n & 0xff) | c);
	put_bytes(r, s, n);
}

static char peek(const struct rust *r)
{
	return r->at < r->len ? r->in[r->at] : 0;
}

static char next(struct rust *r)
{
	if (r->failed || r->at >= r->len) {
		r->failed = true;
		return 0;
	}
	return r->in[r->at++];
}

static bool eat(struct rust *r, char c)
{
	if (r->failed || peek(r) != c)
		return false;
	r->at++;
	return true;
}

static bool enter(struct rust *r)
{
	if (++r->depth > MAX_DEPTH || ++r->steps > MAX_STEPS)
		r->failed = true;
	return !r->failed;
}

/* "_" is 0, "0_" is 1, "Z_" is 62. */
static uint64_t base62(struct rust *r)
{
	uint64_t v = 0;

	if (eat(r, '_'))
		return 0;
	while (!r->failed && !eat(r, '_')) {
		char c = next(r);
		unsigned int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'z' ? c - 'a' + 10 :
				     c >= 'A' && c <= 'Z' ? c - 'A' + 36 : 62;

		if (digit == 62 || v > (UINT64_MAX - 62) / 62)
			r->failed = true;
		v = v * 62 + digit;
	}
	return v + 1;
}

static uint64_t optional62(struct rust *r, char tag)
{
	return eat(r, tag) ? base62(r) + 1 : 0;
}

static size_t decimal(struct rust *r)
{
	size_t v = 0;

	if (peek(r) < '0' || peek(r) > '9')
		r->failed = true;
	if (eat(r, '0'))
		return 0;
	while (!r->failed && peek(r) >= '0' && peek(r) <= '9') {
		v = v * 10 + (size_t)(next(r) - '0');
		if (v > r->len)
			r->failed = true;
	}
	return v;
}

/* RFC 3492 with '_' for '-': the ASCII letters, then where to insert which others. */
static void punycode(struct rust *r, const char *s, size_t n)
{
	uint32_t runes[MAX_PUNYCODE], code = 128, position = 0, bias = 72, damp = 700;
	size_t count = 0, i;

	for (i = n; i > 0 && s[i - 1] != '_'; i--)
		;
	if (i) {
		if (i - 1 > MAX_PUNYCODE) {
			r->failed = true;
			return;
		}
		for (; count < i - 1; count++)
			runes[count] = (unsigned char)s[count];
	}
	while (i < n) {
		uint64_t delta = 0, weight = 1, k, sum;

		for (k = 36;; k += 36) {
			char c = i < n ? s[i++] : 0;
			uint32_t digit = c >= 'a' && c <= 'z' ? c - 'a' : c >= '0' && c <= '9' ? c - '0' + 26 : 36;
			uint32_t t = k <= bias ? 1 : k >= bias + 26 ? 26 : (uint32_t)k - bias;

			delta += digit * weight;
			if (digit == 36 || delta > UINT32_MAX) {
				r->failed = true;
				return;
			}
			if (digit < t)
				break;
			weight *= 36 - t;
		}
		sum = position + delta;
		if (count == MAX_PUNYCODE || sum / (count + 1) > 0x10ffff - code) {
			r->failed = true;
			return;
		}
		code += (uint32_t)(sum / (count + 1));
		position = (uint32_t)(sum % (count + 1));
		memmove(&runes[position + 1], &runes[position], (count - position) * sizeof(runes[0]));
		runes[position++] = code;
		count++;
		delta /= damp;
		damp = 2;
		delta += delta / count;
		for (k = 0; delta > 35 * 26 / 2; k += 36)
			delta /= 35;
		bias = (uint32_t)(k + 36 * delta / (delta + 38));
	}
	for (i = 0; i < count; i++)
		put_rune(r, runes[i]);
}

struct identifier {
	const char *s;
	size_t n;
	bool puny;
};

static struct identifier read_identifier(struct rust *r)
{
	struct identifier id = { .puny = eat(r, 'u') };

	id.n = decimal(r);
	eat(r, '_');
	if (r->failed || id.n > r->len - r->at) {
		r->failed = true;
		return (struct identifier){ "" };
	}
	id.s = r->in + r->at;
	r->at += id.n;
	return id;
}

static void put_identifier(struct rust *r, struct identifier id)
{
	if (r->failed || r->skip)
		return;
	if (id.puny)
		punycode(r, id.s, id.n);
	else
		put_bytes(r, id.s, id.n);
}

/* A reference to what began at an earlier position: @rule reads it there. */
static void back_reference(struct rust *r, void (*rule)(struct rust *r, bool in_value), bool in_value)
{
	size_t before = r->at - 1, after;
	uint64_t to = base62(r);

	if (to >= before)
		r->failed = true;
	if (r->failed || r->skip)
		return;
	after = r->at;
	r->at = (size_t)to;
	rule(r, in_value);
	r->at = after;
}

static void type_rule(struct rust *r, bool in_value)
{
	type(r);
}

static void constant_rule(struct rust *r, bool in_value)
{
	constant(r);
}

/* 0 is "'_"; else the number of binders' lifetimes to go up. */
static void put_lifetime(struct rust *r, uint64_t number)
{
	uint64_t index = r->lifetimes - number;

	put(r, "'");
	if (!number)
		put(r, "_");
	else if (number > r->lifetimes)
		r->failed = true;
	else if (index < 26)
		put_bytes(r, &"abcdefghijklmnopqrstuvwxyz"[index], 1);
	else {
		put(r, "_");
		put_number(r, index);
	}
}

static void generic_argument(struct rust *r)
{
	if (eat(r, 'L'))
		put_lifetime(r, base62(r));
	else if (eat(r, 'K'))
		constant(r);
	else
		type(r);
}

static void generic_arguments(struct rust *r)
{
	bool first = true;

	while (!r->failed && !eat(r, 'E')) {
		if (!first)
			put(r, ", ");
		first = false;
		generic_argument(r);
	}
}

static void nested_path(struct rust *r, bool in_value)
{
	char space = next(r);
	struct identifier id;
	uint64_t number;

	path(r, in_value);
	number = optional62(r, 's');
	id = read_identifier(r);
	if (space >= 'A' && space <= 'Z') {
		put(r, "::{");
		if (space == 'C')
			put(r, "closure");
		else if (space == 'S')
			put(r, "shim");
		else
			put_bytes(r, &space, 1);
		if (id.n)
			put(r, ":");
		put_identifier(r, id);
		put(r, "#");
		put_number(r, number);
		put(r, "}");
	} else if (space >= 'a' && space <= 'z') {
		if (id.n)
			put(r, "::");
		put_identifier(r, id);
	} else {
		r->failed = true;
	}
}

/* <Type>, <Type as Trait>; where the impl stands is read over. */
static void impl_path(struct rust *r, char tag)
{
	bool skip = r->skip;

	if (tag != 'Y') {
		optional62(r, 's');
		r->skip = true;
		path(r, false);
		r->skip = skip;
	}
	put(r, "<");
	type(r);
	if (tag != 'M') {
		put(r, " as ");
		path(r, false);
	}
	put(r, ">");
}

static void path(struct rust *r, bool in_value)
{
	char tag = enter(r) ? next(r) : 0;

	switch (tag) {
	case 'C':
		optional62(r, 's');
		put_identifier(r, read_identifier(r));
		break;
	case 'N':
		nested_path(r, in_value);
		break;
	case 'M':
	case 'X':
	case 'Y':
		impl_path(r, tag);
		break;
	case 'I':
		path(r, in_value);
		put(r, in_value ? "::<" : "<");
		generic_arguments(r);
		put(r, ">");
		break;
	case 'B':
		back_reference(r, path, in_value);
		break;
	default:
		r->failed = true;
	}
	r->depth--;
}

static const char *basic_type(char tag)
{
	static const char *const names[26] = {
		"i8", "bool", "char", "f64", "str", "f32", NULL, "u8", "isize", "usize", NULL, "i32", "u32",
		"i128", "u128", "_", NULL, NULL, "i16", "u16", "()", "...", NULL, "i64", "u64", "!",
	};

	return tag >= 'a' && tag <= 'z' ? names[tag - 'a'] : NULL;
}

/* Lifetimes bound here; the caller takes them off again. */
static uint64_t binder(struct rust *r)
{
	uint64_t count = optional62(r, 'G'), i;

	if (count > 1000)
		r->failed = true;
	if (!count || r->failed)
		return 0;
	put(r, "for<");
	for (i = 0; i < count; i++) {
		if (i)
			put(r, ", ");
		r->lifetimes++;
		put_lifetime(r, 1);
	}
	put(r, "> ");
	return count;
}

static void put_abi(struct rust *r)
{
	struct identifier id;
	size_t i;

	put(r, "extern \"");
	if (eat(r, 'C')) {
		put(r, "C");
	} else {
		id = read_identifier(r);
		if (id.puny)
			r->failed = true;
		for (i = 0; i < id.n; i++)
			put_bytes(r, id.s[i] == '_' ? "-" : &id.s[i], 1);
	}
	put(r, "\" ");
}

static void function_type(struct rust *r)
{
	uint64_t bound = binder(r);
	bool first = true;

	if (eat(r, 'U'))
		put(r, "unsafe ");
	if (eat(r, 'K'))
		put_abi(r);
	put(r, "fn(");
	while (!r->failed && !eat(r, 'E')) {
		if (!first)
			put(r, ", ");
		first = false;
		type(r);
	}
	put(r, ")");
	if (!eat(r, 'u')) {
		put(r, " -> ");
		type(r);
	}
	r->lifetimes -= bound;
}

/* As path(), but where it ends in generic arguments their ">" is left open, for associated types. */
static bool open_path(struct rust *r)
{
	bool open = false;

	if (!enter(r))
		return false;
	if (eat(r, 'B')) {
		size_t before = r->at - 1, after;
		uint64_t to = base62(r);

		if (to >= before)
			r->failed = true;
		after = r->at;
		if (!r->failed && !r->skip) {
			r->at = (size_t)to;
			open = open_path(r);
			r->at = after;
		}
	} else if (eat(r, 'I')) {
		path(r, false);
		put(r, "<");
		generic_arguments(r);
		open = true;
	} else {
		path(r, false);
	}
	r->depth--;
	return open;
}

static void dyn_type(struct rust *r)
{
	uint64_t bound, lifetime;
	bool first = true;

	put(r, "dyn ");
	bound = binder(r);
	while (!r->failed && !eat(r, 'E')) {
		bool open;

		if (!first)
			put(r, " + ");
		first = false;
		open = open_path(r);
		while (eat(r, 'p')) {
			put(r, open ? ", " : "<");
			open = true;
			put_identifier(r, read_identifier(r));
			put(r, " = ");
			type(r);
		}
		if (open)
			put(r, ">");
	}
	r->lifetimes -= bound;
	if (!eat(r, 'L'))
		r->failed = true;
	lifetime = base62(r);
	if (lifetime) {
		put(r, " + ");
		put_lifetime(r, lifetime);
	}
}

static void reference_type(struct rust *r, bool mutable)
{
	put(r, "&");
	if (eat(r, 'L')) {
		uint64_t lifetime = base62(r);

		if (lifetime) {
			put_lifetime(r, lifetime);
			put(r, " ");
		}
	}
	if (mutable)
		put(r, "mut ");
	type(r);
}

static void tuple_type(struct rust *r)
{
	unsigned int count = 0;

	put(r, "(");
	while (!r->failed && !eat(r, 'E')) {
		if (count++)
			put(r, ", ");
		type(r);
	}
	put(r, count == 1 ? ",)" : ")");
}

static void type(struct rust *r)
{
	char tag = enter(r) ? next(r) : 0;
	const char *basic = basic_type(tag);

	if (basic) {
		put(r, basic);
		r->depth--;
		return;
	}
	switch (tag) {
	case 'A':
	case 'S':
		put(r, "[");
		type(r);
		if (tag == 'A') {
			put(r, "; ");
			constant(r);
		}
		put(r, "]");
		break;
	case 'T': tuple_type(r); break;
	case 'R':
	case 'Q': reference_type(r, tag == 'Q'); break;
	case 'P':
	case 'O':
		put(r, tag == 'P' ? "*const " : "*mut ");
		type(r);
		break;
	case 'F': function_type(r); break;
	case 'D': dyn_type(r); break;
	case 'B': back_reference(r, type_rule, false); break;
	case 'C':
	case 'N':
	case 'M':
	case 'X':
	case 'Y':
	case 'I':
		r->at--;
		path(r, false);
		break;
	default: r->failed = true;
	}
	r->depth--;
}

/* Hexadecimal digits up to "_"; more than 64 bits leave @ret_fits false. */
static uint64_t hex(struct rust *r, struct identifier *ret_digits, bool *ret_fits)
{
	uint64_t v = 0;

	ret_digits->s = r->in + r->at;
	ret_digits->n = 0;
	while (!r->failed && !eat(r, '_')) {
		char c = next(r);

		if (!(c >= '0' && c <= '9') && !(c >= 'a' && c <= 'f'))
			r->failed = true;
		v = v << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
		ret_digits->n++;
	}
	*ret_fits = ret_digits->n <= 16;
	return v;
}

static void put_char(struct rust *r, uint64_t c)
{
	char escape[24];

	put(r, "'");
	if (c == '\'' || c == '\\' || c == '\n' || c == '\t' || c == '\r') {
		snprintf(escape, sizeof(escape), "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : c == '\r' ? 'r' : (char)c);
		put(r, escape);
	} else if (c < 0x20 || c == 0x7f) {
		snprintf(escape, sizeof(escape), "\\u{%" PRIx64 "}", c);
		put(r, escape);
	} else {
		put_rune(r, c > UINT32_MAX ? UINT32_MAX : (uint32_t)c);
	}
	put(r, "'");
}

static void constant_data(struct rust *r, char tag)
{
	bool negative = strchr("aslxni", tag) && eat(r, 'n'), fits;
	struct identifier digits;
	uint64_t v = hex(r, &digits, &fits);

	if (tag == 'b') {
		if (v > 1 || !fits)
			r->failed = true;
		put(r, v ? "true" : "false");
	} else if (tag == 'c') {
		put_char(r, fits ? v : UINT64_MAX);
	} else {
		if (negative)
			put(r, "-");
		if (fits)
			put_number(r, v);
		else {
			put(r, "0x");
			put_bytes(r, digits.s, digits.n);
		}
	}
}

static void constant(struct rust *r)
{
	char tag = enter(r) ? next(r) : 0;

	if (tag == 'p')
		put(r, "_");
	else if (tag == 'B')
		back_reference(r, constant_rule, false);
	else if (tag && strchr("htmyojaslxnibc", tag))
		constant_data(r, tag);
	else
		r->failed = true;
	r->depth--;
}

static bool demangle_v0(const char *name, size_t len, char *out, size_t size)
{
	struct rust r = { .in = name + 2, .len = len - 2, .out = out, .room = size };

	if (peek(&r) < 'A' || peek(&r) > 'Z')	/* a digit is a later version of the scheme */
		return false;
	path(&r, true);
	if (!r.failed && peek(&r) >= 'A' && peek(&r) <= 'Z') {	/* the crate that needed this instance */
		r.skip = true;
		path(&r, false);
	}
	return !r.failed && r.used && (r.at == r.len || peek(&r) == '.' || peek(&r) == '$');
}

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
			put(r, "::");
			i += 2;
			continue;
		}
		if (s[i] != '$') {
			put_bytes(r, s + i++, 1);
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
			put(r, signs[j].text);
		else if (code[0] == 'u' && sscanf(code + 1, "%6x", &rune) == 1)
			put_rune(r, rune);
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

static bool demangle_legacy(const char *name, size_t len, char *out, size_t size)
{
	struct rust r = { .in = name, .len = len, .at = 3, .out = out, .room = size };
	struct identifier part, last = { "" };
	bool first = true;

	if (len < 3 + 2 + 17 + 1 || !memmem(name, len, "17h", 3))
		return false;
	while (!r.failed && peek(&r) >= '1' && peek(&r) <= '9') {
		part.n = decimal(&r);
		if (r.failed || part.n > r.len - r.at)
			return false;
		part.s = r.in + r.at;
		r.at += part.n;
		if (last.n) {
			if (!first)
				put(&r, "::");
			first = false;
			if (!legacy_part(&r, last.s, last.n))
				return false;
		}
		last = part;
	}
	return !r.failed && eat(&r, 'E') && is_hash(last.s, last.n) && r.used && (r.at == r.len || peek(&r) == '.');
}

bool demangle_rust(const char *name, size_t len, char *out, size_t size)
{
	if (len < 4 || !size)
		return false;
	out[0] = 0;
	if (!memcmp(name, "_R", 2))
		return demangle_v0(name, len, out, size);
	return !memcmp(name, "_ZN", 3) && demangle_legacy(name, len, out, size);
}
