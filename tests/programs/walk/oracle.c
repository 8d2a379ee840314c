/*
 * oracle.c - the truth at every instruction boundary, without unwind tables
 *
 * body() runs under the trap flag. After each instruction the handler decodes the one before: a call pushed its return
 * address, which goes on a shadow stack; whatever lies below the stack pointer is popped. So the stack is known in libc, in the
 * loader, in the vDSO, and in signal handlers on an alternate stack. At each boundary walk_context() must give [pc, shadow
 * stack, callers of body()] to the last frame: once with a state that knows nothing, once with the state of the walk before.
 *
 * Code without any table (crt's _init, by libgcc's judgement) may end the walk, if it says so and is right up to there.
 * In __longjmp the tables describe the target: there the walk may be the target's, whole, instead of the caller's.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "walk/walk.h"

#define NOINLINE __attribute__((noinline))

enum { SHADOW = 4096, OUTER = 64, REPORTS = 20, TRAP_FLAG = 0x100, ALTERNATE = 1 << 17 };

struct entry {
	uint64_t slot, pc;
	int on_alternate;
};

static struct entry shadow[SHADOW];
static int n_shadow;
static uint64_t outer[OUTER];		/* callers of run() and their callers, from the tables of glibc */
static int n_outer;
static uint64_t previous;
static int stepping, on_stack;
static struct walk_state fresh, kept;
static uint64_t last_pc[WALK_MAX];
static uint32_t last_top = WALK_MAX;
static char alternate[ALTERNATE];
static unsigned long boundaries, wrong_fresh, wrong_kept, wrong_kept_count, targets, signals, without_tables, throwing;
static struct {
	uint64_t ip;
	const char *what;
	uint32_t frames, expected;
	uint64_t pc[4];
} reports[REPORTS];
static int n_reports;

int throw_and_catch(int depth);

static int is_alternate(uint64_t sp)
{
	return sp >= (uint64_t)alternate && sp < (uint64_t)alternate + sizeof(alternate);
}

static int is_call(uint64_t at)
{
	const uint8_t *p = (const uint8_t *)at;

	for (int i = 0; i < 4 && (*p == 0xf2 || *p == 0xf3 || *p == 0x66 || *p == 0x3e || *p == 0x2e || (*p & 0xf0) == 0x40); i++)
		p++;
	return *p == 0xe8 || (*p == 0xff && (p[1] >> 3 & 7) == 2);
}

static void push(uint64_t slot, uint64_t pc, int on_alternate)
{
	if (n_shadow < SHADOW)
		shadow[n_shadow++] = (struct entry){ slot, pc, on_alternate };
}

static void follow_instruction(uint64_t ip, uint64_t sp)
{
	int now = is_alternate(sp);

	while (n_shadow && (shadow[n_shadow - 1].on_alternate != now ? !now : shadow[n_shadow - 1].slot < sp))
		n_shadow--;
	if (previous && is_call(previous) && *(uint64_t *)sp - previous < 12 && *(uint64_t *)sp > previous)
		push(sp, *(uint64_t *)sp, now);
	previous = ip;
}

/* Is the walk [ip, @first if not 0, shadow stack from slot @above on, outer]? */
static int is_truth(const struct walk_state *w, uint64_t ip, uint64_t first, uint64_t above, uint32_t *ret_expected)
{
	uint32_t i = w->top, expected = 1 + (first != 0) + (uint32_t)n_outer;
	int same = i < WALK_MAX && w->pc[i] == (ip | WALK_PC_EXACT);

	i++;
	if (first)
		same = same && i < WALK_MAX && w->pc[i++] == first;
	for (int k = n_shadow - 1; k >= 0; k--) {
		if (shadow[k].slot < above)
			continue;
		expected++;
		same = same && i < WALK_MAX && w->pc[i++] == shadow[k].pc;
	}
	for (int k = 0; k < n_outer; k++)
		same = same && i < WALK_MAX && w->pc[i++] == outer[k];
	*ret_expected = expected;
	return same && i == WALK_MAX && w->end == WALK_WHOLE;
}

struct dwarf_eh_bases {
	void *tbase, *dbase, *func;
};
const void *_Unwind_Find_FDE(void *pc, struct dwarf_eh_bases *bases);

/* Is the walk right as far as it goes, and does it end, saying so, at a frame that has no table? */
static int ends_without_table(const struct walk_state *w, uint64_t ip)
{
	struct dwarf_eh_bases bases;
	uint64_t last = w->pc[WALK_MAX - 1];
	int k = n_shadow;

	for (uint32_t i = w->top; i < WALK_MAX; i++, k--)
		if (i == w->top ? w->pc[i] != (ip | WALK_PC_EXACT) : k < 0 || w->pc[i] != shadow[k].pc)
			return 0;
	last = last & WALK_PC_EXACT ? last & ~WALK_PC_EXACT : last - 1;
	return w->top < WALK_MAX && w->end == WALK_BROKEN && !_Unwind_Find_FDE((void *)last, &bases);
}

static const char *const raise_name[] = { "_Unwind_RaiseException", "_Unwind_Resume" };
static uint64_t raise_start[2], raise_end[2];

static int is_raise(uint64_t pc)
{
	return (pc >= raise_start[0] && pc < raise_end[0]) || (pc >= raise_start[1] && pc < raise_end[1]);
}

/*
 * libgcc overwrites the saved registers in the frame of _Unwind_RaiseException or _Unwind_Resume by those of the handler's frame, and then
 * returns there: on the way the tables of that frame are a lie. Is the walk right up to that frame?
 */
static int throws(const struct walk_state *w, uint64_t ip)
{
	int k = n_shadow;

	if (w->top == WALK_MAX || w->pc[w->top] != (ip | WALK_PC_EXACT))
		return 0;
	if (is_raise(ip))
		return 1;
	for (uint32_t i = w->top + 1; i < WALK_MAX && k > 0 && w->pc[i] == shadow[k - 1].pc; i++, k--)
		if (is_raise(w->pc[i] - 1))
			return 1;
	return 0;
}

static int check(const struct walk_state *w, uint64_t ip, const ucontext_t *u, const char *what)
{
	uint32_t expected, ignored;

	if (is_truth(w, ip, 0, 0, &expected))
		return 1;
	if (is_truth(w, ip, (uint64_t)u->uc_mcontext.gregs[REG_RDX], (uint64_t)u->uc_mcontext.gregs[REG_R8], &ignored)) {
		targets++;
		return 1;
	}
	if (ends_without_table(w, ip)) {
		without_tables++;
		return 1;
	}
	if (throws(w, ip)) {
		throwing++;
		return 1;
	}
	if (n_reports < REPORTS) {
		reports[n_reports].ip = ip;
		reports[n_reports].what = what;
		reports[n_reports].frames = WALK_MAX - w->top;
		memcpy(reports[n_reports].pc, w->pc + WALK_MAX - 4, sizeof(reports[0].pc));
		reports[n_reports++].expected = expected;
	}
	return 0;
}

static int kept_is_true(const struct walk_state *w)
{
	for (uint32_t i = WALK_MAX - w->kept; i < WALK_MAX; i++)
		if (i < last_top || w->pc[i] != last_pc[i])
			return 0;
	return 1;
}

static void trap(int number, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	uint64_t ip = (uint64_t)u->uc_mcontext.gregs[REG_RIP], sp = (uint64_t)u->uc_mcontext.gregs[REG_RSP];

	(void)number;
	(void)info;
	follow_instruction(ip, sp);
	if (!stepping)
		return;
	boundaries++;
	walk_state_reset(&fresh);
	walk_context(&fresh, u);
	wrong_fresh += !check(&fresh, ip, u, "fresh");
	walk_context(&kept, u);
	wrong_kept += !check(&kept, ip, u, "kept");
	wrong_kept_count += !kept_is_true(&kept);
	last_top = kept.top;
	memcpy(last_pc + last_top, kept.pc + last_top, (WALK_MAX - last_top) * sizeof(*last_pc));
}

#define STEP_ON() __asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "memory", "cc")
#define STEP_OFF() __asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "memory", "cc")

/* Runs on the alternate stack. The kernel clears the trap flag for handlers: until STEP_ON nothing here is stepped. */
__attribute__((noinline, optimize("no-omit-frame-pointer"))) static void on_user(int number, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	uint64_t frame = (uint64_t)__builtin_frame_address(0);
	volatile char text[64];

	(void)number;
	(void)info;
	signals++;
	push((uint64_t)u, (uint64_t)u->uc_mcontext.gregs[REG_RIP] | WALK_PC_EXACT, 1);
	push(frame + 8, *(uint64_t *)(frame + 8), 1);
	previous = 0;
	STEP_ON();
	snprintf((char *)text, sizeof(text), "%d", number);
}

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static jmp_buf target;

NOINLINE static int jump_down(int depth)
{
	volatile int local = depth;

	if (depth <= 0)
		longjmp(target, depth + 1);
	return jump_down(depth - 1) + local;
}

NOINLINE static long aligned(int n)
{
	_Alignas(64) volatile char local[128];
	volatile char *dynamic = alloca((size_t)n * 16);

	memset((void *)local, n, sizeof(local));
	dynamic[0] = local[1];
	return snprintf((char *)local, sizeof(local), "%p", (void *)dynamic) + dynamic[0];
}

NOINLINE static void body(void)
{
	int numbers[] = { 5, 3, 9, 1, 7, 2, 8 };
	char text[256];
	struct timespec now;
	struct tm tm;
	void *object, *block;

	qsort(numbers, 7, sizeof(int), compare);
	snprintf(text, sizeof(text), "%g %a %s %d", strtod("1.5e3", NULL), sin(0.7), "text", numbers[3]);
	snprintf(text, sizeof(text), "%g", pow(1.1, 3.3));
	block = malloc(100);
	block = realloc(block, 100000);
	free(block);
	free(calloc(10, 1000));
	clock_gettime(CLOCK_MONOTONIC, &now);
	getenv("HOME");
	getppid();
	if (setjmp(target) == 0)
		jump_down(8);
	aligned(5);
	gmtime_r(&now.tv_sec, &tm);
	strftime(text, sizeof(text), "%A %d %B", &tm);
	kill(getpid(), SIGUSR1);
	object = dlopen("libz.so.1", RTLD_LAZY);
	if (object) {
		const char *(*version)(void) = (const char *(*)(void))dlsym(object, "zlibVersion");

		if (version)
			version();
		dlclose(object);
	}
	throw_and_catch(5);
	memset(text, 0, sizeof(text));
	memcpy(text, numbers, sizeof(numbers));
	numbers[0] = (int)strlen(text);
}

static void (*volatile run_body)(void) = body;

/* with a frame pointer: the pushes of STEP_ON are unknown to the tables */
__attribute__((noinline, optimize("no-omit-frame-pointer"))) static void run(void)
{
	void *pc[OUTER];
	int n = backtrace(pc, OUTER);

	for (int i = 1; i < n && pc[i]; i++)	/* pc[0] is here: the shadow stack has it */
		outer[i - 1] = (uint64_t)pc[i], n_outer = i;
	n_shadow = 0;
	previous = 0;
	stepping = 1;
	STEP_ON();
	run_body();
	STEP_OFF();
	stepping = 0;
}

static void set(int number, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action = { .sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags };

	sigaction(number, &action, NULL);
}

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

int main(void)
{
	stack_t stack = { .ss_sp = alternate, .ss_size = sizeof(alternate) };
	struct walk_stats stats;

	const ElfW(Sym) *symbol;
	Dl_info info;

	walk_init();
	for (int i = 0; i < 2; i++) {
		void *f = dlsym(RTLD_DEFAULT, raise_name[i]);

		if (!f || !dladdr1(f, &info, (void **)&symbol, RTLD_DL_SYMENT) || !symbol)
			continue;
		raise_start[i] = (uint64_t)f;
		raise_end[i] = raise_start[i] + symbol->st_size;
	}
	sigaltstack(&stack, NULL);
	set(SIGUSR1, on_user, SA_ONSTACK);
	throw_and_catch(1);
	for (on_stack = 0; on_stack < 2; on_stack++) {
		set(SIGTRAP, trap, on_stack ? SA_ONSTACK : 0);
		run();
	}
	walk_stats(&stats);
	for (int i = 0; i < n_reports; i++) {
		Dl_info where = { 0 };

		if (!dladdr((void *)reports[i].ip, &where))
			where.dli_fname = where.dli_sname = NULL;
		printf("wrong (%s): %#lx %s %s+%#lx: %u frames, truth %u\n", reports[i].what, (unsigned long)reports[i].ip,
		       where.dli_fname ? where.dli_fname : "?", where.dli_sname ? where.dli_sname : "?",
		       (unsigned long)reports[i].ip - (unsigned long)where.dli_saddr, reports[i].frames, reports[i].expected);
		for (uint32_t k = 0; k < 4; k++)
			printf("    %#lx\n", (unsigned long)reports[i].pc[k]);
	}
	printf("%lu boundaries, %lu signals; wrong: %lu fresh, %lu with the last walk, %lu kept too much; "
	       "%lu at a target of longjmp, %lu ended at code without tables, %lu in a throw; %lu misses, %lu full walks\n", boundaries, signals, wrong_fresh, wrong_kept,
	       wrong_kept_count, targets, without_tables, throwing, (unsigned long)stats.misses, (unsigned long)stats.full);
	if (boundaries < 10000 || signals != 2 || targets > 64) {
		printf("oracle BAD: not enough was stepped\n");
		return 1;
	}
	if (wrong_fresh + wrong_kept + wrong_kept_count) {
		printf("oracle WALK WRONG: see above\n");
		return 2;
	}
	printf("oracle ok\n");
	return 0;
}
