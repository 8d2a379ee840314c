/*
 * completion - scripts for bash, zsh and fish from the option tables
 *
 * The scripts are written by `tare help --completion SHELL` when tare is built, so they cannot differ from what tare takes.
 * After a command that starts a program, the program's own completion takes over.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "cli/help.h"

typedef void option_writer(FILE *f, const struct command *command, const struct option_spec *o);

static bool starts_program(const struct command *command)
{
	return command->status_usage == STATUS_TARE;
}

static void each_option(FILE *f, const struct command *command, option_writer *write_option)
{
	for (const struct option_group *group = command->groups; group->title; group++) {
		for (const struct option_spec *o = group->options; o->type; o++) {
			if (o->type != OPTION_ABSENT)
				write_option(f, command, o);
		}
	}
}

/* @text with single quotes as the shell needs them inside single quotes; @drop are left out. */
static void put_quoted(FILE *f, const char *text, const char *drop)
{
	for (; *text; text++) {
		if (*text == '\'')
			fputs("'\\''", f);
		else if (!strchr(drop, *text))
			fputc(*text, f);
	}
}

static void bash_option(FILE *f, const struct command *command, const struct option_spec *o)
{
	fprintf(f, " --%s%s", o->name, o->arg ? "=" : "");
	if (o->letter)
		fprintf(f, " -%c", o->letter);
}

static void bash_values(FILE *f, const struct command *command, const struct option_spec *o)
{
	if (!o->values)
		return;
	fprintf(f, "\t%s:--%s) values='", command->name, o->name);
	for (const char *p = o->values; *p; p++)
		fputc(*p == '|' ? ' ' : *p, f);
	fputs("' ;;\n", f);
}

/* Letters and names of options that take their value from the next word: needed to find where the program begins. */
static void bash_valued(FILE *f, const struct command *command, const struct option_spec *o)
{
	if (!o->arg)
		return;
	fprintf(f, " --%s", o->name);
	if (o->letter)
		fprintf(f, " -%c", o->letter);
}

static void bash_script(FILE *f)
{
	size_t i;

	fputs("# bash completion of tare, written by: tare help --completion bash\n\n_tare()\n{\n"
		"\tlocal cur=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} options= valued= files= values= word i\n"
		"\tCOMPREPLY=()\n\tif [ \"$COMP_CWORD\" = 1 ]; then\n\t\tCOMPREPLY=($(compgen -W '", f);
	for (i = 0; commands[i]; i++)
		fprintf(f, "%s ", commands[i]->name);
	fputs("--help --version' -- \"$cur\"))\n\t\treturn\n\tfi\n\tcase $command in\n", f);
	for (i = 0; commands[i]; i++) {
		fprintf(f, "\t%s)\n\t\toptions='", commands[i]->name);
		each_option(f, commands[i], bash_option);
		fputs("'\n\t\tvalued='", f);
		each_option(f, commands[i], bash_valued);
		fprintf(f, " '\n\t\tfiles=%s ;;\n", starts_program(commands[i]) ? "program" :
			commands[i] == &command_help ? "command" : "recording");
	}
	fputs("\t*) return ;;\n\tesac\n", f);
	fputs("\tfor ((i = 2; i < COMP_CWORD; i++)); do\n\t\tword=${COMP_WORDS[i]}\n"
		"\t\t[ \"$files\" = program ] || break\n"
		"\t\tcase $word in\n"
		"\t\t--) i=$((i + 1)) ;;\n"
		"\t\t-*)\n\t\t\tcase \"$valued \" in *\" $word \"*)\n"
		"\t\t\t\tif [ \"${COMP_WORDS[i + 1]}\" = = ]; then i=$((i + 2)); else i=$((i + 1)); fi ;;\n"
		"\t\t\tesac\n\t\t\tcontinue ;;\n"
		"\t\tesac\n"
		"\t\tdeclare -F _command_offset >/dev/null && _command_offset \"$i\"\n\t\treturn\n\tdone\n", f);
	fputs("\tword=${COMP_WORDS[COMP_CWORD - 1]}\n"
		"\tif [ \"$cur\" = = ]; then cur=; elif [ \"$word\" = = ]; then word=${COMP_WORDS[COMP_CWORD - 2]}; fi\n"
		"\tcase $command:$word in\n", f);
	for (i = 0; commands[i]; i++)
		each_option(f, commands[i], bash_values);
	fputs("\tesac\n\tif [ -n \"$values\" ]; then\n\t\tCOMPREPLY=($(compgen -W \"$values\" -- \"$cur\"))\n\t\treturn\n\tfi\n"
		"\tcase $files:$cur in\n"
		"\t*:-*)\n\t\tCOMPREPLY=($(compgen -W \"$options\" -- \"$cur\"))\n"
		"\t\t[[ ${COMPREPLY[0]} == *= ]] && compopt -o nospace ;;\n"
		"\tprogram:*) COMPREPLY=($(compgen -c -- \"$cur\") $(compgen -d -- \"$cur\")) ;;\n"
		"\tcommand:*) COMPREPLY=($(compgen -W '", f);
	for (i = 0; commands[i]; i++)
		fprintf(f, "%s ", commands[i]->name);
	fputs("permissions formats' -- \"$cur\")) ;;\n"
		"\trecording:*) COMPREPLY=($(compgen -f -X '!*.tare' -- \"$cur\") $(compgen -d -- \"$cur\")) ;;\n"
		"\tesac\n}\n\ncomplete -F _tare tare\n", f);
}

static void zsh_option(FILE *f, const struct command *command, const struct option_spec *o)
{
	const char *again = o->type == OPTION_LIST ? "*" : "";

	for (int letter = 0; letter <= (o->letter ? 1 : 0); letter++) {
		fprintf(f, "\t\t\t'%s", again);
		if (letter)
			fprintf(f, "-%c%s", o->letter, o->arg ? "+" : "");
		else
			fprintf(f, "--%s%s", o->name, o->arg ? "=" : "");
		fputc('[', f);
		put_quoted(f, o->help, "[]:");
		fputc(']', f);
		if (o->values) {
			fprintf(f, ":%s:(", o->arg);
			for (const char *p = o->values; *p; p++)
				fputc(*p == '|' ? ' ' : *p, f);
			fputc(')', f);
		} else if (o->arg) {
			fprintf(f, ":%s:%s", o->arg, !strcmp(o->arg, "FILE") ? "_files" : "");
		}
		fputs("' \\\n", f);
	}
}

static void zsh_script(FILE *f)
{
	size_t i;

	fputs("#compdef tare\n# zsh completion of tare, written by: tare help --completion zsh\n\n_tare()\n{\n"
		"\tlocal -a names\n\tnames=(\n", f);
	for (i = 0; commands[i]; i++) {
		fprintf(f, "\t\t'%s:", commands[i]->name);
		put_quoted(f, commands[i]->summary, ":");
		fputs("'\n", f);
	}
	fputs("\t)\n\tif (( CURRENT == 2 )); then\n\t\t_describe command names\n\t\treturn\n\tfi\n"
		"\tlocal command=$words[2]\n\tshift words\n\t(( CURRENT-- ))\n\tcase $command in\n", f);
	for (i = 0; commands[i]; i++) {
		fprintf(f, "\t%s)\n\t\t_arguments -S \\\n", commands[i]->name);
		each_option(f, commands[i], zsh_option);
		if (starts_program(commands[i]))
			fputs("\t\t\t'(-)1:program:_command_names -e' '*::arguments:_normal' ;;\n", f);
		else if (commands[i] == &command_help)
			fputs("\t\t\t'1:command:->names' && return\n\t\t_describe command names ;;\n", f);
		else
			fputs("\t\t\t'1:recording:_files -g \"*.tare\"' ;;\n", f);
	}
	fputs("\tesac\n}\n\n_tare \"$@\"\n", f);
}

static void fish_option(FILE *f, const struct command *command, const struct option_spec *o)
{
	fprintf(f, "complete -c tare -n '__tare_options %s' -l %s", command->name, o->name);
	if (o->letter)
		fprintf(f, " -s %c", o->letter);
	if (o->values) {
		fputs(" -x -a '", f);
		for (const char *p = o->values; *p; p++)
			fputc(*p == '|' ? ' ' : *p, f);
		fputc('\'', f);
	} else if (o->arg) {
		fputs(!strcmp(o->arg, "FILE") ? " -r -F" : " -x", f);
	}
	fputs(" -d '", f);
	put_quoted(f, o->help, "'");
	fputs("'\n", f);
}

static void fish_script(FILE *f)
{
	fputs("# fish completion of tare, written by: tare help --completion fish\n\n"
		"function __tare_options\n"
		"\tset -l words (commandline -opc)\n"
		"\ttest (count $words) -ge 2; and test \"$words[2]\" = \"$argv[1]\"\n"
		"\tand not contains -- -- $words\nend\n\n"
		"complete -c tare -f -n 'test (count (commandline -opc)) -eq 1' -a '", f);
	for (size_t i = 0; commands[i]; i++)
		fprintf(f, "%s%s", i ? " " : "", commands[i]->name);
	fputs("'\n", f);
	for (size_t i = 0; commands[i]; i++) {
		each_option(f, commands[i], fish_option);
		if (starts_program(commands[i]))
			fprintf(f, "complete -c tare -n '__tare_options %s' -xa '(__fish_complete_subcommand --fcs-skip=2)'\n",
				commands[i]->name);
	}
}

char *help_completion(const char *shell)
{
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	if (!f)
		return NULL;
	if (!strcmp(shell, "bash"))
		bash_script(f);
	else if (!strcmp(shell, "zsh"))
		zsh_script(f);
	else
		fish_script(f);
	if (fclose(f)) {
		free(text);
		return NULL;
	}
	return text;
}
