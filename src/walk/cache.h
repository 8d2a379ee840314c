/* cache.h - frame layouts by address: one table for the process, shared by all walks, without a lock
 *
 * A cell is one 64-bit word: the whole 48-bit hash of the address (multiplication by an odd number loses nothing, so the hash
 * is the address) and a rule of 16 bits. Beside the cells lies an array of the rules alone, the hints: 2 bytes a cell, so
 * that 8192 of them fit a first-level data cache. The walk goes on with the hint at once, and the cell, which may come from
 * farther away, confirms address and hint in one comparison that the branch predictor has already guessed.
 */
#ifndef TARE_WALK_CACHE_H
#define TARE_WALK_CACHE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"

/** A rule is a packed layout of the CPU (arch_rule_*), or special, which is one of these. 0 is no rule. */
enum cache_rule {
	CACHE_STOP = 1 << 3 | ARCH_RULE_SPECIAL,	/* outermost frame */
	CACHE_STEP = 2 << 3 | ARCH_RULE_SPECIAL,	/* to be interpreted each time */
	CACHE_NO_CFI = 3 << 3 | ARCH_RULE_SPECIAL,	/* code (or what looks like it) without CFI */
	CACHE_NO_CODE = 4 << 3 | ARCH_RULE_SPECIAL,	/* not a return address */
	CACHE_WIDE = 16 << 3 | ARCH_RULE_SPECIAL	/* + 8 * number of a struct cache_wide */
};

/** struct cache_wide - a layout that the packed rule cannot hold */
struct cache_wide {
	int32_t cfa_off, ra_off, fp_off;	/* fp_off 0: fp is kept; ra_off, fp_off are relative to the CFA */
	uint8_t base;				/* WIDE_* */
};

enum {
	WIDE_SP = 1,
	WIDE_FP = 2,
	WIDE_FP_DEREF = 3	/* the CFA is read from [fp + cfa_off]; fp is saved at [fp + fp_off] */
};

struct cache_table {
	uint32_t shift;			/* 64 - log2(cells) */
	_Atomic uint32_t used;
	_Atomic uint64_t *cells;
	_Atomic uint16_t *hints;
};

#define CACHE_MULTIPLIER (0x9E3779B97F4A7C15ull << 16)

/* bits 63..16: the hash; 15..0 are free */
static inline uint64_t cache_hash(uint64_t ra)
{
	return ra * CACHE_MULTIPLIER;
}

/** struct cache_view - the table as of the begin of a walk; a walk stores nothing once the generation has changed */
struct cache_view {
	struct cache_table *table;
	uint32_t generation;
	bool open;			/* objects may vanish now: the table is an empty one */
};

int cache_init(void);
struct cache_view cache_view(void);
uint32_t cache_generation(void);

/** cache_lookup - the rule for return address @ra beside its home, or 0; Cost: up to 8 cells */
uint32_t cache_lookup(struct cache_table *t, uint64_t ra);

/** cache_store - keeps a rule; does nothing if the view has become invalid */
void cache_store(const struct cache_view *view, uint64_t ra, uint32_t rule);

/** cache_wide - the layout of a rule >= CACHE_WIDE */
const struct cache_wide *cache_wide(uint32_t rule);

/** cache_wide_rule - a rule for this layout, or CACHE_STEP when the table of layouts is full */
uint32_t cache_wide_rule(const struct cache_wide *layout);

uint64_t cache_memory_bytes(void);

#endif
