/* findings.h - what stands out, in sentences, the most important first */
#ifndef TARE_RENDER_FINDINGS_H
#define TARE_RENDER_FINDINGS_H

#include "analyse/profile.h"
#include "base/arena.h"

struct finding {
	const char *kind;		/* "cpu", "heap" */
	const char *text;
	uint64_t lost_ns;		/* 0: not told */
	struct estimate effect;
};

enum { FINDINGS_MAX = 12 };

/** findings_of - Return: how many; their texts are the arena's */
uint32_t findings_of(const struct profile *p, bool utf8, struct arena *arena, struct finding ret[FINDINGS_MAX]);

#endif
