/*
 * session_seeds - writes the sessions that fuzzing begins with (to be run again when the format changes)
 *
 * usage: session_seeds FOLDER
 */
#include <stdio.h>
#include <string.h>

#include "record/session_testing.h"

static struct session_writer *begin(const char *folder, const char *name)
{
	struct session_writer *w = NULL;
	struct err err = {0};
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (session_create(&w, path, true, &err) < 0) {
		fprintf(stderr, "session_seeds: %s\n", err.text);
		exit(1);
	}
	return w;
}

static void put(struct session_writer *w, const struct record *record)
{
	struct err err = {0};

	if (session_write(w, record, &err) < 0) {
		fprintf(stderr, "session_seeds: %s\n", err.text);
		exit(1);
	}
}

/* Each kind of record; in one chunk, or in one each. */
static void samples(const char *folder, const char *name, bool apart)
{
	struct session_writer *w = begin(folder, name);

	for (size_t i = 0; i < ARRAY_SIZE(sample_records); i++) {
		put(w, &sample_records[i]);
		if (apart)
			session_flush(w, NULL);
	}
	session_close(w, NULL);
}

/* A log that is long enough for columns, and no end. */
static void columns(const char *folder)
{
	struct session_writer *w = begin(folder, "columns");
	uint64_t words[200];

	for (uint32_t i = 0; i < ARRAY_SIZE(words); i++)
		words[i] = i % 50 == 0 ? event_word(EVENT_TIME, 0, 0, 1000000 + 1000 * i)
				       : event_word(i % 2 ? EVENT_ALLOC : EVENT_FREE, 0, 4 + i % 3, 16 + i % 3);
	for (int i = 0; i < 5; i++)
		put(w, &sample_records[i]);
	put(w, &(struct record){ REC_LOG, .log = { 0, 0, INSTRUMENT_HEAP, ARRAY_SIZE(words), words } });
	session_close(w, NULL);
}

int main(int argc, char **argv)
{
	if (argc != 2)
		return 2;
	samples(argv[1], "one-chunk", false);
	samples(argv[1], "chunk-per-record", true);
	columns(argv[1]);
	return 0;
}
