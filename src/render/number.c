/*
 * number - figures for people
 */
#include "render/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"

/* Digits after the point that leave three significant ones. */
static int number_decimals(double value)
{
	double a = fabs(value);

	if (a >= 99.95 || a == 0)
		return 0;
	if (a >= 9.995)
		return 1;
	if (a >= 0.9995)
		return 2;
	return MIN(3 + (int)floor(-log10(a)), 6);
}

static void number_fixed(char *text, size_t size, double value, int decimals)
{
	snprintf(text, size, "%.*f", decimals, value);
}

struct number number_count(uint64_t n)
{
	struct number ret;
	char digits[32];
	size_t len, i, k = 0;

	len = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, n);
	for (i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			ret.text[k++] = ' ';
		ret.text[k++] = digits[i];
	}
	ret.text[k] = '\0';
	return ret;
}

struct number number_things(uint64_t n, const char *thing)
{
	struct number ret;

	snprintf(ret.text, sizeof(ret.text), "%.30s %.30s%s", number_count(n).text, thing, n == 1 ? "" : "s");
	return ret;
}

/* The half interval in the decimals of its value; with one significant digit where it would read 0. */
static void number_half(char *text, size_t size, double half, int decimals)
{
	if (half > 0 && half < 0.5 * pow(10, -decimals))
		decimals = MIN((int)ceil(-log10(half)), 9);
	snprintf(text, size, "%.*f", decimals, half);
}

struct scale {
	double from;	/* 3 digits of a value from here on use this prefix */
	double factor;
	const char *unit, *ascii;
};

static const struct scale *number_scale(const struct scale *scales, double value)
{
	while (scales->from > fabs(value))
		scales++;
	return scales;
}

static const struct scale time_scales[] = {
	{ 999.5e6, 1e-9, "s", "s" },
	{ 999.5e3, 1e-6, "ms", "ms" },
	{ 999.5, 1e-3, "\302\265s", "us" },
	{ 0, 1, "ns", "ns" },
};

static const struct scale byte_scales[] = {
	{ 999.5e12, 1e-15, "PB", "PB" },
	{ 999.5e9, 1e-12, "TB", "TB" },
	{ 999.5e6, 1e-9, "GB", "GB" },
	{ 999.5e3, 1e-6, "MB", "MB" },
	{ 999.5, 1e-3, "kB", "kB" },
	{ 0, 1, "B", "B" },
};

static const struct scale count_scales[] = {
	{ 999.5e12, 1e-15, "P", "P" },
	{ 999.5e9, 1e-12, "T", "T" },
	{ 999.5e6, 1e-9, "G", "G" },
	{ 0, 1e-6, "M", "M" },
};

static struct number number_scaled(const struct scale *scales, double value, bool utf8)
{
	const struct scale *s = number_scale(scales, value);
	struct number ret;
	char text[48];

	if (value * s->factor >= 9999.5)	/* seconds have no longer unit here */
		snprintf(text, sizeof(text), "%.47s", number_count((uint64_t)(value * s->factor + 0.5)).text);
	else
		number_fixed(text, sizeof(text), value * s->factor, s->factor == 1 && value == floor(value) ? 0 :
			     number_decimals(value * s->factor));
	snprintf(ret.text, sizeof(ret.text), "%s %s", text, utf8 ? s->unit : s->ascii);
	return ret;
}

struct number number_short(uint64_t n)
{
	return n < 1000000 ? number_count(n) : number_scaled(count_scales, (double)n, false);
}

struct number number_bytes(uint64_t bytes)
{
	return number_scaled(byte_scales, (double)bytes, false);
}

struct number number_ns(double ns, bool utf8)
{
	return number_scaled(time_scales, ns, utf8);
}

struct number number_percent(double ratio)
{
	struct number ret;
	char text[48];

	if (ratio > 0 && ratio < 0.00001)
		snprintf(text, sizeof(text), "< 0.001");
	else
		number_fixed(text, sizeof(text), ratio * 100, MIN(number_decimals(ratio * 100), 3));
	snprintf(ret.text, sizeof(ret.text), "%s %%", text);
	return ret;
}

struct number number_percent_of(uint64_t part, uint64_t whole)
{
	return whole ? number_percent((double)part / (double)whole) : (struct number){ "-" };
}

static struct number number_with_half(double value, const struct estimate *e, double factor, const char *unit, bool utf8)
{
	struct number ret;
	char text[24], half[24];
	int decimals = MIN(number_decimals(value), 3);

	if (isinf(e->hi) || isinf(e->lo)) {
		snprintf(ret.text, sizeof(ret.text), "%.*f %s (measured once)", decimals, value, unit);
		return ret;
	}
	number_fixed(text, sizeof(text), value, decimals);
	if (e->lo == e->hi) {	/* a sum of which nothing is estimated */
		snprintf(ret.text, sizeof(ret.text), "%s %s", text, unit);
		return ret;
	}
	number_half(half, sizeof(half), (e->hi - e->lo) / 2 * factor, decimals);
	snprintf(ret.text, sizeof(ret.text), "%s %s %s %s", text, unit, utf8 ? "\302\261" : "+-", half);
	return ret;
}

struct number number_ratio(const struct estimate *e, bool utf8)
{
	if (!e->known)
		return (struct number){ "not known" };
	return number_with_half(e->value * 100, e, 100, "%", utf8);
}

struct number number_ns_estimate(const struct estimate *e, bool utf8)
{
	const struct scale *s;

	if (!e->known)
		return (struct number){ "not known" };
	s = number_scale(time_scales, e->value);
	return number_with_half(e->value * s->factor, e, s->factor, utf8 ? s->unit : s->ascii, utf8);
}
