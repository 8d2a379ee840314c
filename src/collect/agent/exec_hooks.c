/*
 * exec_hooks - programs that are started with another environment go on being measured
 *
 * A wrapper that clears the environment or drops LD_PRELOAD (env -i, many shell scripts) would start its program without the
 * agent. So where the new environment lacks our entry it is put in front. The program's own array is never changed: the new
 * one lies on the stack, since this runs in children of vfork and in signal handlers too. An environment that is too large for
 * that is passed on as it is.
 *
 * execl and its like are not hooked: shells and wrappers do not use them.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/agent/agent.h"

enum { LARGEST = 4000, LONGEST = 4096 };	/* entries of an environment, bytes of an LD_PRELOAD */

static const char variable[] = "LD_PRELOAD=";
static char entry[sizeof(variable) + 256];	/* ours; "": none is added */

static int (*real_execvpe)(const char *, char *const *, char *const *);
static int (*real_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const *,
			 char *const *);
static int (*real_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const *,
			  char *const *);

void exec_init(const char *agent_path)
{
	size_t n = strlen(agent_path);

	real_execvpe = (int (*)(const char *, char *const *, char *const *))dlsym(RTLD_NEXT, "execvpe");
	*(void **)&real_spawn = dlsym(RTLD_NEXT, "posix_spawn");
	*(void **)&real_spawnp = dlsym(RTLD_NEXT, "posix_spawnp");
	if (agent.shared->no_children || sizeof(variable) + n > sizeof(entry))
		return;
	memcpy(entry, variable, sizeof(variable) - 1);
	memcpy(entry + sizeof(variable) - 1, agent_path, n + 1);
}

/* What has to be done to an environment. */
struct missing {
	size_t entries;			/* of the environment; 0: nothing has to be done */
	size_t at;			/* of its LD_PRELOAD; equal to entries: it has none */
	size_t bytes;			/* of the new LD_PRELOAD */
};

static struct missing look(char *const *env)
{
	const char *path = entry + sizeof(variable) - 1;
	struct missing m = { 0 };
	size_t n;

	if (!entry[0] || !agent.shared || !env)
		return m;
	for (n = 0; env[n]; n++)
		;
	for (m.at = 0; m.at < n && strncmp(env[m.at], variable, sizeof(variable) - 1); m.at++)
		;
	if (n > LARGEST || (m.at < n && strstr(env[m.at], path)))
		return (struct missing){ 0 };
	m.bytes = strlen(entry) + 1 + (m.at < n ? strlen(env[m.at]) : 0) + 1;
	if (m.bytes > LONGEST)
		return (struct missing){ 0 };
	m.entries = n + 1;		/* never 0 */
	return m;
}

static char *const *fill(const struct missing *m, char *const *env, char **array, char *text)
{
	size_t n = m->entries - 1, ours = strlen(entry);

	memcpy(array, env, (n + 1) * sizeof(*env));
	memcpy(text, entry, ours + 1);
	if (m->at < n && env[m->at][sizeof(variable) - 1]) {
		text[ours] = ':';
		memcpy(text + ours + 1, env[m->at] + sizeof(variable) - 1, strlen(env[m->at]) - sizeof(variable) + 2);
	}
	array[m->at] = text;
	if (m->at == n)
		array[n + 1] = NULL;
	return array;
}

/* Declares `with`: @env, with our entry. */
#define WITH_ENTRY(env)                                                                                       \
	struct missing m = look(env);                                                                         \
	char **array = m.entries ? alloca((m.entries + 1) * sizeof(char *)) : NULL;                           \
	char *text = m.entries ? alloca(m.bytes) : NULL;                                                      \
	char *const *with = m.entries ? fill(&m, env, array, text) : (env)

HOOK int execve(const char *path, char *const argv[], char *const env[])
{
	WITH_ENTRY(env);
	long r = arch_syscall3(SYS_execve, (long)path, (long)argv, (long)with);

	errno = (int)-r;	/* it returned: the program's errno, as execve(2) sets it */
	return -1;
}

HOOK int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

HOOK int execvpe(const char *file, char *const argv[], char *const env[])
{
	WITH_ENTRY(env);

	if (UNLIKELY(!real_execvpe))	/* the agent never started */
		real_execvpe = (int (*)(const char *, char *const *, char *const *))dlsym(RTLD_NEXT, "execvpe");
	return real_execvpe(file, argv, with);
}

HOOK int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

#define SPAWN(name, real)                                                                                             \
	HOOK int name(pid_t *ret, const char *path, const posix_spawn_file_actions_t *actions,                        \
		      const posix_spawnattr_t *attributes, char *const argv[], char *const env[])                     \
	{                                                                                                             \
		WITH_ENTRY(env);                                                                                      \
                                                                                                                      \
		if (UNLIKELY(!real))                                                                                  \
			*(void **)&real = dlsym(RTLD_NEXT, #name);                                                    \
		return real(ret, path, actions, attributes, argv, with);                                              \
	}
SPAWN(posix_spawn, real_spawn)
SPAWN(posix_spawnp, real_spawnp)
