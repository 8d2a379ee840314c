/* err.h - one sentence about a failure, for the person who asked */
#ifndef TARE_BASE_ERR_H
#define TARE_BASE_ERR_H

/**
 * struct err - what failed, why, and what to do next
 * @text: "WHAT: WHY", then optional lines "  still works: ..." and "  next: ...", without a final newline
 * @file: where it was set (printed by -v)
 *
 * {0} is a valid empty value.
 */
struct err {
	char text[1000];
	const char *file;
	int line;
};

/**
 * err_set - fills @err and returns @code, so that a failure is one statement
 * @err:  NULL is allowed: the caller does not want words
 * @code: negative errno
 *
 * Return: @code.
 */
#define err_set(err, code, ...) err_set_at((err), (code), __FILE__, __LINE__, __VA_ARGS__)

/** err_next - appends the line "  next: ..." to what err_set() said */
void err_next(struct err *err, const char *format, ...) __attribute__((format(printf, 2, 3)));

int err_set_at(struct err *err, int code, const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

#endif
