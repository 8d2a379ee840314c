/* result.h - a profile in the form that was asked for, to where it was asked for */
#ifndef TARE_CLI_RESULT_H
#define TARE_CLI_RESULT_H

#include <stdio.h>

#include "analyse/profile.h"
#include "cli/command.h"

enum result_kind { RESULT_TEXT, RESULT_JSON, RESULT_EXPORT, RESULT_RECORDING };

struct export_format;

/** struct result_form - what the options ask for */
struct result_form {
	enum result_kind kind;
	const struct export_format *format;	/* RESULT_EXPORT */
	const char *path;			/* NULL: stdout */
};

/**
 * result_form - reads -o, --json and --format
 * @measuring: a program is started: FILE.tare is where its recording goes
 *
 * Return: 0; -EINVAL with a sentence (command_usage()).
 */
int result_form(struct invocation *inv, bool measuring, struct result_form *ret);

/**
 * result_write - renders and writes
 * @instruments: what the command is about (export: one of them)
 *
 * Return: 0; -EPIPE without a sentence; -errno with one.
 */
int result_write(struct invocation *inv, const struct profile *profile, const struct result_form *form,
	uint32_t instruments, bool after_program);

/** result_list_formats - the table of `tare export --list-formats` */
void result_list_formats(FILE *f);

#endif
