/*
 * cmd_cost - what measuring cost
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/util.h"
#include "cli/result.h"
#include "cli/saved.h"
#include "cli/talk.h"

static const struct option_spec cost_options[] = {
	{ OPTION_FLAG, 0, "json", NULL, offsetof(struct settings, json), "one JSON document on stdout", NULL },
	{ OPTION_TEXT, 'o', "output", "FILE", offsetof(struct settings, output),
		"write it there; the suffix decides: .json .txt", NULL },
	{ OPTION_ABSENT, 0, "check", NULL, 0, "check from outside: the same work with and without", NULL },
	{ OPTION_END, 0, NULL, NULL, 0, NULL, NULL }
};

static int run(struct invocation *inv)
{
	struct profile *profile = NULL;
	CLEANUP_FREE char *path = NULL;
	struct result_form form;
	int status, r;

	if (!inv->noperands) {
		err_set(&inv->err, -ENOSYS, "cost: without a FILE (measuring the primitives of this machine): not in this "
			"version of tare (%s)\n  still works: the ledger of a recording", TARE_VERSION);
		err_next(&inv->err, "tare cost FILE.tare");
		return inv->command->status_usage;
	}
	if (result_form(inv, false, &form) < 0)
		return inv->command->status_usage;
	if (form.kind == RESULT_EXPORT)
		return command_usage(inv, "-o %s: a ledger is written as .json or .txt", form.path);
	status = saved_read(inv, &profile, &path);
	if (status)
		return status;
	r = result_write(inv, profile, &form, 0, false);
	if (!r && form.path && !inv->settings.quiet)
		talk_wrote(form.path);
	profile_free(profile);
	return saved_status(inv, r);
}

const struct command command_cost = {
	.name = "cost",
	.form = "[options] FILE",
	.summary = "what measuring cost: the ledger of a recording",
	.text = "Prints each kind of work that tare did inside the program: how often, what one took, and the sum, as timed in\n"
		"that run.\n",
	.groups = (const struct option_group[]){ { "Options", cost_options }, GROUP_COMMON, { NULL, NULL } },
	.examples = "tare cost tare.srv.4711.tare\tthe ledger of that run\n",
	.status_failed = 1,
	.status_usage = 2,
	.run = run,
};
