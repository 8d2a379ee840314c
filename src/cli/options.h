/* options.h - words of a command line, and lines of the configuration, into settings */
#ifndef TARE_CLI_OPTIONS_H
#define TARE_CLI_OPTIONS_H

#include "cli/command.h"

/**
 * options_parse - takes the options that stand before the first other word, or "--"
 * @argv: the words after the command's name, NULL at the end
 *
 * It stops at --help and --version. The first word that is not an option, and all after it, become inv->operands.
 * Return: 0; OPTIONS_ABSENT; -EINVAL with a sentence.
 */
enum { OPTIONS_ABSENT = 1 };
int options_parse(struct invocation *inv, char **argv);

/**
 * options_parse_all - the same for commands that start no program: options may stand after other words too
 *
 * Context: reorders @argv.
 */
int options_parse_all(struct invocation *inv, char **argv);

/** options_set - sets one long option from the configuration; Return: as options_parse(), OPTIONS_UNKNOWN */
enum { OPTIONS_UNKNOWN = 2 };
int options_set(struct invocation *inv, const char *name, const char *value);

/** options_known - whether some command has the long option @name */
bool options_known(const char *name);

/** options_closest - the word of @words (NULL at the end) that @word may have been meant for, or NULL */
const char *options_closest(const char *word, const char *const *words);

#endif
