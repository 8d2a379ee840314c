/*
 * heap_rows - heap sites gathered for tables
 *
 * A site is a whole stack, and a program has thousands that end in the same line of code. A table for people has one row
 * for that line, with the caller that contributes most; JSON and exports keep every stack.
 */
#include "render/heap_rows.h"

#include <stdlib.h>

#include "base/util.h"
#include "render/name.h"

uint64_t heap_row_value(const struct heap_row *row, enum heap_column column)
{
	switch (column) {
	case HEAP_NEVER_FREED:
		return row->sums.never_freed_bytes;
	case HEAP_PEAK:
		return row->sums.peak_bytes;
	case HEAP_CALLS:
		return row->sums.calls;
	case HEAP_TEMPORARY:
		return row->sums.temporary;
	}
	return 0;
}

struct keyed {
	struct heap_row row;
	uint64_t value, order;
};

static int by_frame_then_value(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;
	uint32_t left = x->row.site->frame->id, right = y->row.site->frame->id;

	if (left != right)
		return left < right ? -1 : 1;
	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static int by_value(const void *a, const void *b)
{
	const struct keyed *x = a, *y = b;

	if (x->value != y->value)
		return x->value > y->value ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void row_add(struct heap_sums *a, const struct heap_sums *b)
{
	a->calls += b->calls;
	a->bytes += b->bytes;
	a->frees += b->frees;
	a->peak_bytes += b->peak_bytes;
	a->never_freed_bytes += b->never_freed_bytes;
	a->never_freed_calls += b->never_freed_calls;
	a->temporary += b->temporary;
}

static uint32_t rows_gather(struct keyed *keyed, uint32_t n)
{
	uint32_t i, rows = 0;

	for (i = 0; i < n; i++) {
		if (rows && keyed[rows - 1].row.site->frame == keyed[i].row.site->frame) {
			row_add(&keyed[rows - 1].row.sums, &keyed[i].row.sums);
			keyed[rows - 1].value += keyed[i].value;
			keyed[rows - 1].row.sites++;
			continue;
		}
		keyed[rows++] = keyed[i];
	}
	return rows;
}

struct heap_row *heap_rows(const struct heap_profile *h, enum heap_column column, uint32_t *ret_n)
{
	CLEANUP_FREE struct keyed *keyed = calloc((size_t)h->nsites + 1, sizeof(*keyed));
	struct heap_row *rows = calloc((size_t)h->nsites + 1, sizeof(*rows));
	uint32_t i, n = 0, nrows;

	*ret_n = 0;
	if (!keyed || !rows) {
		free(rows);
		return NULL;
	}
	for (i = 0; i < h->nsites; i++) {
		keyed[n].row = (struct heap_row){ name_site(h->sites[i].leaf), h->sites[i].sums, 1 };
		keyed[n].value = heap_row_value(&keyed[n].row, column);
		keyed[n].order = i;
		n += keyed[n].value != 0;
	}
	qsort(keyed, n, sizeof(*keyed), by_frame_then_value);
	nrows = rows_gather(keyed, n);
	qsort(keyed, nrows, sizeof(*keyed), by_value);
	for (i = 0; i < nrows; i++)
		rows[i] = keyed[i].row;
	*ret_n = nrows;
	return rows;
}
