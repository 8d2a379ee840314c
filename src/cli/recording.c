/*
 * recording - the names of session files
 *
 * An automatic name holds the program's PID, which is known only after the session file must exist. So a file begins as
 * tare.NAME.new-OURPID.tare and is renamed as soon as the program runs; an open file does not mind. If tare is killed,
 * what is left is a recording that `tare report` finds like any other. Names that are taken are never overwritten:
 * renameat2(RENAME_NOREPLACE) decides, not a look beforehand.
 */
#include "cli/recording.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"

static int no_memory(struct err *err)
{
	return err_set(err, -ENOMEM, "out of memory");
}

/* The places of the run's own directory (collect/launch.c), in its order. */
static int make_directory(char **ret, struct err *err)
{
	const char *const places[] = { getenv("TMPDIR"), "/tmp", "/dev/shm", "/var/tmp" };
	int code = -ENOENT;

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		char *directory;

		if (!places[i] || !*places[i])
			continue;
		if (asprintf(&directory, "%s/tare-XXXXXX", places[i]) < 0)
			return no_memory(err);
		if (mkdtemp(directory)) {
			*ret = directory;
			return 0;
		}
		code = -errno;
		free(directory);
	}
	err_set(err, code, "cannot make a directory for the session in $TMPDIR, /tmp, /dev/shm or /var/tmp: %s", strerror(-code));
	err_next(err, "make one of them writable, or -o FILE.tare");
	return code;
}

int recording_temporary(struct recording *r, struct err *err)
{
	int code = make_directory(&r->directory, err);

	if (code < 0)
		return code;
	if (asprintf(&r->path, "%s/session.tare", r->directory) < 0)
		return r->path = NULL, no_memory(err);
	return 0;
}

int recording_at(struct recording *r, const char *path, bool force, struct err *err)
{
	struct stat st;

	if (lstat(path, &st) < 0) {
		r->path = strdup(path);
		return r->path ? 0 : no_memory(err);
	}
	if (!S_ISREG(st.st_mode))
		return err_set(err, -EEXIST, "%s exists and is not a regular file", path);
	if (!force) {
		err_set(err, -EEXIST, "%s exists; a recording is not replaced unasked", path);
		err_next(err, "another name for -o, or --force");
		return -EEXIST;
	}
	r->final = strdup(path);
	if (!r->final || asprintf(&r->path, "%s.new-%d.tare", path, (int)getpid()) < 0)
		return r->path = NULL, no_memory(err);
	return 0;
}

int recording_automatic(struct recording *r, const char *program, struct err *err)
{
	const char *slash = strrchr(program, '/');

	r->program = slash ? slash + 1 : program;
	if (asprintf(&r->path, "tare.%.100s.new-%d.tare", r->program, (int)getpid()) < 0)
		return r->path = NULL, no_memory(err);
	return 0;
}

static int take_name(const char *path, const char *name)
{
	if (!renameat2(AT_FDCWD, path, AT_FDCWD, name, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL)
		return -errno;
	if (link(path, name) < 0)	/* a file system without RENAME_NOREPLACE */
		return -errno;
	unlink(path);
	return 0;
}

int recording_started(struct recording *r, uint32_t pid, struct err *err)
{
	int code;

	r->started = true;
	if (!r->program || r->named)
		return 0;
	for (unsigned int n = 1; n < 100000; n++) {
		CLEANUP_FREE char *name = NULL;
		char number[16] = "";

		if (n > 1)
			snprintf(number, sizeof(number), ".%u", n);
		if (asprintf(&name, "tare.%.100s.%u%s.tare", r->program, pid, number) < 0)
			return name = NULL, no_memory(err);
		code = take_name(r->path, name);
		if (code == -EEXIST)
			continue;
		if (code < 0)
			return err_set(err, code, "cannot rename the recording to %s: %s", name, strerror(-code));
		free(r->path);
		r->path = name;
		name = NULL;
		r->named = true;
		return 0;
	}
	return err_set(err, -EEXIST, "all names for the recording are taken");
}

int recording_complete(struct recording *r, struct err *err)
{
	if (!r->final)
		return 0;
	if (rename(r->path, r->final) < 0)
		return err_set(err, -errno, "cannot rename %s to %s: %s", r->path, r->final, strerror(errno));
	free(r->path);
	r->path = r->final;
	r->final = NULL;
	return 0;
}

void recording_fini(struct recording *r)
{
	if (r->path && (r->directory || !r->started))
		unlink(r->path);
	if (r->directory)
		rmdir(r->directory);
	free(r->path);
	free(r->final);
	free(r->directory);
	*r = (struct recording){ 0 };
}

static bool is_recording(const char *name)
{
	size_t n = strlen(name);

	return n > 10 && !strncmp(name, "tare.", 5) && !strcmp(name + n - 5, ".tare");
}

int recording_newest(char **ret, struct err *err)
{
	DIR *directory = opendir(".");
	struct timespec newest = { 0, 0 };
	struct dirent *entry;
	char *best = NULL;

	if (!directory)
		return err_set(err, -errno, "cannot read this directory: %s", strerror(errno));
	while ((entry = readdir(directory))) {
		struct stat st;

		if (!is_recording(entry->d_name) || stat(entry->d_name, &st) < 0 || !S_ISREG(st.st_mode))
			continue;
		if (best && (st.st_mtim.tv_sec < newest.tv_sec ||
			     (st.st_mtim.tv_sec == newest.tv_sec && st.st_mtim.tv_nsec <= newest.tv_nsec)))
			continue;
		free(best);
		best = strdup(entry->d_name);
		newest = st.st_mtim;
	}
	closedir(directory);
	if (!best) {
		err_set(err, -ENOENT, "there is no recording in this directory (tare.*.tare)");
		err_next(err, "tare record -e cpu,heap -- PROGRAM, or name a FILE");
		return -ENOENT;
	}
	*ret = best;
	return 0;
}
