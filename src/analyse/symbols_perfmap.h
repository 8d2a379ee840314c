/* symbols_perfmap.h - names of code that a JIT compiler made: the text of a /tmp/perf-PID.map */
#ifndef TARE_ANALYSE_SYMBOLS_PERFMAP_H
#define TARE_ANALYSE_SYMBOLS_PERFMAP_H

#include <stdint.h>

#include "base/arena.h"

struct perfmap_entry {
	uint64_t start, end;
	uint32_t line;		/* a later line of the file is newer code */
	const char *name;
};

/** struct perfmap - {0} is a valid empty value; its memory is the arena's */
struct perfmap {
	struct perfmap_entry *entries;	/* by start, then line */
	uint64_t *reach;		/* reach[i]: largest end of entries[0..i] */
	uint32_t count;
};

void perfmap_read(struct perfmap *ret, struct arena *a, const char *text, uint32_t size);

/** perfmap_find - the newest entry that covers @address; NULL: none */
const struct perfmap_entry *perfmap_find(const struct perfmap *m, uint64_t address);

#endif
