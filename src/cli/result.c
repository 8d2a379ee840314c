/*
 * result - a profile in the form that was asked for, to where it was asked for
 *
 * The suffix of -o decides the form; --json is the form for stdout. Everything is rendered in memory and written at once:
 * a result is there whole or not at all.
 */
#include "cli/result.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/util.h"
#include "cli/output.h"
#include "cli/talk.h"
#include "render/export.h"
#include "render/render.h"

static const struct export_format *format_by_name(const char *name)
{
	for (const struct export_format *f = export_formats; f->name; f++) {
		if (!strcmp(f->name, name))
			return f;
	}
	return NULL;
}

static const struct export_format *format_by_suffix(const char *path)
{
	for (const struct export_format *f = export_formats; f->name; f++) {
		if (output_has_suffix(path, f->suffix))
			return f;
	}
	return NULL;
}

static int unknown_format(struct invocation *inv, const char *name)
{
	static const char *const later[] = { "speedscope", "firefox", "chrome", "heaptrack", "massif", "callgrind", "hdr",
		"prom", "openmetrics", "influx", "csv" };

	for (size_t i = 0; i < ARRAY_SIZE(later); i++) {
		if (strcmp(name, later[i]))
			continue;
		err_set(&inv->err, -ENOSYS, "export: --format=%s: not in this version of tare (%s)", name, TARE_VERSION);
		err_next(&inv->err, "tare export --list-formats");
		return -EINVAL;
	}
	command_usage(inv, "there is no format '%s' (tare export --list-formats)", name);
	return -EINVAL;
}

static int by_suffix(struct invocation *inv, bool measuring, struct result_form *ret)
{
	const char *path = ret->path;

	ret->format = format_by_suffix(path);
	if (ret->format)
		ret->kind = RESULT_EXPORT;
	else if (output_has_suffix(path, ".json"))
		ret->kind = RESULT_JSON;
	else if (output_has_suffix(path, ".txt"))
		ret->kind = RESULT_TEXT;
	else if (output_has_suffix(path, ".tare") && measuring)
		ret->kind = RESULT_RECORDING;
	else if (output_has_suffix(path, ".tare"))
		return command_usage(inv, "-o %s: a recording is made by tare cpu, heap and record", path), -EINVAL;
	else if (output_has_suffix(path, ".html"))
		return err_set(&inv->err, -ENOSYS, "%s: -o %s: HTML is not in this version of tare (%s)",
			inv->command->name, path, TARE_VERSION);
	else
		return command_usage(inv, "-o %s: the suffix tells no format (.tare .json .txt, or one of tare export "
			"--list-formats)", path), -EINVAL;
	return 0;
}

int result_form(struct invocation *inv, bool measuring, struct result_form *ret)
{
	const struct settings *s = &inv->settings;
	struct result_form form = { .kind = s->json ? RESULT_JSON : RESULT_TEXT, .path = s->output };
	int r = 0;

	if (s->format) {
		form.kind = RESULT_EXPORT;
		form.format = format_by_name(s->format);
		if (!form.format)
			return unknown_format(inv, s->format);
	} else if (form.path) {
		r = by_suffix(inv, measuring, &form);
	}
	if (r < 0)
		return r;
	/* A recording in a file and the document on stdout are two results; otherwise -o says where the one result goes. */
	if (s->json && form.path && form.kind != RESULT_JSON && form.kind != RESULT_RECORDING)
		return command_usage(inv, "--json, and -o %s which is something else", form.path), -EINVAL;
	*ret = form;
	return 0;
}

static int export(struct invocation *inv, const struct profile *profile, const struct export_format *format,
	uint32_t instruments, struct out *out)
{
	const char *of = inv->settings.of;
	uint32_t what = instruments & profile->instruments;

	if (of)
		what = !strcmp(of, "heap") ? EXPORT_HEAP : EXPORT_CPU;
	else if (what & EXPORT_CPU)
		what = EXPORT_CPU;
	return export_write(profile, format, what, out, &inv->err);
}

static int render(struct invocation *inv, const struct profile *profile, const struct result_form *form,
	uint32_t instruments, struct out *out)
{
	const struct settings *s = &inv->settings;
	const struct render_options options = {
		.command = inv->command->name,
		.utf8 = talk_utf8(),
		.colour = talk_colour(s->color, form->path ? -1 : STDOUT_FILENO),
		.limit = (uint32_t)s->limit,
		.threads = s->threads,
		.stacks = s->stacks,
		.leaks_only = s->leaks_only,
	};

	if (form->kind == RESULT_EXPORT)
		return export(inv, profile, form->format, instruments, out);
	return form->kind == RESULT_JSON ? render_json(profile, &options, out) : render_text(profile, &options, out);
}

int result_write(struct invocation *inv, const struct profile *profile, const struct result_form *form,
	uint32_t instruments, bool after_program)
{
	struct out out CLEANUP(out_fini) = { 0 };
	int r = render(inv, profile, form, instruments, &out);

	if (!r)
		r = out_result(&out);
	if (r < 0)
		return inv->err.text[0] ? r : err_set(&inv->err, r, "cannot render the result: %s", strerror(-r));
	if (form->path)
		return output_file(form->path, out.data, out.len, &inv->err);
	if (form->kind == RESULT_EXPORT && form->format->binary && isatty(STDOUT_FILENO)) {
		err_set(&inv->err, -EINVAL, "%s: %s is binary, and stdout is a terminal", inv->command->name,
			form->format->name);
		err_next(&inv->err, "-o FILE%s", form->format->suffix);
		return -EINVAL;
	}
	return output_stdout(out.data, out.len, after_program && form->kind != RESULT_EXPORT, &inv->err);
}

void result_list_formats(FILE *f)
{
	fprintf(f, "%-12s %-18s %-10s %s\n", "format", "suffix", "takes", "read by");
	for (const struct export_format *format = export_formats; format->name; format++)
		fprintf(f, "%-12s %-18s %-10s %s\n", format->name, format->suffix, format->takes, format->readers);
}
