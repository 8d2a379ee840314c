/*
 * storm.c - walks from signals that interrupt anything: the loader with its locks held, malloc, fork, other walks
 *
 * Two threads are signalled at a high rate; one opens and closes an object, starts threads and forks, the other computes. Each walk
 * must end, and hold the thread's outermost function, unless it says that it is broken. Children walk, too.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include "truth.h"
#include "walk/memory.h"
#include "walk/walk.h"

enum { ROUNDS = 400, FORKS_EVERY = 16, SIGEV_TO_THREAD = 4 };

static _Atomic unsigned long walks, broken, lost, busy, children;
static struct range outermost;
static __thread struct walk_state *state;	/* initial-exec in a program: no allocation in the handler */
static __thread struct walk_state *nested;
static atomic_bool stop;

int dlclose(void *object)
{
	static int (*real)(void *);
	int r;

	if (!real)
		real = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
	walk_objects_begin();
	r = real(object);
	walk_objects_end();
	return r;
}

static void on_signal(int number, siginfo_t *info, void *context)
{
	int found = 0;

	(void)number;
	(void)info;
	if (!state)
		return;
	if (!walk_context(state, context)) {
		busy++;
		return;
	}
	walks++;
	for (uint32_t i = state->top; i < WALK_MAX; i++) {
		uint64_t pc = (state->pc[i] & ~WALK_PC_EXACT) - !(state->pc[i] & WALK_PC_EXACT);

		found |= pc >= outermost.start && pc < outermost.end;
	}
	if (state->end == WALK_BROKEN)
		broken++;
	else if (!found)
		lost++;
}

static timer_t storm_begin(long every_ns)
{
	struct sigevent event = { .sigev_notify = SIGEV_TO_THREAD, .sigev_signo = SIGPROF };
	struct itimerspec when = { { 0, every_ns }, { 0, every_ns } };
	timer_t timer;

	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	state = memory_map(sizeof(*state));
	nested = memory_map(sizeof(*nested));
	if (!state || !nested || timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &when, NULL))
		_exit(verdict("storm", BROKEN, "no timer"));
	return timer;
}

__attribute__((noinline, optimize("no-omit-frame-pointer"))) static int walk_now(void)
{
	struct walk_start start = WALK_START();
	static __thread struct walk_state *mine;

	if (!mine)
		mine = memory_map(sizeof(*mine));
	return mine && walk_here(mine, &start) ? (int)mine->end : -1;
}

static void *nothing(void *arg)
{
	(void)arg;
	walk_now();
	return NULL;
}

static void loader_work(int round)
{
	void *object = dlopen(round % 2 ? "libz.so.1" : "libutil.so.1", RTLD_LAZY);
	pthread_t thread;

	if (object) {
		(void)dlsym(object, "zlibVersion");
		dlclose(object);
	}
	free(malloc(10 + (size_t)round * 100));
	if (round % 8 == 0 && !pthread_create(&thread, NULL, nothing, NULL))
		pthread_join(thread, NULL);
	if (round % FORKS_EVERY == 0) {
		int status;
		pid_t child = fork();

		if (child == 0)
			_exit(walk_now() == WALK_WHOLE ? 0 : 1);
		waitpid(child, &status, 0);
		if (status)
			lost++;
		children++;
	}
}

/* The outermost function of every thread of this test. */
NOINLINE void work(int loader)
{
	volatile double x = 1;

	for (int round = 0; loader ? round < ROUNDS : !stop; round++) {
		if (loader)
			loader_work(round);
		else
			for (int i = 0; i < 1000; i++)
				x = x * 1.0000001 + walk_now();
	}
	BARRIER();
}

static void *computer(void *arg)
{
	timer_t timer = storm_begin(150000);

	work(0);
	timer_delete(timer);
	return arg;
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART };
	pthread_t thread;
	timer_t timer;

	walk_init();
	outermost = range_of((void *)work);
	sigaction(SIGPROF, &action, NULL);
	if (pthread_create(&thread, NULL, computer, NULL))
		return verdict("storm", BROKEN, "no thread");
	timer = storm_begin(100000);
	work(1);
	timer_delete(timer);
	stop = true;
	pthread_join(thread, NULL);
	say("%lu walks in signals, %lu broken, %lu on a busy state, %lu without the outermost function; %lu children\n", walks,
	    broken, busy, lost, children);
	if (walks < 100)
		return verdict("storm", BROKEN, "hardly a signal came");
	if (broken * 50 > walks)
		return verdict("storm", WALK_WRONG, "more than 2 % of the walks are broken");
	return lost ? verdict("storm", WALK_WRONG, "see above") : verdict("storm", GOOD, NULL);
}
