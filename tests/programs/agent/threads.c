/*
 * Threads in all their ways to live and end, each allocating a known number of blocks. The mode is the first argument.
 * Blocks are got in work() (kept) and passing() (given back), in late() by destructors and handlers of the end.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "truth.h"

static __thread void *volatile kept;
static atomic_long n_kept, n_passing, n_late;

static NOINLINE void work(int n)
{
	for (int i = 0; i < n; i++)
		kept = malloc(24);
	atomic_fetch_add(&n_kept, n);
}

static NOINLINE void passing(int n)
{
	for (int i = 0; i < n; i++) {
		void *volatile p = malloc(40);

		free(p);
	}
	atomic_fetch_add(&n_passing, n);
}

static NOINLINE void late(int n)
{
	for (int i = 0; i < n; i++)
		kept = malloc(56);
	atomic_fetch_add(&n_late, n);
}

static int tell(const char *name)
{
	truth("work", n_kept, n_kept * 24, 0);
	truth("passing", n_passing, n_passing * 40, n_passing);
	truth("late", n_late, n_late * 56, 0);
	return verdict(name, NULL);
}

static void *ordinary(void *arg)
{
	work(5);
	passing(7);
	return arg;
}

static void in_sequence(int n)
{
	pthread_t t;

	while (n--) {
		pthread_create(&t, NULL, ordinary, NULL);
		pthread_join(t, NULL);
	}
}

static void at_once(int n)
{
	pthread_t t[256];

	for (int i = 0; i < n; i++)
		pthread_create(&t[i], NULL, ordinary, NULL);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
}

static sem_t done;

static void *detached_one(void *arg)
{
	ordinary(arg);
	sem_post(&done);
	return NULL;
}

static void detached(int n)
{
	pthread_attr_t attributes;
	pthread_t t;

	sem_init(&done, 0, 0);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < n; i++) {
		pthread_create(&t, &attributes, detached_one, NULL);
		sem_wait(&done);
	}
}

static void cleanup(void *arg)
{
	(void)arg;
	late(3);
}

static void *cancelled_one(void *arg)
{
	pthread_cleanup_push(cleanup, NULL);
	work(5);
	sem_post(&done);
	for (;;)
		pause();
	pthread_cleanup_pop(0);
	return arg;
}

static void cancelled(int n)
{
	pthread_t t;
	void *result;

	sem_init(&done, 0, 0);
	while (n--) {
		pthread_create(&t, NULL, cancelled_one, NULL);
		sem_wait(&done);
		pthread_cancel(t);
		pthread_join(t, &result);
		if (result != PTHREAD_CANCELED)
			say("not cancelled\n");
	}
}

/* A destructor of a key that sets its key again, so that it runs in the last round the library allows. */
static pthread_key_t key;

static void destructor(void *value)
{
	long round = (long)value;

	late(2);
	if (round < 4)	/* PTHREAD_DESTRUCTOR_ITERATIONS */
		pthread_setspecific(key, (void *)(round + 1));
}

static void *with_key(void *arg)
{
	pthread_setspecific(key, (void *)1L);
	work(1);
	return arg;
}

static void *key_alone(void *arg)
{
	pthread_setspecific(key, (void *)1L);	/* the thread's first allocation is in its destructor */
	return arg;
}

static void destructors(int n)
{
	pthread_t t;

	pthread_key_create(&key, destructor);
	while (n--) {
		pthread_create(&t, NULL, n & 1 ? with_key : key_alone, NULL);
		pthread_join(t, NULL);
	}
}

static void on_signal(int number)
{
	(void)number;
	work(4);
	sem_post(&done);
}

/* Never allocates but in the handler. */
static void *idle(void *arg)
{
	sem_post(arg);
	for (;;)
		if (!sem_trywait(&done))
			return NULL;
		else
			sched_yield();
}

static void first_in_handler(int n)
{
	pthread_t t;
	sem_t ready;

	sem_init(&ready, 0, 0);
	sem_init(&done, 0, 0);
	signal(SIGUSR1, on_signal);
	while (n--) {
		pthread_create(&t, NULL, idle, &ready);
		sem_wait(&ready);
		pthread_kill(t, SIGUSR1);
		pthread_join(t, NULL);
	}
}

static void *endless(void *arg)
{
	sem_post(&done);
	for (;;) {
		void *volatile p = malloc((size_t)arg);

		free(p);
	}
	return NULL;
}

/* Ends the process in the given way while four threads allocate. */
static void beside_others(const char *how)
{
	pthread_t t;

	sem_init(&done, 0, 0);
	for (long i = 1; i <= 4; i++)
		pthread_create(&t, NULL, endless, (void *)(i * 100));
	for (int i = 0; i < 4; i++)
		sem_wait(&done);
	work(1000);
	passing(1000);
	tell("threads");
	if (!strcmp(how, "_exit"))
		_exit(5);
	if (!strcmp(how, "quick_exit"))
		quick_exit(5);
	if (!strcmp(how, "raise"))
		raise(SIGTERM);
	exit(5);
}

static void at_end(void)
{
	late(9);
	tell("threads");
}

static void *goes_on(void *arg)
{
	pthread_join(*(pthread_t *)arg, NULL);	/* until the main thread has gone */
	work(11);
	exit(tell("threads"));
}

int main(int argc, char **argv)
{
	static pthread_t self;
	pthread_t t;
	const char *mode = argc > 1 ? argv[1] : "";
	int n = argc > 2 ? atoi(argv[2]) : 1;

	if (!strcmp(mode, "sequence"))
		in_sequence(n);
	else if (!strcmp(mode, "at-once"))
		at_once(n);
	else if (!strcmp(mode, "detached"))
		detached(n);
	else if (!strcmp(mode, "cancelled"))
		cancelled(n);
	else if (!strcmp(mode, "destructors"))
		destructors(n);
	else if (!strcmp(mode, "first-in-handler"))
		first_in_handler(n);
	else if (!strcmp(mode, "beside"))
		beside_others(argv[2]);
	else if (!strcmp(mode, "atexit")) {
		atexit(at_end);
		work(2);
		exit(4);
	} else if (!strcmp(mode, "at-quick-exit")) {
		at_quick_exit(at_end);
		work(2);
		quick_exit(4);
	} else if (!strcmp(mode, "main-ends")) {
		self = pthread_self();
		work(2);
		pthread_create(&t, NULL, goes_on, &self);
		pthread_exit(NULL);
	} else {
		return verdict("threads", "no such mode");
	}
	return tell("threads");
}
