/*
 * collect - runs the program and empties the arena while it runs
 *
 * One thread and one loop: every few milliseconds it sets the arena's coarse clock, every TAKE_NS it takes what the agents
 * have written, and in between it waits for signals, of which the end of the program is one. It never makes the program
 * wait: when this process is stopped or killed, the program goes on.
 */
#include "collect/collect.h"

#include <errno.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/util.h"
#include "collect/drain.h"
#include "collect/launch.h"
#include "collect/machine.h"

enum {
	TICK_MS = 4,				/* the coarse clock */
	TICK_HZ = 100,				/* samples a second where only the kernel's tick can send them */
};
#define TAKE_NS 40000000ull
#define PROGRESS_NS 250000000ull
#define MEMORY_DEFAULT (4ull << 30)

struct run {
	const struct collect_options *options;
	struct launch_arena arena;
	struct session_writer *writer;
	struct drain *drain;
	struct machine machine;
	struct machine_costs costs;
	struct launch_signals signals_before;	/* what the program begins with */
	int signals;				/* signalfd */
	pid_t pid;
	uint64_t begin_ns, take_ns, progress_ns;
	bool measuring, ended, interrupted, interrupted_twice;
	int status;
	struct rusage usage;			/* of the program */
	uint64_t arena_bytes;			/* most that the arena took */
	int error;				/* first failure of writing */
	struct err *err;
};

/* Processes of the program that have not ended; among them children that have not come to the agent yet. */
static unsigned left_behind(const struct run *r)
{
	unsigned running = drain_running(r->drain);

	return running ? running : launch_left_behind(&r->arena);
}

static void cleanup_run(struct run *r)
{
	launch_arena_close(&r->arena, r->arena.dir[0] && r->drain && left_behind(r));
	drain_free(r->drain);
	if (r->writer)
		session_close(r->writer, NULL);
	if (r->signals >= 0)
		close(r->signals);
	launch_signals_restore(&r->signals_before);
}

static void write_record(struct run *r, const struct record *record)
{
	if (!r->error)
		r->error = session_write(r->writer, record, r->err);
}

static void fill_header(struct run *r)
{
	const struct collect_options *o = r->options;
	struct shared_header *shared = r->arena.shared;
	double unit = (double)(1ull << 18) / r->costs.ticks_per_ns;	/* ns of an age unit: a quarter of a ms or less */
	uint32_t hz = o->cpu_hz, i;
	double limit_ns;

	shared->version = SHARED_VERSION;
	shared->instruments = o->instruments;
	shared->window = r->arena.size;
	shared->limit = o->memory_bytes ? o->memory_bytes : MEMORY_DEFAULT;
	shared->no_children = o->no_children;
	shared->depth = o->depth;
	shared->sampler = r->machine.perf_signals ? SAMPLER_PERF : SAMPLER_TIMER;
	if (!r->machine.perf_signals && hz > TICK_HZ)
		hz = TICK_HZ;
	shared->sample_period_ns = hz ? (1000000000u + hz / 2) / hz : 0;
	shared->collector_pid = (uint32_t)getpid();
	shared->stale_ticks = (uint64_t)(1e9 * r->costs.ticks_per_ns);
	shared->tick_cost = r->costs.tick_cost;
	shared->preempted_ticks = (uint64_t)(1e5 * r->costs.ticks_per_ns);
	shared->ticks_per_mi_ns = (uint64_t)(r->costs.ticks_per_ns * (1 << 20));
	shared->age_shift = 18;
	for (i = 1, limit_ns = 1e6; i < EVENT_AGE_CLASSES; i++, limit_ns *= 10)
		shared->age_limit[i] = (uint64_t)(limit_ns / unit);
	shared->next = SHARED_UNIT;
	shared->coarse_ticks = arch_ticks();
	shared->active = o->instruments;
	shared->magic = SHARED_MAGIC;
}

static void write_clock(struct run *r)
{
	write_record(r, &(struct record){ .kind = REC_CLOCK, .clock = {
		.ticks = arch_ticks(), .monotonic_ns = machine_monotonic_ns() } });
}

static void write_run(struct run *r)
{
	const struct collect_options *o = r->options;
	struct shared_header *shared = r->arena.shared;
	uint32_t argc = 0;

	while (o->argv[argc])
		argc++;
	write_record(r, &(struct record){ .kind = REC_RUN, .run = {
		.instruments = o->instruments, .pid = (uint32_t)r->pid, .heap_sample_bytes = o->heap_sample_bytes,
		.cpu_hz = shared->sample_period_ns ?
			(uint32_t)((1000000000u + shared->sample_period_ns / 2) / shared->sample_period_ns) : 0,
		.start_ticks = arch_ticks(), .start_monotonic_ns = r->begin_ns, .start_realtime_ns = machine_realtime_ns(),
		.signal_ns = r->costs.signal_ns, .signal_ns_sd = r->costs.signal_ns_sd, .cpus = r->machine.cpus,
		.kernel = r->machine.kernel, .arch = ARCH_NAME, .cpu_model = r->machine.cpu_model,
		.hypervisor = r->machine.hypervisor, .pmu = r->machine.pmu, .argc = argc,
		.argv = (const char *const *)o->argv } });
	write_clock(r);
	if (shared->sampler == SAMPLER_TIMER && o->instruments & INSTRUMENT_CPU)
		write_record(r, &(struct record){ .kind = REC_NOTE, .note = {
			.code = "no-permission",
			.text = "perf events are not permitted here (kernel.perf_event_paranoid, or a container's filter), so CPU "
				"samples come from a POSIX timer at the kernel's tick, at most 100 a second",
			.next = "sudo sysctl kernel.perf_event_paranoid=2" } });
}

static void take(struct run *r, bool last)
{
	int error = drain_run(r->drain, last, r->err);
	struct stat st;

	if (!fstat(r->arena.fd, &st))
		r->arena_bytes = MAX(r->arena_bytes, (uint64_t)st.st_blocks * 512);

	if (error && !r->error)
		r->error = error;
	if (!r->error)
		r->error = session_flush(r->writer, r->err);
}

static void write_notes(struct run *r)
{
	uint32_t flags = drain_flags(r->drain);
	char text[300];
	struct rec_note none = { .code = "static-binary",
		.text = "no process of the program loaded tare's agent, so nothing was recorded: it may be static, or drop "
			"LD_PRELOAD from its environment",
		.next = "" };
	struct rec_note own = { .code = "static-binary",
		.text = "the program defines malloc itself, so its allocations did not come to the agent and are not in this result",
		.next = "link the allocator as a shared library, or preload it" };

	if (r->ended && left_behind(r)) {
		snprintf(text, sizeof(text), "%u processes of the program run on; %s/agent.so stays for the programs that they "
			 "start", left_behind(r), r->arena.dir);
		write_record(r, &(struct record){ .kind = REC_NOTE, .note = { .code = "left-behind", .text = text, .next = "" } });
	}
	if (atomic_load(&r->arena.shared->refused)) {
		snprintf(text, sizeof(text), "shared memory could not be had %llu times (%llu MB are in use): what a process or "
			 "thread would have written there is missing",
			 (unsigned long long)atomic_load(&r->arena.shared->refused),
			 (unsigned long long)atomic_load(&r->arena.shared->used) >> 20);
		write_record(r, &(struct record){ .kind = REC_NOTE, .note = { .code = "loss", .text = text,
			.next = "ulimit -v unlimited, or a shorter run" } });
	}
	if (!drain_processes(r->drain))
		write_record(r, &(struct record){ .kind = REC_NOTE, .note = none });
	if (flags & PROCESS_OWN_MALLOC)
		write_record(r, &(struct record){ .kind = REC_NOTE, .note = own });
	if (flags & PROCESS_NO_SAMPLER)
		write_record(r, &(struct record){ .kind = REC_NOTE, .note = {
			.code = "no-permission", .text = "the CPU sampler could not be started in every thread", .next = "" } });
}

static uint64_t usage_cpu_ns(const struct rusage *u)
{
	return ((uint64_t)u->ru_utime.tv_sec + (uint64_t)u->ru_stime.tv_sec) * 1000000000u +
	       ((uint64_t)u->ru_utime.tv_usec + (uint64_t)u->ru_stime.tv_usec) * 1000u;
}

/* CPU of a program that runs on: of its threads and the children that it has waited for. */
static uint64_t running_cpu_ns(pid_t pid)
{
	unsigned long long ticks[4] = { 0 };
	char path[64], text[1024] = "", *p;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	p = fgets(text, sizeof(text), f) ? strrchr(text, ')') : NULL;
	fclose(f);
	if (!p || sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %llu %llu", &ticks[0], &ticks[1],
			 &ticks[2], &ticks[3]) != 4)
		return 0;
	return (ticks[0] + ticks[1] + ticks[2] + ticks[3]) * (1000000000u / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* The measurement is over: all that the agents have written is in the session, which gets its end. */
static void finish(struct run *r)
{
	struct rusage own;

	atomic_store(&r->arena.shared->active, 0);
	if (r->ended)
		drain_ended(r->drain, (uint32_t)r->pid, r->status);
	take(r, true);
	write_notes(r);
	write_clock(r);
	getrusage(RUSAGE_SELF, &own);
	write_record(r, &(struct record){ .kind = REC_END, .end = {
		.wall_ns = machine_monotonic_ns() - r->begin_ns,
		.cpu_ns = r->ended ? usage_cpu_ns(&r->usage) : running_cpu_ns(r->pid),
		.maxrss_bytes = r->ended ? (uint64_t)r->usage.ru_maxrss * 1024 : 0,
		.collector_cpu_ns = usage_cpu_ns(&own),
		.arena_bytes = r->arena_bytes,
		.exit_code = r->ended && WIFEXITED(r->status) ? WEXITSTATUS(r->status) : -1,
		.signal = r->ended && WIFSIGNALED(r->status) ? WTERMSIG(r->status) : 0,
		.measured_to_end = r->ended } });
	if (r->error)
		session_close(r->writer, NULL);
	else
		r->error = session_close(r->writer, r->err);
	r->writer = NULL;
	r->measuring = false;
	if (!r->ended && r->options->measured && !r->error)
		r->options->measured(r->options->arg);
}

static void on_child(struct run *r)
{
	int status;

	/* stops and continuations are the program's affair: only its end is waited for */
	if (wait4(r->pid, &status, WNOHANG, &r->usage) == r->pid) {
		r->status = status;
		r->ended = true;
	}
}

/* As the kernel would have: not at all where nobody could continue this process (an orphaned process group). */
static void stop_self(void)
{
	sigset_t stop, before;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	raise(SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &stop, &before);	/* stops here, until it is continued */
	sigprocmask(SIG_SETMASK, &before, NULL);
}

static void on_signal(struct run *r, int signal)
{
	switch (signal) {
	case SIGCHLD:
		break;
	case SIGINT:
	case SIGQUIT:
		/* the terminal has sent it to the program as well; a second one ends the waiting */
		r->interrupted_twice = r->interrupted;
		r->interrupted = true;
		break;
	case SIGTSTP:
		kill(r->pid, signal);
		stop_self();
		break;
	default:
		kill(r->pid, signal);
	}
	on_child(r);
}

static void wait_a_tick(struct run *r, int timeout_ms)
{
	struct pollfd pollfd = { .fd = r->signals, .events = POLLIN };
	struct signalfd_siginfo info;

	if (poll(&pollfd, 1, timeout_ms) <= 0)
		return;
	while (read(r->signals, &info, sizeof(info)) == sizeof(info))
		on_signal(r, (int)info.ssi_signo);
}

static void tick(struct run *r)
{
	const struct collect_options *o = r->options;
	uint64_t now = machine_monotonic_ns();

	atomic_store_explicit(&r->arena.shared->coarse_ticks, arch_ticks(), memory_order_relaxed);
	if (now >= r->take_ns) {
		take(r, false);
		r->take_ns = now + TAKE_NS;
	}
	if (o->progress && now >= r->progress_ns) {
		o->progress(now - r->begin_ns, drain_events(r->drain), o->arg);
		r->progress_ns = now + PROGRESS_NS;
	}
	if (r->ended || r->interrupted_twice || (o->duration_ns && now - r->begin_ns >= o->duration_ns))
		finish(r);
}

static int open_signals(struct run *r)
{
	static const int wanted[] = { SIGCHLD, SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGWINCH, SIGTSTP, SIGCONT };
	struct sigaction ignore = { .sa_handler = SIG_IGN }, usual = { .sa_handler = SIG_DFL };
	sigset_t set;
	size_t i;

	sigaction(SIGXFSZ, &ignore, &r->signals_before.xfsz);	/* a limit on file sizes is an error of write, not our end */
	sigaction(SIGCHLD, &usual, &r->signals_before.chld);	/* ignored, it would never come */
	sigemptyset(&set);
	for (i = 0; i < ARRAY_SIZE(wanted); i++)
		sigaddset(&set, wanted[i]);
	if (sigprocmask(SIG_BLOCK, &set, &r->signals_before.mask))
		return -errno;
	r->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return r->signals < 0 ? -errno : 0;
}

/*
 * The program has none of them, so what this process may do with them says nothing of what the agent may; and a process with
 * more rights than the program could not share memory with it by /proc.
 */
static void drop_capabilities(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	if (geteuid() == 0)
		return;
	syscall(SYS_capset, &header, none);
	prctl(PR_SET_DUMPABLE, 1);
}

static int prepare(struct run *r, struct err *err)
{
	const struct collect_options *o = r->options;
	int error;

	machine_read(&r->machine);
	machine_calibrate(&r->costs);
	error = launch_arena_open(&r->arena, o->agent_path, err);
	if (error)
		return error;
	fill_header(r);
	error = session_create(&r->writer, o->session_path, o->force, err);
	if (error)
		return error;
	r->drain = drain_new(&r->arena, o->agent_path, r->writer);
	return r->drain ? 0 : err_set(err, -ENOMEM, "out of memory");
}

int collect_run(const struct collect_options *options, struct collect_result *ret, struct err *err)
{
	struct run r CLEANUP(cleanup_run) = { .options = options, .arena.fd = -1, .signals = -1, .measuring = true, .err = err };
	int error;

	drop_capabilities();
	error = open_signals(&r);
	if (error)
		return err_set(err, error, "cannot watch signals: %s", strerror(-error));
	error = prepare(&r, err);
	if (error)
		return error;
	r.begin_ns = machine_monotonic_ns();
	error = launch_start(&r.pid, &r.arena, options->program_path, options->argv, &r.signals_before, err);
	if (error) {
		if (error > 0)
			waitpid(r.pid, NULL, 0);
		unlink(options->session_path);
		return error;
	}
	write_run(&r);
	if (options->started)
		options->started((uint32_t)r.pid, options->arg);
	r.take_ns = r.progress_ns = r.begin_ns + TAKE_NS;
	while (r.measuring) {
		wait_a_tick(&r, TICK_MS);
		tick(&r);
	}
	while (!r.ended && !r.interrupted_twice)
		wait_a_tick(&r, -1);
	*ret = (struct collect_result){ .status = r.status, .interrupted_twice = r.interrupted_twice };
	return r.error;
}
