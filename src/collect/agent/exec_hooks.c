/*
 * exec_hooks - programs that are started with another environment are measured too
 *
 * The preload entry is inherited with the environment. A program that starts another with a cleared or rebuilt one (env -i,
 * a shell that unsets LD_PRELOAD, a daemon) would take it out of the measurement. So where the environment of a new program
 * lacks the entry, the new program gets a copy that has it; the program's own arrays and strings stay as they are.
 *
 * All of this may run in a child of vfork or in a signal handler: nothing is allocated or looked up here. The real functions
 * are the next ones in the loader's order, found at start, so that other libraries that stand in front of exec, and libc's
 * search of PATH, its shell for scripts and its errors, are what they are without tare. The copy lies on the stack; a large one
 * in a mapping of the thread, which the next one reuses, since a child of vfork leaves it behind in its parent.
 *
 * The entry is added only where the agent can be read: not after a chroot or in another mount namespace, where the loader
 * would complain on the program's standard error; and not when nothing is recorded any more.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/agent/agent.h"

enum { STACK_ROOM = 4 << 10 };	/* a larger copy (about 480 entries) is mapped: the stack may be a small one */

static const char variable[] = "LD_PRELOAD=";

static struct {
	int (*execve)(const char *, char *const *, char *const *);
	int (*execv)(const char *, char *const *);
	int (*execvpe)(const char *, char *const *, char *const *);
	int (*execvp)(const char *, char *const *);
	int (*fexecve)(int, char *const *, char *const *);
	int (*execveat)(int, const char *, char *const *, char *const *, int);
	int (*posix_spawn)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
			   char *const *, char *const *);
	int (*posix_spawnp)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
			    char *const *, char *const *);
} real;

/* agent.shared, which a fork empties; NULL: new programs get the environment that they are given */
static const struct shared_header *followed;
static const char *preload;			/* the agent as LD_PRELOAD names it */
static size_t preload_length;

/** struct exec - one call of one of the functions */
struct exec {
	int (*call)(const struct exec *, char *const *env);
	bool new_process;
	const char *path;
	char *const *argv;
	char *const *env;
	int fd, flags;
	pid_t *pid;
	const posix_spawn_file_actions_t *actions;
	const posix_spawnattr_t *attributes;
};

/** struct gap - where an environment lacks the entry */
struct gap {
	size_t n;		/* entries */
	size_t at;		/* of the one that the loader will take; n: there is none */
	const char *before;	/* what it holds */
};

/* Of the calling thread; a child of vfork has its parent's. */
static __thread struct {
	void *at;
	size_t size;
	long user;		/* process that uses it now, or has become another program while it did; 0: none */
} room;

COLD void exec_init(void)
{
	real.execv = (int (*)(const char *, char *const *))dlsym(RTLD_NEXT, "execv");
	real.execvpe = (int (*)(const char *, char *const *, char *const *))dlsym(RTLD_NEXT, "execvpe");
	real.execvp = (int (*)(const char *, char *const *))dlsym(RTLD_NEXT, "execvp");
	real.fexecve = (int (*)(int, char *const *, char *const *))dlsym(RTLD_NEXT, "fexecve");
	real.execveat = (int (*)(int, const char *, char *const *, char *const *, int))dlsym(RTLD_NEXT, "execveat");
	real.posix_spawn = dlsym(RTLD_NEXT, "posix_spawn");
	real.posix_spawnp = dlsym(RTLD_NEXT, "posix_spawnp");
	real.execve = (int (*)(const char *, char *const *, char *const *))dlsym(RTLD_NEXT, "execve");
}

void exec_follow(const char *agent_path)
{
	followed = NULL;
	if (!agent_path || agent_path[0] != '/')
		return;
	preload = agent_path;
	preload_length = strlen(preload);
	followed = agent.shared;
}

static bool holds_preload(const char *value)
{
	size_t n;

	while (*value) {
		for (n = 0; value[n] && value[n] != ':' && value[n] != ' '; n++)
			;
		if (n == preload_length && !strncmp(value, preload, n))
			return true;
		value += n + (value[n] != 0);
	}
	return false;
}

/* Whether @env lacks the entry. Where a variable is there twice the loader takes the last. */
static bool gap_find(struct gap *ret, char *const *env)
{
	struct gap gap = { 0 };
	bool found = false;

	for (; env && env[gap.n]; gap.n++) {
		if (strncmp(env[gap.n], variable, sizeof(variable) - 1))
			continue;
		found = true;
		gap.at = gap.n;
		gap.before = env[gap.n] + sizeof(variable) - 1;
	}
	if (!found)
		gap.at = gap.n;
	*ret = gap;
	return !found || !holds_preload(gap.before);
}

static size_t copy_size(const struct gap *gap)
{
	return (gap->n + 2) * sizeof(char *) + sizeof(variable) + preload_length + 1 + (gap->before ? strlen(gap->before) : 0);
}

static char *const *copy_make(void *at, const struct gap *gap, char *const *env)
{
	char **copy = at, *text = (char *)(copy + gap->n + 2);

	if (gap->n)
		memcpy(copy, env, gap->n * sizeof(*copy));
	copy[gap->at] = text;
	copy[MAX(gap->at + 1, gap->n)] = NULL;
	memcpy(text, variable, sizeof(variable) - 1);
	text += sizeof(variable) - 1;
	memcpy(text, preload, preload_length + 1);
	if (gap->before && gap->before[0]) {
		text[preload_length] = ':';
		memcpy(text + preload_length + 1, gap->before, strlen(gap->before) + 1);
	}
	return copy;
}

static void *room_take(size_t size)
{
	long pid = arch_syscall1(SYS_getpid, 0);

	if (room.user == pid)
		return NULL;	/* a signal handler in the middle of another call */
	room.user = pid;
	atomic_signal_fence(memory_order_seq_cst);
	if (room.at && room.size < size) {
		arch_syscall2(SYS_munmap, (long)room.at, (long)room.size);
		room.at = NULL;
	}
	if (!room.at) {
		room.at = private_map(size);
		room.size = size;
	}
	if (!room.at)
		room.user = 0;
	return room.at;
}

static void room_give_back(void)
{
	arch_syscall2(SYS_munmap, (long)room.at, (long)room.size);
	room.at = NULL;
	atomic_signal_fence(memory_order_seq_cst);
	room.user = 0;
}

/* Whether the new program is to be measured, and can be. */
static bool is_followed(const struct exec *x)
{
	if (!followed || !atomic_load_explicit(&followed->active, memory_order_relaxed))
		return false;
	if (followed->no_children && (x->new_process || (uint32_t)arch_syscall1(SYS_getpid, 0) != followed->root_pid))
		return false;
	return !arch_syscall3(SYS_faccessat, AT_FDCWD, (long)preload, R_OK);
}

static int call_with(const struct exec *x, char *const *copy)
{
	int r = x->call(x, copy);

	/* so full that the entry is too much */
	return r == E2BIG || (r < 0 && errno == E2BIG) ? x->call(x, x->env) : r;
}

/* Returns if the call failed, or where it makes a new process. */
static int run(const struct exec *x)
{
	struct gap gap;
	size_t size;
	void *at;
	int r;

	if (UNLIKELY(!real.execve))
		exec_init();	/* before the agent has begun: a constructor that ran earlier */
	if (!followed || !gap_find(&gap, x->env) || !is_followed(x))
		return x->call(x, x->env);
	size = copy_size(&gap);
	if (LIKELY(size <= STACK_ROOM))
		return call_with(x, copy_make(__builtin_alloca(size), &gap, x->env));
	at = room_take(size);
	if (!at)
		return x->call(x, x->env);
	r = call_with(x, copy_make(at, &gap, x->env));
	room_give_back();
	return r;
}

static int call_execve(const struct exec *x, char *const *env)
{
	return real.execve(x->path, x->argv, env);
}

static int call_execv(const struct exec *x, char *const *env)
{
	return env == x->env ? real.execv(x->path, x->argv) : real.execve(x->path, x->argv, env);
}

static int call_execvpe(const struct exec *x, char *const *env)
{
	return real.execvpe(x->path, x->argv, env);
}

static int call_execvp(const struct exec *x, char *const *env)
{
	return env == x->env ? real.execvp(x->path, x->argv) : real.execvpe(x->path, x->argv, env);
}

static int call_fexecve(const struct exec *x, char *const *env)
{
	return real.fexecve(x->fd, x->argv, env);
}

static int call_execveat(const struct exec *x, char *const *env)
{
	if (real.execveat)
		return real.execveat(x->fd, x->path, x->argv, env, x->flags);
	errno = (int)-arch_syscall6(SYS_execveat, x->fd, (long)x->path, (long)x->argv, (long)env, x->flags, 0);
	return -1;
}

static int call_spawn(const struct exec *x, char *const *env)
{
	return real.posix_spawn(x->pid, x->path, x->actions, x->attributes, x->argv, env);
}

static int call_spawnp(const struct exec *x, char *const *env)
{
	return real.posix_spawnp(x->pid, x->path, x->actions, x->attributes, x->argv, env);
}

HOOK int execve(const char *path, char *const argv[], char *const env[])
{
	return run(&(struct exec){ .call = call_execve, .path = path, .argv = argv, .env = env });
}

HOOK int execv(const char *path, char *const argv[])
{
	return run(&(struct exec){ .call = call_execv, .path = path, .argv = argv, .env = environ });
}

HOOK int execvpe(const char *file, char *const argv[], char *const env[])
{
	return run(&(struct exec){ .call = call_execvpe, .path = file, .argv = argv, .env = env });
}

HOOK int execvp(const char *file, char *const argv[])
{
	return run(&(struct exec){ .call = call_execvp, .path = file, .argv = argv, .env = environ });
}

HOOK int fexecve(int fd, char *const argv[], char *const env[])
{
	return run(&(struct exec){ .call = call_fexecve, .fd = fd, .argv = argv, .env = env });
}

HOOK int execveat(int fd, const char *path, char *const argv[], char *const env[], int flags)
{
	return run(&(struct exec){ .call = call_execveat, .fd = fd, .path = path, .argv = argv, .env = env, .flags = flags });
}

HOOK int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		     const posix_spawnattr_t *attributes, char *const argv[], char *const env[])
{
	return run(&(struct exec){ .call = call_spawn, .new_process = true, .path = path, .argv = argv, .env = env, .pid = pid,
				   .actions = actions, .attributes = attributes });
}

HOOK int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
		      const posix_spawnattr_t *attributes, char *const argv[], char *const env[])
{
	return run(&(struct exec){ .call = call_spawnp, .new_process = true, .path = file, .argv = argv, .env = env, .pid = pid,
				   .actions = actions, .attributes = attributes });
}

/* The words of a list, with the first and the NULL. */
static size_t list_size(va_list *words)
{
	size_t n = 2;

	while (va_arg(*words, char *))
		n++;
	return n;
}

static void list_copy(char **argv, const char *first, va_list *words)
{
	*argv++ = (char *)first;
	while ((*argv = va_arg(*words, char *)))
		argv++;
}

HOOK int execl(const char *path, const char *first, ...)
{
	va_list words;
	char **argv;

	va_start(words, first);
	argv = __builtin_alloca(list_size(&words) * sizeof(*argv));
	va_end(words);
	va_start(words, first);
	list_copy(argv, first, &words);
	va_end(words);
	return execv(path, argv);
}

HOOK int execlp(const char *file, const char *first, ...)
{
	va_list words;
	char **argv;

	va_start(words, first);
	argv = __builtin_alloca(list_size(&words) * sizeof(*argv));
	va_end(words);
	va_start(words, first);
	list_copy(argv, first, &words);
	va_end(words);
	return execvp(file, argv);
}

HOOK int execle(const char *path, const char *first, ...)
{
	va_list words;
	char **argv, *const *env;

	va_start(words, first);
	argv = __builtin_alloca(list_size(&words) * sizeof(*argv));
	va_end(words);
	va_start(words, first);
	list_copy(argv, first, &words);
	env = va_arg(words, char *const *);
	va_end(words);
	return execve(path, argv, env);
}
