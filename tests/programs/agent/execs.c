/*
 * execs - starts programs in every way that libc has, with environments that lack what this program was started with
 *
 *   execs WAY PROGRAM [ARG...]	becomes PROGRAM that way, with an environment of two variables
 *   execs errors DIR		how each way fails, in a line each; that arrays are as they were is checked
 *   execs full			the largest environment that a program can be started with, found by trying
 *   execs many N			starts programs with an environment of N entries from a small stack, and counts mappings
 *   execs jail DIR PROGRAM	becomes PROGRAM in another root
 *   execs preload ENTRY PROGRAM	becomes PROGRAM with that LD_PRELOAD entry
 *   execs leaf N		calls malloc N times in leaf_work() and prints its environment
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static char *few[] = { (char *)"A=1", (char *)"PATH=first:second", NULL };
static void *volatile kept;

__attribute__((noinline)) static void leaf_work(int n)
{
	while (n--)
		kept = malloc(30);
}

static int leaf(int n)
{
	leaf_work(n);
	for (char **e = environ; *e; e++)
		puts(*e);
	return n;
}

static int status_of(int error, pid_t pid)
{
	int status;

	if (error)
		return errno = error, -1;
	waitpid(pid, &status, 0);
	exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
}

static int by_vfork(const char *path, char **argv, char **env)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execve(path, argv, env);
		_exit(errno);
	}
	return status_of(0, pid);
}

static int cleared(char **env)
{
	environ = env;
	return 0;
}

static int start(const char *way, const char *path, char **argv, char **env)
{
	int error;
	pid_t pid;

	if (!strcmp(way, "execve"))
		return execve(path, argv, env);
	if (!strcmp(way, "execve-null"))
		return execve(path, argv, NULL);
	if (!strcmp(way, "execv"))
		return cleared(env), execv(path, argv);
	if (!strcmp(way, "execvp"))
		return cleared(env), execvp(path, argv);
	if (!strcmp(way, "execvpe"))
		return cleared(env), execvpe(path, argv, env);
	if (!strcmp(way, "execl"))
		return cleared(env), execl(path, argv[0], argv[1], argv[2], NULL);
	if (!strcmp(way, "execlp"))
		return cleared(env), execlp(path, argv[0], argv[1], argv[2], NULL);
	if (!strcmp(way, "execle"))
		return execle(path, argv[0], argv[1], argv[2], NULL, env);
	if (!strcmp(way, "fexecve"))
		return fexecve(open(path, O_RDONLY | O_CLOEXEC), argv, env);
	if (!strcmp(way, "execveat"))
		return execveat(AT_FDCWD, path, argv, env, 0);
	if (!strcmp(way, "vfork"))
		return by_vfork(path, argv, env);
	if (!strcmp(way, "posix_spawn"))
		return error = posix_spawn(&pid, path, NULL, NULL, argv, env), status_of(error, pid);
	if (!strcmp(way, "posix_spawnp"))
		return cleared(env), error = posix_spawnp(&pid, path, NULL, NULL, argv, env), status_of(error, pid);
	return errno = 0, -1;
}

static const char *const ways[] = { "execve", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve", "execveat",
				    "posix_spawn", "posix_spawnp" };

static void one_error(const char *way, const char *path, char **argv)
{
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		errno = 0;
		start(way, path, argv, few);
		printf("%s %.40s: %s%s\n", way, path, strerror(errno),
		       strcmp(few[0], "A=1") || strcmp(few[1], "PATH=first:second") || few[2] ? ", and the arrays are changed" : "");
		fflush(stdout);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static int errors(void)
{
	static char name[300], word[200 << 10];
	const char *const paths[] = { "missing", "./missing", "", "/", "./plain", "plain", "./plain/x", "./first/plain", "loop", "./garbage",
				      "garbage", name };
	char *argv[] = { (char *)"x", (char *)"1", (char *)"2", NULL }, *large[] = { (char *)"x", word, (char *)"2", NULL };

	memset(name, 'n', sizeof(name) - 1);
	memset(word, 'w', sizeof(word) - 1);
	for (size_t w = 0; w < sizeof(ways) / sizeof(*ways); w++) {
		for (size_t p = 0; p < sizeof(paths) / sizeof(*paths); p++)
			one_error(ways[w], paths[p], argv);
		one_error(ways[w], "/bin/true", large);
	}
	return 0;
}

static char first_text[60 << 10], text[100 << 10];
static char *true_argv[] = { (char *)"true", NULL }, *full_env[] = { first_text, text, NULL };

static void fill(size_t n)
{
	memset(first_text, 'e', sizeof(first_text) - 1);
	memset(text, 'e', n);
	text[n] = 0;
}

/* Whether /bin/true starts with so large an environment. */
static int fits(size_t n)
{
	int status;
	pid_t pid;

	fill(n);
	pid = fork();
	if (pid == 0) {
		execve("/bin/true", true_argv, full_env);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	return status == 0;
}

static int full(void)
{
	struct rlimit stack = { 256 << 10, 256 << 10 };	/* the kernel takes 128 KiB at least */
	size_t low = 0, high = sizeof(text) - 1;
	int error;
	pid_t pid;

	setrlimit(RLIMIT_STACK, &stack);
	while (low + 1 < high) {
		if (fits((low + high) / 2))
			low = (low + high) / 2;
		else
			high = (low + high) / 2;
	}
	fill(low);
	error = posix_spawn(&pid, "/bin/true", NULL, NULL, true_argv, full_env);
	printf("%zu bytes; posix_spawn: %s\n", low, strerror(error));
	return 0;
}

enum { LARGE = 9000, TIMES = 20 };
static char *large_env[LARGE + 1];

static int mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	int n = 0, c;

	while (f && (c = fgetc(f)) != EOF)
		n += c == '\n';
	if (f)
		fclose(f);
	return n;
}

static int ended_wrong(pid_t pid)
{
	int status;

	return waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 1;
}

static pid_t vfork_large(const char *path, char **argv)
{
	pid_t pid = vfork();

	if (pid == 0) {
		execve("/missing", argv, large_env);
		if (errno == ENOENT)
			execve(path, argv, large_env);
		_exit(78);
	}
	return pid;
}

static void *starter(void *path)
{
	char *argv[] = { (char *)"execs", (char *)"leaf", (char *)"1", NULL };
	int first = 0, bad = 0, i;
	pid_t pid;

	for (i = 0; i < TIMES; i++) {
		bad += ended_wrong(vfork_large(path, argv));
		bad += posix_spawn(&pid, path, NULL, NULL, argv, large_env) || ended_wrong(pid);
		if (i == 4)
			first = mappings();
	}
	fprintf(stderr, "%d bad, mappings %s\n", bad, mappings() <= first + 2 ? "as before" : "are left");
	return NULL;
}

static int many(char *self, int n)
{
	pthread_attr_t small;
	pthread_t thread;

	for (int i = 0; i < n && i < LARGE; i++)
		large_env[i] = (char *)"B=2";
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 32 << 10);
	pthread_create(&thread, &small, starter, self);
	pthread_join(thread, NULL);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "leaf"))
		return leaf(atoi(argv[2]));
	if (argc > 1 && !strcmp(argv[1], "errors"))
		return errors();
	if (argc > 1 && !strcmp(argv[1], "full"))
		return full();
	if (argc > 2 && !strcmp(argv[1], "many"))
		return many(argv[0], atoi(argv[2]));
	if (argc > 3 && !strcmp(argv[1], "jail")) {
		char *words[] = { argv[3], (char *)"leaf", (char *)"9", NULL };

		return chroot(argv[2]) || chdir("/") || execve(argv[3], words, few);
	}
	if (argc > 3 && !strcmp(argv[1], "preload")) {
		char *words[] = { argv[3], (char *)"leaf", (char *)"9", NULL };

		few[1] = argv[2];
		return execve(argv[3], words, few);
	}
	if (argc > 2) {
		char *words[] = { argv[2], (char *)"leaf", (char *)"9", NULL };

		start(argv[1], argv[2], words, few);
		perror(argv[1]);
	}
	return 90;
}
