/* plain.c - a fixed sequence of all that C offers to get and give back memory */
#include <malloc.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned long state = 42;

static unsigned long next(void)
{
	state = state * 6364136223846793005ul + 1442695040888963407ul;
	return state >> 33;
}

static int by_value(const void *a, const void *b)
{
	return *(const unsigned long *)a < *(const unsigned long *)b ? -1 : *(const unsigned long *)a > *(const unsigned long *)b;
}

static void *one(unsigned long kind, size_t size)
{
	void *p = NULL;

	switch (kind) {
	case 0:
		return malloc(size);
	case 1:
		return calloc(size % 7 + 1, size);
	case 2:
		return posix_memalign(&p, 64, size) == 0 ? p : NULL;
	case 3:
		return aligned_alloc(32, size / 32 * 32);
#ifndef WITHOUT_MEMALIGN
	case 4:
		return memalign(128, size);
#endif
	default:
		return realloc(NULL, size);
	}
}

int main(void)
{
	enum { BLOCKS = 500 };
	void *block[BLOCKS] = { 0 };
	unsigned long *many;
	char *text, *line = NULL;
	size_t room = 0;
	FILE *f;

	for (int i = 0; i < 20000; i++) {
		unsigned long k = next() % BLOCKS, kind = next() % 8;

		if (kind < 6) {
			free(block[k]);
			block[k] = one(kind, next() % 3000 + 1);
		} else {
			block[k] = realloc(block[k], next() % 3000 + 1);
		}
	}
	many = malloc(100000 * sizeof(*many));
	for (int i = 0; i < 100000; i++)
		many[i] = next();
	qsort(many, 100000, sizeof(*many), by_value);
	f = open_memstream(&text, &room);
	for (int i = 0; i < 2000; i++)
		fprintf(f, "%lu of %s\n", many[i * 50], strdup("a string that nobody frees"));
	fclose(f);
	f = fmemopen(text, strlen(text), "r");
	room = 0;
	while (getline(&line, &room, f) > 0)
		state ^= strlen(line);
	fclose(f);
	free(line);
	free(text);
	free(many);
	printf("%lx\n", state);
	return 0;
}
