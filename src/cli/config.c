/*
 * config - $XDG_CONFIG_HOME/tare/config
 *
 * Lines "long-option = value", "# comment", and "[command]", which makes the lines after it hold for that command only.
 * Lines before the first section hold for every command that has the option. A misspelt option is an error and not
 * silently nothing; an option of another command is no error. Nor is a file that may not be read: su, sudo and services
 * leave the HOME of somebody else behind, whose settings are not meant for this user.
 */
#include "cli/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "cli/options.h"

static char *kept;	/* the file's text: settings point into it, to the end of the process */

static char *trim(char *s)
{
	size_t n;

	s += strspn(s, " \t\r");
	n = strlen(s);
	while (n && strchr(" \t\r", s[n - 1]))
		s[--n] = '\0';
	return s;
}

static int bad_line(struct invocation *inv, const char *path, unsigned int line, const char *what)
{
	err_set(&inv->err, -EINVAL, "%s:%u: %s", path, line, what);
	err_next(&inv->err, "correct that line, or tare %s --no-config", inv->command->name);
	return -EINVAL;
}

static int section(struct invocation *inv, const char *path, unsigned int line, char *text, bool *ret_ours)
{
	size_t n = strlen(text);
	int status;

	if (text[n - 1] != ']')
		return bad_line(inv, path, line, "a section is [command]");
	text[n - 1] = '\0';
	if (!command_find(text + 1) && !command_absent(text + 1, &status))
		return bad_line(inv, path, line, "there is no such command");
	*ret_ours = !strcmp(text + 1, inv->command->name);
	return 0;
}

static int assignment(struct invocation *inv, const char *path, unsigned int line, char *text, bool ours)
{
	char *equals = strchr(text, '=');
	char *name, *value, sentence[1000];
	int r;

	if (!equals)
		return bad_line(inv, path, line, "not of the form long-option = value");
	*equals = '\0';
	name = trim(text);
	value = trim(equals + 1);
	if (!options_known(name) || !strcmp(name, "no-config") || !strcmp(name, "help") || !strcmp(name, "version")) {
		snprintf(sentence, sizeof(sentence), "unknown option '%s'", name);
		return bad_line(inv, path, line, sentence);
	}
	if (!ours)
		return 0;
	r = options_set(inv, name, value);
	if (r == OPTIONS_UNKNOWN || !r)
		return 0;
	snprintf(sentence, sizeof(sentence), "%.*s", (int)(strchrnul(inv->err.text, '\n') - inv->err.text), inv->err.text);
	return bad_line(inv, path, line, sentence);
}

int config_apply(struct invocation *inv, const char *path, char *text)
{
	unsigned int line = 0;
	bool ours = true;
	char *next;
	int r = 0;

	for (; text && !r; text = next) {
		char *end = strchr(text, '\n');

		next = end ? end + 1 : NULL;
		if (end)
			*end = '\0';
		line++;
		text = trim(text);
		if (!*text || *text == '#')
			continue;
		if (*text == '[')
			r = section(inv, path, line, text, &ours);
		else
			r = assignment(inv, path, line, text, ours);
	}
	return r;
}

static int read_whole(int fd, size_t size, char **ret)
{
	char *text = malloc(size + 1);
	size_t used = 0;
	ssize_t n = 1;

	if (!text)
		return -ENOMEM;
	while (used < size && n > 0) {
		n = read(fd, text + used, size - used);
		if (n > 0)
			used += (size_t)n;
	}
	if (n < 0) {
		int r = -errno;

		free(text);
		return r;
	}
	text[used] = '\0';
	*ret = text;
	return 0;
}

static int config_without(struct invocation *inv, const char *path, int code)
{
	err_set(&inv->unread, -code, "cannot read %s: %s; going on without it", path, strerror(code));
	return 0;
}

int config_read(struct invocation *inv)
{
	enum { LARGEST = 1 << 20 };
	const char *base = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	CLEANUP_FREE char *path = NULL;
	struct stat st;
	char *text = NULL;
	int fd, r;

	if ((!base || base[0] != '/') && (!home || !*home))
		return 0;
	if (base && base[0] == '/' ? asprintf(&path, "%s/tare/config", base) < 0 :
	    asprintf(&path, "%s/.config/tare/config", home) < 0)
		return path = NULL, err_set(&inv->err, -ENOMEM, "out of memory");
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0)
		return config_without(inv, path, errno);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > LARGEST)
		r = err_set(&inv->err, -EINVAL, "%s is not a configuration file", path);
	else
		r = read_whole(fd, (size_t)st.st_size, &text);
	close(fd);
	if (r < 0)
		return inv->err.text[0] ? r : config_without(inv, path, -r);
	kept = text;
	return config_apply(inv, path, text);
}
