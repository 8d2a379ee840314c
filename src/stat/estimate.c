/*
 * estimate - figures with their uncertainty
 *
 * All intervals are of 95 %. The quantile of Student's t is computed, since tables end and approximations have to be
 * argued for: below 100 degrees of freedom from the distribution's finite series (Abramowitz and Stegun, Handbook of
 * Mathematical Functions, 26.7.3 and 26.7.4) by bisection, to rounding; from 100 on by the expansion in 1/nu (26.7.5), whose
 * error is there below 1e-9.
 */
#include "stat/estimate.h"

#include <math.h>

#include "base/util.h"

#define NORMAL_975 1.959963984540054	/* quantile of the normal distribution at 0.975 */

/* Probability that |T| <= t with @nu degrees of freedom. */
static double t_within(double t, unsigned nu)
{
	double theta = atan(t / sqrt(nu)), c = cos(theta), term, sum;

	if (nu == 1)
		return 2 * theta / M_PI;
	term = nu % 2 ? c : 1;
	sum = term;
	for (unsigned k = nu % 2 ? 3 : 2; k < nu; k += 2) {
		term *= c * c * (k - 1) / k;
		sum += term;
	}
	return nu % 2 ? 2 * (theta + sin(theta) * sum) / M_PI : sin(theta) * sum;
}

static double t_by_series(unsigned nu)
{
	double lo = NORMAL_975, hi = 13;	/* nu = 1 has 12.71 */

	for (int i = 0; i < 60; i++) {
		double t = (lo + hi) / 2;

		if (t_within(t, nu) < 0.95)
			lo = t;
		else
			hi = t;
	}
	return hi;
}

static double t_by_expansion(double nu)
{
	const double x = NORMAL_975, x2 = x * x;
	double g1 = x * (x2 + 1) / 4;
	double g2 = x * ((5 * x2 + 16) * x2 + 3) / 96;
	double g3 = x * (((3 * x2 + 19) * x2 + 17) * x2 - 15) / 384;
	double g4 = x * ((((79 * x2 + 776) * x2 + 1482) * x2 - 1920) * x2 - 945) / 92160;

	return x + (g1 + (g2 + (g3 + g4 / nu) / nu) / nu) / nu;
}

double estimate_t975(uint64_t nu)
{
	return nu < 100 ? t_by_series((unsigned)nu) : t_by_expansion((double)nu);
}

struct estimate estimate_share(uint64_t k, uint64_t n)
{
	const double z2 = NORMAL_975 * NORMAL_975;
	double p, size = (double)n, middle, half;

	if (!n)
		return (struct estimate){0};
	k = MIN(k, n);
	p = (double)k / size;
	middle = (p + z2 / (2 * size)) / (1 + z2 / size);
	half = NORMAL_975 / (1 + z2 / size) * sqrt(p * (1 - p) / size + z2 / (4 * size * size));
	return (struct estimate){
		.value = p,
		/* at the ends exact, where rounding would leave a hair */
		.lo = k == 0 ? 0 : fmax(0, middle - half),
		.hi = k == n ? 1 : fmin(1, middle + half),
		.n = n,
		.known = true
	};
}

struct estimate estimate_mean(uint64_t n, double sum, double sum_squared)
{
	double size = (double)n, mean, variance, half;

	if (!n)
		return (struct estimate){0};
	mean = sum / size;
	if (n == 1)
		return (struct estimate){ mean, fmin(0, mean), INFINITY, 1, true };
	variance = fmax(0, (sum_squared - sum * mean) / (size - 1));
	half = estimate_t975(n - 1) * sqrt(variance / size);
	return (struct estimate){ mean, fmin(mean, fmax(0, mean - half)), mean + half, n, true };
}

struct estimate estimate_scale(struct estimate e, double factor)
{
	if (!e.known)
		return (struct estimate){0};
	if (factor == 0)	/* not infinity times 0 */
		return (struct estimate){ 0, 0, 0, e.n, true };
	e.value *= factor;
	e.lo *= factor;
	e.hi *= factor;
	return e;
}

struct estimate estimate_add(struct estimate a, struct estimate b)
{
	double value = a.value + b.value;

	if (!a.known || !b.known)
		return (struct estimate){0};
	return (struct estimate){
		.value = value,
		.lo = value - hypot(a.value - a.lo, b.value - b.lo),
		.hi = value + hypot(a.hi - a.value, b.hi - b.value),
		.n = MIN(a.n, b.n),
		.known = true
	};
}
