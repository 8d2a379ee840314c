/*
 * Programs that use the sampling signal, SIGURG, in ways that few do; as signals.c, each prints what it saw. The mode is the
 * first argument.
 */
#include <errno.h>
#include <execinfo.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include "truth.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static volatile unsigned long sink;
static volatile sig_atomic_t seen;
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

static void show_set(const char *what, const sigset_t *set)
{
	say("%s:", what);
	for (int i = 1; i < 65; i++)
		if (sigismember(set, i) == 1)
			say(" %d", i);
	say("\n");
}

static void show_mask(const char *what)
{
	sigset_t now;

	pthread_sigmask(SIG_BLOCK, NULL, &now);
	show_set(what, &now);
}

static void show_action(int number)
{
	struct sigaction a;

	memset(&a, 0, sizeof(a));
	sigaction(number, NULL, &a);
	say("action of %d: %s, flags %#x", number, a.sa_handler == SIG_DFL ? "default" : a.sa_handler == SIG_IGN ? "ignore" : "own",
	    (unsigned)a.sa_flags);
	show_set(", mask", &a.sa_mask);
}

static void count(int number)
{
	(void)number;
	seen++;
}

static void block(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGURG);
	pthread_sigmask(how, &set, NULL);
}

static void blocks(void)
{
	kept = malloc(100);
	free(kept);
}

static void kinds_of_signal(void)
{
	int before;

	say("sysv_signal %d\n", sysv_signal(SIGURG, count) == SIG_DFL);
	show_action(SIGURG);
	raise(SIGURG);
	raise(SIGURG);
	say("received %d\n", (int)seen);
	show_action(SIGURG);
	say("ssignal %d\n", ssignal(SIGURG, count) == SIG_DFL);
	show_action(SIGURG);
	siginterrupt(SIGURG, 1);
	say("signal %d\n", signal(SIGURG, count) == count);
	show_action(SIGURG);
	siginterrupt(SIGURG, 0);
	show_action(SIGURG);
	say("sigset hold %d\n", sigset(SIGURG, SIG_HOLD) == count);
	say("again %d\n", sigset(SIGURG, SIG_HOLD) == SIG_HOLD);
	raise(SIGURG);
	say("received %d\n", (int)seen);
	say("sigset when held %d\n", sigset(SIGURG, count) == SIG_HOLD);
	say("received %d\n", (int)seen);
	show_mask("mask");
	before = sigblock(1 << (SIGURG - 1) | 1 << (SIGUSR1 - 1));
	say("sigblock %#x, now %#x\n", before, siggetmask());
	burn(30);
	show_mask("mask");
	say("sigsetmask %#x\n", sigsetmask(1 << (SIGUSR2 - 1)));
	show_mask("mask");
	say("sigsetmask %#x\n", sigsetmask(0));
	say("sigignore %d\n", sigignore(SIGURG));
	show_action(SIGURG);
	errno = 0;
	say("wrong: %d", signal(SIGURG, SIG_ERR) == SIG_ERR);
	say(" %d", errno);
	say(" %d\n", signal(1000, SIG_DFL) == SIG_ERR);
	burn(60);
}

/* What a child finds, by fork and by vfork and exec. */
static void children(void)
{
	char *const words[] = { (char *)"urgent", (char *)"show", NULL };
	sigset_t all, before;
	pid_t pid;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	burn(30);
	pid = fork();
	if (pid == 0) {
		show_mask("child of fork");
		blocks();
		show_mask("still");
		sigprocmask(SIG_SETMASK, &before, NULL);
		show_mask("none");
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	signal(SIGURG, count);
	pid = vfork();
	if (pid == 0) {
		for (int i = 1; i < 32; i++)
			signal(i, SIG_DFL);
		signal(SIGURG, SIG_IGN);
		sigprocmask(SIG_SETMASK, &before, NULL);
		execv("/proc/self/exe", words);
		_exit(1);
	}
	waitpid(pid, NULL, 0);
	show_mask("parent");
	show_action(SIGURG);
	sigprocmask(SIG_SETMASK, &before, NULL);
	raise(SIGURG);
	say("received %d\n", (int)seen);
	burn(30);
}

static void discarded(void)
{
	sigset_t pending;

	for (int i = 0; i < 2; i++) {
		signal(SIGURG, count);
		block(SIG_BLOCK);
		raise(SIGURG);
		kill(getpid(), SIGURG);
		signal(SIGURG, i ? SIG_IGN : SIG_DFL);
		sigpending(&pending);
		show_set("pending", &pending);
		signal(SIGURG, count);
		block(SIG_UNBLOCK);
		say("received %d\n", (int)seen);
		burn(30);
	}
}

static void *poke(void *arg)
{
	struct timespec some = { 0, 20000000 };

	nanosleep(&some, NULL);
	pthread_kill(*(pthread_t *)arg, SIGURG);
	return NULL;
}

/* Waits that let in what is blocked outside; the handler has run when they end. */
static void waits(void)
{
	pthread_t self = pthread_self(), t;
	struct timespec long_time = { 20, 0 };
	int epoll = epoll_create1(0), n = 0;
	struct epoll_event event;
	struct sigaction a;
	sigset_t none, urgent;

	memset(&a, 0, sizeof(a));
	a.sa_handler = count;
	sigaction(SIGURG, &a, NULL);
	sigemptyset(&none);
	sigemptyset(&urgent);
	sigaddset(&urgent, SIGURG);
	block(SIG_BLOCK);
	for (int i = 0; i < 12; i++) {
		burn(8);
		if (i % 2)
			raise(SIGURG);	/* is pending when the wait begins */
		else
			pthread_create(&t, NULL, poke, &self);
		switch (i / 2) {
		case 0:
			n = sigsuspend(&none);
			break;
		case 1:
			n = ppoll(NULL, 0, &long_time, &none);
			break;
		case 2:
			n = pselect(0, NULL, NULL, NULL, &long_time, &none);
			break;
		case 3:
			n = epoll_pwait(epoll, &event, 1, 20000, &none);
			break;
		case 4:
			n = epoll_pwait2(epoll, &event, 1, &long_time, &none);
			break;
		case 5:
			n = sigpause(SIGURG);
			break;
		}
		say("wait %d: %d %s, received %d\n", i / 2, n, strerror(errno), (int)seen);
		show_mask("mask");
		if (i % 2 == 0)
			pthread_join(t, NULL);
	}
	long_time = (struct timespec){ 0, 1000000 };
	raise(SIGURG);
	say("a wait that blocks it too: %d, received %d\n", ppoll(NULL, 0, &long_time, &urgent), (int)seen);
	block(SIG_UNBLOCK);
	say("received %d\n", (int)seen);
	burn(30);
}

static _Atomic int got;

static void *waiter(void *arg)
{
	sigset_t set;
	int number = 0;

	(void)arg;
	sigemptyset(&set);
	sigaddset(&set, SIGURG);
	for (int i = 0; i < 10; i++)
		if (!sigwait(&set, &number) && number == SIGURG)
			got++;
	return NULL;
}

/* All threads block it, one waits for it: the usual way of programs with threads. */
static void one_waits(void)
{
	sigset_t all;
	pthread_t t;

	burn(60);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	pthread_create(&t, NULL, waiter, NULL);
	for (int i = 0; i < 10; i++) {
		int before = got;

		kill(getpid(), SIGURG);
		while (got == before)
			sched_yield();
	}
	pthread_join(t, NULL);
	say("waited for: %d\n", (int)got);
}

static void busy_handler(int number)
{
	sigset_t old, set;

	(void)number;
	burn(3);
	seen++;
	pthread_sigmask(SIG_BLOCK, NULL, &old);
	if (sigismember(&old, SIGURG))
		seen += 1000;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	burn(1);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	burn(2);
}

/* A busy handler on an alternate stack that has no room for another. */
static void busy_on_alternate(void)
{
	size_t size = (size_t)sysconf(_SC_MINSIGSTKSZ) + 2048, i, all = 65536;
	char *area = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sigaction a;
	stack_t stack = { .ss_size = size };

	memset(area, 0x5a, all);
	stack.ss_sp = area + all - size;
	memset(&a, 0, sizeof(a));
	a.sa_handler = busy_handler;
	a.sa_flags = SA_ONSTACK;
	sigaddset(&a.sa_mask, SIGUSR2);
	sigaction(SIGUSR1, &a, NULL);
	show_action(SIGUSR1);
	busy_handler(0);	/* looks up the functions that it calls */
	seen = 0;
	sigaltstack(&stack, NULL);
	for (i = 0; i < 30; i++) {
		raise(SIGUSR1);
		burn(2);
	}
	for (i = 0; i < all - size && area[i] == 0x5a; i++)
		;
	say("received %d, below the stack untouched: %d\n", (int)seen, i == all - size);
	signal(SIGUSR1, count);
	show_action(SIGUSR1);
	show_mask("mask");
}

static jmp_buf back;
static volatile int *volatile nowhere = (int *)16;

static void leave(int number)
{
	(void)number;
	longjmp(back, 1);
}

/* A handler on an alternate stack that is left by a jump without a mask. */
static void jump_off(void)
{
	static char own[65536];
	stack_t stack = { .ss_sp = own, .ss_size = sizeof(own) };
	struct sigaction a;
	volatile int caught = 0;
	sigset_t set;

	memset(&a, 0, sizeof(a));
	a.sa_handler = leave;
	a.sa_flags = SA_ONSTACK;
	sigaction(SIGSEGV, &a, NULL);
	sigaltstack(&stack, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	for (volatile int i = 0; i < 100; i++) {
		if (!setjmp(back))
			*nowhere = 1;
		caught++;
		sigprocmask(SIG_UNBLOCK, &set, NULL);
		burn(1);
	}
	say("left %d times\n", caught);
	show_mask("mask");
}

static void *frames[64];

static void nested(int number)
{
	stack_t stack;

	sigaltstack(NULL, &stack);
	say("in handler %d: frames %d, on the alternate stack %d\n", (int)++seen, backtrace(frames, 64), stack.ss_flags & SS_ONSTACK);
	show_mask("mask");
	if (seen < 3)
		raise(number);
}

static void nests(void)
{
	static char own[65536];
	stack_t stack = { .ss_sp = own, .ss_size = sizeof(own) };
	struct sigaction a;

	backtrace(frames, 64);	/* loads what it needs */
	sigaltstack(&stack, NULL);
	memset(&a, 0, sizeof(a));
	a.sa_handler = nested;
	for (int i = 0; i < 2; i++) {
		seen = 0;
		a.sa_flags = SA_NODEFER | (i ? SA_ONSTACK : 0);
		sigaction(SIGURG, &a, NULL);
		raise(SIGURG);
		burn(50);
	}
}

/* Frames of two signals on one alternate stack. */
static void timer_on_alternate(void)
{
	static char own[65536];
	stack_t stack = { .ss_sp = own, .ss_size = sizeof(own) };
	struct itimerval every = { { 0, 50 }, { 0, 50 } }, none = { 0 };
	struct sigaction a;

	sigaltstack(&stack, NULL);
	memset(&a, 0, sizeof(a));
	a.sa_handler = count;
	a.sa_flags = SA_ONSTACK | SA_RESTART;
	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	burn(300);
	setitimer(ITIMER_REAL, &none, NULL);
	say("its own timer came often: %d\n", seen > 100);
}

static volatile int enough;

static void *burner(void *arg)
{
	while (!enough)
		burn(0.1);
	return arg;
}

/* One after the other, to a process where one thread blocks it and one is sampled: each has to arrive. */
static void each_arrives(void)
{
	struct timespec start, now;
	int lost = 0;
	pthread_t t;

	signal(SIGURG, count);
	pthread_create(&t, NULL, burner, NULL);
	burn(50);
	block(SIG_BLOCK);
	for (int i = 0; i < 3000 && !lost; i++) {
		int before = seen;

		kill(getpid(), SIGURG);
		clock_gettime(CLOCK_MONOTONIC, &start);
		while (seen == before && !lost) {
			sched_yield();
			clock_gettime(CLOCK_MONOTONIC, &now);
			lost = now.tv_sec - start.tv_sec > 10;
		}
	}
	enough = 1;
	pthread_join(t, NULL);
	say("received %d, lost %d\n", (int)seen, lost);
}

static void show(void)
{
	show_action(SIGURG);
	show_mask("mask of a new program");
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} modes[] = {
		{ "kinds-of-signal", kinds_of_signal }, { "children", children }, { "discarded", discarded }, { "waits", waits },
		{ "one-waits", one_waits }, { "busy-on-alternate", busy_on_alternate }, { "jump-off", jump_off },
		{ "nests", nests }, { "timer-on-alternate", timer_on_alternate }, { "each-arrives", each_arrives },
		{ "show", show },
	};

	blocks();
	for (unsigned i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (argc > 1 && !strcmp(argv[1], modes[i].name)) {
			modes[i].run();
			return verdict("urgent", NULL);
		}
	return verdict("urgent", "no such mode");
}
