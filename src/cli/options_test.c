/* options - unit tests */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "cli/config.h"
#include "cli/options.h"

static const struct option_spec table[] = {
	{ OPTION_FLAG, 'q', "quiet", NULL, offsetof(struct settings, quiet), "", NULL },
	{ OPTION_FLAG, 'v', "verbose", NULL, offsetof(struct settings, verbose), "", NULL },
	{ OPTION_CHOICE, 0, "color", "WHEN", offsetof(struct settings, color), "", "auto|always|never" },
	{ OPTION_COUNT, 'F', "frequency", "HZ", offsetof(struct settings, cpu_hz), "", NULL },
	{ OPTION_TIME, 'd', "duration", "TIME", offsetof(struct settings, duration_ns), "", NULL },
	{ OPTION_TEXT, 'o', "output", "FILE", offsetof(struct settings, output), "", NULL },
	{ OPTION_LIST, 'e', "event", "LIST", offsetof(struct settings, instruments), "", NULL },
	{ OPTION_ABSENT, 0, "wall", NULL, 0, "", NULL },
	{ OPTION_END, 0, NULL, NULL, 0, NULL, NULL }
};

static const struct option_group groups[] = { { "Options", table }, { NULL, NULL } };
const struct command command_cpu = { .name = "cpu", .groups = groups, .status_failed = 125, .status_usage = 125 };
const struct command *const commands[] = { &command_cpu, NULL };

/* What main.c has, without its other commands. */
const struct command *command_find(const char *name)
{
	return !strcmp(name, "cpu") ? &command_cpu : NULL;
}

bool command_absent(const char *name, int *ret_status)
{
	*ret_status = 125;
	return !strcmp(name, "lat");
}

int command_usage(struct invocation *inv, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(inv->err.text, sizeof(inv->err.text), format, ap);
	va_end(ap);
	return inv->command->status_usage;
}

#define PARSE(inv, ...) options_parse(&(inv), (char **)(const char *[]){ __VA_ARGS__, NULL })

static void the_first_word_that_is_no_option_begins_the_program(void **state)
{
	struct invocation inv = { .command = &command_cpu };

	assert_int_equal(PARSE(inv, "-q", "prog", "-v", "--", "x"), 0);
	assert_true(inv.settings.quiet);
	assert_false(inv.settings.verbose);
	assert_int_equal(inv.noperands, 4);
	assert_string_equal(inv.operands[0], "prog");
	assert_string_equal(inv.operands[2], "--");
}

static void two_dashes_end_the_options(void **state)
{
	struct invocation inv = { .command = &command_cpu };

	assert_int_equal(PARSE(inv, "-q", "--", "-v"), 0);
	assert_false(inv.settings.verbose);
	assert_string_equal(inv.operands[0], "-v");
}

static void values_stand_after_an_equals_sign_or_in_the_next_word(void **state)
{
	static const char *const forms[][2] = {
		{ "--frequency=99", NULL }, { "--frequency", "99" }, { "-F99", NULL }, { "-F", "99" }, { "-qF99", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct invocation inv = { .command = &command_cpu };
		char *argv[] = { (char *)forms[i][0], (char *)forms[i][1], NULL };

		assert_int_equal(options_parse(&inv, argv), 0);
		assert_int_equal(inv.settings.cpu_hz, 99);
		assert_int_equal(inv.noperands, 0);
	}
}

static void an_option_without_its_value_is_named(void **state)
{
	struct invocation inv = { .command = &command_cpu };

	assert_int_equal(PARSE(inv, "-F"), -EINVAL);
	assert_string_equal(inv.err.text, "-F needs a value: HZ");
}

static void a_flag_takes_no_value(void **state)
{
	struct invocation inv = { .command = &command_cpu };

	assert_int_equal(PARSE(inv, "--quiet=yes"), -EINVAL);
	assert_string_equal(inv.err.text, "--quiet takes no value");
}

static void a_misspelt_option_gets_a_suggestion(void **state)
{
	struct invocation inv = { .command = &command_cpu };

	assert_int_equal(PARSE(inv, "--freqency=9"), -EINVAL);
	assert_non_null(strstr(inv.err.text, "did you mean: --frequency"));
}

static void an_option_like_no_other_gets_no_suggestion(void **state)
{
	struct invocation inv = { .command = &command_cpu };

	assert_int_equal(PARSE(inv, "--zzz"), -EINVAL);
	assert_string_equal(inv.err.text, "unknown option '--zzz'");
}

static void a_value_outside_the_choices_is_refused(void **state)
{
	struct invocation inv = { .command = &command_cpu };

	assert_int_equal(PARSE(inv, "--color=alway"), -EINVAL);
	assert_int_equal(PARSE(inv, "--color="), -EINVAL);
	assert_int_equal(PARSE(inv, "--color=auto|always"), -EINVAL);
}

static void a_list_option_adds_up(void **state)
{
	struct invocation inv = { .command = &command_cpu };

	assert_int_equal(PARSE(inv, "-e", "cpu", "-eheap", "prog"), 0);
	assert_int_equal(inv.settings.instruments.n, 2);
	assert_string_equal(inv.settings.instruments.words[1], "heap");
}

static void an_option_of_a_later_version_says_so(void **state)
{
	struct invocation inv = { .command = &command_cpu };

	assert_int_equal(PARSE(inv, "--wall"), OPTIONS_ABSENT);
	assert_non_null(strstr(inv.err.text, "not in this version"));
}

static void a_file_may_stand_before_the_options(void **state)
{
	struct invocation inv = { .command = &command_cpu };
	const char *argv[] = { "a.tare", "-q", "b.tare", "--", "-v", NULL };

	assert_int_equal(options_parse_all(&inv, (char **)argv), 0);
	assert_true(inv.settings.quiet);
	assert_int_equal(inv.noperands, 3);
	assert_string_equal(inv.operands[1], "b.tare");
	assert_string_equal(inv.operands[2], "-v");
}

static void a_single_dash_is_a_word(void **state)
{
	struct invocation inv = { .command = &command_cpu };

	assert_int_equal(PARSE(inv, "-", "x"), 0);
	assert_int_equal(inv.noperands, 2);
}

static void a_section_holds_for_its_command_only(void **state)
{
	struct invocation inv = { .command = &command_cpu };
	char text[] = "# mine\nquiet = yes\n[lat]\nverbose = yes\n[cpu]\nfrequency = 99\n  color =  never \n";

	assert_int_equal(config_apply(&inv, "config", text), 0);
	assert_true(inv.settings.quiet);
	assert_false(inv.settings.verbose);
	assert_int_equal(inv.settings.cpu_hz, 99);
	assert_string_equal(inv.settings.color, "never");
}

static void a_wrong_line_of_the_configuration_is_named(void **state)
{
	static const struct { const char *text, *says; } cases[] = {
		{ "\nfrequncy = 9\n", "config:2: unknown option 'frequncy'" },
		{ "frequency\n", "config:1: not of the form" },
		{ "frequency = x\n", "config:1: frequency: 'x' is not a whole number" },
		{ "quiet = perhaps\n", "config:1: quiet: 'perhaps' is not one of yes|no" },
		{ "[nothing]\n", "config:1: there is no such command" },
		{ "[cpu\n", "config:1: a section is" },
		{ "[", "config:1: a section is" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct invocation inv = { .command = &command_cpu };
		char text[100];

		snprintf(text, sizeof(text), "%s", cases[i].text);
		assert_int_equal(config_apply(&inv, "config", text), -EINVAL);
		assert_int_equal(strncmp(inv.err.text, cases[i].says, strlen(cases[i].says)), 0);
	}
}

static void the_closest_word_wins(void **state)
{
	static const char *const words[] = { "report", "record", "help", NULL };

	assert_string_equal(options_closest("recrod", words), "record");
	assert_string_equal(options_closest("reprot", words), "report");
	assert_string_equal(options_closest("rep", words), "report");
	assert_null(options_closest("xyz", words));
	assert_null(options_closest("", words));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_word_that_is_no_option_begins_the_program),
		cmocka_unit_test(two_dashes_end_the_options),
		cmocka_unit_test(values_stand_after_an_equals_sign_or_in_the_next_word),
		cmocka_unit_test(an_option_without_its_value_is_named),
		cmocka_unit_test(a_flag_takes_no_value),
		cmocka_unit_test(a_misspelt_option_gets_a_suggestion),
		cmocka_unit_test(an_option_like_no_other_gets_no_suggestion),
		cmocka_unit_test(a_value_outside_the_choices_is_refused),
		cmocka_unit_test(a_list_option_adds_up),
		cmocka_unit_test(an_option_of_a_later_version_says_so),
		cmocka_unit_test(a_file_may_stand_before_the_options),
		cmocka_unit_test(a_single_dash_is_a_word),
		cmocka_unit_test(a_section_holds_for_its_command_only),
		cmocka_unit_test(a_wrong_line_of_the_configuration_is_named),
		cmocka_unit_test(the_closest_word_wins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
