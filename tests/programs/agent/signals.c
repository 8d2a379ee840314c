/*
 * Programs that use signals as they please. Each prints what it saw: that has to be the same under tare. Compiled once;
 * the mode is the first argument. burn() makes CPU time, so that samples arrive; work() makes blocks.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include "truth.h"

static volatile unsigned long sink;
static volatile sig_atomic_t seen, wrong;
static void *volatile kept;

static NOINLINE void burn(double ms)
{
	struct timespec a, b;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	do {
		for (int i = 0; i < 1000; i++)
			sink += (unsigned long)i * i;
		kept = malloc(10);
		free(kept);
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
	say("sigaction %d: %d", number, sigaction(number, NULL, &a));
	say(" handler %s flags %#x", a.sa_handler == SIG_DFL ? "default" : a.sa_handler == SIG_IGN ? "ignore" : "own",
	    (unsigned)a.sa_flags);
	show_set(" mask", &a.sa_mask);
}

static void count(int number)
{
	(void)number;
	seen++;
}

static void count_info(int number, siginfo_t *info, void *context)
{
	if (number != SIGURG || !context || info->si_signo != SIGURG)
		wrong++;
	if (info->si_code == SI_QUEUE && info->si_value.sival_int != 77)
		wrong++;
	seen++;
}

/* A profiling timer of its own. */
static void own_timer(int which, int number)
{
	struct itimerval every = { { 0, 2000 }, { 0, 2000 } }, none = { 0 };

	signal(number, count);
	setitimer(which, &every, NULL);
	burn(300);
	setitimer(which, &none, NULL);
	say("its own timer came often: %d\n", seen > 20);
	show_action(number);
}

static void own_urgent(void)
{
	struct sigaction a;
	union sigval value = { .sival_int = 77 };

	show_action(SIGURG);
	memset(&a, 0, sizeof(a));
	a.sa_sigaction = count_info;
	a.sa_flags = SA_SIGINFO | SA_NODEFER;
	sigaddset(&a.sa_mask, SIGUSR1);
	sigaction(SIGURG, &a, NULL);
	show_action(SIGURG);
	for (int i = 0; i < 50; i++) {
		raise(SIGURG);
		burn(2);
		kill(getpid(), SIGURG);
		sigqueue(getpid(), SIGURG, value);
	}
	say("received %d, wrong %d\n", (int)seen, (int)wrong);
	say("signal() returns the one before: %d\n", signal(SIGURG, count) == (void (*)(int))(void *)count_info);
	show_action(SIGURG);
	raise(SIGURG);
	say("received %d\n", (int)seen);
	signal(SIGURG, SIG_IGN);
	raise(SIGURG);
	show_action(SIGURG);
	signal(SIGURG, SIG_DFL);
	raise(SIGURG);
	say("received %d\n", (int)seen);
	burn(60);
}

/* Out-of-band data: the signal that SIGURG is there for. */
static void out_of_band(void)
{
	int s[2], listener = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr a;
	socklen_t n = sizeof(a);

	memset(&a, 0, sizeof(a));
	a.sa_family = AF_INET;
	if (listener < 0 || bind(listener, &a, sizeof(a)) || listen(listener, 1) || getsockname(listener, &a, &n))
		return;
	s[0] = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(s[0], &a, n))
		return;
	s[1] = accept(listener, NULL, NULL);
	signal(SIGURG, count);
	fcntl(s[1], F_SETOWN, getpid());
	for (int i = 0; i < 5; i++) {
		int before = seen;

		send(s[0], "!", 1, MSG_OOB);
		while (seen == before)
			burn(1);
	}
	say("urgent data came: %d\n", seen >= 5);
	burn(60);
}

/* Blocked means blocked, for the program's own SIGURG as well. */
static void blocked_urgent(void)
{
	sigset_t urgent, pending;
	struct timespec none = { 0 };
	siginfo_t info;
	int fd;

	signal(SIGURG, count);
	sigemptyset(&urgent);
	sigaddset(&urgent, SIGURG);
	sigprocmask(SIG_BLOCK, &urgent, NULL);
	show_mask("mask");
	raise(SIGURG);
	burn(30);
	sigpending(&pending);
	say("while blocked: received %d, pending %d\n", (int)seen, sigismember(&pending, SIGURG));
	sigprocmask(SIG_UNBLOCK, &urgent, NULL);
	say("then: received %d\n", (int)seen);
	burn(60);
	sigprocmask(SIG_BLOCK, &urgent, NULL);
	kill(getpid(), SIGURG);
	burn(30);
	say("sigtimedwait takes it: %d\n", sigtimedwait(&urgent, &info, &none) == SIGURG && info.si_code == SI_USER);
	fd = signalfd(-1, &urgent, SFD_NONBLOCK);
	kill(getpid(), SIGURG);
	burn(30);
	{
		struct signalfd_siginfo s;

		say("signalfd gives it: %d\n", read(fd, &s, sizeof(s)) == sizeof(s) && s.ssi_signo == SIGURG);
	}
	say("received %d\n", (int)seen);
}

static void all_blocked(void)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	show_set("before", &before);
	show_mask("all blocked");
	burn(400);
	show_mask("still");
	pthread_sigmask(SIG_SETMASK, &before, &all);
	show_set("given back", &all);
	show_mask("now");
	sigprocmask(SIG_BLOCK, NULL, &all);
	show_set("by sigprocmask", &all);
	say("how: %d", sigprocmask(99, &all, NULL));
	say(" %d\n", pthread_sigmask(99, &all, NULL));
}

static void *all_blocked_thread(void *arg)
{
	show_mask("thread");
	burn(200);
	return arg;
}

static void blocked_in_threads(void)
{
	pthread_attr_t attributes;
	sigset_t all, some;
	pthread_t t;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	pthread_create(&t, NULL, all_blocked_thread, NULL);
	pthread_join(t, NULL);
	sigemptyset(&some);
	sigaddset(&some, SIGUSR2);
	pthread_attr_init(&attributes);
	pthread_attr_setsigmask_np(&attributes, &some);
	pthread_create(&t, &attributes, all_blocked_thread, NULL);
	pthread_join(t, NULL);
	show_mask("main");
}

static void by_old_functions(void)
{
	sighandler_t was;

	burn(60);
	was = sigset(SIGURG, count);
	say("sigset: %d\n", was == SIG_DFL);
	raise(SIGURG);
	say("received %d\n", (int)seen);
	burn(200);
	say("sighold %d\n", sighold(SIGURG));
	show_mask("held");
	raise(SIGURG);
	say("received %d\n", (int)seen);
	say("sigrelse %d\n", sigrelse(SIGURG));
	say("received %d\n", (int)seen);
	say("siginterrupt %d\n", siginterrupt(SIGURG, 1));
	show_action(SIGURG);
	say("sigset default: %d\n", sigset(SIGURG, SIG_DFL) == count);
	show_action(SIGURG);
	burn(200);
}

/* A blocking call that is interrupted by its own SIGURG, and one that is restarted. */
static void *poke(void *arg)
{
	struct timespec some = { 0, 100000000 };

	nanosleep(&some, NULL);
	pthread_kill(*(pthread_t *)arg, SIGURG);
	nanosleep(&some, NULL);
	if (write(*(int *)((pthread_t *)arg + 1), "x", 1) != 1)
		say("no pipe\n");
	return NULL;
}

static void own_interrupt(void)
{
	struct {
		pthread_t self;
		int fd;
	} arg = { .self = pthread_self() };
	struct sigaction a;
	int p[2], n;
	pthread_t t;
	char c;

	if (pipe(p))
		return;
	arg.fd = p[1];
	memset(&a, 0, sizeof(a));
	a.sa_handler = count;
	for (int restart = 0; restart < 2; restart++) {
		a.sa_flags = restart ? SA_RESTART : 0;
		sigaction(SIGURG, &a, NULL);
		burn(60);
		pthread_create(&t, NULL, poke, &arg);
		n = (int)read(p[0], &c, 1);
		say("read under its own SIGURG, restart %d: %d %s\n", restart, n, n < 0 ? strerror(errno) : "");
		pthread_join(t, NULL);
		if (n < 0)
			n = (int)read(p[0], &c, 1);
	}
	say("received %d\n", (int)seen);
}

/* No call is interrupted by the sampler. The CPU time before each makes samples due. */
static void *feeder(void *arg)
{
	int fd = *(int *)arg;
	struct timespec some = { 0, 1500000 };

	for (int i = 0; i < 150; i++) {
		nanosleep(&some, NULL);
		if (write(fd, "x", 1) != 1)
			break;
	}
	close(fd);
	return NULL;
}

static void interrupted_calls(void)
{
	struct timespec some = { 0, 700000 };
	long interrupted = 0, reads = 0;
	struct timeval tv;
	struct pollfd none = { .fd = -1 };
	pthread_t t;
	int p[2], n;
	char c;

	if (pipe(p))
		return;
	pthread_create(&t, NULL, feeder, &p[1]);
	while ((n = (int)read(p[0], &c, 1)) != 0) {
		interrupted += n < 0;
		reads += n > 0;
		burn(0.3);
	}
	pthread_join(t, NULL);
	for (int i = 0; i < 100; i++) {
		burn(0.3);
		interrupted += nanosleep(&some, NULL) != 0;
		burn(0.3);
		interrupted += poll(&none, 1, 1) < 0;
		burn(0.3);
		tv = (struct timeval){ 0, 700 };
		interrupted += select(0, NULL, NULL, NULL, &tv) < 0;
		burn(0.3);
		interrupted += clock_nanosleep(CLOCK_MONOTONIC, 0, &some, NULL) != 0;
	}
	say("reads %ld, interrupted %ld\n", reads, interrupted);
}

/* The same, where most of the CPU time is the kernel's. */
static void interrupted_in_kernel(void)
{
	enum { SIZE = 1 << 20 };
	static char buffer[SIZE];
	struct timespec some = { 0, 300000 };
	int zero = open("/dev/zero", O_RDONLY), s[2];
	long interrupted = 0, cut = 0;

	socketpair(AF_UNIX, SOCK_DGRAM, 0, s);
	for (int i = 0; i < 300; i++) {
		cut += read(zero, buffer, SIZE) != SIZE;
		interrupted += nanosleep(&some, NULL) != 0;
		if (i % 10 == 0)
			burn(1);
	}
	say("cut short %ld, interrupted %ld\n", cut, interrupted);
}

static sigjmp_buf back;
static volatile int *volatile nowhere = (int *)16;

static void recover(int number)
{
	(void)number;
	siglongjmp(back, 1);
}

static void faults(void)
{
	volatile int caught = 0;

	signal(SIGSEGV, recover);
	for (volatile int i = 0; i < 300; i++) {
		if (!sigsetjmp(back, 1))
			*nowhere = 1;
		else
			caught++;
		burn(0.5);
	}
	say("recovered %d times\n", caught);
	show_mask("mask");
}

/* The mask that siglongjmp brings back is the one of sigsetjmp, as the program sees it. */
static void jumped_masks(void)
{
	sigset_t all;

	sigfillset(&all);
	if (!sigsetjmp(back, 1)) {
		sigprocmask(SIG_SETMASK, &all, NULL);
		siglongjmp(back, 1);
	}
	show_mask("after siglongjmp to where nothing was blocked");
	burn(30);
	sigprocmask(SIG_SETMASK, &all, NULL);
	if (!sigsetjmp(back, 1)) {
		sigemptyset(&all);
		sigprocmask(SIG_SETMASK, &all, NULL);
		siglongjmp(back, 1);
	}
	show_mask("after siglongjmp to where all was blocked");
	burn(30);
}

static void in_handler(int number)
{
	(void)number;
	show_mask("mask in the handler");
	burn(30);
	seen++;
}

static void handler_masks(void)
{
	struct sigaction a;

	memset(&a, 0, sizeof(a));
	a.sa_handler = in_handler;
	sigfillset(&a.sa_mask);
	sigaction(SIGUSR1, &a, NULL);
	show_action(SIGUSR1);
	raise(SIGUSR1);
	sigemptyset(&a.sa_mask);
	sigaddset(&a.sa_mask, SIGUSR2);
	sigaction(SIGURG, &a, NULL);
	raise(SIGURG);
	a.sa_flags = SA_RESETHAND;
	sigaction(SIGURG, &a, NULL);
	raise(SIGURG);
	show_action(SIGURG);
	raise(SIGURG);
	say("received %d\n", (int)seen);
	burn(60);
}

/* Handlers on an alternate stack that is as small as the system allows. */
static void alternate(size_t more)
{
	size_t size = (size_t)sysconf(_SC_MINSIGSTKSZ) + more, i, page = 4096;
	char *area = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = { .ss_size = size }, now;
	struct sigaction a;

	memset(area, 0x5a, 65536);
	stack.ss_sp = area + 16 * page - size;
	memset(&a, 0, sizeof(a));
	a.sa_handler = count;
	a.sa_flags = SA_ONSTACK;
	sigaction(SIGUSR1, &a, NULL);
	sigaltstack(NULL, &now);
	say("before: flags %d size %zu\n", now.ss_flags, now.ss_size);
	say("sigaltstack: %d\n", sigaltstack(&stack, NULL));
	for (i = 0; i < 50; i++) {
		raise(SIGUSR1);
		burn(2);
	}
	sigaltstack(NULL, &now);
	say("the same stack: %d\n", now.ss_sp == stack.ss_sp && now.ss_size == size && !now.ss_flags);
	for (i = 0; i < 16 * page - size && area[i] == 0x5a; i++)
		;
	say("received %d, below the stack untouched: %d\n", (int)seen, i == 16 * page - size);
}

static NOINLINE long endless_recursion(long n)
{
	volatile char room[512];

	room[0] = (char)n;
	return endless_recursion(n + 1) + room[0];
}

/* Stack overflow, found by a guard page, handled on an alternate stack. */
static void overflow(void)
{
	static char own[65536];
	stack_t stack = { .ss_sp = own, .ss_size = sizeof(own) };
	struct sigaction a;
	volatile int caught = 0;

	memset(&a, 0, sizeof(a));
	a.sa_handler = recover;
	a.sa_flags = SA_ONSTACK;
	sigaction(SIGSEGV, &a, NULL);
	sigaltstack(&stack, NULL);
	for (volatile int i = 0; i < 20; i++)
		if (!sigsetjmp(back, 1))
			sink += (unsigned long)endless_recursion(0);
		else
			caught++;
	say("overflows caught %d\n", caught);
	burn(50);
}

static void suspended(void)
{
	sigset_t urgent, none;
	pid_t pid;

	signal(SIGURG, count);
	sigemptyset(&none);
	sigemptyset(&urgent);
	sigaddset(&urgent, SIGURG);
	sigprocmask(SIG_BLOCK, &urgent, NULL);
	for (int i = 0; i < 10; i++) {
		int before = seen;

		burn(5);
		pid = fork();
		if (pid == 0) {
			kill(getppid(), SIGURG);
			_exit(0);
		}
		while (seen == before)
			sigsuspend(&none);
		while (waitpid(pid, NULL, 0) < 0)
			;
	}
	say("received %d\n", (int)seen);
	show_mask("mask");
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "prof"))
		own_timer(ITIMER_PROF, SIGPROF);
	else if (!strcmp(mode, "virtual"))
		own_timer(ITIMER_VIRTUAL, SIGVTALRM);
	else if (!strcmp(mode, "alarm"))
		own_timer(ITIMER_REAL, SIGALRM);
	else if (!strcmp(mode, "urgent"))
		own_urgent();
	else if (!strcmp(mode, "out-of-band"))
		out_of_band();
	else if (!strcmp(mode, "blocked-urgent"))
		blocked_urgent();
	else if (!strcmp(mode, "suspended"))
		suspended();
	else if (!strcmp(mode, "all-blocked"))
		all_blocked();
	else if (!strcmp(mode, "blocked-in-threads"))
		blocked_in_threads();
	else if (!strcmp(mode, "old-functions"))
		by_old_functions();
	else if (!strcmp(mode, "own-interrupt"))
		own_interrupt();
	else if (!strcmp(mode, "interrupted"))
		interrupted_calls();
	else if (!strcmp(mode, "interrupted-in-kernel"))
		interrupted_in_kernel();
	else if (!strcmp(mode, "faults"))
		faults();
	else if (!strcmp(mode, "jumped-masks"))
		jumped_masks();
	else if (!strcmp(mode, "handler-masks"))
		handler_masks();
	else if (!strcmp(mode, "alternate"))
		alternate((size_t)atol(argv[2]));
	else if (!strcmp(mode, "overflow"))
		overflow();
	else
		return verdict("signals", "no such mode");
	return verdict("signals", NULL);
}
