/* util.h - the few macros that every layer uses */
#ifndef TARE_BASE_UTIL_H
#define TARE_BASE_UTIL_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

/* Release by scope: CLEANUP(fn) calls fn(&variable) when the variable leaves its scope. */
#define CLEANUP(fn) __attribute__((cleanup(fn)))

static inline void cleanup_free(void *p)
{
	free(*(void **)p);
}

/* CLEANUP_FREE char *s = strdup(...); */
#define CLEANUP_FREE CLEANUP(cleanup_free)

#endif
