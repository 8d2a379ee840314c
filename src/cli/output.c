/*
 * output - results on stdout or into a file
 *
 * The program that was measured had the same stdout, and a result has to begin on a new line. Where stdout is a regular
 * file its last byte is looked at; where it is a pipe or a terminal nobody can know it, so an empty line may precede the
 * result: that `tail -n 1` finds the document is worth one line.
 */
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"

/* SIGPIPE is ignored only while tare writes: the program must not inherit that. */
static int write_all(int fd, const char *p, size_t size)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	int r = 0;

	sigaction(SIGPIPE, &ignore, &before);
	while (size && !r) {
		ssize_t n = write(fd, p, size);

		if (n < 0 && errno != EINTR)
			r = -errno;
		if (n > 0) {
			p += n;
			size -= (size_t)n;
		}
	}
	sigaction(SIGPIPE, &before, NULL);
	return r;
}

static bool at_start_of_line(int fd)
{
	CLEANUP_FREE char *path = NULL;
	struct stat st;
	off_t at;
	char last;
	int again;
	ssize_t n;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	at = fcntl(fd, F_GETFL) & O_APPEND ? st.st_size : lseek(fd, 0, SEEK_CUR);
	if (at == 0)
		return true;
	if (at < 0 || asprintf(&path, "/proc/self/fd/%d", fd) < 0)
		return path = NULL, false;
	again = open(path, O_RDONLY | O_CLOEXEC);
	if (again < 0)
		return false;
	n = pread(again, &last, 1, at - 1);
	close(again);
	return n == 1 && last == '\n';
}

int output_stdout(const void *bytes, size_t size, bool after_program, struct err *err)
{
	int r = 0;

	if (after_program && !at_start_of_line(STDOUT_FILENO))
		r = write_all(STDOUT_FILENO, "\n", 1);
	if (!r)
		r = write_all(STDOUT_FILENO, bytes, size);
	if (r == -EPIPE || !r)
		return r;
	return err_set(err, r, "cannot write the result: stdout: %s", strerror(-r));
}

static int cannot_write(struct err *err, const char *path, int code)
{
	return err_set(err, code, "cannot write %s: %s", path, strerror(-code));
}

int output_file(const char *path, const void *bytes, size_t size, struct err *err)
{
	CLEANUP_FREE char *aside = NULL;
	int fd, r;

	if (asprintf(&aside, "%s.new-%d", path, (int)getpid()) < 0)
		return aside = NULL, err_set(err, -ENOMEM, "out of memory");
	fd = open(aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return cannot_write(err, path, -errno);
	r = write_all(fd, bytes, size);
	if (close(fd) < 0 && !r)
		r = -errno;
	if (!r && rename(aside, path) < 0)
		r = -errno;
	if (!r)
		return 0;
	unlink(aside);
	return cannot_write(err, path, r);
}

int output_check(const char *path, struct err *err)
{
	const char *slash = strrchr(path, '/');
	CLEANUP_FREE char *directory = NULL;
	struct stat st;

	directory = slash == path ? strdup("/") : slash ? strndup(path, (size_t)(slash - path)) : strdup(".");
	if (!directory)
		return err_set(err, -ENOMEM, "out of memory");
	if (access(directory, W_OK | X_OK) < 0)
		return cannot_write(err, path, -errno);
	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		return cannot_write(err, path, -EISDIR);
	return 0;
}

bool output_has_suffix(const char *path, const char *suffix)
{
	size_t n = strlen(path), m = strlen(suffix);

	return n > m && !strcmp(path + n - m, suffix);
}
