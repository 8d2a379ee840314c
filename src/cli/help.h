/* help.h - --help and completion from the option tables */
#ifndef TARE_CLI_HELP_H
#define TARE_CLI_HELP_H

#include "cli/command.h"

/** help_command - malloc'ed text of `tare COMMAND --help`; NULL: out of memory */
char *help_command(const struct command *command);
/** help_overview - of `tare help` */
char *help_overview(void);
/** help_topic - "permissions", "formats"; NULL: no such topic */
const char *help_topic(const char *name);
/** help_completion - a script for @shell (bash, zsh, fish); NULL: out of memory */
char *help_completion(const char *shell);

#endif
