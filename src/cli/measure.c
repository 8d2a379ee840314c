/*
 * measure - start a program, measure it, give the result: what cpu, heap and record share
 *
 * Everything that can be known to fail is asked before the program starts: nobody wants to hear after an hour that the
 * result cannot be written. From its start on the program's own exit status is the only one that tare may end with, unless
 * tare itself failed.
 */
#include "cli/measure.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyse/profile.h"
#include "base/util.h"
#include "cli/agent_path.h"
#include "cli/output.h"
#include "cli/recording.h"
#include "cli/result.h"
#include "cli/talk.h"
#include "collect/collect.h"

const struct option_spec options_measure[] = {
	{ OPTION_TIME, 'd', "duration", "TIME", offsetof(struct settings, duration_ns),
		"measure that long, give the result at once, then wait for the program", NULL },
	{ OPTION_TEXT, 'o', "output", "FILE", offsetof(struct settings, output),
		"write the result there; the suffix decides: .tare .json .txt, or one of tare export --list-formats", NULL },
	{ OPTION_FLAG, 0, "json", NULL, offsetof(struct settings, json),
		"the result as one JSON document, the last line of stdout", NULL },
	{ OPTION_FLAG, 0, "no-file", NULL, offsetof(struct settings, no_file), "keep no recording", NULL },
	{ OPTION_FLAG, 0, "force", NULL, offsetof(struct settings, force), "let -o FILE.tare replace a recording", NULL },
	{ OPTION_FLAG, 0, "no-children", NULL, offsetof(struct settings, no_children),
		"leave child processes alone", NULL },
	{ OPTION_ABSENT, 'p', "pid", "PID", 0, "attach to a running program", NULL },
	{ OPTION_ABSENT, 0, "json-stream", NULL, 0, "one JSON object a line, while running", NULL },
	{ OPTION_ABSENT, 0, "interval", "TIME", 0, "of --json-stream", NULL },
	{ OPTION_END, 0, NULL, NULL, 0, NULL, NULL }
};

/** struct run - one measurement under way */
struct run {
	struct invocation *inv;
	const struct measure *what;
	struct result_form form;
	struct recording recording;
	bool finished;			/* the result was given, or could not be */
	int failed;			/* -errno of giving it */
};

static void run_fini(struct run *run)
{
	recording_fini(&run->recording);
}

static void on_started(uint32_t pid, void *arg)
{
	struct run *run = arg;
	struct err err = { { 0 } };

	if (recording_started(&run->recording, pid, &err) < 0)
		talk_error(&err, run->inv->settings.verbose);	/* it goes on under the name that it has */
}

static void on_progress(uint64_t elapsed_ns, uint64_t events, void *arg)
{
	char line[100];

	snprintf(line, sizeof(line), "tare: %.1f s, %llu events", (double)elapsed_ns / 1e9, (unsigned long long)events);
	talk_progress(line);
}

static void talk_result(const struct run *run)
{
	const struct recording *recording = &run->recording;

	if (run->inv->settings.quiet)
		return;
	if (run->form.kind != RESULT_RECORDING && run->form.path)
		talk_wrote(run->form.path);
	if (recording->directory)
		return;
	talk_wrote(recording->path);
	if (run->what->next_command)
		talk_next(run->what->next_command, recording->path, NULL);
}

/* With -o FILE.tare the recording is the result, and stdout the program's alone, unless --json asks for it. */
static int write_result(const struct run *run, const struct profile *profile)
{
	struct result_form form = run->form;

	if (form.kind == RESULT_RECORDING && !run->inv->settings.json)
		return 0;
	if (form.kind == RESULT_RECORDING)
		form = (struct result_form){ .kind = RESULT_JSON };
	return result_write(run->inv, profile, &form, run->what->instruments, true);
}

static int give_result(struct run *run)
{
	struct invocation *inv = run->inv;
	struct profile *profile = NULL;
	int r;

	r = recording_complete(&run->recording, &inv->err);
	if (!r)
		r = profile_read(&profile, run->recording.path, &inv->err);
	if (!r && !run->recording.started)
		r = recording_started(&run->recording, profile->pid, &inv->err);
	if (!r) {
		profile->file = run->recording.directory ? NULL : run->recording.path;
		r = write_result(run, profile);
	}
	if (!r)
		talk_result(run);
	profile_free(profile);
	return r;
}

static void finish(struct run *run)
{
	if (run->finished)
		return;
	talk_progress_end();
	run->finished = true;
	run->failed = give_result(run);
}

static void on_measured(void *arg)
{
	finish(arg);
}

static int choose_recording(struct run *run, const char *program)
{
	const struct settings *s = &run->inv->settings;

	if (run->form.kind == RESULT_RECORDING)
		return recording_at(&run->recording, run->form.path, s->force, &run->inv->err);
	if (s->no_file)
		return recording_temporary(&run->recording, &run->inv->err);
	if (access(".", W_OK | X_OK) < 0) {
		int r = err_set(&run->inv->err, -errno, "cannot write a recording in this directory: %s", strerror(errno));

		err_next(&run->inv->err, "tare %s --no-file, or -o FILE.tare", run->inv->command->name);
		return r;
	}
	return recording_automatic(&run->recording, program, &run->inv->err);
}

static int status_of(const struct run *run, const struct collect_result *result)
{
	if (result->interrupted_twice)
		return STATUS_INTERRUPTED;
	if (run->failed)
		return STATUS_TARE;
	return WIFSIGNALED(result->status) ? 128 + WTERMSIG(result->status) : WEXITSTATUS(result->status);
}

static int status_of_failure(int r)
{
	return r == COLLECT_NOT_EXECUTABLE ? STATUS_NOT_EXECUTABLE : r == COLLECT_NOT_FOUND ? STATUS_NOT_FOUND : STATUS_TARE;
}

static int run_program(struct run *run, const char *agent, const char *program)
{
	const struct settings *s = &run->inv->settings;
	struct collect_result result = { 0 };
	struct collect_options options = {
		.instruments = run->what->instruments,
		.cpu_hz = run->what->cpu_hz,
		.heap_sample_bytes = run->what->heap_sample_bytes,
		.depth = (uint32_t)s->depth,
		.no_children = s->no_children,
		.duration_ns = s->duration_ns,
		.agent_path = agent,
		.session_path = run->recording.path,
		.program_path = program,
		.argv = run->inv->operands,
		.started = on_started,
		.progress = !s->quiet && isatty(STDERR_FILENO) ? on_progress : NULL,
		.measured = on_measured,
		.arg = run,
	};
	int r = collect_run(&options, &result, &run->inv->err);

	talk_progress_end();
	if (r)
		return status_of_failure(r);
	finish(run);
	return status_of(run, &result);
}

int measure_program(struct invocation *inv, const struct measure *what)
{
	struct run run CLEANUP(run_fini) = { .inv = inv, .what = what };
	CLEANUP_FREE char *agent = NULL, *program = NULL;
	int r;

	if (!inv->noperands || !inv->operands[0][0])
		return command_usage(inv, "no program is named");
	if (result_form(inv, true, &run.form) < 0)
		return STATUS_TARE;
	if (run.form.kind == RESULT_RECORDING && inv->settings.no_file)
		return command_usage(inv, "-o %s is a recording, and --no-file keeps none", run.form.path);
	if (agent_path(&agent, &inv->err) < 0)
		return STATUS_TARE;
	r = collect_find(inv->operands[0], inv->command->name, &program, &inv->err);
	if (r)
		return status_of_failure(r);
	if (run.form.path && output_check(run.form.path, &inv->err) < 0)
		return STATUS_TARE;
	if (choose_recording(&run, inv->operands[0]) < 0)
		return STATUS_TARE;
	return run_program(&run, agent, program);
}

int measure_no_heap_sampling(struct invocation *inv, const char *option)
{
	err_set(&inv->err, -ENOSYS, "%s: %s: not in this version of tare (%s); every call is recorded", inv->command->name,
		option, TARE_VERSION);
	return STATUS_TARE;
}
