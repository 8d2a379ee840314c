/* arena.h - memory that is freed whole; an analysis lives in one */
#ifndef TARE_BASE_ARENA_H
#define TARE_BASE_ARENA_H

#include <stddef.h>

struct arena_block;

/** struct arena - {0} is an empty arena; not for use by two threads at once */
struct arena {
	struct arena_block *blocks;
	size_t used, size;	/* of the newest block, bytes */
	size_t total;		/* bytes of all blocks */
};

/**
 * arena_alloc - @size zeroed bytes, aligned to 16
 *
 * Owns:   the arena; valid until arena_fini().
 * Return: never NULL: where the system has no memory left arena_no_memory() is called, which does not return (an
 *         analysis has nothing to save at that point: the recording is safe on disk).
 */
void *arena_alloc(struct arena *a, size_t size);
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
/** arena_no_memory - set by main() to a function that says so and ends the process; traps by default */
extern void (*arena_no_memory)(void);
void arena_fini(struct arena *a);

#endif
