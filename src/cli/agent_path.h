/* agent_path.h - where the agent's shared object lies */
#ifndef TARE_CLI_AGENT_PATH_H
#define TARE_CLI_AGENT_PATH_H

#include "base/err.h"

/**
 * agent_path - malloc'ed absolute path of the agent: beside this program (a build directory), or in ../lib/tare (installed
 * under any prefix)
 *
 * Return: 0; -ENOENT with a sentence that names both places.
 */
int agent_path(char **ret, struct err *err);

#endif
