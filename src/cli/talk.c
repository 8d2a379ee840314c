/*
 * talk - what tare says to the person at the terminal
 *
 * Results go to stdout (output.c); all of this goes to stderr, which the measured program shares: so every line is written
 * by one write(2), and none contains an escape sequence.
 */
#include "cli/talk.h"

#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"

static int progress_width;

static void say(const char *text, size_t length)
{
	while (length) {
		ssize_t n = write(STDERR_FILENO, text, length);

		if (n <= 0)
			return;		/* nobody left to tell */
		text += n;
		length -= (size_t)n;
	}
}

void talk_error(const struct err *err, bool where)
{
	CLEANUP_FREE char *text = NULL;
	int first = (int)(strchrnul(err->text, '\n') - err->text), n;

	if (where && err->file)
		n = asprintf(&text, "tare: %.*s [%s:%d]%s\n", first, err->text, err->file, err->line, err->text + first);
	else
		n = asprintf(&text, "tare: %s\n", err->text);
	if (n >= 0)
		say(text, (size_t)n);
}

void talk_wrote(const char *path)
{
	CLEANUP_FREE char *text = NULL;
	int n = asprintf(&text, "wrote %s\n", path);

	if (n >= 0)
		say(text, (size_t)n);
}

/* @path as one word of a shell's command line. */
static char *quoted(const char *path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./,:+@%-";
	size_t n = strlen(path);
	char *word, *p;

	word = malloc(4 * n + 3);
	if (!word)
		return NULL;
	if (n && path[0] != '-' && strspn(path, plain) == n)
		return strcpy(word, path);
	p = word;
	*p++ = '\'';
	for (; *path; path++) {
		if (*path == '\'')
			p = stpcpy(p, "'\\''");
		else
			*p++ = *path;
	}
	strcpy(p, "'");
	return word;
}

void talk_next(const char *command, const char *path, const char *rest)
{
	CLEANUP_FREE char *word = path ? quoted(path) : NULL, *text = NULL;
	int n = asprintf(&text, "next: %s%s%s%s\n", command, word ? " " : "", word ? word : "", rest ? rest : "");

	if (n >= 0)
		say(text, (size_t)n);
}

void talk_progress(const char *line)
{
	char text[256];
	int width = (int)strlen(line), n;

	n = snprintf(text, sizeof(text), "\r%s%*s", line, MAX(0, progress_width - width), "");
	progress_width = width;
	if (n > 0)
		say(text, MIN((size_t)n, sizeof(text) - 1));
}

void talk_progress_end(void)
{
	if (!progress_width)
		return;
	talk_progress("");
	say("\r", 1);
	progress_width = 0;
}

bool talk_utf8(void)
{
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

bool talk_colour(const char *color_option, int fd)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if (color_option && !strcmp(color_option, "always"))
		return true;
	if (color_option && !strcmp(color_option, "never"))
		return false;
	if (no_color && *no_color)
		return false;
	return isatty(fd) && term && *term && strcmp(term, "dumb");
}
