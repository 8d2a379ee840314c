/*
 * Descriptors and memory: programs that close all, that count on the lowest number, that lock all their memory.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include "truth.h"

static volatile unsigned long sink;
static void *volatile kept;

static NOINLINE void burn(double ms)
{
	struct timespec a, b;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	do {
		for (int i = 0; i < 1000; i++)
			sink += (unsigned long)i * i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	} while ((b.tv_sec - a.tv_sec) * 1e3 + (b.tv_nsec - a.tv_nsec) / 1e6 < ms);
}

static NOINLINE void work(int n)
{
	while (n--)
		kept = malloc(24);
}

static void *thread(void *arg)
{
	work(1000);
	burn(100);
	return arg;
}

/* Descriptors that are open, by number. */
static void show_open(const char *when)
{
	say("%s:", when);
	for (int fd = 3; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			say(" %d", fd);
	say("\n");
}

static void closes(int by_range)
{
	pthread_t t;
	int out = dup(1);

	work(1000);
	burn(50);
	dup2(out, 1000);
	if (by_range)
		syscall(SYS_close_range, 0, 999, 0);
	else
		for (int fd = 0; fd < 1000; fd++)
			close(fd);
	pthread_create(&t, NULL, thread, NULL);
	work(100000);
	burn(150);
	pthread_join(t, NULL);
	dup2(1000, 1);
	close(1000);
	truth("work", 102000, 2448000, 0);
	show_open("open");
}

static void numbers(void)
{
	pthread_t t;

	show_open("at start");
	for (int i = 0; i < 200; i++) {
		int a = open("/dev/null", O_RDONLY), b, c;

		burn(0.4);
		b = open("/dev/null", O_RDONLY);
		work(50);
		c = dup(a);
		if (a != 3 || b != 4 || c != 5)
			say("numbers %d %d %d\n", a, b, c);
		close(c);
		close(b);
		close(a);
	}
	show_open("later");
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	show_open("with threads");
	close(0);
	say("after close(0): %d\n", open("/dev/null", O_RDONLY));
}

/* All descriptors in use, then a thread: its sampler has to start all the same. */
static void full(void)
{
	struct rlimit limit = { 64, 64 };
	pthread_t t;
	int n = 0;

	setrlimit(RLIMIT_NOFILE, &limit);
	while (open("/dev/null", O_RDONLY) >= 0)
		n++;
	say("opened %d, %s\n", n, strerror(errno));
	pthread_create(&t, NULL, thread, NULL);
	pthread_join(t, NULL);
	burn(100);
	work(1000);
	truth("work", 2000, 48000, 0);
}

static long rss_kb(void)
{
	long pages = 0, all;
	FILE *f = fopen("/proc/self/statm", "r");

	if (f && fscanf(f, "%ld %ld", &all, &pages) != 2)
		pages = 0;
	if (f)
		fclose(f);
	return pages * 4;
}

static void locked(int flags)
{
	pthread_t t[8];

	say("mlockall %d\n", mlockall(flags));
	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, thread, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
	work(100000);
	fprintf(stderr, "rss %ld kB\n", rss_kb());
}

/* A third of the address space that it may have, in one piece. */
static void limited(long mb)
{
	struct rlimit limit = { (rlim_t)mb << 20, (rlim_t)mb << 20 };
	void *p;

	setrlimit(RLIMIT_AS, &limit);
	p = malloc((size_t)mb << 20 >> 2);
	say("a quarter of the limit: %d\n", p != NULL);
	p = malloc((size_t)mb << 20 >> 1);
	say("another half: %d\n", p != NULL);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "close"))
		closes(0);
	else if (!strcmp(mode, "close-range"))
		closes(1);
	else if (!strcmp(mode, "numbers"))
		numbers();
	else if (!strcmp(mode, "full"))
		full();
	else if (!strcmp(mode, "lock-current"))
		locked(MCL_CURRENT);
	else if (!strcmp(mode, "lock-all"))
		locked(MCL_CURRENT | MCL_FUTURE);
	else if (!strcmp(mode, "limited"))
		limited(atol(argv[2]));
	else
		return verdict("places", "no such mode");
	return verdict("places", NULL);
}
