/* saved.h - commands that read a recording */
#ifndef TARE_CLI_SAVED_H
#define TARE_CLI_SAVED_H

#include "analyse/profile.h"
#include "cli/command.h"

/**
 * saved_read - the profile of the FILE that is named, or of the newest recording of this directory
 * @ret_path: malloc'ed
 *
 * Return: 0; else the exit status, with a sentence in inv->err.
 */
int saved_read(struct invocation *inv, struct profile **ret, char **ret_path);

/** saved_status - exit status for what result_write() returned; a reader that has gone needs no words */
int saved_status(const struct invocation *inv, int r);

#endif
