/*
 * arena - memory that is freed whole
 *
 * Analyses build large graphs of small objects with one life. They are cut from blocks of growing size, never freed one
 * by one, and all go at once.
 */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

struct arena_block {
	struct arena_block *next;
	_Alignas(16) unsigned char bytes[];
};

static void arena_trap(void)
{
	__builtin_trap();
}

void (*arena_no_memory)(void) = arena_trap;

enum { FIRST_BLOCK = 16 << 10, LARGEST_BLOCK = 4 << 20 };

static void arena_grow(struct arena *a, size_t need)
{
	size_t size = a->blocks ? MIN(a->size * 2, (size_t)LARGEST_BLOCK) : (size_t)FIRST_BLOCK;
	struct arena_block *block;

	size = MAX(size, need);
	block = calloc(1, sizeof(*block) + size);
	if (!block)
		arena_no_memory();
	block->next = a->blocks;
	a->blocks = block;
	a->used = 0;
	a->size = size;
	a->total += size;
}

void *arena_alloc(struct arena *a, size_t size)
{
	void *p;

	if (size > SIZE_MAX / 2)
		arena_no_memory();
	size = (size + 15) & ~(size_t)15;
	if (!a->blocks || a->size - a->used < size)
		arena_grow(a, size);
	p = a->blocks->bytes + a->used;
	a->used += size;
	return p;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	char *copy = arena_alloc(a, n + 1);

	memcpy(copy, s, n);
	return copy;
}

char *arena_strdup(struct arena *a, const char *s)
{
	return arena_strndup(a, s, strlen(s));
}

char *arena_printf(struct arena *a, const char *format, ...)
{
	va_list ap;
	char *s;
	int n;

	va_start(ap, format);
	n = vsnprintf(NULL, 0, format, ap);
	va_end(ap);
	if (n < 0)
		return arena_strdup(a, "");
	s = arena_alloc(a, (size_t)n + 1);
	va_start(ap, format);
	vsnprintf(s, (size_t)n + 1, format, ap);
	va_end(ap);
	return s;
}

void arena_fini(struct arena *a)
{
	struct arena_block *block, *next;

	if (!a)
		return;
	for (block = a->blocks; block; block = next) {
		next = block->next;
		free(block);
	}
	*a = (struct arena){ 0 };
}
