/*
 * demangle_rust - readable names of Rust functions
 *
 * The v0 scheme is that of RFC 2603: a grammar in prefix form, one function here per rule, and back references to
 * earlier positions of the name. Printed as Rust writes it, without crate hashes and types of constants. A name that
 * breaks the grammar is refused as a whole. What is read only to be skipped does not follow back references.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyse/demangle.h"
#include "analyse/demangle_reader.h"

static void path(struct rust *r, bool in_value);
static void type(struct rust *r);
static void constant(struct rust *r);

/* A reference to what began at an earlier position: @rule reads it there. */
static void back_reference(struct rust *r, void (*rule)(struct rust *r, bool in_value), bool in_value)
{
	size_t before = r->at - 1, after;
	uint64_t to = rust_base62(r);

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

	rust_put(r, "'");
	if (!number)
		rust_put(r, "_");
	else if (number > r->lifetimes)
		r->failed = true;
	else if (index < 26)
		rust_put_bytes(r, &"abcdefghijklmnopqrstuvwxyz"[index], 1);
	else {
		rust_put(r, "_");
		rust_put_number(r, index);
	}
}

static void generic_argument(struct rust *r)
{
	if (rust_eat(r, 'L'))
		put_lifetime(r, rust_base62(r));
	else if (rust_eat(r, 'K'))
		constant(r);
	else
		type(r);
}

static void generic_arguments(struct rust *r)
{
	bool first = true;

	while (!r->failed && !rust_eat(r, 'E')) {
		if (!first)
			rust_put(r, ", ");
		first = false;
		generic_argument(r);
	}
}

static void nested_path(struct rust *r, bool in_value)
{
	char space = rust_next(r);
	struct identifier id;
	uint64_t number;

	path(r, in_value);
	number = rust_optional62(r, 's');
	id = rust_identifier(r);
	if (space >= 'A' && space <= 'Z') {
		rust_put(r, "::{");
		if (space == 'C')
			rust_put(r, "closure");
		else if (space == 'S')
			rust_put(r, "shim");
		else
			rust_put_bytes(r, &space, 1);
		if (id.n)
			rust_put(r, ":");
		rust_put_identifier(r, id);
		rust_put(r, "#");
		rust_put_number(r, number);
		rust_put(r, "}");
	} else if (space >= 'a' && space <= 'z') {
		if (id.n)
			rust_put(r, "::");
		rust_put_identifier(r, id);
	} else {
		r->failed = true;
	}
}

/* <Type>, <Type as Trait>; where the impl stands is read over. */
static void impl_path(struct rust *r, char tag)
{
	bool skip = r->skip;

	if (tag != 'Y') {
		rust_optional62(r, 's');
		r->skip = true;
		path(r, false);
		r->skip = skip;
	}
	rust_put(r, "<");
	type(r);
	if (tag != 'M') {
		rust_put(r, " as ");
		path(r, false);
	}
	rust_put(r, ">");
}

static void path(struct rust *r, bool in_value)
{
	char tag = rust_enter(r) ? rust_next(r) : 0;

	switch (tag) {
	case 'C':
		rust_optional62(r, 's');
		rust_put_identifier(r, rust_identifier(r));
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
		rust_put(r, in_value ? "::<" : "<");
		generic_arguments(r);
		rust_put(r, ">");
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
	uint64_t count = rust_optional62(r, 'G'), i;

	if (count > 1000)
		r->failed = true;
	if (!count || r->failed)
		return 0;
	rust_put(r, "for<");
	for (i = 0; i < count; i++) {
		if (i)
			rust_put(r, ", ");
		r->lifetimes++;
		put_lifetime(r, 1);
	}
	rust_put(r, "> ");
	return count;
}

static void put_abi(struct rust *r)
{
	struct identifier id;
	size_t i;

	rust_put(r, "extern \"");
	if (rust_eat(r, 'C')) {
		rust_put(r, "C");
	} else {
		id = rust_identifier(r);
		if (id.puny)
			r->failed = true;
		for (i = 0; i < id.n; i++)
			rust_put_bytes(r, id.s[i] == '_' ? "-" : &id.s[i], 1);
	}
	rust_put(r, "\" ");
}

static void function_type(struct rust *r)
{
	uint64_t bound = binder(r);
	bool first = true;

	if (rust_eat(r, 'U'))
		rust_put(r, "unsafe ");
	if (rust_eat(r, 'K'))
		put_abi(r);
	rust_put(r, "fn(");
	while (!r->failed && !rust_eat(r, 'E')) {
		if (!first)
			rust_put(r, ", ");
		first = false;
		type(r);
	}
	rust_put(r, ")");
	if (!rust_eat(r, 'u')) {
		rust_put(r, " -> ");
		type(r);
	}
	r->lifetimes -= bound;
}

/* As path(), but where it ends in generic arguments their ">" is left open, for associated types. */
static bool open_path(struct rust *r)
{
	bool open = false;

	if (!rust_enter(r))
		return false;
	if (rust_eat(r, 'B')) {
		size_t before = r->at - 1, after;
		uint64_t to = rust_base62(r);

		if (to >= before)
			r->failed = true;
		after = r->at;
		if (!r->failed && !r->skip) {
			r->at = (size_t)to;
			open = open_path(r);
			r->at = after;
		}
	} else if (rust_eat(r, 'I')) {
		path(r, false);
		rust_put(r, "<");
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

	rust_put(r, "dyn ");
	bound = binder(r);
	while (!r->failed && !rust_eat(r, 'E')) {
		bool open;

		if (!first)
			rust_put(r, " + ");
		first = false;
		open = open_path(r);
		while (rust_eat(r, 'p')) {
			rust_put(r, open ? ", " : "<");
			open = true;
			rust_put_identifier(r, rust_identifier(r));
			rust_put(r, " = ");
			type(r);
		}
		if (open)
			rust_put(r, ">");
	}
	r->lifetimes -= bound;
	if (!rust_eat(r, 'L'))
		r->failed = true;
	lifetime = rust_base62(r);
	if (lifetime) {
		rust_put(r, " + ");
		put_lifetime(r, lifetime);
	}
}

static void reference_type(struct rust *r, bool mutable)
{
	rust_put(r, "&");
	if (rust_eat(r, 'L')) {
		uint64_t lifetime = rust_base62(r);

		if (lifetime) {
			put_lifetime(r, lifetime);
			rust_put(r, " ");
		}
	}
	if (mutable)
		rust_put(r, "mut ");
	type(r);
}

static void tuple_type(struct rust *r)
{
	unsigned int count = 0;

	rust_put(r, "(");
	while (!r->failed && !rust_eat(r, 'E')) {
		if (count++)
			rust_put(r, ", ");
		type(r);
	}
	rust_put(r, count == 1 ? ",)" : ")");
}

static void type(struct rust *r)
{
	char tag = rust_enter(r) ? rust_next(r) : 0;
	const char *basic = basic_type(tag);

	if (basic) {
		rust_put(r, basic);
		r->depth--;
		return;
	}
	switch (tag) {
	case 'A':
	case 'S':
		rust_put(r, "[");
		type(r);
		if (tag == 'A') {
			rust_put(r, "; ");
			constant(r);
		}
		rust_put(r, "]");
		break;
	case 'T': tuple_type(r); break;
	case 'R':
	case 'Q': reference_type(r, tag == 'Q'); break;
	case 'P':
	case 'O':
		rust_put(r, tag == 'P' ? "*const " : "*mut ");
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
	while (!r->failed && !rust_eat(r, '_')) {
		char c = rust_next(r);

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

	rust_put(r, "'");
	if (c == '\'' || c == '\\' || c == '\n' || c == '\t' || c == '\r') {
		snprintf(escape, sizeof(escape), "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : c == '\r' ? 'r' : (char)c);
		rust_put(r, escape);
	} else if (c < 0x20 || c == 0x7f) {
		snprintf(escape, sizeof(escape), "\\u{%" PRIx64 "}", c);
		rust_put(r, escape);
	} else {
		rust_put_rune(r, c > UINT32_MAX ? UINT32_MAX : (uint32_t)c);
	}
	rust_put(r, "'");
}

static void constant_data(struct rust *r, char tag)
{
	bool negative = strchr("aslxni", tag) && rust_eat(r, 'n'), fits;
	struct identifier digits;
	uint64_t v = hex(r, &digits, &fits);

	if (tag == 'b') {
		if (v > 1 || !fits)
			r->failed = true;
		rust_put(r, v ? "true" : "false");
	} else if (tag == 'c') {
		put_char(r, fits ? v : UINT64_MAX);
	} else {
		if (negative)
			rust_put(r, "-");
		if (fits)
			rust_put_number(r, v);
		else {
			rust_put(r, "0x");
			rust_put_bytes(r, digits.s, digits.n);
		}
	}
}

static void constant(struct rust *r)
{
	char tag = rust_enter(r) ? rust_next(r) : 0;

	if (tag == 'p')
		rust_put(r, "_");
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

	if (rust_peek(&r) < 'A' || rust_peek(&r) > 'Z')	/* a digit is a later version of the scheme */
		return false;
	path(&r, true);
	if (!r.failed && rust_peek(&r) >= 'A' && rust_peek(&r) <= 'Z') {	/* the crate that needed this instance */
		r.skip = true;
		path(&r, false);
	}
	return !r.failed && r.used && (r.at == r.len || rust_peek(&r) == '.' || rust_peek(&r) == '$');
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
