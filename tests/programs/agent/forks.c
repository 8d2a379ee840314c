/*
 * Processes made in every way, each allocating a known number of blocks. The mode is the first argument. Truths are sums
 * over all processes; a child says its own ones at its end, and the reader adds them up.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include "truth.h"

extern char **environ;
static void *volatile kept[4096];
static char *self;

static NOINLINE void parent_work(int n)
{
	for (int i = 0; i < n; i++)
		kept[i] = malloc(100);
}

static NOINLINE void child_work(int n)
{
	for (int i = 0; i < n; i++)
		kept[2048 + i] = malloc(30);
}

static NOINLINE void free_inherited(int n)
{
	for (int i = 0; i < n; i++)
		free(kept[i]);
}

/* Its end's status; -1 if it cannot be had. */
static int reap(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) == pid ? status : -1;
}

static void expect(const char *what, int got, int wanted)
{
	if (got != wanted)
		say("%s: %#x, not %#x\n", what, (unsigned)got, (unsigned)wanted);
}

/* A child frees 60 of the 100 blocks that it inherited and leaks 40 of its own; the parent frees 10. */
static void books(int children)
{
	parent_work(100);
	for (int i = 0; i < children; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			child_work(40);
			free_inherited(60);
			_exit(3);
		}
		expect("child", reap(pid), 3 << 8);
	}
	free_inherited(10);
	truth("parent_work", 100, 10000, 10);
	truth("child_work", 40 * children, 1200 * children, 0);
	say("inherited_frees=%d\n", 60 * children);
}

/* Each is the child of the one before, and frees ten of the blocks that the first of all got. */
static void grandchildren(int depth)
{
	parent_work(100);
	truth("parent_work", 100, 10000, 0);
	truth("child_work", 10 * depth, 300 * depth, 0);
	say("inherited_frees=%d\n", 10 * depth);
	for (int i = 0; i < depth; i++) {
		pid_t pid = fork();

		if (pid) {
			expect("child", reap(pid), 0);
			_exit(0);
		}
		child_work(10);
		for (int j = 0; j < 10; j++)
			free(kept[i * 10 + j]);
	}
	_exit(0);
}

static atomic_int stop;

static void *churn(void *arg)
{
	void *held[64] = { 0 };
	unsigned long x = (unsigned long)arg;

	while (!atomic_load(&stop)) {
		x = x * 6364136223846793005ul + 1442695040888963407ul;
		free(held[x >> 58]);
		held[x >> 58] = malloc(x >> 40 & 1023);
		if (!(x >> 32 & 255))
			usleep(100);	/* leaves the processors to the forks */
	}
	for (int i = 0; i < 64; i++)
		free(held[i]);
	return NULL;
}

static void beside_threads(int n)
{
	pthread_t t[3];

	for (long i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, churn, (void *)(i + 1));
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid == 0) {
			child_work(7);
			_exit(0);
		}
		expect("child", reap(pid), 0);
	}
	atomic_store(&stop, 1);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	truth("child_work", 7 * n, 210 * n, 0);
}

/* The process that others become: it allocates, and ends with the number it was given. */
static int leaf(const char *n)
{
	child_work(atoi(n));
	return atoi(n);
}

static void after_vfork(int n)
{
	for (int i = 0; i < n; i++) {
		pid_t pid = vfork();

		if (pid == 0) {
			execl(self, self, "leaf", "9", (char *)NULL);
			_exit(127);
		}
		expect("vfork", reap(pid), 9 << 8);
		pid = vfork();
		if (pid == 0) {
			execl("/nonexistent", "x", (char *)NULL);
			_exit(127);
		}
		expect("vfork of nothing", reap(pid), 127 << 8);
	}
	parent_work(20);
	truth("child_work", 9 * n, 270 * n, 0);
	truth("parent_work", 20, 2000, 0);
}

static void spawned(int n)
{
	char *words[] = { self, "leaf", "9", NULL };
	posix_spawnattr_t attributes;
	sigset_t all;
	pid_t pid;

	sigfillset(&all);
	posix_spawnattr_init(&attributes);
	posix_spawnattr_setsigdefault(&attributes, &all);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	for (int i = 0; i < n; i++) {
		expect("posix_spawn", posix_spawn(&pid, self, NULL, i & 1 ? &attributes : NULL, words, environ), 0);
		expect("spawned", reap(pid), 9 << 8);
	}
	truth("child_work", 9 * n, 270 * n, 0);
}

static void shells(int n)
{
	char command[600], line[64] = "";
	FILE *f;

	for (int i = 0; i < n; i++) {
		snprintf(command, sizeof(command), "exec %s leaf 9", self);
		expect("system", system(command), 9 << 8);
		snprintf(command, sizeof(command), "%s leaf 9; echo got $?", self);
		f = popen(command, "r");
		if (!f || !fgets(line, sizeof(line), f) || strcmp(line, "got 9\n"))
			say("popen said %s\n", line);
		expect("pclose", pclose(f), 0);
	}
	truth("child_work", 18 * n, 540 * n, 0);
}

static void daemonised(void)
{
	char c;
	int p[2];

	if (pipe(p))
		return;
	truth("child_work", 33, 990, 0);
	if (fork() == 0) {
		setsid();
		if (fork() == 0) {
			child_work(33);
			if (write(p[1], "x", 1) != 1)
				say("no pipe\n");
			_exit(0);
		}
		_exit(0);
	}
	if (read(p[0], &c, 1) != 1)
		say("no daemon\n");
	wait(NULL);
}

static int cloned(void *arg)
{
	child_work(*(int *)arg);
	return 6;
}

/* clone() with a stack of its own and memory of its own: a fork that libc does not know of. */
static void by_clone(void)
{
	enum { SIZE = 1 << 18 };
	char *stack = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int n = 12;

	parent_work(100);
	memset(stack, 0x41, SIZE);
	expect("clone", reap(clone(cloned, stack + SIZE, SIGCHLD, &n)), 6 << 8);
	parent_work(100);
	truth("child_work", 12, 360, 0);
	truth("parent_work", 200, 20000, 0);
}

/* fork() by the bare system call; both go on allocating at the same time. */
static void by_system_call(void)
{
	pid_t pid;

	parent_work(100);
	pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
	if (pid == 0) {
		for (int i = 0; i < 2000; i++)
			child_work(10);
		syscall(SYS_exit_group, 2);
	}
	for (int i = 0; i < 2000; i++)
		parent_work(10);
	expect("child", reap(pid), 2 << 8);
	truth("child_work", 20000, 600000, 0);
	truth("parent_work", 20100, 2010000, 0);
}

static void *exec_here(void *arg)
{
	execl(self, self, "leaf", "9", (char *)NULL);
	return arg;
}

static void exec_in_thread(void)
{
	pthread_t t;

	parent_work(100);
	truth("parent_work", 100, 10000, 0);
	truth("child_work", 9, 270, 0);
	pthread_create(&t, NULL, exec_here, NULL);
	pthread_join(t, NULL);
}

static void failed_exec(void)
{
	parent_work(10);
	for (int i = 0; i < 20; i++) {
		execl("/nonexistent", "x", (char *)NULL);
		expect("errno", errno, ENOENT);
	}
	parent_work(10);
	truth("parent_work", 20, 2000, 0);
}

static void vfork_masks(void)
{
	sigset_t all, now;
	pid_t pid;

	sigemptyset(&all);
	sigaddset(&all, SIGURG);
	sigprocmask(SIG_BLOCK, &all, NULL);
	pid = vfork();
	if (pid == 0) {
		sigprocmask(SIG_UNBLOCK, &all, NULL);
		execl("/bin/true", "true", (char *)NULL);
		_exit(127);
	}
	expect("true", reap(pid), 0);
	sigprocmask(SIG_BLOCK, NULL, &now);
	say("SIGURG blocked: %d\n", sigismember(&now, SIGURG));
	parent_work(10);
	truth("parent_work", 10, 1000, 0);
}

int main(int argc, char **argv)
{
	static char path[512];
	const char *mode = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 1;

	self = realpath(argv[0], path);
	if (!strcmp(mode, "leaf"))
		return leaf(argv[2]);
	if (!strcmp(mode, "books"))
		books(n);
	else if (!strcmp(mode, "grandchildren"))
		grandchildren(n);
	else if (!strcmp(mode, "beside-threads"))
		beside_threads(n);
	else if (!strcmp(mode, "vfork"))
		after_vfork(n);
	else if (!strcmp(mode, "spawn"))
		spawned(n);
	else if (!strcmp(mode, "shells"))
		shells(n);
	else if (!strcmp(mode, "daemon"))
		daemonised();
	else if (!strcmp(mode, "clone"))
		by_clone();
	else if (!strcmp(mode, "system-call"))
		by_system_call();
	else if (!strcmp(mode, "exec-in-thread"))
		exec_in_thread();
	else if (!strcmp(mode, "failed-exec"))
		failed_exec();
	else if (!strcmp(mode, "vfork-masks"))
		vfork_masks();
	else
		return verdict("forks", "no such mode");
	return verdict("forks", NULL);
}
