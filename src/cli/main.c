/*
 * main - finds the command, reads its options, runs it, and says what went wrong
 *
 * The only place where a struct err becomes words. Exit statuses are the contract's: a command that starts a program ends
 * with the program's own status, so tare's failures there are 125 to 127; all others end with 0, 1 or 2.
 */
#include <errno.h>
#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/util.h"
#include "cli/command.h"
#include "cli/config.h"
#include "cli/help.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/talk.h"

const struct command *const commands[] = {
	&command_cpu, &command_heap, &command_record, &command_report, &command_export, &command_cost, &command_help, NULL
};

/* Commands of the contract that come later. */
static const struct { const char *name; int status; } absent[] = {
	{ "lat", STATUS_TARE }, { "stall", STATUS_TARE }, { "lab", 2 }, { "layout", STATUS_TARE },
	{ "compare", STATUS_TARE }, { "stack", 2 }, { "doctor", 2 }, { "top", 2 },
};

const struct option_spec options_common[] = {
	{ OPTION_FLAG, 'q', "quiet", NULL, offsetof(struct settings, quiet), "no talk on stderr, only errors", NULL },
	{ OPTION_FLAG, 'v', "verbose", NULL, offsetof(struct settings, verbose),
		"more talk; errors tell file and line of the source", NULL },
	{ OPTION_CHOICE, 0, "color", "WHEN", offsetof(struct settings, color),
		"auto, always or never; beats NO_COLOR and TERM", "auto|always|never" },
	{ OPTION_FLAG, 0, "no-config", NULL, offsetof(struct settings, no_config),
		"do not read $XDG_CONFIG_HOME/tare/config", NULL },
	{ OPTION_FLAG, 'h', "help", NULL, offsetof(struct settings, help), "this text", NULL },
	{ OPTION_FLAG, 0, "version", NULL, offsetof(struct settings, version), "the version of tare", NULL },
	{ OPTION_END, 0, NULL, NULL, 0, NULL, NULL }
};

const struct command *command_find(const char *name)
{
	for (size_t i = 0; commands[i]; i++) {
		if (!strcmp(commands[i]->name, name))
			return commands[i];
	}
	return NULL;
}

bool command_absent(const char *name, int *ret_status)
{
	for (size_t i = 0; i < ARRAY_SIZE(absent); i++) {
		if (!strcmp(absent[i].name, name)) {
			*ret_status = absent[i].status;
			return true;
		}
	}
	return false;
}

int command_usage(struct invocation *inv, const char *format, ...)
{
	char text[600];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	err_set(&inv->err, -EINVAL, "%s: %s", inv->command->name, text);
	err_next(&inv->err, "tare %s --help", inv->command->name);
	return inv->command->status_usage;
}

static void no_memory(void)
{
	static const char text[] = "tare: out of memory\n";
	ssize_t n = write(STDERR_FILENO, text, sizeof(text) - 1);

	(void)n;
	_exit(STATUS_TARE);
}

static int print(const char *text)
{
	struct err err = { { 0 } };
	int r = output_stdout(text, strlen(text), false, &err);

	if (r < 0 && err.text[0])
		talk_error(&err, false);
	return r < 0 ? 1 : 0;
}

static int unknown_command(const char *word)
{
	const char *names[32];
	struct err err = { { 0 } };
	const char *meant;
	size_t n = 0, i;
	int status;

	if (command_absent(word, &status)) {
		err_set(&err, -ENOSYS, "%s: not in this version of tare (%s)", word, TARE_VERSION);
		talk_error(&err, false);
		return status;
	}
	for (i = 0; commands[i]; i++)
		names[n++] = commands[i]->name;
	names[n] = NULL;
	meant = options_closest(word, names);
	if (word[0] == '-')
		err_set(&err, -EINVAL, "unknown option '%s' before a command", word);
	else if (meant)
		err_set(&err, -EINVAL, "there is no command '%s'\n  did you mean: %s", word, meant);
	else
		err_set(&err, -EINVAL, "there is no command '%s'", word);
	err_next(&err, "tare --help");
	talk_error(&err, false);
	return 2;
}

static int read_options(struct invocation *inv, char **argv)
{
	struct word_list configured;
	int r = 0;

	/* "--no-config" and "--help" count before the configuration is read: it may be what is wrong. */
	for (char **p = argv; *p && (*p)[0] == '-' && strcmp(*p, "--"); p++) {
		inv->settings.no_config |= !strcmp(*p, "--no-config");
		inv->settings.no_config |= !strcmp(*p, "--help") || !strcmp(*p, "-h");
	}
	if (!inv->settings.no_config)
		r = config_read(inv);
	if (r)
		return r;
	configured = inv->settings.instruments;
	inv->settings.instruments.n = 0;
	if (inv->command->status_usage == STATUS_TARE)
		r = options_parse(inv, argv);
	else
		r = options_parse_all(inv, argv);
	if (!inv->settings.instruments.n)
		inv->settings.instruments = configured;
	return r;
}

static int run_command(const struct command *command, char **argv)
{
	struct invocation inv = { .command = command };
	int status, r = read_options(&inv, argv);

	if (inv.unread.text[0] && inv.settings.verbose)
		talk_error(&inv.unread, true);
	if (r) {
		status = command->status_usage;
	} else if (inv.settings.help) {
		CLEANUP_FREE char *text = help_command(command);

		return text ? print(text) : 1;
	} else if (inv.settings.version) {
		return print("tare " TARE_VERSION "\n");
	} else {
		status = command->run(&inv);
	}
	if (inv.err.text[0])
		talk_error(&inv.err, inv.settings.verbose);
	return status;
}

int main(int argc, char **argv)
{
	const struct command *command;

	arena_no_memory = no_memory;
	setlocale(LC_CTYPE, "");
	if (argc < 2) {
		struct err err = { { 0 } };

		err_set(&err, -EINVAL, "no command given");
		err_next(&err, "tare --help");
		talk_error(&err, false);
		return 2;
	}
	if (!strcmp(argv[1], "--version"))
		return print("tare " TARE_VERSION "\n");
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return run_command(&command_help, argv + argc);
	command = command_find(argv[1]);
	if (!command)
		return unknown_command(argv[1]);
	return run_command(command, argv + 2);
}
