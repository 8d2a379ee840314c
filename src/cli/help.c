/*
 * help - --help from the option tables
 *
 * What is printed here, what is parsed (options.c) and what shells complete (completion.c) come from the same tables; a
 * lint holds the man pages against --help.
 */
#include "cli/help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

enum { COLUMN = 28, WIDTH = 100 };

/* Words of @text from column @at on, broken before WIDTH, with later lines indented to @indent. */
static void wrap(FILE *f, const char *text, int at, int indent)
{
	while (*text) {
		int n = (int)strcspn(text, " ");

		if (at > indent && at + 1 + n > WIDTH) {
			fprintf(f, "\n%*s", indent, "");
			at = indent;
		} else if (at > indent) {
			fputc(' ', f);
			at++;
		}
		fprintf(f, "%.*s", n, text);
		at += n;
		text += n;
		text += strspn(text, " ");
	}
	fputc('\n', f);
}

static void option_line(FILE *f, const struct option_spec *o)
{
	char head[80];
	int n;

	n = snprintf(head, sizeof(head), "  %c%c%s --%s%s%s", o->letter ? '-' : ' ', o->letter ? o->letter : ' ',
		o->letter ? "," : " ", o->name, o->arg ? "=" : "", o->arg ? o->arg : "");
	fputs(head, f);
	if (n > COLUMN - 2) {
		fputc('\n', f);
		n = 0;
	}
	fprintf(f, "%*s", COLUMN - n, "");
	wrap(f, o->help, COLUMN, COLUMN);
}

static void example_lines(FILE *f, const char *examples)
{
	while (*examples) {
		int command = (int)strcspn(examples, "\t"), line = (int)strcspn(examples, "\n");

		fprintf(f, "  %.*s\n", command, examples);
		fprintf(f, "      %.*s\n", line - command - 1, examples + command + 1);
		examples += line + 1;
	}
}

static bool group_has(const struct option_group *group, bool absent)
{
	for (const struct option_spec *o = group->options; o->type; o++) {
		if ((o->type == OPTION_ABSENT) == absent)
			return true;
	}
	return false;
}

static void absent_line(FILE *f, const struct command *command)
{
	const struct option_group *group;
	bool first = true;

	for (group = command->groups; group->title; group++) {
		for (const struct option_spec *o = group->options; group_has(group, true) && o->type; o++) {
			if (o->type != OPTION_ABSENT)
				continue;
			fprintf(f, "%s--%s", first ? "\nNot in this version: " : " ", o->name);
			first = false;
		}
	}
	if (!first)
		fputc('\n', f);
}

char *help_command(const struct command *command)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	fprintf(f, "tare %s: %s\n\nusage: tare %s %s\n", command->name, command->summary, command->name, command->form);
	fprintf(f, "\nExamples:\n");
	example_lines(f, command->examples);
	fprintf(f, "\n%s", command->text);
	for (const struct option_group *group = command->groups; group->title; group++) {
		if (!group_has(group, false))
			continue;
		fprintf(f, "\n%s:\n", group->title);
		for (const struct option_spec *o = group->options; o->type; o++) {
			if (o->type != OPTION_ABSENT)
				option_line(f, o);
		}
	}
	absent_line(f, command);
	fprintf(f, "\nManual: man tare-%s\n", command->name);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

char *help_overview(void)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	fputs("tare measures what Linux programs cost, and takes the cost of measuring off.\n\n"
		"usage: tare COMMAND [options] [--] PROGRAM [ARG...]    start a program and measure it\n"
		"       tare COMMAND [options] [FILE]                   read a recording (the newest tare.*.tare here)\n\n"
		"Commands:\n", f);
	for (size_t i = 0; commands[i]; i++)
		fprintf(f, "  %-8s %s\n", commands[i]->name, commands[i]->summary);
	fputs("\nExamples:\n", f);
	example_lines(f,
		"tare cpu -- ./srv --port 80\twhere the CPU time goes\n"
		"tare heap -- python3 job.py\twho allocates, who leaks, what the peak is made of\n"
		"tare record -e cpu,heap -- ./srv\tboth at once, into one file\n"
		"tare report\tthe newest recording of this directory, as text\n"
		"tare export --format=pprof -o cpu.pb.gz\tfor other people's tools\n");
	fputs("\nMore: tare COMMAND --help, tare help permissions, tare help formats, man tare\n", f);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}

const char *help_topic(const char *name)
{
	static const char permissions[] =
		"What tare cpu, heap and record need: nothing but the right to run the program. The agent is\n"
		"preloaded into it and samples with the program's own timers; no perf event, no BPF, no root.\n\n"
		"Not measured, and refused with the reason before it starts:\n"
		"  set-user-id and set-group-id programs, and programs with file capabilities: the loader drops\n"
		"    preloaded objects in them. Run a copy without the bit, or as the user it would become.\n"
		"  statically linked programs: there is no malloc to interpose and nothing to preload into.\n"
		"  programs of another machine or word size, or of another C library than tare was built for.\n\n"
		"Manual: man 7 tare-permissions\n";
	static const char formats[] =
		"What tare writes, by the suffix of -o or by the option:\n"
		"  .tare          a recording: everything, for tare report and tare export\n"
		"  .json, --json  one JSON document, schema tare.COMMAND/1\n"
		"  .txt           the text that stdout would get\n"
		"  tare export --list-formats lists the formats of other tools\n\n"
		"Manual: man 5 tare-formats\n";

	if (!strcmp(name, "permissions"))
		return permissions;
	if (!strcmp(name, "formats"))
		return formats;
	return NULL;
}
