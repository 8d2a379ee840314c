/* recording.h - the names of session files */
#ifndef TARE_CLI_RECORDING_H
#define TARE_CLI_RECORDING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/** struct recording - where a session is being written, and what it will be called; {0} is a valid empty value */
struct recording {
	char *path;		/* where it is now */
	char *final;		/* an -o FILE that is replaced when the new one is complete; else NULL */
	char *directory;	/* --no-file: a directory of our own, removed with it */
	const char *program;	/* automatic names: base name */
	bool named;		/* the automatic name with its PID is taken */
	bool started;
};

/** recording_temporary - for --no-file: a place that recording_fini() removes */
int recording_temporary(struct recording *r, struct err *err);
/** recording_at - for -o @path; an existing one is refused unless @force, and then replaced at recording_complete() */
int recording_at(struct recording *r, const char *path, bool force, struct err *err);
/** recording_automatic - tare.NAME.PID.tare in this directory; the PID comes with recording_started() */
int recording_automatic(struct recording *r, const char *program, struct err *err);

/** recording_started - the program runs: an automatic name becomes final, with .2, .3 ... where it is taken */
int recording_started(struct recording *r, uint32_t pid, struct err *err);
/** recording_complete - an -o FILE takes the place of the older one */
int recording_complete(struct recording *r, struct err *err);
/** recording_fini - removes what is not to be kept: --no-file, and a file of a program that never started */
void recording_fini(struct recording *r);

/** recording_newest - malloc'ed name of the newest tare.*.tare of this directory; Return: 0; -ENOENT with a sentence */
int recording_newest(char **ret, struct err *err);

#endif
