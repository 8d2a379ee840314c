/*
 * machine - what this machine is, and what its instruments cost
 *
 * The cost of a signal is measured by sending one to this thread, less the same system call without a signal: the part of a
 * sample that the agent cannot time itself, since it is over before the handler begins and goes on after it ends.
 */
#include "collect/machine.h"

#include <linux/perf_event.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/util.h"

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t machine_monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t machine_realtime_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

static bool event_opens(uint32_t type, uint64_t config)
{
	struct perf_event_attr attr;
	long fd;

	memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = type;
	attr.config = config;
	attr.exclude_kernel = attr.exclude_hv = 1;
	fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return false;
	close((int)fd);
	return true;
}

static void read_cpuinfo(struct machine *m)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char *line = NULL, *value;
	size_t size = 0;
	bool guest = false;

	while (f && getline(&line, &size, f) > 0) {
		value = strchr(line, ':');
		if (!value)
			continue;
		value += 1 + (value[1] == ' ');
		value[strcspn(value, "\n")] = 0;
		if (!m->cpu_model[0] && !strncmp(line, "model name", 10))
			snprintf(m->cpu_model, sizeof(m->cpu_model), "%s", value);
		if (!strncmp(line, "flags", 5) && strstr(value, " hypervisor"))
			guest = true;
	}
	free(line);
	if (f)
		fclose(f);
	if (guest)
		arch_hypervisor(m->hypervisor, sizeof(m->hypervisor));
}

void machine_read(struct machine *ret)
{
	struct utsname name;

	*ret = (struct machine){ .cpus = (uint32_t)sysconf(_SC_NPROCESSORS_ONLN) };
	if (!uname(&name))
		snprintf(ret->kernel, sizeof(ret->kernel), "%s", name.release);
	read_cpuinfo(ret);
	ret->pmu = event_opens(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	ret->perf_signals = event_opens(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
}

static void nothing(int signal, siginfo_t *info, void *context)
{
}

static uint64_t time_tgkill(int signal)
{
	uint64_t begin = arch_ticks();

	syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), signal);
	return arch_ticks() - begin;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The mean of the middle: what other threads did to a few of the measurements is not the signal's cost. */
static void calibrate_signal(struct machine_costs *c)
{
	enum { TIMES = 200, CUT = TIMES / 10 };
	struct sigaction action = { .sa_sigaction = nothing, .sa_flags = SA_SIGINFO }, before;
	double ns[TIMES], sum = 0, squares = 0;
	int i;

	if (sigaction(SIGURG, &action, &before))
		return;
	for (i = 0; i < TIMES; i++) {
		uint64_t with = time_tgkill(SIGURG), without = time_tgkill(0);

		ns[i] = ((double)with - (double)without) / c->ticks_per_ns;
	}
	sigaction(SIGURG, &before, NULL);
	qsort(ns, TIMES, sizeof(*ns), by_value);
	for (i = CUT; i < TIMES - CUT; i++) {
		sum += ns[i];
		squares += ns[i] * ns[i];
	}
	c->signal_ns = MAX(sum / (TIMES - 2 * CUT), 0);
	c->signal_ns_sd = sqrt(MAX(squares / (TIMES - 2 * CUT) - c->signal_ns * c->signal_ns, 0));
}

void machine_calibrate(struct machine_costs *ret)
{
	uint64_t begin_ns = machine_monotonic_ns(), begin = arch_ticks(), end_ns, first, second;
	int i;

	*ret = (struct machine_costs){ .tick_cost = UINT64_MAX };
	for (i = 0; i < 1000; i++) {
		first = arch_ticks();
		second = arch_ticks();
		ret->tick_cost = MIN(ret->tick_cost, second - first);
	}
	do
		end_ns = machine_monotonic_ns();
	while (end_ns - begin_ns < 2000000);
	ret->ticks_per_ns = (double)(arch_ticks() - begin) / (double)(end_ns - begin_ns);
	calibrate_signal(ret);
}
