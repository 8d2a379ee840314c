/* export.h - a profile in other people's formats, in memory */
#ifndef TARE_RENDER_EXPORT_H
#define TARE_RENDER_EXPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/profile.h"
#include "base/err.h"
#include "render/out.h"

/** What an export is of: bits, those of struct profile's instruments. */
enum export_what { EXPORT_CPU = 1, EXPORT_HEAP = 2 };

struct export_format {
	const char *name, *suffix;	/* "pprof", ".pb.gz" */
	const char *takes;		/* "cpu, heap" */
	const char *readers;		/* who reads it */
	bool binary;
	uint32_t what;			/* enum export_what, or'ed */
	int (*write)(const struct profile *p, enum export_what what, struct out *out);
};

/** export_formats - all of them; the last has no name */
extern const struct export_format export_formats[];

/**
 * export_write - a profile in one format
 * @what: EXPORT_CPU, EXPORT_HEAP; 0: what the recording holds, cpu where it holds both
 *
 * Return: 0; -ENOTSUP: the format cannot hold it (the sentence names those that can), or the recording does not have it;
 *         -ENOMEM.
 */
int export_write(const struct profile *p, const struct export_format *format, uint32_t what, struct out *out,
		 struct err *err);

#endif
