/*
 * cmd_heap - who allocates, who leaks, what the peak is made of
 */
#include "cli/measure.h"
#include "record/session.h"

static const struct option_spec options[] = {
	{ OPTION_FLAG, 0, "leaks-only", NULL, offsetof(struct settings, leaks_only), "text: only what was never freed", NULL },
	{ OPTION_COUNT, 0, "depth", "N", offsetof(struct settings, depth), "keep the N innermost frames of a stack", NULL },
	{ OPTION_COUNT, 0, "limit", "N", offsetof(struct settings, limit), "rows of text", NULL },
	{ OPTION_SIZE, 0, "sample", "SIZE", offsetof(struct settings, heap_sample_bytes),
		"0: every call, the only kind of this version", NULL },
	{ OPTION_ABSENT, 0, "mmap", NULL, 0, "the program's own mappings too", NULL },
	{ OPTION_END, 0, NULL, NULL, 0, NULL, NULL }
};

static int run(struct invocation *inv)
{
	const struct measure what = { .instruments = INSTRUMENT_HEAP, .next_command = "tare report" };

	if (inv->settings.heap_sample_bytes)
		return measure_no_heap_sampling(inv, "--sample");
	return measure_program(inv, &what);
}

const struct command command_heap = {
	.name = "heap",
	.form = "[options] [--] PROGRAM [ARG...]",
	.summary = "every allocation with its stack: who allocates, who leaks, what the peak is made of",
	.text = "Records every malloc, calloc, realloc, free, aligned form and C++ new of the program and its children, with its\n"
		"stack. Never freed need not be a leak. The recording is kept as tare.NAME.PID.tare. Ends with the program's\n"
		"own exit status (man tare, EXIT STATUS).\n",
	.groups = (const struct option_group[]){
		{ "Options", options }, { "Measuring", options_measure }, GROUP_COMMON, { NULL, NULL }
	},
	.examples = "tare heap -- python3 job.py\twho allocates, and what the peak is made of\n"
		"tare heap --leaks-only -- ./srv\twhat was never freed, by stack\n"
		"tare heap -o heap.json -- ./srv\tthe result as a JSON document\n",
	.status_failed = STATUS_TARE,
	.status_usage = STATUS_TARE,
	.run = run,
};
