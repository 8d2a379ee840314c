/* collect.h - from a running program to a session file */
#ifndef TARE_COLLECT_COLLECT_H
#define TARE_COLLECT_COLLECT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "record/session.h"

/** What collect_find() says of a program. */
enum collect_found {
	COLLECT_OK = 0,
	COLLECT_REFUSED,		/* tare cannot measure it: static, set-user-id, 32-bit, another libc: exit status 125 */
	COLLECT_NOT_EXECUTABLE,		/* 126 */
	COLLECT_NOT_FOUND		/* 127 */
};

/**
 * collect_find - finds the program by PATH as execvp(3) does, and sees whether an agent can be loaded into it
 * @who:      the command, for the sentence ("heap")
 * @ret_path: malloc'ed path
 *
 * Return: enum collect_found, with a sentence in @err unless COLLECT_OK; -errno.
 */
int collect_find(const char *program, const char *who, char **ret_path, struct err *err);

struct collect_options {
	uint32_t instruments;		/* enum session_instrument */
	uint32_t cpu_hz;
	uint64_t heap_sample_bytes;
	uint32_t depth;			/* frames kept; 0: the most that the walk has */
	bool no_children;
	uint64_t duration_ns;		/* 0: to the end of the program */
	uint64_t memory_bytes;		/* bound of shared memory; 0: default */
	const char *agent_path;		/* the agent's shared object */
	const char *session_path;
	bool force;			/* replace an existing session */
	const char *program_path;	/* by collect_find() */
	char *const *argv;		/* of the program, NULL at the end */
	void (*progress)(uint64_t elapsed_ns, uint64_t events, void *arg);	/* at most 4 times a second; NULL: none */
	/* once, when the program runs and the session exists: the recording gets its name with the PID then. NULL: none */
	void (*started)(uint32_t pid, void *arg);
	/* with duration_ns or an interrupt: called when measuring has ended and the session is complete, while the program
	 * runs on; then collect_run() waits for it. NULL: none */
	void (*measured)(void *arg);
	void *arg;
};

struct collect_result {
	int status;			/* of the program, as wait(2) gives it */
	bool interrupted_twice;		/* a second ^C: the caller exits with 130 */
};

/**
 * collect_run - starts the program with the agent, records until it ends, and leaves a complete session
 *
 * While it runs, TERM, HUP, USR1, USR2, WINCH, TSTP, CONT sent to this process are passed on to the program; the first INT
 * is not (the terminal sends it to the program itself), it is waited for.
 * Context: the main thread, once; it changes signal dispositions.
 * Return:  0; COLLECT_NOT_EXECUTABLE, COLLECT_NOT_FOUND (exec failed); -errno with a sentence.
 */
int collect_run(const struct collect_options *options, struct collect_result *ret, struct err *err);

#endif
