/*
 * cmd_report - what a recording says, as text or JSON
 */
#include <stdlib.h>

#include "base/util.h"
#include "cli/result.h"
#include "cli/saved.h"
#include "cli/talk.h"

static const struct option_spec options[] = {
	{ OPTION_TEXT, 'o', "output", "FILE", offsetof(struct settings, output),
		"write the report there; the suffix decides: .json .txt, or one of tare export --list-formats", NULL },
	{ OPTION_FLAG, 0, "json", NULL, offsetof(struct settings, json), "one JSON document on stdout", NULL },
	{ OPTION_FLAG, 0, "threads", NULL, offsetof(struct settings, threads), "show the threads too", NULL },
	{ OPTION_FLAG, 0, "leaks-only", NULL, offsetof(struct settings, leaks_only), "text: only what was never freed", NULL },
	{ OPTION_COUNT, 0, "limit", "N", offsetof(struct settings, limit), "rows of text", NULL },
	{ OPTION_FLAG, 0, "stacks", NULL, offsetof(struct settings, stacks), "add all stacks to the JSON document", NULL },
	{ OPTION_ABSENT, 0, "base", "OLD", 0, "compare with an older recording", NULL },
	{ OPTION_ABSENT, 0, "function", "FUNC", 0, "about one function", NULL },
	{ OPTION_ABSENT, 0, "max-size", "SIZE", 0, "of the HTML file", NULL },
	{ OPTION_END, 0, NULL, NULL, 0, NULL, NULL }
};

static int run(struct invocation *inv)
{
	struct profile *profile = NULL;
	CLEANUP_FREE char *path = NULL;
	struct result_form form;
	int status, r;

	if (result_form(inv, false, &form) < 0)
		return inv->command->status_usage;
	status = saved_read(inv, &profile, &path);
	if (status)
		return status;
	r = result_write(inv, profile, &form, profile->instruments, false);
	if (!r && form.path && !inv->settings.quiet)
		talk_wrote(form.path);
	profile_free(profile);
	return saved_status(inv, r);
}

const struct command command_report = {
	.name = "report",
	.form = "[options] [FILE]",
	.summary = "what a recording says",
	.text = "Reads FILE, or the newest tare.*.tare of this directory, and prints what each instrument of it found.\n"
		"A recording that was cut short by a crash or a kill is read as far as it goes, and says so.\n",
	.groups = (const struct option_group[]){ { "Options", options }, GROUP_COMMON, { NULL, NULL } },
	.examples = "tare report\tthe newest recording of this directory\n"
		"tare report --limit 50 tare.srv.4711.tare\tmore rows\n"
		"tare report --json | jq .cpu.functions[0]\tfor programs\n",
	.status_failed = 1,
	.status_usage = 2,
	.run = run,
};
