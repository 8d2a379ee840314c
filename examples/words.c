/*
 * words - something to measure: threads that count words, sort them, and forget to free what they noted
 *
 *   gcc -O2 -g -fomit-frame-pointer -pthread examples/words.c -o words
 *   tare record -e cpu,heap -- ./words
 *   tare report
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct entry {
	struct entry *next;
	unsigned int count;
	char word[];
};

enum { BUCKETS = 1 << 15, WORDS = 1000000 };

struct table {
	struct entry *buckets[BUCKETS];
	size_t entries;
};

static __attribute__((noinline)) void make_word(unsigned int *seed, char *word)
{
	int n = 0;

	do {
		*seed = *seed * 1103515245u + 12345u;
		word[n++] = (char)('a' + (*seed >> 16) % 6);
	} while ((*seed >> 24) % 5 && n < 15);
	word[n] = '\0';
}

static __attribute__((noinline)) unsigned int hash_word(const char *word)
{
	unsigned int h = 2166136261u;

	while (*word)
		h = (h ^ (unsigned char)*word++) * 16777619u;
	return h;
}

static __attribute__((noinline)) struct entry *add_entry(struct table *t, struct entry **bucket, const char *word)
{
	struct entry *e = malloc(sizeof(*e) + strlen(word) + 1);

	strcpy(e->word, word);
	e->count = 0;
	e->next = *bucket;
	*bucket = e;
	t->entries++;
	return e;
}

static __attribute__((noinline)) struct entry *find_entry(struct table *t, const char *word)
{
	struct entry **bucket = &t->buckets[hash_word(word) % BUCKETS], *e;

	for (e = *bucket; e && strcmp(e->word, word); e = e->next)
		;
	return e ? e : add_entry(t, bucket, word);
}

static __attribute__((noinline)) char *note_word(const char *word)
{
	char *note = malloc(100);	/* never freed */

	return strcpy(note, word);
}

static int by_count(const void *a, const void *b)
{
	const struct entry *const *x = a, *const *y = b;

	return ((*x)->count < (*y)->count) - ((*x)->count > (*y)->count);
}

static __attribute__((noinline)) void sort_entries(struct table *t)
{
	struct entry **all = malloc(t->entries * sizeof(*all)), *e, *next;
	size_t n = 0, i;

	for (i = 0; i < BUCKETS; i++) {
		for (e = t->buckets[i]; e; e = e->next)
			all[n++] = e;
	}
	qsort(all, n, sizeof(*all), by_count);
	free(all);
	for (i = 0; i < BUCKETS; i++) {
		for (e = t->buckets[i]; e; e = next) {
			next = e->next;
			free(e);
		}
	}
}

static void *count_words(void *arg)
{
	struct table *t = calloc(1, sizeof(*t));
	unsigned int seed = (unsigned int)(size_t)arg;
	size_t entries;
	char word[16];

	for (int i = 0; i < WORDS; i++) {
		make_word(&seed, word);
		if (find_entry(t, word)->count++ == 100)
			note_word(word);
	}
	sort_entries(t);
	entries = t->entries;
	free(t);
	return (void *)entries;
}

int main(void)
{
	pthread_t crew[2];
	void *entries[2];

	for (size_t i = 0; i < 2; i++)
		pthread_create(&crew[i], NULL, count_words, (void *)(i + 1));
	for (size_t i = 0; i < 2; i++)
		pthread_join(crew[i], &entries[i]);
	printf("%zu and %zu different words\n", (size_t)entries[0], (size_t)entries[1]);
}
