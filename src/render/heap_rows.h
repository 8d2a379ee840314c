/* heap_rows.h - heap sites gathered for tables: by the function and line that asked for the memory */
#ifndef TARE_RENDER_HEAP_ROWS_H
#define TARE_RENDER_HEAP_ROWS_H

#include "analyse/profile.h"

struct heap_row {
	const struct tree_node *site;	/* name_site() of the largest of its sites */
	struct heap_sums sums;
	uint32_t sites;			/* stacks gathered */
};

enum heap_column { HEAP_NEVER_FREED, HEAP_PEAK, HEAP_CALLS, HEAP_TEMPORARY };

/**
 * heap_rows - Owns: malloc'ed; by @column, descending; rows with nothing in it left out
 *
 * Return: the rows; NULL: out of memory, or none.
 */
struct heap_row *heap_rows(const struct heap_profile *h, enum heap_column column, uint32_t *ret_n);

uint64_t heap_row_value(const struct heap_row *row, enum heap_column column);

#endif
