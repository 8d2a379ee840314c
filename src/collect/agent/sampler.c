/*
 * sampler - CPU samples by a timer of each thread's CPU time
 *
 * A perf event of the thread's task clock, in user mode, sends the thread a signal each period. The descriptor is closed at
 * once: a mapping of the event's page keeps the event alive, so the program sees no descriptor and cannot close it by
 * closing all. Samples are taken in user mode alone: a signal that arrives in a system call would make it return EINTR,
 * and change the program. What passed in the kernel is told by the thread's CPU clock: periods that brought no sample.
 *
 * Where perf events are not permitted a POSIX timer of the thread's CPU clock does the same, at the rate of the kernel's tick.
 *
 * The signal is SIGURG, since one that arrives when exec has removed the handler is ignored. The program's own use of it
 * goes on: signal_hooks.c.
 */
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "collect/agent/agent.h"
#include "collect/agent/signals.h"

enum {
	PAGE = 4096,
	TIMED_SAMPLE = 4		/* one sample in this many is timed */
};

uint64_t thread_cpu_ns(void)
{
	struct timespec ts = { 0 };

	arch_syscall2(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, (long)&ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* A thread's first sample, cold, and the event that is made in it: part of the agent's start. */
static void cost_first(struct thread *t, uint64_t cpu_ns)
{
	t->shared->cost[COST_START].times++;
	cost_add(&t->shared->cost[COST_START], ns_in_ticks(thread_cpu_ns() - cpu_ns));
}

/* Two events a thread: one that comes once, after the first phase, then one each period. */
static bool perf_arm(struct thread *t, enum perf_event_use use, uint64_t period_ns)
{
	struct perf_event_attr attr;
	struct f_owner_ex owner = { .type = F_OWNER_TID, .pid = (int)t->tid };
	long fd, page;

	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_TASK_CLOCK;
	attr.sample_period = period_ns;
	attr.exclude_kernel = 1;
	attr.exclude_hv = 1;
	attr.wakeup_events = 1;
	attr.disabled = use == PERF_ONCE;
	fd = arch_syscall6(SYS_perf_event_open, (long)&attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC, 0);
	if (fd < 0)
		return false;
	page = -1;
	if (!arch_syscall3(SYS_fcntl, fd, F_SETOWN_EX, (long)&owner) &&
	    !arch_syscall3(SYS_fcntl, fd, F_SETSIG, SAMPLER_SIGNAL) &&
	    !arch_syscall3(SYS_fcntl, fd, F_SETFL, O_ASYNC | O_NONBLOCK))
		page = arch_syscall6(SYS_mmap, 0, PAGE, PROT_READ, MAP_SHARED, fd, 0);
	if (use == PERF_ONCE)
		arch_syscall3(SYS_ioctl, fd, PERF_EVENT_IOC_REFRESH, 1);
	arch_syscall1(SYS_close, fd);
	if (page < 0 && page > -PAGE)
		return false;
	t->perf_page[use] = (void *)page;
	return true;
}

static bool timer_arm(struct thread *t, uint64_t first_ns, uint64_t period_ns)
{
	struct sigevent event;
	struct itimerspec spec = { 0 };
	int id;

	memset(&event, 0, sizeof(event));
	event.sigev_notify = SIGEV_THREAD_ID;
	event.sigev_signo = SAMPLER_SIGNAL;
	event._sigev_un._tid = (int)t->tid;
	event.sigev_value.sival_ptr = &agent;	/* how the handler knows its own */
	if (arch_syscall3(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, (long)&event, (long)&id))
		return false;
	t->timer = id + 1;
	spec.it_value.tv_nsec = (long)(first_ns % 1000000000u);
	spec.it_value.tv_sec = (long)(first_ns / 1000000000u);
	spec.it_interval.tv_nsec = (long)(period_ns % 1000000000u);
	spec.it_interval.tv_sec = (long)(period_ns / 1000000000u);
	return !arch_syscall6(SYS_timer_settime, id, 0, (long)&spec, 0, 0, 0);
}

void sampler_forget(struct thread *t)
{
	int i;

	for (i = 0; i < PERF_EVENTS; i++) {
		if (t->perf_page[i])
			arch_syscall3(SYS_munmap, (long)t->perf_page[i], PAGE, 0);
		t->perf_page[i] = NULL;
	}
	if (t->timer)
		arch_syscall1(SYS_timer_delete, t->timer - 1);
	t->timer = 0;
}

static void arm(struct thread *t)
{
	uint64_t period = agent.shared->sample_period_ns;

	if (agent.shared->sampler == SAMPLER_PERF && perf_arm(t, PERF_ONCE, t->first_period_ns))
		return;
	if (timer_arm(t, t->first_period_ns, period))
		return;
	atomic_fetch_or(&agent.process->flags, PROCESS_NO_SAMPLER);
}

void sampler_start(struct thread *t)
{
	/* a random first phase, so that threads shorter than a period are sampled as often as their time says */
	uint64_t phase = (arch_ticks() ^ t->tid * 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull >> 11;

	t->cpu_start_ns = t->cpu_last_ns = thread_cpu_ns();
	t->cpu_accounted = 0;
	t->first_period_ns = 10000 + phase % agent.shared->sample_period_ns;
	t->first_phase = true;
	arm(t);
	signals_open(t);
	if (t->urgent_held)	/* by a signal of the program's that came meanwhile */
		sampler_forget(t);
}

/* Periods that should have brought a sample up to now, this one included. */
static uint64_t periods_due(const struct thread *t, uint64_t cpu_ns)
{
	uint64_t passed = cpu_ns - t->cpu_start_ns;

	return passed < t->first_period_ns ? 1 : 1 + (passed - t->first_period_ns) / agent.shared->sample_period_ns;
}

void sampler_resume(struct thread *t)
{
	uint64_t cpu_ns = thread_cpu_ns(), passed = periods_due(t, cpu_ns) - 1;

	t->shared->lost_samples += passed - MIN(passed, t->cpu_accounted);
	t->shared->thread_cpu_ns += cpu_ns - t->cpu_last_ns;
	sampler_start(t);
}

/* After the first sample. A program that has no descriptor left gets the timer, which needs none. */
static void rearm(struct thread *t)
{
	uint64_t period = agent.shared->sample_period_ns;

	if (perf_arm(t, PERF_PERIODIC, period) || timer_arm(t, period, period))
		return;
	atomic_fetch_or(&agent.process->flags, PROCESS_NO_SAMPLER);
}

struct sample {
	struct thread *thread;
	const ucontext_t *context;
};

/*
 * The handler's own time is not the program's: its clock, as the periods see it, stands still meanwhile; and a signal that
 * came during the handler, which is delivered right after it, is no sample of the program.
 */
static void take_off(struct thread *t, uint64_t begin, uint64_t cpu_ns)
{
	uint64_t end = arch_ticks(), ns = ((end - begin) << 20) / agent.shared->ticks_per_mi_ns;

	if (end - begin > agent.shared->preempted_ticks) {	/* it may have been off its CPU: ask the kernel */
		ns = thread_cpu_ns() - cpu_ns;
		t->not_before = end + agent.shared->preempted_ticks / 10;
	}
	t->cpu_start_ns += ns;
	t->cpu_last_ns += ns;
}

static void record_sample(struct thread *t, uint32_t node, uint64_t missed, uint64_t took, uint64_t ticks)
{
	t->shared->samples++;
	if (!log_room(t, &t->cpu_log, LOG_CPU, 2)) {
		t->shared->lost_samples += 1 + missed;
		return;
	}
	log_put(&t->cpu_log, event_word(EVENT_SAMPLE, missed, node, MIN(took, EVENT_MASK(24))));
	log_put(&t->cpu_log, ticks);
}

/* The periods begin when the first handler is done: its own time is in none. */
static void after_first(struct thread *t, uint64_t cpu_ns)
{
	if (!t->first_phase)
		return;
	t->first_phase = false;
	if (t->perf_page[PERF_ONCE])
		rearm(t);
	cost_first(t, cpu_ns);
}

void sampler_settle(struct thread *t)
{
	uint64_t due, missed;
	bool busy = t->busy;

	if (!(atomic_load(&agent.shared->active) & INSTRUMENT_CPU) || (!t->perf_page[PERF_ONCE] && !t->timer))
		return;
	t->busy = true;		/* a sample now would be of this */
	atomic_signal_fence(memory_order_seq_cst);
	due = periods_due(t, thread_cpu_ns());
	due -= due > 0;		/* the one that is not over yet */
	missed = due > t->cpu_accounted ? MIN(due - t->cpu_accounted, EVENT_MASK(EVENT_SMALL_BITS)) : 0;
	if (missed && log_room(t, &t->cpu_log, LOG_CPU, 1)) {
		log_put(&t->cpu_log, event_word(EVENT_UNSAMPLED, missed, 0, 0));
		t->cpu_accounted += missed;
	}
	atomic_signal_fence(memory_order_seq_cst);
	t->busy = busy;
}

/* Runs on a stack of the agent: the program's may be a small alternate one. */
static void sample(void *arg)
{
	const struct sample *s = arg;
	struct thread *t = s->thread;
	uint64_t begin = arch_ticks(), cpu_ns = thread_cpu_ns(), due = periods_due(t, cpu_ns), missed, took = 0;
	uint32_t node;

	if (t->busy || begin < t->not_before) {	/* tare's own work was interrupted: not the program's time */
		t->cpu_accounted += t->busy;
		t->shared->tare_samples++;
		after_first(t, cpu_ns);
		return;
	}
	walk_context(&t->cpu_stack.walk, s->context);
	node = nodes_of_stack(&t->cpu_stack, t->shared);
	if (!(t->shared->samples & (t->shared->samples + 1)))
		arch_syscall2(SYS_prctl, PR_GET_NAME, (long)t->shared->name);
	missed = due > t->cpu_accounted + 1 ? due - t->cpu_accounted - 1 : 0;
	missed = MIN(missed, EVENT_MASK(EVENT_SMALL_BITS));
	t->cpu_accounted += missed + 1;
	t->shared->thread_cpu_ns += cpu_ns - t->cpu_last_ns;
	t->cpu_last_ns = cpu_ns;
	if (t->shared->samples % TIMED_SAMPLE == 1) {
		/* by the CPU clock: so long a piece of work is interrupted now and then, which is not its cost */
		took = ns_in_ticks(thread_cpu_ns() - cpu_ns);
		cost_add(&t->shared->cost[COST_SAMPLE], took);
	}
	record_sample(t, node, missed, took, begin);
	after_first(t, cpu_ns);
	take_off(t, begin, cpu_ns);
}

bool sampler_is_ours(const siginfo_t *info)
{
	if (info->si_code == SI_TIMER)
		return info->si_ptr == &agent;
	/* POLL_IN ... POLL_HUP: of a descriptor with F_SETSIG */
	return agent.shared && agent.shared->sampler == SAMPLER_PERF && info->si_code > 0 && info->si_code <= 6;
}

/* All signals are blocked: one that came now would find its handler on the stack of the sampler. */
static __attribute__((noinline)) void handle_sample(struct thread *t, void *context)
{
	if (agent.shared && t && atomic_load_explicit(&agent.shared->active, memory_order_relaxed) & INSTRUMENT_CPU)
		arch_call_on(t->sample_stack + sizeof(t->sample_stack), sample, &(struct sample){ t, context });
}

static void sampler_handler(int signal, siginfo_t *info, void *context)
{
	if (sampler_is_ours(info))
		handle_sample(agent_thread, context);
	else
		signals_forward(agent_thread, signal, info, context);	/* a jump */
}

void sampler_init(void)
{
	signals_take(SAMPLER_SIGNAL, sampler_handler);
}
