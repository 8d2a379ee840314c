/*
 * cost - the ledger: what tare's own work took inside the program
 *
 * The agent times a share of each kind of its work and counts all of it; the mean of the timed, times the count, is the cost.
 * The delivery of a sample's signal is the kernel's work on tare's behalf: it is calibrated when the run begins. What cannot
 * be had this way is named, not left out.
 */
#include "analyse/cost.h"

#include "base/util.h"

static struct cost_sum cost_total(const struct load *l, enum cost_item item)
{
	struct cost_sum sum = { 0 };
	const struct cost_sum *one;
	size_t i;

	for (i = 0; i < l->nprocesses; i++) {
		if (!l->processes[i] || !l->processes[i]->has_counters)
			continue;
		one = &l->processes[i]->counters.cost[item];
		sum.times += one->times;
		sum.timed += one->timed;
		sum.ticks += one->ticks;
		sum.ticks_squared += one->ticks_squared;
	}
	return sum;
}

static struct estimate cost_mean_ns(const struct load *l, const struct cost_sum *sum)
{
	double mean_ns;

	if (!l->ns_per_tick)
		return (struct estimate){ 0 };
	if (sum->timed && sum->timed == sum->times) {	/* all of it was timed: nothing is estimated */
		mean_ns = (double)sum->ticks / (double)sum->timed * l->ns_per_tick;
		return (struct estimate){ mean_ns, mean_ns, mean_ns, sum->timed, true };
	}
	return estimate_scale(estimate_mean(sum->timed, (double)sum->ticks, (double)sum->ticks_squared), l->ns_per_tick);
}

static struct estimate cost_either(struct estimate a, struct estimate b)
{
	if (!a.known)
		return b;
	return b.known ? estimate_add(a, b) : a;
}

static void cost_add(struct profile *p, struct cost_line line)
{
	if (!line.times)
		return;
	line.cpu_ns = line.unit_ns.known ? line.unit_ns.value * (double)line.times : 0;
	p->costs[p->ncosts++] = line;
}

static const char *cost_how(struct profile *p, const struct cost_sum *sum, const char *what)
{
	if (!sum->timed)
		return "not timed in this run";
	if (sum->timed == sum->times)
		return arena_printf(&p->arena, "%s, each timed in the agent", what);
	return arena_printf(&p->arena, "%s, timed 1 in %.0f in the agent", what, (double)sum->times / (double)sum->timed);
}

static void cost_heap(struct profile *p, const struct load *l)
{
	struct cost_sum walk = cost_total(l, COST_ALLOC_WALK), write = cost_total(l, COST_ALLOC_WRITE);
	struct cost_sum free_sum = cost_total(l, COST_FREE);
	struct cost_sum first = cost_total(l, COST_FIRST_ALLOC), first_free = cost_total(l, COST_FIRST_FREE);
	struct estimate walk_ns = cost_mean_ns(l, &walk), write_ns = cost_mean_ns(l, &write);

	cost_add(p, (struct cost_line){
		.what = "malloc record",
		.unit_ns = cost_either(walk_ns, write_ns),
		.stack_ns = walk_ns.known ? walk_ns.value : 0,
		.write_ns = write_ns.known ? write_ns.value : 0,
		.times = MAX(walk.times, write.times),
		.how = cost_how(p, walk.timed ? &walk : &write, "stack and write"),
	});
	cost_add(p, (struct cost_line){
		.what = "first malloc record",
		.unit_ns = cost_mean_ns(l, &first),
		.times = first.times,
		.how = cost_how(p, &first, "of each thread, cold: stack and write"),
	});
	cost_add(p, (struct cost_line){
		.what = "first free record",
		.unit_ns = cost_mean_ns(l, &first_free),
		.times = first_free.times,
		.how = cost_how(p, &first_free, "of each thread, cold: write"),
	});
	cost_add(p, (struct cost_line){
		.what = "free record",
		.unit_ns = cost_mean_ns(l, &free_sum),
		.times = free_sum.times,
		.how = cost_how(p, &free_sum, "write"),
	});
}

static void cost_cpu(struct profile *p, const struct load *l, const struct cpu *c)
{
	struct cost_sum sum = cost_total(l, COST_SAMPLE);
	struct estimate handler, signal = { 0 };
	double half = 1.96 * l->run.signal_ns_sd;

	if (!sum.timed)		/* each sample tells how long its handler took */
		sum = (struct cost_sum){ MAX(sum.times, c->handled), c->handled, c->handler_ticks, c->handler_ticks_squared };
	handler = cost_mean_ns(l, &sum);
	if (l->run.signal_ns > 0)
		signal = (struct estimate){ l->run.signal_ns, MAX(l->run.signal_ns - half, 0), l->run.signal_ns + half, 1, true };
	cost_add(p, (struct cost_line){
		.what = "sample",
		.unit_ns = handler.known ? cost_either(handler, signal) : handler,
		.times = sum.times,
		.how = signal.known ? "handler timed in the agent, delivery of the signal calibrated at the start" :
				      "handler timed in the agent",
	});
}

static void cost_start(struct profile *p, const struct load *l)
{
	struct cost_sum start = cost_total(l, COST_START);

	cost_add(p, (struct cost_line){
		.what = "agent start",
		.unit_ns = cost_mean_ns(l, &start),
		.times = start.times,
		.how = cost_how(p, &start, p->cpu ? "once a process, and the first sample of each thread" : "once a process"),
	});
}

static void cost_not_measured(struct profile *p, const struct load *l)
{
	const char **list = arena_alloc(&p->arena, 4 * sizeof(*list));
	uint32_t n = 0, i;

	list[n++] = "cache lines evicted by tare";
	list[n++] = "loading of the agent by the loader of each process";
	if (p->cpu && !(l->run.signal_ns > 0))
		list[n++] = "delivery of the samples' signals";
	for (i = 0; i < p->ncosts; i++)
		if (!p->costs[i].unit_ns.known)
			break;
	if (i < p->ncosts)
		list[n++] = "items without a unit cost: nothing of them was timed";
	p->not_measured = list;
	p->nnot_measured = n;
}

void cost_fill(struct profile *p, const struct load *l, const struct cpu *c)
{
	struct estimate sum = { 0 };
	uint64_t memory = 0;
	size_t i;

	p->costs = arena_alloc(&p->arena, 6 * sizeof(*p->costs));
	cost_start(p, l);
	if (p->heap)
		cost_heap(p, l);
	if (p->cpu)
		cost_cpu(p, l, c);
	for (i = 0; i < p->ncosts; i++) {
		p->cost_cpu_ns += p->costs[i].cpu_ns;
		sum = cost_either(sum, estimate_scale(p->costs[i].unit_ns, (double)p->costs[i].times));
	}
	if (p->cpu_ns && (sum.known || !p->ncosts))
		p->cost_ratio = sum.known ? estimate_scale(sum, 1 / (double)p->cpu_ns) : (struct estimate){ .known = true };
	for (i = 0; i < l->nprocesses; i++)
		if (l->processes[i])
			memory += l->processes[i]->counters.memory_bytes;
	p->memory_bytes = MAX(memory, l->end.arena_bytes);
	p->collector_cpu_ns = l->end.collector_cpu_ns;
	cost_not_measured(p, l);
}
