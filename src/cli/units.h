/* units.h - numbers with units, as people type them */
#ifndef TARE_CLI_UNITS_H
#define TARE_CLI_UNITS_H

#include <stdint.h>

#include "base/err.h"

/**
 * units_time - "1.5s", "200us", "2m": ns us µs ms s m h; a bare number is an error, except 0
 *
 * Fractions of a nanosecond are dropped.
 * Return: 0; -EINVAL, -ERANGE with a sentence.
 */
int units_time(const char *text, uint64_t *ret_ns, struct err *err);
/** units_size - "64kB", "1.5GiB": B kB MB GB KiB MiB GiB; else as units_time() */
int units_size(const char *text, uint64_t *ret_bytes, struct err *err);
/** units_share - "2%" is 0.02; else as units_time() */
int units_share(const char *text, double *ret_ratio, struct err *err);
/** units_count - a whole number from @low to @high, without a unit */
int units_count(const char *text, uint64_t low, uint64_t high, uint64_t *ret, struct err *err);

#endif
