/*
 * symbols_perfmap - names of code that a JIT compiler made
 *
 * A line is "START SIZE NAME", numbers in hexadecimal without 0x, the name with all its spaces. A JIT compiler reuses
 * memory and then writes a second line for it, so entries may overlap, and the later line wins.
 */
#include "analyse/symbols_perfmap.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

enum { LONGEST_SEARCH = 4096 };	/* entries looked at for one address */

static bool read_hex(const char **at, const char *end, uint64_t *ret)
{
	const char *p = *at;
	uint64_t v = 0;
	int digits;

	if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	for (digits = 0; p < end; p++, digits++) {
		unsigned int c = (unsigned char)*p | 0x20;

		if (c >= '0' && c <= '9')
			v = v << 4 | (c - '0');
		else if (c >= 'a' && c <= 'f')
			v = v << 4 | (c - 'a' + 10);
		else
			break;
	}
	if (!digits || digits > 16 || p == end || *p != ' ')
		return false;
	while (p < end && *p == ' ')
		p++;
	*at = p;
	*ret = v;
	return true;
}

static bool read_line(struct perfmap_entry *ret, struct arena *a, const char *line, const char *end)
{
	uint64_t start, size;

	while (end > line && (end[-1] == '\r' || end[-1] == ' '))
		end--;
	if (!read_hex(&line, end, &start) || !read_hex(&line, end, &size) || line == end || !size ||
	    size > UINT64_MAX - start || memchr(line, 0, (size_t)(end - line)))
		return false;
	*ret = (struct perfmap_entry){ start, start + size, ret->line, arena_strndup(a, line, (size_t)(end - line)) };
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct perfmap_entry *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

void perfmap_read(struct perfmap *ret, struct arena *a, const char *text, uint32_t size)
{
	const char *end = text + size, *line, *eol;
	struct perfmap *m = ret;
	uint32_t lines = 0, i;

	*m = (struct perfmap){ 0 };
	for (line = text; line < end; line = eol + 1, lines++) {
		eol = memchr(line, '\n', (size_t)(end - line));
		if (!eol)
			eol = end;
	}
	m->entries = arena_alloc(a, (size_t)lines * sizeof(*m->entries));
	m->reach = arena_alloc(a, (size_t)lines * sizeof(*m->reach));
	for (line = text, i = 0; line < end; line = eol + 1, i++) {
		eol = memchr(line, '\n', (size_t)(end - line));
		if (!eol)
			eol = end;
		m->entries[m->count].line = i;
		if (read_line(&m->entries[m->count], a, line, eol))
			m->count++;
	}
	if (m->count)
		qsort(m->entries, m->count, sizeof(*m->entries), by_start);
	for (i = 0; i < m->count; i++)
		m->reach[i] = i ? MAX(m->reach[i - 1], m->entries[i].end) : m->entries[0].end;
}

const struct perfmap_entry *perfmap_find(const struct perfmap *m, uint64_t address)
{
	const struct perfmap_entry *best = NULL;
	uint32_t low = 0, high = m->count, i, steps;

	while (low < high) {		/* the first entry behind @address */
		uint32_t middle = low + (high - low) / 2;

		if (m->entries[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	for (i = low, steps = 0; i-- && m->reach[i] > address && steps < LONGEST_SEARCH; steps++)
		if (address < m->entries[i].end && (!best || m->entries[i].line > best->line))
			best = &m->entries[i];
	return best;
}
