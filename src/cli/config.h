/* config.h - $XDG_CONFIG_HOME/tare/config */
#ifndef TARE_CLI_CONFIG_H
#define TARE_CLI_CONFIG_H

#include "cli/command.h"

/**
 * config_read - sets what the configuration says for this command; the command line is parsed after it and wins
 *
 * No file is no error; one that may not be read is none either, and leaves a sentence in inv->unread.
 * Owns:   the text of the file lives to the end of the process: settings point into it.
 * Return: 0; -EINVAL with a sentence that has file and line; another -errno with a sentence.
 */
int config_read(struct invocation *inv);

/** config_apply - the same from @text, which is changed; @path is for sentences */
int config_apply(struct invocation *inv, const char *path, char *text);

#endif
