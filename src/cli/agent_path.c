/*
 * agent_path - where the agent's shared object lies
 *
 * Found from /proc/self/exe and not compiled in, so that a build directory works without installing and an installed tree
 * may be moved.
 */
#include "cli/agent_path.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"

static const char *const places[] = { "libtare-agent.so", "../lib/tare/libtare-agent.so" };

int agent_path(char **ret, struct err *err)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (n < 0)
		return err_set(err, -errno, "cannot find the agent: /proc/self/exe: %s", strerror(errno));
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (!slash)
		return err_set(err, -ENOENT, "cannot find the agent: this program lies at '%s'", self);
	*slash = '\0';
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		CLEANUP_FREE char *path = NULL;

		if (asprintf(&path, "%s/%s", self, places[i]) < 0)
			return path = NULL, err_set(err, -ENOMEM, "out of memory");
		*ret = realpath(path, NULL);
		if (*ret)
			return 0;
	}
	err_set(err, -ENOENT, "cannot find the agent: neither %s/%s nor %s/%s exists", self, places[0], self, places[1]);
	err_next(err, "build tare (make), or install it again");
	return -ENOENT;
}
