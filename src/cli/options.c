/*
 * options - words of a command line, and lines of the configuration, into settings
 *
 * One table per command is read here, by the help, by the completion and by the configuration. It is walked by hand and
 * not by argp(3): the contract fixes the statuses and the sentences of wrong usage (which word, what was meant, what to type
 * next), and argp tells its caller neither the word nor the reason, so that all would have to be worked out twice.
 */
#include "cli/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "cli/units.h"

static const struct option_spec *find_long(const struct command *command, const char *name, size_t length)
{
	const struct option_group *group;
	const struct option_spec *option;

	for (group = command->groups; group->title; group++) {
		for (option = group->options; option->type; option++) {
			if (!strncmp(option->name, name, length) && !option->name[length])
				return option;
		}
	}
	return NULL;
}

static const struct option_spec *find_letter(const struct command *command, char letter)
{
	const struct option_group *group;
	const struct option_spec *option;

	for (group = command->groups; group->title; group++) {
		for (option = group->options; option->type; option++) {
			if (option->letter == letter)
				return option;
		}
	}
	return NULL;
}

/* Optimal string alignment: insertions, deletions, replacements and swaps of neighbours. */
static unsigned int distance(const char *a, const char *b)
{
	enum { LONGEST = 40 };
	unsigned int d[LONGEST + 1][LONGEST + 1];
	size_t na = strlen(a), nb = strlen(b), i, k;

	if (na > LONGEST || nb > LONGEST)
		return LONGEST;
	for (i = 0; i <= na; i++)
		d[i][0] = (unsigned int)i;
	for (k = 0; k <= nb; k++)
		d[0][k] = (unsigned int)k;
	for (i = 1; i <= na; i++) {
		for (k = 1; k <= nb; k++) {
			unsigned int best = d[i - 1][k - 1] + (a[i - 1] != b[k - 1]);

			best = MIN(best, MIN(d[i - 1][k], d[i][k - 1]) + 1);
			if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1])
				best = MIN(best, d[i - 2][k - 2] + 1);
			d[i][k] = best;
		}
	}
	return d[na][nb];
}

const char *options_closest(const char *word, const char *const *words)
{
	size_t length = strlen(word);
	unsigned int limit = length < 4 ? 1 : length < 9 ? 2 : 3;
	const char *best = NULL;

	for (; *words; words++) {
		unsigned int d = distance(word, *words);

		if (length > 2 && !strncmp(word, *words, length))
			d = MIN(d, 1u);		/* cut short */
		if (d <= limit) {
			best = *words;
			limit = d ? d - 1 : 0;
			if (!d)
				break;
		}
	}
	return best;
}

static const char *closest_option(const struct command *command, const char *name)
{
	const char *names[64];
	const struct option_group *group;
	const struct option_spec *option;
	size_t n = 0;

	for (group = command->groups; group->title; group++) {
		for (option = group->options; option->type && n < ARRAY_SIZE(names) - 1; option++)
			names[n++] = option->name;
	}
	names[n] = NULL;
	return options_closest(name, names);
}

static int unknown_option(struct invocation *inv, const char *name, size_t length)
{
	char text[64];
	const char *meant;

	snprintf(text, sizeof(text), "%.*s", (int)length, name);
	meant = closest_option(inv->command, text);
	if (meant)
		command_usage(inv, "unknown option '--%s'\n  did you mean: --%s", text, meant);
	else
		command_usage(inv, "unknown option '--%s'", text);
	return -EINVAL;
}

static bool is_choice(const char *values, const char *value)
{
	size_t length = strlen(value);
	const char *p = values;

	for (;;) {
		const char *end = strchrnul(p, '|');

		if ((size_t)(end - p) == length && !strncmp(p, value, length))
			return true;
		if (!*end)
			return false;
		p = end + 1;
	}
}

/* @shown: the option as it was typed. */
static int bad_value(struct invocation *inv, const char *shown, const struct err *why)
{
	command_usage(inv, "%s: %s", shown, why->text);
	return -EINVAL;
}

static int add_word(struct invocation *inv, struct word_list *list, const char *shown, const char *value)
{
	if (list->n == ARRAY_SIZE(list->words)) {
		command_usage(inv, "%s: given more than %zu times", shown, ARRAY_SIZE(list->words));
		return -EINVAL;
	}
	list->words[list->n++] = value;
	return 0;
}

static int store(struct invocation *inv, const struct option_spec *option, const char *shown, const char *value)
{
	void *place = (char *)&inv->settings + option->offset;
	struct err why = { { 0 } };
	int r = 0;

	switch (option->type) {
	case OPTION_FLAG:
		*(bool *)place = true;
		return 0;
	case OPTION_TEXT:
		*(const char **)place = value;
		return 0;
	case OPTION_LIST:
		return add_word(inv, place, shown, value);
	case OPTION_CHOICE:
		if (!is_choice(option->values, value)) {
			command_usage(inv, "%s: '%s' is not one of %s", shown, value, option->values);
			return -EINVAL;
		}
		*(const char **)place = value;
		return 0;
	case OPTION_TIME:
		r = units_time(value, place, &why);
		break;
	case OPTION_SIZE:
		r = units_size(value, place, &why);
		break;
	case OPTION_COUNT:
		r = units_count(value, 1, 1000000000, place, &why);
		break;
	case OPTION_ABSENT:
		err_set(&inv->err, -ENOSYS, "%s: %s: not in this version of tare (%s)", inv->command->name, shown,
			TARE_VERSION);
		return OPTIONS_ABSENT;
	case OPTION_END:
		break;
	}
	return r < 0 ? bad_value(inv, shown, &why) : 0;
}

/* One "--name", "--name=value" or "--name value"; *argv moves on by the words used. */
static int parse_long(struct invocation *inv, char ***argv)
{
	const char *word = *(*argv)++ + 2;
	size_t length = (size_t)(strchrnul(word, '=') - word);
	const struct option_spec *option = find_long(inv->command, word, length);
	const char *value = word[length] ? word + length + 1 : NULL;
	char shown[80];

	if (!option)
		return unknown_option(inv, word, length);
	snprintf(shown, sizeof(shown), "--%s", option->name);
	if (option->arg && !value) {
		value = **argv;
		if (!value) {
			command_usage(inv, "%s needs a value: %s", shown, option->arg);
			return -EINVAL;
		}
		(*argv)++;
	}
	if (!option->arg && value) {
		command_usage(inv, "%s takes no value", shown);
		return -EINVAL;
	}
	return store(inv, option, shown, value);
}

/* A word of letters: "-q", "-qv", "-F997", "-F 997". */
static int parse_letters(struct invocation *inv, char ***argv)
{
	const char *p = *(*argv)++ + 1;

	for (; *p; p++) {
		const struct option_spec *option = find_letter(inv->command, *p);
		char shown[] = { '-', *p, '\0' };
		const char *value = NULL;
		int r;

		if (!option) {
			command_usage(inv, "unknown option '%s'", shown);
			return -EINVAL;
		}
		if (option->arg) {
			value = p[1] ? p + 1 : **argv;
			if (!value) {
				command_usage(inv, "%s needs a value: %s", shown, option->arg);
				return -EINVAL;
			}
			*argv += !p[1];
		}
		r = store(inv, option, shown, value);
		if (r || value || inv->settings.help || inv->settings.version)
			return r;
	}
	return 0;
}

static int parse_word(struct invocation *inv, char ***argv)
{
	return (**argv)[1] == '-' ? parse_long(inv, argv) : parse_letters(inv, argv);
}

static bool is_option(const char *word)
{
	return word[0] == '-' && word[1];
}

int options_parse(struct invocation *inv, char **argv)
{
	int r = 0;

	while (*argv && is_option(*argv) && !r && !inv->settings.help && !inv->settings.version) {
		if (!strcmp(*argv, "--")) {
			argv++;
			break;
		}
		r = parse_word(inv, &argv);
	}
	inv->operands = argv;
	for (inv->noperands = 0; argv[inv->noperands]; inv->noperands++)
		;
	return r;
}

int options_parse_all(struct invocation *inv, char **argv)
{
	char **kept = argv;
	int r = 0;

	inv->operands = argv;
	while (*argv && !r && !inv->settings.help && !inv->settings.version) {
		if (!strcmp(*argv, "--")) {
			argv++;
			break;
		}
		if (is_option(*argv))
			r = parse_word(inv, &argv);
		else
			*kept++ = *argv++;
	}
	while (*argv)
		*kept++ = *argv++;
	*kept = NULL;
	inv->noperands = (int)(kept - inv->operands);
	return r;
}

int options_set(struct invocation *inv, const char *name, const char *value)
{
	const struct option_spec *option = find_long(inv->command, name, strlen(name));

	if (!option)
		return OPTIONS_UNKNOWN;
	if (option->type == OPTION_FLAG) {
		bool *place = (bool *)((char *)&inv->settings + option->offset);

		if (!strcmp(value, "true") || !strcmp(value, "yes"))
			*place = true;
		else if (!strcmp(value, "false") || !strcmp(value, "no"))
			*place = false;
		else
			return command_usage(inv, "%s: '%s' is not one of yes|no", name, value), -EINVAL;
		return 0;
	}
	return store(inv, option, name, value);
}

bool options_known(const char *name)
{
	for (size_t i = 0; commands[i]; i++) {
		if (find_long(commands[i], name, strlen(name)))
			return true;
	}
	return false;
}
