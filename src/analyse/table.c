/*
 * table - open addressing with linear probing, and arrays that double
 *
 * Keys are made of small numbers (process, node, thread, frame), so a multiplicative hash spreads them; a value of 0 marks a
 * free place, so that any key may be stored.
 */
#include "analyse/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/util.h"

enum { FIRST_SIZE = 64 };

static size_t table_place(const struct table *t, uint64_t key)
{
	uint64_t hash = (key ^ key >> 32) * 0x9e3779b97f4a7c15ull;
	size_t i = (size_t)(hash >> 20) & (t->size - 1);

	while (t->values[i] && t->keys[i] != key)
		i = (i + 1) & (t->size - 1);
	return i;
}

static void table_double(struct table *t)
{
	struct table old = *t;
	size_t i, place;

	t->size = old.size ? old.size * 2 : (size_t)FIRST_SIZE;
	t->keys = calloc(t->size, sizeof(*t->keys));
	t->values = calloc(t->size, sizeof(*t->values));
	if (!t->keys || !t->values)
		arena_no_memory();
	for (i = 0; i < old.size; i++) {
		if (!old.values[i])
			continue;
		place = table_place(t, old.keys[i]);
		t->keys[place] = old.keys[i];
		t->values[place] = old.values[i];
	}
	free(old.keys);
	free(old.values);
}

uint64_t *table_at(struct table *t, uint64_t key)
{
	size_t i;

	if (t->size) {
		i = table_place(t, key);
		if (t->values[i])
			return &t->values[i];
	}
	if ((t->used + 1) * 3 > t->size * 2)
		table_double(t);
	i = table_place(t, key);
	t->keys[i] = key;
	t->used++;
	return &t->values[i];
}

void table_fini(struct table *t)
{
	free(t->keys);
	free(t->values);
	*t = (struct table){ 0 };
}

void *table_grow(void *array, size_t *capacity, size_t need, size_t element)
{
	size_t more = MAX(need, *capacity * 2);
	void *grown;

	if (need <= *capacity)
		return array;
	more = MAX(more, (size_t)16);
	grown = more <= SIZE_MAX / 2 / element ? realloc(array, more * element) : NULL;
	if (!grown)
		arena_no_memory();
	memset((char *)grown + *capacity * element, 0, (more - *capacity) * element);
	*capacity = more;
	return grown;
}
