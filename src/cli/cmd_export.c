/*
 * cmd_export - a recording in the formats of other people's tools
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/util.h"
#include "cli/output.h"
#include "cli/result.h"
#include "cli/saved.h"
#include "cli/talk.h"

static const struct option_spec options[] = {
	{ OPTION_TEXT, 0, "format", "NAME", offsetof(struct settings, format), "one of --list-formats", NULL },
	{ OPTION_TEXT, 'o', "output", "FILE", offsetof(struct settings, output),
		"write it there instead of stdout; without --format the suffix decides", NULL },
	{ OPTION_CHOICE, 0, "of", "WHAT", offsetof(struct settings, of),
		"of a recording with both: cpu (what is taken if this is not given) or heap", "cpu|heap" },
	{ OPTION_FLAG, 0, "list-formats", NULL, offsetof(struct settings, list_formats),
		"name, suffix, what it takes, who reads it", NULL },
	{ OPTION_END, 0, NULL, NULL, 0, NULL, NULL }
};

static int list_formats(struct invocation *inv)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	int r;

	if (!f)
		return inv->command->status_failed;
	result_list_formats(f);
	fclose(f);
	r = output_stdout(text, size, false, &inv->err);
	free(text);
	return saved_status(inv, r);
}

static int run(struct invocation *inv)
{
	struct profile *profile = NULL;
	CLEANUP_FREE char *path = NULL;
	struct result_form form;
	int status, r;

	if (inv->settings.list_formats)
		return list_formats(inv);
	if (result_form(inv, false, &form) < 0)
		return inv->command->status_usage;
	if (form.kind != RESULT_EXPORT)
		return command_usage(inv, "which format? --format=NAME (tare export --list-formats)");
	status = saved_read(inv, &profile, &path);
	if (status)
		return status;
	r = result_write(inv, profile, &form, 0, false);
	if (!r && form.path && !inv->settings.quiet)
		talk_wrote(form.path);
	profile_free(profile);
	return saved_status(inv, r);
}

const struct command command_export = {
	.name = "export",
	.form = "[options] [FILE]",
	.summary = "a recording in the formats of other tools",
	.text = "Reads FILE, or the newest tare.*.tare of this directory, and writes it for another tool. A format that cannot\n"
		"hold the data is refused, and those that can are named.\n",
	.groups = (const struct option_group[]){ { "Options", options }, GROUP_COMMON, { NULL, NULL } },
	.examples = "tare export --format=pprof -o cpu.pb.gz\tfor go tool pprof, speedscope\n"
		"tare export --format=folded | flamegraph.pl > cpu.svg\ta flame graph\n"
		"tare export --of heap -o heap.folded tare.srv.4711.tare\tallocated bytes by stack\n",
	.status_failed = 1,
	.status_usage = 2,
	.run = run,
};
