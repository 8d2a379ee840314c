/*
 * cmd_cpu - where the CPU time goes
 */
#include "cli/measure.h"
#include "record/session.h"

static const struct option_spec options[] = {
	{ OPTION_COUNT, 'F', "frequency", "HZ", offsetof(struct settings, cpu_hz),
		"samples per second of CPU time and thread (997)", NULL },
	{ OPTION_CHOICE, 0, "stack", "HOW", offsetof(struct settings, stack),
		"how stacks are taken: unwind follows the unwind tables, exactly; auto is unwind here", "auto|unwind" },
	{ OPTION_COUNT, 0, "depth", "N", offsetof(struct settings, depth), "keep the N innermost frames of a stack", NULL },
	{ OPTION_FLAG, 0, "threads", NULL, offsetof(struct settings, threads), "show the threads too", NULL },
	{ OPTION_COUNT, 0, "limit", "N", offsetof(struct settings, limit), "rows of text", NULL },
	{ OPTION_FLAG, 0, "stacks", NULL, offsetof(struct settings, stacks), "add all stacks to the JSON document", NULL },
	{ OPTION_ABSENT, 0, "wall", NULL, 0, "all threads, running or not", NULL },
	{ OPTION_END, 0, NULL, NULL, 0, NULL, NULL }
};

static int run(struct invocation *inv)
{
	const struct measure what = {
		.instruments = INSTRUMENT_CPU,
		.cpu_hz = inv->settings.cpu_hz ? (uint32_t)inv->settings.cpu_hz : MEASURE_HZ,
		.next_command = "tare report",
	};

	if (inv->settings.cpu_hz > MEASURE_MAX_HZ)
		return command_usage(inv, "-F: more than %d samples a second would measure mostly tare", MEASURE_MAX_HZ);
	return measure_program(inv, &what);
}

const struct command command_cpu = {
	.name = "cpu",
	.form = "[options] [--] PROGRAM [ARG...]",
	.summary = "where the CPU time goes: functions and their callers, by sampling",
	.text = "Samples the program, its threads and its children by timers on their CPU time, each sample with its whole\n"
		"stack, and prints the share of each function with its 95 % interval. The recording is kept as\n"
		"tare.NAME.PID.tare. Ends with the program's own exit status (man tare, EXIT STATUS).\n",
	.groups = (const struct option_group[]){
		{ "Options", options }, { "Measuring", options_measure }, GROUP_COMMON, { NULL, NULL }
	},
	.examples = "tare cpu -- ./srv --port 80\twhere its CPU time goes\n"
		"tare cpu -d 10s --threads -- ./srv\tthe first ten seconds; it runs on\n"
		"tare cpu -o cpu.pb.gz -- ./srv\ta profile for pprof\n"
		"tare cpu --json --no-file -- ./srv | tail -n 1\tone JSON document, no recording\n",
	.status_failed = STATUS_TARE,
	.status_usage = STATUS_TARE,
	.run = run,
};
