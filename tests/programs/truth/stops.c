/*
 * stops.c STOPS main|thread FILE - a program without frame pointers that is stopped at random, and walks its own stack at each stop
 *
 * A one-shot timer sends SIGALRM after a random time. A debugger that stops on the signal and then passes it on sees the same
 * stop that the handler is given as its context: walk_context() gives tare's answer, libunwind (if built with it) another.
 * All answers are kept, and written to FILE at the end: "stop N tare|unwind END PC...", innermost
 * first; END is "whole" or why not.
 *
 * The work is short calls on purpose: prologues, epilogues, PLT stubs, the lazy binder (the GOT is put back again and again),
 * the string functions of libc in assembly, callbacks of qsort, aligned locals with alloca, and a signal handler on an
 * alternate stack.
 */
#define _GNU_SOURCE
#include <alloca.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifdef WITH_LIBUNWIND
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#endif
#include "walk/walk.h"

#define NOINLINE __attribute__((noinline, noclone))

enum { STOPS = 4000, FRAMES = 128, ALTERNATE = 1 << 16 };

struct answer {
	uint32_t n, end;
	uint64_t pc[FRAMES];
};

static struct answer by_tare[STOPS], by_unwind[STOPS];
static volatile sig_atomic_t stops;
static int wanted = 1000;
static struct walk_state state;
static int timer;	/* the kernel's number: libc's timers would add a thread */
static uint64_t seed = 7;
static char alternate[ALTERNATE];
static volatile uint64_t sink;

static uint64_t next(void)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return seed >> 33;
}

static void arm(void)
{
	struct itimerspec soon = { .it_value.tv_nsec = 2000 + (long)(next() % 300000) };

	syscall(SYS_timer_settime, timer, 0, &soon, NULL);
}

#ifdef WITH_LIBUNWIND
static void unwind(struct answer *a, void *context)
{
	unw_cursor_t cursor;
	int r = 1;

	unw_init_local2(&cursor, context, UNW_INIT_SIGNAL_FRAME);
	for (a->n = 0; a->n < FRAMES && r > 0; a->n++, r = unw_step(&cursor)) {
		unw_word_t pc;

		unw_get_reg(&cursor, UNW_REG_IP, &pc);
		if (!pc)
			break;
		a->pc[a->n] = pc;
	}
	a->end = r < 0;
}
#else
static void unwind(struct answer *a, void *context)
{
	(void)context;
	a->end = 9;
}
#endif

static void on_alarm(int signal, siginfo_t *info, void *context)
{
	struct answer *a = &by_tare[stops];

	(void)signal, (void)info;
	if (stops >= wanted)
		return;
	walk_context(&state, context);
	a->end = state.end;
	for (uint32_t i = state.top; i < WALK_MAX && a->n < FRAMES; i++)
		a->pc[a->n++] = state.pc[i] & ~WALK_PC_EXACT;
	unwind(&by_unwind[stops], context);
	if (++stops < wanted)
		arm();
}

/* The lazy binder's work, undone. */
static uint64_t *got;
static uint64_t got_before[256];
static size_t n_got;

static void got_find(void)
{
	for (const ElfW(Dyn) *d = _DYNAMIC; d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_PLTGOT)
			got = (uint64_t *)d->d_un.d_ptr + 3;
		if (d->d_tag == DT_PLTRELSZ)
			n_got = d->d_un.d_val / sizeof(ElfW(Rela));
	}
	n_got = n_got < 256 ? n_got : 256;
	for (size_t i = 0; i < n_got; i++)
		got_before[i] = got[i];
}

static void got_undo(void)
{
	for (size_t i = 0; i < n_got; i++)
		got[i] = got_before[i];
}

static NOINLINE int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static NOINLINE uint64_t leaf(uint64_t a)
{
	return a * 3 + sink;
}

static NOINLINE uint64_t saves(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	uint64_t e = leaf(a), f = leaf(b), g = leaf(c), h = leaf(d), i = leaf(e + f);

	return leaf(e ^ f) + leaf(g ^ h) + leaf(i) + a + b + c + d + e + f + g + h;
}

static NOINLINE uint64_t aligned(size_t n)
{
	__attribute__((aligned(64))) char local[128];
	char *more = alloca(n);

	memset(local, 1, sizeof(local));
	memset(more, 2, n);
	return (uint64_t)local[n % 128] + (uint64_t)more[n / 2] + leaf(n);
}

static NOINLINE uint64_t deep(int n)
{
	return n ? saves((uint64_t)n, 2, 3, deep(n - 1)) + 1 : aligned(100);
}

static NOINLINE uint64_t texts(uint64_t n)
{
	char text[64], copy[64];

	snprintf(text, sizeof(text), "%g %d %s", (double)n / 3, (int)n, "text");
	memcpy(copy, text, sizeof(copy));
	return strlen(copy) + (strchr(copy, 't') != NULL) + (uint64_t)strtod(copy, NULL) + (uint64_t)(memcmp(copy, text, n % 64) == 0);
}

static NOINLINE uint64_t blocks(uint64_t n)
{
	char *p = malloc(n % 5000 + 1), *q = calloc(1, n % 300 + 1);

	p = realloc(p, n % 9000 + 2);
	memset(p, 0x5a, n % 9000);
	memmove(p + 1, p, n % 9000);
	free(q);
	free(p);
	return n;
}

static NOINLINE uint64_t stubs(int n)
{
	char text[8] = "1234567", copy[8];
	uint64_t sum = 0;

	text[n] = 0;
	for (int i = 0; i < 50; i++)
		sum += strlen(text) + strnlen(text, 3) + (uint64_t)abs(n) + strspn(text, "12") +
		       (uint64_t)memcmp(memcpy(copy, text, 8), text, 8);
	return sum;
}

static NOINLINE void jumps(jmp_buf *out, int n)
{
	if (n)
		jumps(out, n - 1);
	else if (wanted)
		longjmp(*out, 1);
	sink++;
}

static void on_user(int signal)
{
	(void)signal;
	sink += deep(6) + texts(sink & 63);
}

static NOINLINE void work(void)
{
	int values[300];
	jmp_buf out;

	for (int i = 0; i < 300; i++)
		values[i] = (int)next();
	qsort(values, 300, sizeof(*values), by_value);
	for (int i = 0; i < 20; i++)
		sink += deep(i) + texts((uint64_t)i) + blocks(next()) + stubs(i & 7);
	for (int i = 0; i < 50; i++)
		if (!setjmp(out))
			jumps(&out, 12);
	got_undo();
	if (next() % 8 == 0)		/* seldom: its system calls are where most stops would be */
		raise(SIGUSR1);
}

static NOINLINE void run(pid_t tid)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM };
	stack_t stack = { .ss_sp = alternate, .ss_size = ALTERNATE };

	event._sigev_un._tid = tid;
	syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &timer);
	sigaltstack(&stack, NULL);
	work();		/* everything has been used once */
	arm();
	while (stops < wanted)
		work();
}

static void *thread(void *unused)
{
	run(gettid());
	return unused;
}

static void tell(FILE *f, const char *who, int stop, const struct answer *a)
{
	fprintf(f, "stop %d %s %s", stop, who, a->end ? "broken" : "whole");
	for (uint32_t k = 0; k < a->n; k++)
		fprintf(f, " %" PRIx64, a->pc[k]);
	fprintf(f, "\n");
}

int main(int argc, char **argv)
{
	struct sigaction alarm = { .sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigaction user = { .sa_handler = on_user, .sa_flags = SA_ONSTACK };
	pthread_t t;
	FILE *f;

	if (argc < 4)
		return 2;
	got_find();
	wanted = atoi(argv[1]) < STOPS ? atoi(argv[1]) : STOPS;
	if (walk_init())
		return 1;
	sigaction(SIGALRM, &alarm, NULL);
	sigaction(SIGUSR1, &user, NULL);
	if (!strcmp(argv[2], "thread")) {
		pthread_create(&t, NULL, thread, NULL);
		pthread_join(t, NULL);
	} else {
		run(gettid());
	}
	f = fopen(argv[3], "w");
	for (int i = 0; f && i < stops; i++) {
		tell(f, "tare", i, &by_tare[i]);
#ifdef WITH_LIBUNWIND
		tell(f, "unwind", i, &by_unwind[i]);
#endif
	}
	return !f || fclose(f) != 0;
}
