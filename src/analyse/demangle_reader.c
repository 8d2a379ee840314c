/*
 * demangle_reader - what the rules of Rust's name schemes read and write with
 *
 * A name comes from a file that anybody may have written: nesting, output and steps are bounded here, and the first
 * breach sets @failed, after which nothing is read or written, so that the rules need not look at each step.
 */
#include "analyse/demangle_reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"

enum { MAX_DEPTH = 200, MAX_STEPS = 100000, MAX_PUNYCODE = 512 };

void rust_put_bytes(struct rust *r, const char *s, size_t n)
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

void rust_put(struct rust *r, const char *s)
{
	rust_put_bytes(r, s, strlen(s));
}

void rust_put_number(struct rust *r, uint64_t n)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%" PRIu64, n);
	rust_put(r, digits);
}

void rust_put_rune(struct rust *r, uint32_t c)
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
	rust_put_bytes(r, s, n);
}

char rust_peek(const struct rust *r)
{
	return r->at < r->len ? r->in[r->at] : 0;
}

char rust_next(struct rust *r)
{
	if (r->failed || r->at >= r->len) {
		r->failed = true;
		return 0;
	}
	return r->in[r->at++];
}

bool rust_eat(struct rust *r, char c)
{
	if (r->failed || rust_peek(r) != c)
		return false;
	r->at++;
	return true;
}

bool rust_enter(struct rust *r)
{
	if (++r->depth > MAX_DEPTH || ++r->steps > MAX_STEPS)
		r->failed = true;
	return !r->failed;
}

/* "_" is 0, "0_" is 1, "Z_" is 62. */
uint64_t rust_base62(struct rust *r)
{
	uint64_t v = 0;

	if (rust_eat(r, '_'))
		return 0;
	while (!r->failed && !rust_eat(r, '_')) {
		char c = rust_next(r);
		unsigned int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'z' ? c - 'a' + 10 :
				     c >= 'A' && c <= 'Z' ? c - 'A' + 36 : 62;

		if (digit == 62 || v > (UINT64_MAX - 62) / 62)
			r->failed = true;
		v = v * 62 + digit;
	}
	return v + 1;
}

uint64_t rust_optional62(struct rust *r, char tag)
{
	return rust_eat(r, tag) ? rust_base62(r) + 1 : 0;
}

size_t rust_decimal(struct rust *r)
{
	size_t v = 0;

	if (rust_peek(r) < '0' || rust_peek(r) > '9')
		r->failed = true;
	if (rust_eat(r, '0'))
		return 0;
	while (!r->failed && rust_peek(r) >= '0' && rust_peek(r) <= '9') {
		v = v * 10 + (size_t)(rust_next(r) - '0');
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
		rust_put_rune(r, runes[i]);
}

struct identifier rust_identifier(struct rust *r)
{
	struct identifier id = { .puny = rust_eat(r, 'u') };

	id.n = rust_decimal(r);
	rust_eat(r, '_');
	if (r->failed || id.n > r->len - r->at) {
		r->failed = true;
		return (struct identifier){ .s = "" };
	}
	id.s = r->in + r->at;
	r->at += id.n;
	return id;
}

void rust_put_identifier(struct rust *r, struct identifier id)
{
	if (r->failed || r->skip)
		return;
	if (id.puny)
		punycode(r, id.s, id.n);
	else
		rust_put_bytes(r, id.s, id.n);
}
