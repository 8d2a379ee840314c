/* launch.h - starts a program with the agent preloaded */
#ifndef TARE_COLLECT_LAUNCH_H
#define TARE_COLLECT_LAUNCH_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "collect/shared.h"

/** struct launch_arena - the shared memory, and the directory in which agents find it */
struct launch_arena {
	struct shared_header *shared;	/* the whole file */
	uint64_t size;			/* of it */
	int fd;
	char dir[128];			/* holds the links "agent.so" and "arena" */
};

int launch_arena_open(struct launch_arena *ret, const char *agent_path, struct err *err);
/**
 * launch_arena_close - gives back the memory and the directory
 * @in_use: processes run on whose children will look for the agent by the preload entry: its link stays
 */
void launch_arena_close(struct launch_arena *a, bool in_use);

/** launch_left_behind - processes of this user, but for this one, whose environment names the run's directory */
unsigned launch_left_behind(const struct launch_arena *a);

/** struct launch_signals - signal state that this process has changed, and the program gets as it was */
struct launch_signals {
	sigset_t mask;
	struct sigaction xfsz, chld;
};
void launch_signals_restore(const struct launch_signals *s);

/**
 * launch_start - starts @path with @argv
 *
 * Return: 0; COLLECT_NOT_EXECUTABLE, COLLECT_NOT_FOUND (exec failed); -errno.
 */
int launch_start(pid_t *ret_pid, const struct launch_arena *a, const char *path, char *const *argv,
		 const struct launch_signals *signals, struct err *err);

#endif
