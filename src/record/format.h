/* format.h - the bytes of a session file, for the writer and the reader alone (docs/format.md says the same in words)
 *
 *   file    = header chunk*
 *   header  = magic[8] version crc32(of the 12 bytes before)
 *   chunk   = mark number encoding raw_size stored_size crc32(payload) crc32(of the 24 bytes before) payload
 *   payload = record*, as it is or as one zstd frame
 *   record  = kind size body, then zeros up to a multiple of 8
 *
 * All numbers are little-endian, 32 bits wide unless said otherwise.
 */
#ifndef TARE_RECORD_FORMAT_H
#define TARE_RECORD_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "record/session.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "nodes and words are used as they lie in the file");

#define FORMAT_MAGIC "\x89tare\r\n\x1a"

enum {
	FORMAT_VERSION = 1,
	FORMAT_MAGIC_SIZE = 8,
	FORMAT_HEADER_SIZE = 16,
	FORMAT_MARK = 0x6b6e6863,		/* "chnk" */
	FORMAT_CHUNK_SIZE = 28,			/* of a chunk's header */
	FORMAT_RECORD_SIZE = 8,			/* of a record's kind and size */
	FORMAT_RAW_MAX = 16 << 20,		/* bytes of a chunk's decoded payload; more is refused */
	FORMAT_STORED_MAX = FORMAT_RAW_MAX,	/* a payload that does not shrink is stored as it is */
	FORMAT_STRINGS_MAX = 1 << 20,		/* strings of one list */
	FORMAT_PROCESSES_MAX = 1 << 20,
	FORMAT_SLOTS_MAX = 1 << 20
};

enum format_encoding { ENCODING_PLAIN = 0, ENCODING_ZSTD = 1 };	/* of a chunk */
enum format_words { WORDS_PLAIN = 0, WORDS_COLUMNS = 1 };	/* of a log: record/columns.c */

/** What a field of a record's body is. */
enum format_type {
	FORMAT_END = 0,
	FORMAT_U32,		/* 4 bytes */
	FORMAT_U64,		/* 8 bytes */
	FORMAT_F64,		/* 8 bytes, IEEE 754 */
	FORMAT_BOOL,		/* 4 bytes, 0 or 1 */
	FORMAT_STRING,		/* bytes and a NUL */
	FORMAT_STRINGS,		/* number, then as many strings */
	FORMAT_BUILD_ID,	/* length, then always 20 bytes */
	FORMAT_COSTS,		/* number of items, then 4 u64 each */
	FORMAT_NODES,		/* number, 0, then 16 bytes each */
	FORMAT_WORDS,		/* number, enum format_words, then 8 bytes each */
	FORMAT_TEXT		/* size, then as many bytes */
};

/** struct format_field - where a field lies in struct record; @n: where its number of elements lies */
struct format_field {
	enum format_type type;
	uint16_t at, n;
};

/** format_records - the fields of each kind of record, in the order of the body, up to FORMAT_END */
extern const struct format_field *const format_records[REC_KINDS];

static inline void *format_at(const struct record *record, uint16_t at)
{
	return (char *)record + at;
}

static inline uint32_t get_u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline void set_u32(uint8_t *p, uint32_t v)
{
	memcpy(p, &v, sizeof(v));
}

/* columns.c: log words in a form that packs well; @n words are 8 * @n bytes in both forms */
void columns_split(uint8_t *to, const uint64_t *words, size_t n);
void columns_join(uint64_t *words, const uint8_t *from, size_t n);

/** struct law - what the records so far permit the next one to say (law.c); {0} is the start */
struct law {
	bool run, end;
	uint32_t nprocesses;		/* size of the array */
	struct law_process *processes;
};

/**
 * law_check - sees whether a record may come next, and remembers it
 * @ret_why: what is wrong with it
 *
 * Return: 0; -EBADMSG; -ENOMEM.
 */
int law_check(struct law *law, const struct record *record, const char **ret_why);
/** law_next_node - number of the node that has to come next; UINT32_MAX: there is no such process */
uint32_t law_next_node(const struct law *law, uint32_t process);
void law_fini(struct law *law);

#endif
