/* machine.h - what this machine is, and what its instruments cost */
#ifndef TARE_COLLECT_MACHINE_H
#define TARE_COLLECT_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

struct machine {
	char kernel[65], cpu_model[128], hypervisor[32];
	uint32_t cpus;
	bool pmu;			/* hardware counters can be opened */
	bool perf_signals;		/* software events that signal can be opened by this user */
};
void machine_read(struct machine *ret);

uint64_t machine_monotonic_ns(void);
uint64_t machine_realtime_ns(void);

struct machine_costs {
	uint64_t tick_cost;		/* ticks that two readings of the counter are apart */
	double ticks_per_ns;
	double signal_ns, signal_ns_sd;	/* delivery of a signal to a handler that does nothing, and return */
};
/** machine_calibrate - measures for about 3 ms; Context: one thread; uses SIGURG for a moment */
void machine_calibrate(struct machine_costs *ret);

#endif
