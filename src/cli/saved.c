/*
 * saved - commands that read a recording
 */
#include "cli/saved.h"

#include <stdlib.h>
#include <string.h>

#include "cli/recording.h"
#include "cli/talk.h"

int saved_read(struct invocation *inv, struct profile **ret, char **ret_path)
{
	char *path = NULL;

	if (inv->noperands > 1)
		return command_usage(inv, "one FILE at a time, not '%s' too", inv->operands[1]);
	if (inv->noperands)
		path = strdup(inv->operands[0]);
	else if (recording_newest(&path, &inv->err) < 0)
		return inv->command->status_failed;
	if (!path || profile_read(ret, path, &inv->err) < 0) {
		free(path);
		return inv->command->status_failed;
	}
	*ret_path = path;
	return 0;
}

int saved_status(const struct invocation *inv, int r)
{
	return r < 0 ? inv->command->status_failed : 0;
}
