/*
 * truth.h - how every walk case states its truth and its verdict
 *
 * The last line is "CASE ok" (exit 0), "CASE BAD: why" (the program itself is broken, exit 1), "CASE WALK WRONG: why" (the
 * program is fine, the walker is not, exit 2) or "CASE skipped: why" (exit 77).
 */
#ifndef TRUTH_H
#define TRUTH_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <link.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include "capture.h"

#define NOINLINE __attribute__((noinline))
#define BARRIER() __asm__ volatile("" ::: "memory")

enum { GOOD = 0, BROKEN = 1, WALK_WRONG = 2, SKIPPED = 77, MAX_FRAMES = 256 };

static inline __attribute__((format(printf, 1, 2))) void say(const char *format, ...)
{
	char line[512];
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	if (write(STDOUT_FILENO, line, (size_t)n) < 0)
		_exit(BROKEN);
}

static inline int verdict(const char *name, int status, const char *why)
{
	static const char *const text[] = { "ok", "BAD: ", "WALK WRONG: " };

	say("%s %s%s\n", name, status == SKIPPED ? "skipped: " : text[status], status == GOOD ? "" : why);
	return status;
}

/* The bytes of a function. Needs -rdynamic, and is not for signal handlers: ask before. */
struct range {
	uintptr_t start, end;
};

static inline struct range range_of(void *function)
{
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;

	if (!dladdr1(function, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol || info.dli_saddr != function)
		_exit(BROKEN);
	return (struct range){ (uintptr_t)function, (uintptr_t)function + symbol->st_size };
}

/* Where in the stack is a return address into a function? Signal-safe. -1: nowhere. */
static inline int find(void *const *pc, int n, struct range r)
{
	for (int i = 0; i < n; i++)
		if ((uintptr_t)pc[i] - 1 >= r.start && (uintptr_t)pc[i] - 1 < r.end)
			return i;
	return -1;
}

#endif
