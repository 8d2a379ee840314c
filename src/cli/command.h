/* command.h - what a command of tare is: its words, its options, its exit statuses */
#ifndef TARE_CLI_COMMAND_H
#define TARE_CLI_COMMAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Exit statuses of tare's own, where the program's own could be taken for them. */
enum { STATUS_TARE = 125, STATUS_NOT_EXECUTABLE = 126, STATUS_NOT_FOUND = 127, STATUS_INTERRUPTED = 130 };

enum option_type {
	OPTION_END = 0,		/* ends a table */
	OPTION_FLAG,		/* bool */
	OPTION_TEXT,		/* const char * */
	OPTION_LIST,		/* struct word_list: may be given again */
	OPTION_CHOICE,		/* const char *, one of @values */
	OPTION_TIME,		/* uint64_t, ns */
	OPTION_SIZE,		/* uint64_t, bytes */
	OPTION_COUNT,		/* uint64_t, a bare number from 1 */
	OPTION_ABSENT		/* of the contract, not in this version; takes a value where @arg is set */
};

/** struct option_spec - an option: the one place from which parsing, --help, config and completion come */
struct option_spec {
	enum option_type type;
	char letter;			/* 0: none */
	const char *name;		/* long, without dashes */
	const char *arg;		/* name of the value; NULL: none */
	size_t offset;			/* in struct settings */
	const char *help;
	const char *values;		/* OPTION_CHOICE: "auto|always|never" */
};

struct option_group {
	const char *title;
	const struct option_spec *options;
};

struct word_list {
	uint32_t n;
	const char *words[16];
};

/** struct settings - the values of all options; {0} is a valid start */
struct settings {
	bool help, version, quiet, verbose, no_config;
	const char *color;

	bool json, no_file, no_children, force;
	const char *output;
	uint64_t duration_ns;

	uint64_t cpu_hz, depth, heap_sample_bytes, limit;
	const char *stack;
	bool threads, stacks, leaks_only;
	struct word_list instruments;

	const char *function, *format, *of, *completion;
	bool list_formats;
};

struct invocation;

struct command {
	const char *name;
	const char *form;			/* what follows the name in the usage line */
	const char *summary;			/* one line, for the list of commands */
	const char *text;			/* paragraphs of --help */
	const struct option_group *groups;	/* ended by a NULL title */
	const char *examples;			/* lines: "COMMAND\tWHAT IT DOES\n" */
	int status_failed, status_usage;
	int (*run)(struct invocation *inv);	/* exit status; a sentence in inv->err is printed by main() */
};

/** struct invocation - one use of a command */
struct invocation {
	const struct command *command;
	struct settings settings;
	char **operands;			/* words from the first that is not an option; NULL at the end */
	int noperands;
	struct err err;
	struct err unread;			/* the configuration could not be read, which is only talk (-v) */
};

extern const struct command command_cpu, command_heap, command_record, command_report, command_export, command_cost,
	command_help;
extern const struct command *const commands[];	/* all that exist, in the order of the help; NULL at the end */
extern const struct option_spec options_common[];	/* of every command */
extern const struct option_spec options_measure[];	/* of the commands that start a program */

#define GROUP_COMMON { "Every command", options_common }

const struct command *command_find(const char *name);

/** command_usage - sets inv->err to "COMMAND: ..." with the step to its help; Return: the command's status for wrong usage */
int command_usage(struct invocation *inv, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** command_absent - name of a command of the contract that this version does not have; @ret_status: what to end with */
bool command_absent(const char *name, int *ret_status);

#endif
