/*
 * units - numbers with units, as people type them
 *
 * A bare number is refused where a unit is needed: whoever types "-d 10" means seconds or milliseconds, and a wrong guess
 * costs a measurement. The arithmetic is on integers, so that 0.1s is 100000000 ns and not a neighbour of it.
 */
#include "cli/units.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/util.h"

struct unit {
	const char *name;
	uint64_t factor;
};

static const struct unit times[] = {
	{ "ns", 1 }, { "us", 1000 }, { "\xc2\xb5s", 1000 }, { "\xce\xbcs", 1000 }, { "ms", 1000000 },
	{ "s", 1000000000 }, { "m", 60000000000 }, { "h", 3600000000000 }, { NULL, 0 }
};

static const struct unit sizes[] = {
	{ "B", 1 }, { "kB", 1000 }, { "MB", 1000000 }, { "GB", 1000000000 },
	{ "KiB", 1 << 10 }, { "MiB", 1 << 20 }, { "GiB", 1 << 30 }, { NULL, 0 }
};

/* A share is kept in 1e-9 of a percent until it becomes a ratio. */
static const struct unit shares[] = { { "%", 1000000000 }, { NULL, 0 } };

/* Decimal digits of @text: the number is *ret_whole + *ret_part / 1e18. */
static const char *number(const char *text, uint64_t *ret_whole, uint64_t *ret_part, bool *ret_overflow)
{
	uint64_t place = 100000000000000000;
	const char *p = text;

	*ret_whole = *ret_part = 0;
	*ret_overflow = false;
	for (; *p >= '0' && *p <= '9'; p++) {
		if (__builtin_mul_overflow(*ret_whole, 10, ret_whole) ||
		    __builtin_add_overflow(*ret_whole, (uint64_t)(*p - '0'), ret_whole))
			*ret_overflow = true;
	}
	if (p == text)
		return NULL;
	if (*p != '.')
		return p;
	for (p++; *p >= '0' && *p <= '9'; p++, place /= 10)
		*ret_part += (uint64_t)(*p - '0') * place;
	return p[-1] == '.' ? NULL : p;
}

static int parse(const char *text, const struct unit *units, const char *what, const char *names, uint64_t *ret,
	struct err *err)
{
	const struct unit *unit;
	uint64_t whole, part;
	bool overflow;
	const char *rest = number(text, &whole, &part, &overflow);
	unsigned __int128 value;

	if (!rest)
		return err_set(err, -EINVAL, "'%s' is not a %s (a number with a unit: %s)", text, what, names);
	if (!*rest && !whole && !part && !overflow) {
		*ret = 0;
		return 0;
	}
	if (!*rest)
		return err_set(err, -EINVAL, "'%s' has no unit (%s)", text, names);
	for (unit = units; unit->name && strcmp(unit->name, rest); unit++)
		;
	if (!unit->name)
		return err_set(err, -EINVAL, "'%s' is not a unit of a %s (%s)", rest, what, names);
	value = (unsigned __int128)whole * unit->factor +
		(unsigned __int128)part * unit->factor / 1000000000000000000u;
	if (overflow || value > INT64_MAX)
		return err_set(err, -ERANGE, "'%s' is too large", text);
	*ret = (uint64_t)value;
	return 0;
}

int units_time(const char *text, uint64_t *ret_ns, struct err *err)
{
	return parse(text, times, "time", "ns us ms s m h", ret_ns, err);
}

int units_size(const char *text, uint64_t *ret_bytes, struct err *err)
{
	return parse(text, sizes, "size", "B kB MB GB KiB MiB GiB", ret_bytes, err);
}

int units_share(const char *text, double *ret_ratio, struct err *err)
{
	uint64_t parts;
	int r = parse(text, shares, "share", "%", &parts, err);

	if (r < 0)
		return r;
	*ret_ratio = (double)parts / 1e11;
	return 0;
}

int units_count(const char *text, uint64_t low, uint64_t high, uint64_t *ret, struct err *err)
{
	uint64_t whole, part;
	bool overflow;
	const char *rest = number(text, &whole, &part, &overflow);

	if (!rest || *rest || part || strchr(text, '.'))
		return err_set(err, -EINVAL, "'%s' is not a whole number", text);
	if (overflow || whole < low || whole > high)
		return err_set(err, -ERANGE, "%s is not between %llu and %llu", text, (unsigned long long)low,
			(unsigned long long)high);
	*ret = whole;
	return 0;
}
