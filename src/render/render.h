/* render.h - a profile as text or JSON, in memory
 *
 * Return of all: 0; -ENOMEM: @out is not whole.
 */
#ifndef TARE_RENDER_RENDER_H
#define TARE_RENDER_RENDER_H

#include <stdbool.h>
#include <stdint.h>

#include "analyse/profile.h"
#include "render/out.h"

struct render_options {
	const char *command;	/* "cpu", "heap", "record", "report", "cost": which text, and schema "tare.COMMAND/1" */
	bool utf8, colour;
	uint32_t limit;		/* rows of a table; 0: 10 */
	bool threads;		/* text: the table of threads */
	bool stacks;		/* JSON: cpu.stacks[] */
	bool leaks_only;	/* text: of the heap only what was never freed */
};

/** render_text - as tables; the last line begins with "cost: " */
int render_text(const struct profile *p, const struct render_options *options, struct out *out);

/** render_json - one document of CLI.md 1.7, in one line of ASCII, with a line feed at its end */
int render_json(const struct profile *p, const struct render_options *options, struct out *out);

#endif
