/* estimate.h - figures with their uncertainty */
#ifndef TARE_STAT_ESTIMATE_H
#define TARE_STAT_ESTIMATE_H

#include <stdbool.h>
#include <stdint.h>

/** struct estimate - a value with its 95 % interval, from @n observations; @known false: not available ({0} is that) */
struct estimate {
	double value, lo, hi;
	uint64_t n;
	bool known;
};

/** estimate_share - @k of @n as a ratio, Wilson's interval (E. B. Wilson, 1927); not known if @n is 0 */
struct estimate estimate_share(uint64_t k, uint64_t n);

/**
 * estimate_mean - mean of @n observations from their sum and sum of squares, Student's t interval; lo is not below 0
 *
 * With n = 1 the interval is unbounded: lo 0, hi INFINITY. Not known if n is 0.
 */
struct estimate estimate_mean(uint64_t n, double sum, double sum_squared);

/**
 * estimate_t975 - quantile of Student's t distribution at 0.975
 * @nu: degrees of freedom, at least 1
 *
 * Error: below 1e-9.
 */
double estimate_t975(uint64_t nu);

/** estimate_scale - times an exact factor >= 0 */
struct estimate estimate_scale(struct estimate e, double factor);

/**
 * estimate_add - sum of two independent estimates (half widths added in quadrature, each side apart); n is the smaller one;
 * not known if one is not
 */
struct estimate estimate_add(struct estimate a, struct estimate b);

#endif
