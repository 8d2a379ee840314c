/*
 * cmd_help - the overview, a command's help, a topic, completion scripts
 */
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/output.h"

static const struct option_spec options[] = {
	{ OPTION_CHOICE, 0, "completion", "SHELL", offsetof(struct settings, completion),
		"print the completion script for bash, zsh or fish", "bash|zsh|fish" },
	{ OPTION_END, 0, NULL, NULL, 0, NULL, NULL }
};

static int print(struct invocation *inv, const char *text)
{
	return text && !output_stdout(text, strlen(text), false, &inv->err) ? 0 : inv->command->status_failed;
}

static int no_topic(struct invocation *inv, const char *name)
{
	static const char *const topics[] = { "permissions", "formats", NULL };
	const char *names[32], *meant;
	size_t n = 0;
	int status;

	if (command_absent(name, &status)) {
		err_set(&inv->err, -1, "help: %s: not in this version of tare (%s)", name, TARE_VERSION);
		return inv->command->status_usage;
	}
	for (size_t i = 0; commands[i]; i++)
		names[n++] = commands[i]->name;
	for (size_t i = 0; topics[i]; i++)
		names[n++] = topics[i];
	names[n] = NULL;
	meant = options_closest(name, names);
	return meant ? command_usage(inv, "there is no command or topic '%s'\n  did you mean: %s", name, meant) :
		command_usage(inv, "there is no command or topic '%s'", name);
}

static int run(struct invocation *inv)
{
	CLEANUP_FREE char *text = NULL;
	const struct command *command;

	if (inv->noperands > 1)
		return command_usage(inv, "one command or topic at a time");
	if (inv->settings.completion) {
		text = help_completion(inv->settings.completion);
		return print(inv, text);
	}
	if (!inv->noperands) {
		text = help_overview();
		return print(inv, text);
	}
	if (help_topic(inv->operands[0]))
		return print(inv, help_topic(inv->operands[0]));
	command = command_find(inv->operands[0]);
	if (!command)
		return no_topic(inv, inv->operands[0]);
	text = help_command(command);
	return print(inv, text);
}

const struct command command_help = {
	.name = "help",
	.form = "[COMMAND|permissions|formats]",
	.summary = "this overview, a command's options, or a topic",
	.text = "Prints help on a command or on a topic: permissions, formats.\n",
	.groups = (const struct option_group[]){ { "Options", options }, GROUP_COMMON, { NULL, NULL } },
	.examples = "tare help heap\tthe same as tare heap --help\n"
		"tare help permissions\twhat tare may not measure, and what to do\n"
		"tare help --completion bash\tcompletion for a shell\n",
	.status_failed = 1,
	.status_usage = 2,
	.run = run,
};
