/* symbols_intern.h - the hash table of the symbol code: four words to a pointer, and interned strings */
#ifndef TARE_ANALYSE_SYMBOLS_INTERN_H
#define TARE_ANALYSE_SYMBOLS_INTERN_H

#include <stdint.h>

#include "base/arena.h"

enum { INTERN_WORDS = 4 };

struct intern_slot {
	uint64_t key[INTERN_WORDS];
	void *value;		/* NULL: free */
};

/** struct intern - {0} is an empty table; its memory is the arena's */
struct intern {
	struct intern_slot *slots;
	uint32_t used, size;	/* size: a power of two, or 0 */
};

/**
 * intern_slot - the place of @key, made if there is none
 *
 * The caller fills a new slot's value (NULL until then) before the next call.
 * Return: valid until the next call.
 */
void **intern_slot(struct intern *t, struct arena *a, const uint64_t key[INTERN_WORDS]);

/** intern_string - one copy of each distinct string: equal strings are the same pointer */
const char *intern_string(struct intern *t, struct arena *a, const char *s);

#endif
