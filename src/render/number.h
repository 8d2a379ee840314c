/* number.h - figures for people: three significant digits, base-10 prefixes, half of the 95 % interval after a sign */
#ifndef TARE_RENDER_NUMBER_H
#define TARE_RENDER_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "stat/estimate.h"

/** struct number - one figure as text */
struct number {
	char text[64];
};

/** number_count - an exact count, a space between thousands */
struct number number_count(uint64_t n);
/** number_things - "1 call", "2 calls": @thing is an English noun whose plural has an s */
struct number number_things(uint64_t n, const char *thing);
/** number_short - "8.41 M" from a million on, else as number_count() */
struct number number_short(uint64_t n);
struct number number_bytes(uint64_t bytes);			/* "12.4 MB" */
struct number number_ns(double ns, bool utf8);			/* "29.6 s", "1.90 us" */
struct number number_percent(double ratio);			/* "48.2 %" */
/** number_percent_of - @part of @whole; "-" where @whole is 0 */
struct number number_percent_of(uint64_t part, uint64_t whole);
/** number_ratio - "48.2 % +- 0.4"; "not known" */
struct number number_ratio(const struct estimate *e, bool utf8);
/** number_ns_estimate - "94.0 ns +- 6"; "not known" */
struct number number_ns_estimate(const struct estimate *e, bool utf8);

#endif
