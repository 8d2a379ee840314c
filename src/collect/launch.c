/*
 * launch - starts a program with the agent preloaded
 *
 * The program's environment gets one entry, LD_PRELOAD, and that entry also tells the agent where the arena is: it names a
 * link in a directory of this run, and the arena's link lies beside it. So paths of the build with a space or a colon in
 * them, which LD_PRELOAD cannot hold, work too.
 */
#include "collect/launch.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "base/util.h"
#include "collect/collect.h"

static void remove_dir(const char *dir)
{
	char link[512];

	snprintf(link, sizeof(link), "%s/agent.so", dir);
	unlink(link);
	snprintf(link, sizeof(link), "%s/arena", dir);
	unlink(link);
	rmdir(dir);
}

/* Directories of runs that were killed, or whose programs ran on: removed a day later. */
static void sweep(const char *place)
{
	DIR *d = opendir(place);
	struct dirent *entry;
	struct stat st;
	char dir[400];
	int pid, end;

	while (d && (entry = readdir(d))) {
		end = 0;
		if (sscanf(entry->d_name, "tare.%d.%n", &pid, &end) != 1 || strlen(entry->d_name + end) != 6 || end == 0)
			continue;
		snprintf(dir, sizeof(dir), "%s/%s", place, entry->d_name);
		if (!lstat(dir, &st) && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && st.st_mtime < time(NULL) - 24 * 3600 &&
		    kill(pid, 0) && errno == ESRCH)
			remove_dir(dir);
	}
	if (d)
		closedir(d);
}

static int make_dir(char *ret, size_t size, struct err *err)
{
	const char *const places[] = { getenv("TMPDIR"), "/tmp", "/dev/shm", "/var/tmp" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		/* what the loader would take for two entries is no place for a preload entry */
		if (!places[i] || places[i][0] != '/' || strpbrk(places[i], " :") || strlen(places[i]) > 64)
			continue;
		snprintf(ret, size, "%s/tare.%d.XXXXXX", places[i], (int)getpid());
		sweep(places[i]);
		if (mkdtemp(ret))
			return chmod(ret, 0711);	/* a program that changes its user goes on being measured */
	}
	i = (size_t)errno;
	err_set(err, -(int)i, "cannot make a directory for this run in $TMPDIR, /tmp, /dev/shm or /var/tmp: %s", strerror((int)i));
	err_next(err, "make one of them writable, or set TMPDIR to a directory without spaces in its name");
	return -(int)i;
}

/* Whether every user can open it. */
static bool is_public(const char *path)
{
	char *real CLEANUP_FREE = realpath(path, NULL), *slash;
	struct stat st;

	if (!real || stat(real, &st) || !(st.st_mode & S_IROTH))
		return false;
	while ((slash = strrchr(real, '/')) != real) {
		*slash = 0;
		if (stat(real, &st) || !(st.st_mode & S_IXOTH))
			return false;
	}
	return true;
}

static bool copy_file(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC), out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	struct stat st;
	off_t left = in >= 0 && out >= 0 && !fstat(in, &st) ? st.st_size : -1;
	ssize_t n = 1;

	for (; left > 0 && n > 0; left -= n)
		n = sendfile(out, in, NULL, (size_t)left);
	if (left == 0 && fchmod(out, 0755))
		left = -1;
	if (in >= 0)
		close(in);
	if (out >= 0)
		close(out);
	if (left)
		unlink(to);
	return left == 0;
}

/*
 * A link, since /tmp may forbid to run what lies in it. But a program of root may change its user, and the loader would then
 * complain of an agent that only root can open: a copy.
 */
static int place_agent(const char *agent_path, const char *at, const char *dir)
{
	struct statvfs fs;

	if (geteuid() == 0 && !is_public(agent_path) && !statvfs(dir, &fs) && !(fs.f_flag & ST_NOEXEC) && copy_file(agent_path, at))
		return 0;
	return symlink(agent_path, at);
}

static int make_links(struct launch_arena *a, const char *agent_path, struct err *err)
{
	char link[160], target[64];

	snprintf(link, sizeof(link), "%s/agent.so", a->dir);
	if (place_agent(agent_path, link, a->dir))
		return err_set(err, -errno, "cannot make the link %s: %s", link, strerror(errno));
	snprintf(link, sizeof(link), "%s/arena", a->dir);
	snprintf(target, sizeof(target), "/proc/%d/fd/%d", (int)getpid(), a->fd);
	if (symlink(target, link))
		return err_set(err, -errno, "cannot make the link %s: %s", link, strerror(errno));
	return 0;
}

/* The file is sparse, but a limit of file sizes (ulimit -f) is about its size: the soft limit is lifted for a moment. */
static int set_size(int fd, uint64_t size)
{
	struct rlimit before, lifted;
	int r;

	if (getrlimit(RLIMIT_FSIZE, &before))
		return ftruncate(fd, (off_t)size);
	lifted = before;
	lifted.rlim_cur = lifted.rlim_max;
	setrlimit(RLIMIT_FSIZE, &lifted);
	r = ftruncate(fd, (off_t)size);
	setrlimit(RLIMIT_FSIZE, &before);
	return r;
}

/* All of it is mapped here; where addresses are limited (ulimit -v) a smaller file has to do. */
static int map_file(struct launch_arena *a, struct err *err)
{
	int r;

	for (a->size = SHARED_WINDOW; a->size >= 2 * SHARED_UNIT; a->size /= 2) {
		a->shared = mmap(NULL, a->size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, a->fd, 0);
		if (a->shared != MAP_FAILED)
			break;
		a->shared = NULL;
	}
	if (!a->shared) {
		r = err_set(err, -ENOMEM, "cannot reserve addresses for shared memory");
		err_next(err, "ulimit -v unlimited");
		return r;
	}
	if (!set_size(a->fd, a->size))
		return 0;
	r = err_set(err, -errno, "cannot make shared memory: %s", strerror(errno));
	if (r == -EFBIG)
		err_next(err, "ulimit -f unlimited");
	return r;
}

int launch_arena_open(struct launch_arena *ret, const char *agent_path, struct err *err)
{
	struct launch_arena a = { .fd = -1 };
	int r;

	if (access(agent_path, R_OK)) {
		r = err_set(err, -errno, "cannot read the agent '%s': %s", agent_path, strerror(errno));
		err_next(err, "build or install tare again (make, or meson install)");
		return r;
	}
	r = make_dir(a.dir, sizeof(a.dir), err);
	if (r)
		return r;
	a.fd = memfd_create("tare-arena", MFD_CLOEXEC);
	r = a.fd < 0 ? err_set(err, -errno, "cannot make shared memory: %s", strerror(errno)) : map_file(&a, err);
	if (r) {
		launch_arena_close(&a, false);
		return r;
	}
	r = make_links(&a, agent_path, err);
	if (r) {
		launch_arena_close(&a, false);
		return r;
	}
	*ret = a;
	return 0;
}

void launch_arena_close(struct launch_arena *a, bool in_use)
{
	char link[160];

	if (a->dir[0] && !in_use)
		remove_dir(a->dir);
	if (a->dir[0] && in_use) {
		/* without the link the loader would complain on the standard error of every program that they start */
		snprintf(link, sizeof(link), "%s/arena", a->dir);
		unlink(link);
	}
	if (a->shared)
		munmap(a->shared, a->size);
	if (a->fd >= 0)
		close(a->fd);
	*a = (struct launch_arena){ .fd = -1 };
}

enum { ENVIRONMENT = 256 << 10 };	/* bytes of one that are looked at */

static bool environment_names(const char *pid, const char *dir, char *text)
{
	char path[300];
	size_t n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/environ", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(text, 1, ENVIRONMENT, f);
	fclose(f);
	return memmem(text, n, dir, strlen(dir)) != NULL;
}

unsigned launch_left_behind(const struct launch_arena *a)
{
	char *text CLEANUP_FREE = malloc(ENVIRONMENT);
	DIR *proc = text ? opendir("/proc") : NULL;
	struct dirent *entry;
	unsigned n = 0;

	while (proc && (entry = readdir(proc)))
		if (isdigit((unsigned char)entry->d_name[0]) && atoi(entry->d_name) != getpid())
			n += environment_names(entry->d_name, a->dir, text);
	if (proc)
		closedir(proc);
	return n;
}

void launch_signals_restore(const struct launch_signals *s)
{
	sigaction(SIGXFSZ, &s->xfsz, NULL);
	sigaction(SIGCHLD, &s->chld, NULL);
	sigprocmask(SIG_SETMASK, &s->mask, NULL);
}

static void set_preload(const struct launch_arena *a)
{
	const char *before = getenv("LD_PRELOAD");
	char entry[4096];

	snprintf(entry, sizeof(entry), "%s/agent.so%s%s", a->dir, before && before[0] ? ":" : "", before ? before : "");
	setenv("LD_PRELOAD", entry, 1);
}

/* A script without "#!" is run by sh, as execvp(3) does. */
static void exec_by_shell(const char *path, char *const *argv)
{
	size_t n = 0;
	char **with_shell;

	while (argv[n])
		n++;
	with_shell = calloc(n + 2, sizeof(*with_shell));
	if (!with_shell)
		return;
	with_shell[0] = (char *)"sh";
	with_shell[1] = (char *)path;
	memcpy(with_shell + 2, argv + 1, n * sizeof(*with_shell));
	execv("/bin/sh", with_shell);
}

static __attribute__((noreturn)) void child(const struct launch_arena *a, const char *path, char *const *argv,
					    const struct launch_signals *signals, int report)
{
	int error;

	a->shared->root_pid = (uint32_t)getpid();
	set_preload(a);
	launch_signals_restore(signals);
	execv(path, argv);
	if (errno == ENOEXEC)
		exec_by_shell(path, argv);
	error = errno;
	if (write(report, &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

int launch_start(pid_t *ret_pid, const struct launch_arena *a, const char *path, char *const *argv,
		 const struct launch_signals *signals, struct err *err)
{
	int report[2], error = 0;
	ssize_t n;
	pid_t pid;

	if (pipe2(report, O_CLOEXEC))
		return err_set(err, -errno, "cannot make a pipe: %s", strerror(errno));
	pid = fork();
	if (pid < 0) {
		close(report[0]);
		close(report[1]);
		return err_set(err, -errno, "cannot start another process: %s", strerror(errno));
	}
	if (pid == 0)
		child(a, path, argv, signals, report[1]);
	close(report[1]);
	do
		n = read(report[0], &error, sizeof(error));
	while (n < 0 && errno == EINTR);
	close(report[0]);
	*ret_pid = pid;
	if (n != sizeof(error))
		return 0;
	err_set(err, 0, "'%s' cannot be executed: %s", path, strerror(error));
	return error == ENOENT ? COLLECT_NOT_FOUND : COLLECT_NOT_EXECUTABLE;
}
