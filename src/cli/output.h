/* output.h - results on stdout or into a file */
#ifndef TARE_CLI_OUTPUT_H
#define TARE_CLI_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"

/**
 * output_stdout - writes a result
 * @after_program: a program wrote to the same stdout before: the result starts on a new line all the same
 *
 * Return: 0; -EPIPE: the reader has gone (no sentence: it chose to); another -errno with a sentence.
 */
int output_stdout(const void *bytes, size_t size, bool after_program, struct err *err);

/** output_file - the same into a file: written aside, then renamed, so that an older result is replaced whole or not at all */
int output_file(const char *path, const void *bytes, size_t size, struct err *err);

/** output_check - whether output_file() could write there; asked before a program is started for nothing */
int output_check(const char *path, struct err *err);

/** output_has_suffix - @suffix with its dot */
bool output_has_suffix(const char *path, const char *suffix);

#endif
