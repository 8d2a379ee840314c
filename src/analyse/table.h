/* table.h - a hash table from 64-bit keys to 64-bit values, and growing arrays, for analyses */
#ifndef TARE_ANALYSE_TABLE_H
#define TARE_ANALYSE_TABLE_H

#include <stddef.h>
#include <stdint.h>

/** struct table - {0} is an empty table; a value of 0 means "not there" */
struct table {
	uint64_t *keys, *values;
	size_t size, used;	/* size is a power of two, or 0 */
};

/**
 * table_at - the value of a key, 0 where it is new
 *
 * Return: never NULL; valid until the next call. The caller must store a value other than 0 in a new one.
 */
uint64_t *table_at(struct table *t, uint64_t key);
void table_fini(struct table *t);

/**
 * table_grow - makes room in a growing array
 * @array:    malloc'ed, or NULL
 * @capacity: elements it has room for; updated
 * @need:     elements it must have room for
 *
 * Return: the array, new elements zeroed; never NULL (arena_no_memory() where there is none).
 */
void *table_grow(void *array, size_t *capacity, size_t need, size_t element);

#endif
