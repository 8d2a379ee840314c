/*
 * cmd_record - several instruments at once, one clock and one file for all
 */
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "cli/measure.h"
#include "cli/units.h"
#include "record/session.h"

static const struct option_spec options[] = {
	{ OPTION_LIST, 'e', "event", "LIST", offsetof(struct settings, instruments),
		"instruments, by commas: cpu, cpu:HZ, heap; may be given again", NULL },
	{ OPTION_COUNT, 0, "depth", "N", offsetof(struct settings, depth), "keep the N innermost frames of a stack", NULL },
	{ OPTION_FLAG, 0, "threads", NULL, offsetof(struct settings, threads), "show the threads too", NULL },
	{ OPTION_COUNT, 0, "limit", "N", offsetof(struct settings, limit), "rows of text", NULL },
	{ OPTION_FLAG, 0, "stacks", NULL, offsetof(struct settings, stacks), "add all stacks to the JSON document", NULL },
	{ OPTION_END, 0, NULL, NULL, 0, NULL, NULL }
};

static int add_cpu(struct invocation *inv, const char *value, struct measure *what)
{
	struct err why = { { 0 } };
	uint64_t hz = MEASURE_HZ;

	if (value && units_count(value, 1, MEASURE_MAX_HZ, &hz, &why) < 0)
		return command_usage(inv, "-e cpu:%s: %s", value, why.text);
	what->instruments |= INSTRUMENT_CPU;
	what->cpu_hz = (uint32_t)hz;
	return 0;
}

static int add_heap(struct invocation *inv, const char *value, struct measure *what)
{
	struct err why = { { 0 } };
	uint64_t bytes = 0;

	if (value && units_size(value, &bytes, &why) < 0)
		return command_usage(inv, "-e heap:%s: %s", value, why.text);
	if (bytes)
		return measure_no_heap_sampling(inv, "-e heap:SAMPLE");
	what->instruments |= INSTRUMENT_HEAP;
	return 0;
}

static int add_instrument(struct invocation *inv, const char *word, struct measure *what)
{
	size_t n = strcspn(word, ":");
	const char *value = word[n] ? word + n + 1 : NULL;

	if (n == 3 && !strncmp(word, "cpu", n))
		return add_cpu(inv, value, what);
	if (n == 4 && !strncmp(word, "heap", n))
		return add_heap(inv, value, what);
	if ((n == 3 && !strncmp(word, "lat", n)) || (n == 5 && !strncmp(word, "stall", n))) {
		err_set(&inv->err, -1, "record: -e %.*s: not in this version of tare (%s)", (int)n, word, TARE_VERSION);
		return STATUS_TARE;
	}
	return command_usage(inv, "-e: there is no instrument '%s' (cpu, heap)", word);
}

static int add_list(struct invocation *inv, const char *list, struct measure *what)
{
	char word[64];
	int status;

	for (;;) {
		size_t n = strcspn(list, ",");

		snprintf(word, sizeof(word), "%.*s", (int)MIN(n, sizeof(word) - 1), list);
		status = add_instrument(inv, word, what);
		if (status || !list[n])
			return status;
		list += n + 1;
	}
}

static int run(struct invocation *inv)
{
	struct measure what = { .next_command = "tare report" };
	int status;

	if (!inv->settings.instruments.n)
		return command_usage(inv, "which instruments? -e cpu,heap");
	for (uint32_t i = 0; i < inv->settings.instruments.n; i++) {
		status = add_list(inv, inv->settings.instruments.words[i], &what);
		if (status)
			return status;
	}
	return measure_program(inv, &what);
}

const struct command command_record = {
	.name = "record",
	.form = "-e LIST [options] [--] PROGRAM [ARG...]",
	.summary = "several instruments at once, into one recording",
	.text = "Runs the program with all instruments named by -e, on one clock and into one file, which tare report and\n"
		"tare export read. Ends with the program's own exit status (man tare, EXIT STATUS).\n",
	.groups = (const struct option_group[]){
		{ "Options", options }, { "Measuring", options_measure }, GROUP_COMMON, { NULL, NULL }
	},
	.examples = "tare record -e cpu,heap -- ./srv\tCPU samples and all allocations\n"
		"tare record -e cpu:4999 -o fast.tare -- ./job\tfive times as many samples, into a file of that name\n"
		"tare report\twhat the newest recording says\n",
	.status_failed = STATUS_TARE,
	.status_usage = STATUS_TARE,
	.run = run,
};
