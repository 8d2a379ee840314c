/*
 * Stacks of every shape, walked at each allocation and by samples: coroutines, exceptions, deep recursion, alloca, jumps,
 * objects that come and go. The mode is the first argument; all output has to be the same with and without tare.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "truth.h"

static volatile unsigned long sink;
static void *volatile kept;

static double thread_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static NOINLINE void spin(void)
{
	for (int i = 0; i < 2000; i++)
		sink += (unsigned long)i * i;
}

static NOINLINE void take(void)
{
	kept = malloc(24);
}

/* Two coroutines take turns, each deep inside functions of its own. */
static ucontext_t main_context, context[2];
enum { TURNS = 2000 };

extern "C" NOINLINE void turn_even(int i)
{
	take();
	spin();
	swapcontext(&context[0], &context[1]);
	sink += (unsigned long)i;
}

extern "C" NOINLINE void turn_odd(int i)
{
	take();
	spin();
	swapcontext(&context[1], &context[0]);
	sink += (unsigned long)i;
}

static void even(void)
{
	for (int i = 0; i < TURNS; i++)
		turn_even(i);
}

static void odd(void)
{
	for (int i = 0; i < TURNS; i++)
		turn_odd(i);
}

static void coroutines(size_t size)
{
	char *area = (char *)mmap(NULL, 2 * 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool untouched = true;

	memset(area, 0x41, 2 * 65536);
	for (int i = 0; i < 2; i++) {
		getcontext(&context[i]);
		context[i].uc_stack.ss_sp = area + (i + 1) * 65536 - size;
		context[i].uc_stack.ss_size = size;
		context[i].uc_link = &main_context;
		makecontext(&context[i], i ? odd : even, 0);
	}
	swapcontext(&main_context, &context[0]);
	for (int i = 0; i < 2; i++)
		for (size_t j = 0; j < 65536 - size; j++)
			untouched &= area[i * 65536 + j] == 0x41;
	truth("turn_even", TURNS, 24 * TURNS, 0);
	truth("turn_odd", TURNS, 24 * TURNS, 0);
	say("below the stacks untouched: %d\n", untouched);
}

static NOINLINE int thrower(int depth)
{
	std::string here(30, 'x');	/* to be destroyed on the way out */

	if (!depth)
		throw std::runtime_error("thrown");
	return thrower(depth - 1) + (int)here.size();
}

static void exceptions_here(int n)
{
	long caught = 0;

	for (int i = 0; i < n; i++)
		try {
			sink += (unsigned long)thrower(i % 60);
		} catch (const std::exception &e) {
			caught += !strcmp(e.what(), "thrown");
		}
	say("caught %ld\n", caught);
}

static void exceptions(void)
{
	std::vector<std::thread> threads;

	exceptions_here(3000);
	for (int i = 0; i < 2; i++)
		threads.emplace_back([] { exceptions_here(2000); });
	for (auto &t : threads)
		t.join();
	try {
		kept = ::operator new(~(size_t)0 >> 1);
	} catch (const std::bad_alloc &) {
		say("bad_alloc\n");
	}
	say("nothrow %d\n", ::operator new(~(size_t)0 >> 1, std::nothrow) == NULL);
}

extern "C" NOINLINE long deep(long n)
{
	long r;

	if (n == 0) {
		for (int i = 0; i < 10; i++)
			take();
		for (double until = thread_ms() + 100; thread_ms() < until;)
			spin();
		return 1;
	}
	r = deep(n - 1);
	sink++;
	return r + 1;
}

static void *deep_thread(void *arg)
{
	say("depth %ld\n", deep(*(long *)arg));
	return NULL;
}

static void recursion(long n)
{
	pthread_attr_t attributes;
	pthread_t t;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, 256 << 20);
	pthread_create(&t, &attributes, deep_thread, &n);
	pthread_join(t, NULL);
	truth("deep", 10, 240, 0);
}

extern "C" NOINLINE void variable(size_t n, int depth)
{
	char *room = (char *)alloca(n + 1);
	alignas(64) char aligned[64];

	memset(room, depth, n + 1);
	aligned[0] = room[n];
	take();
	spin();
	if (depth)
		variable(n * 7 % 1001, depth - 1);
	sink += (unsigned long)(aligned[0] + room[0]);
}

static void alloca_frames(void)
{
	for (int i = 0; i < 100; i++)
		variable((size_t)i * 13, 20);
	truth("variable", 2100, 50400, 0);
}

static jmp_buf back;

extern "C" NOINLINE void jumper(int depth)
{
	take();
	spin();
	if (!depth)
		longjmp(back, 1);
	jumper(depth - 1);
	sink++;
}

static void jumps(void)
{
	volatile int n = 0;

	for (volatile int i = 0; i < 500; i++)
		if (!setjmp(back))
			jumper(i % 40);
		else
			n = n + 1;
	say("came back %d times\n", n);
	int calls = 0;
	for (int i = 0; i < 500; i++)
		calls += i % 40 + 1;
	truth("jumper", calls, 24 * calls, 0);
}

/* Objects come and go, while this thread and another allocate and burn time in them. */
static volatile int stop;

extern "C" NOINLINE void *beside(void *)
{
	long n = 0;

	while (!stop) {
		take();
		spin();
		n++;
	}
	return (void *)n;
}

static void objects(int seconds, char **paths)
{
	time_t end = time(NULL) + seconds;
	long rounds = 0;
	pthread_t t;
	void *others;

	pthread_create(&t, NULL, beside, NULL);
	while (time(NULL) < end) {
		for (int i = 0; i < 2; i++) {
			void *object = dlopen(paths[i], RTLD_NOW);
			void (*call)(void (*)(void), int);

			if (!object) {
				say("%s\n", dlerror());
				return;
			}
			call = (void (*)(void (*)(void), int))dlsym(object, i ? "visit_second" : "visit_first");
			call(take, 3);
			call(spin, 3);
			dlclose(object);
		}
		rounds++;
	}
	stop = 1;
	pthread_join(t, &others);
	truth("visit_first", 3 * rounds, 72 * rounds, 0);
	truth("visit_second", 3 * rounds, 72 * rounds, 0);
	truth("beside", (long)others, (long)others * 24, 0);
	fprintf(stderr, "rounds %ld\n", rounds);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";

	if (!strcmp(mode, "coroutines"))
		coroutines((size_t)atol(argv[2]));
	else if (!strcmp(mode, "exceptions"))
		exceptions();
	else if (!strcmp(mode, "recursion"))
		recursion(atol(argv[2]));
	else if (!strcmp(mode, "alloca"))
		alloca_frames();
	else if (!strcmp(mode, "jumps"))
		jumps();
	else if (!strcmp(mode, "objects"))
		objects(atoi(argv[2]), argv + 3);
	else
		return verdict("stacks", "no such mode");
	return verdict("stacks", NULL);
}
