/*
 * law - what a session may say
 *
 * The writer and the reader ask the same function, so a collector that breaks a rule learns it when it writes, and not from
 * the user whose recording cannot be read. The rules are those that let an analysis index arrays by what a record says
 * without a further look: processes are declared before they are named, nodes come without gaps, parents before children.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/util.h"
#include "record/event.h"
#include "record/format.h"

/* State of a process number. */
struct law_process {
	bool known;
	uint32_t next_node;	/* the number that the next node has to have */
};

static int refuse(const char **ret_why, const char *why)
{
	*ret_why = why;
	return -EBADMSG;
}

static struct law_process *find(const struct law *law, uint32_t process)
{
	if (process >= law->nprocesses || !law->processes[process].known)
		return NULL;
	return &law->processes[process];
}

static int reserve(struct law *law, uint32_t process)
{
	uint32_t n = MAX(MAX(16u, process + 1), law->nprocesses + law->nprocesses / 2);
	struct law_process *p;

	if (process < law->nprocesses)
		return 0;
	p = realloc(law->processes, n * sizeof(*p));
	if (!p)
		return -ENOMEM;
	memset(p + law->nprocesses, 0, (n - law->nprocesses) * sizeof(*p));
	law->processes = p;
	law->nprocesses = n;
	return 0;
}

static int check_process(struct law *law, const struct rec_process *p, const char **ret_why)
{
	int r;

	if (p->process >= FORMAT_PROCESSES_MAX)
		return refuse(ret_why, "a process number above 1048575");
	if (find(law, p->process))
		return refuse(ret_why, "a process number that is declared twice");
	if (p->forked_from < -1 || (p->forked_from >= 0 && !find(law, (uint32_t)p->forked_from)))
		return refuse(ret_why, "a process forked from one that no record declared");
	if (p->first_node > EVENT_MASK(EVENT_NODE_BITS))
		return refuse(ret_why, "a first node above 2^24 - 1");
	if (p->argc > FORMAT_STRINGS_MAX)
		return refuse(ret_why, "more than 1048576 arguments");
	r = reserve(law, p->process);
	if (r < 0)
		return r;
	law->processes[p->process] = (struct law_process){
		.known = true, .next_node = MAX((uint32_t)EVENT_FIRST_NODE, p->first_node)
	};
	return 0;
}

uint32_t law_next_node(const struct law *law, uint32_t process)
{
	const struct law_process *p = find(law, process);

	return p ? p->next_node : UINT32_MAX;
}

static int check_nodes(struct law *law, const struct rec_nodes *nodes, const char **ret_why)
{
	struct law_process *p = find(law, nodes->process);

	if (!p)
		return refuse(ret_why, "nodes of a process that no record declared");
	if (nodes->first != p->next_node)
		return refuse(ret_why, "nodes that do not follow the nodes before");
	if (nodes->n > EVENT_MASK(EVENT_NODE_BITS) + 1 - nodes->first)
		return refuse(ret_why, "a node above 2^24 - 1");
	for (uint32_t i = 0; i < nodes->n; i++)
		if (nodes->nodes[i].parent >= nodes->first + i)
			return refuse(ret_why, "a node whose parent does not come before it");
	p->next_node += nodes->n;
	return 0;
}

static int check_log(struct law *law, const struct rec_log *log, const char **ret_why)
{
	if (!find(law, log->process))
		return refuse(ret_why, "a log of a process that no record declared");
	if (log->slot >= FORMAT_SLOTS_MAX)
		return refuse(ret_why, "a thread slot above 1048575");
	if (log->instrument != INSTRUMENT_CPU && log->instrument != INSTRUMENT_HEAP)
		return refuse(ret_why, "a log of an unknown instrument");
	return 0;
}

static int check_module(struct law *law, const struct rec_module *module, const char **ret_why)
{
	if (!find(law, module->process))
		return refuse(ret_why, "a module of a process that no record declared");
	if (module->start > module->end)
		return refuse(ret_why, "a module that ends before it starts");
	if (module->build_id_len > sizeof(module->build_id))
		return refuse(ret_why, "a build id longer than 20 bytes");
	return 0;
}

static int check_named(struct law *law, uint32_t process, const char **ret_why)
{
	return find(law, process) ? 0 : refuse(ret_why, "a record of a process that no record declared");
}

static int check_run(struct law *law, const struct rec_run *run, const char **ret_why)
{
	if (run->instruments & ~(uint32_t)(INSTRUMENT_CPU | INSTRUMENT_HEAP))
		return refuse(ret_why, "a run with an unknown instrument");
	if (!isfinite(run->signal_ns) || run->signal_ns < 0 || !isfinite(run->signal_ns_sd) || run->signal_ns_sd < 0)
		return refuse(ret_why, "a time that is not finite or is below 0");
	if (run->argc > FORMAT_STRINGS_MAX)
		return refuse(ret_why, "more than 1048576 arguments");
	law->run = true;
	return 0;
}

int law_check(struct law *law, const struct record *record, const char **ret_why)
{
	if (law->end)
		return refuse(ret_why, "a record after the end of the run");
	if (law->run != (record->kind != REC_RUN))
		return refuse(ret_why, law->run ? "a second run" : "a record before the run");
	switch (record->kind) {
	case REC_RUN:
		return check_run(law, &record->run, ret_why);
	case REC_PROCESS:
		return check_process(law, &record->process, ret_why);
	case REC_MODULE:
		return check_module(law, &record->module, ret_why);
	case REC_NODES:
		return check_nodes(law, &record->nodes, ret_why);
	case REC_LOG:
		return check_log(law, &record->log, ret_why);
	case REC_THREAD:
		return check_named(law, record->thread.process, ret_why);
	case REC_COUNTERS:
		return check_named(law, record->counters.process, ret_why);
	case REC_PERF_MAP:
		return check_named(law, record->perf_map.process, ret_why);
	case REC_PROCESS_END:
		return check_named(law, record->process_end.process, ret_why);
	case REC_END:
		law->end = true;
		return 0;
	case REC_CLOCK:
	case REC_NOTE:
		return 0;
	case REC_KINDS:
		break;
	}
	return refuse(ret_why, "a record of an unknown kind");
}

void law_fini(struct law *law)
{
	free(law->processes);
	*law = (struct law){0};
}
