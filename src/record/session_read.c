/*
 * session_read - records out of a session file, trusting nothing
 *
 * A recording may come from a process that was killed, from a full disk, from another machine or from somebody who means
 * harm. So everything that is read is checked before it is used; memory grows by what the file really holds, and never
 * beyond a constant (FORMAT_RAW_MAX a chunk). The file is read with pread(2) rather than mapped: a file that shrinks under
 * a mapping ends the process with SIGBUS. A file that is still being written reads like one whose writer was killed, and
 * session_next() may be asked again when there is more.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/util.h"
#include "record/format.h"

struct buffer {
	uint8_t *bytes;
	size_t size;
};

struct session_reader {
	char *path;
	int fd;				/* -1: bytes in memory */
	const uint8_t *bytes;
	size_t size;
	uint64_t at;			/* where the next chunk begins */
	uint64_t chunk_at;		/* where this one began */
	uint32_t chunks;
	struct buffer stored, raw, words, strings;
	size_t raw_used, raw_at;	/* bytes of this chunk's payload; where its next record begins */
	ZSTD_DCtx *zstd;
	struct law law;
	int failed;			/* 0, or what every call answers from now on */
	struct err why;
};

/* A chunk's header. */
struct chunk {
	uint32_t number, encoding, raw_size, stored_size, crc;
};

static int again(const struct session_reader *r, struct err *err)
{
	if (err)
		*err = r->why;
	return r->failed;
}

static int corrupt(struct session_reader *r, const char *what, struct err *err)
{
	r->failed = err_set(&r->why, -EBADMSG, "%s is damaged in the chunk at byte %llu: %s", r->path,
			    (unsigned long long)r->chunk_at, what);
	return again(r, err);
}

static int corrupt_record(struct session_reader *r, size_t at, const char *what, struct err *err)
{
	r->failed = err_set(&r->why, -EBADMSG,
			    "%s is damaged in the chunk at byte %llu, at byte %zu of its %zu when unpacked: %s",
			    r->path, (unsigned long long)r->chunk_at, at, r->raw_used, what);
	return again(r, err);
}

static int no_memory(struct session_reader *r, struct err *err)
{
	return err_set(err, -ENOMEM, "%s: out of memory while reading the recording", r->path);
}

static int reserve(struct buffer *b, size_t size)
{
	uint8_t *p;

	if (size <= b->size)
		return 0;
	free(b->bytes);
	b->size = 0;
	size = (size + 4095) & ~(size_t)4095;
	p = b->bytes = malloc(size);
	if (!p)
		return -ENOMEM;
	b->size = size;
	return 0;
}

/* Reads up to @n bytes at @at; *ret_n is fewer where the file ends. */
static int read_at(struct session_reader *r, void *to, size_t n, uint64_t at, size_t *ret_n, struct err *err)
{
	size_t got = 0;
	ssize_t k;

	if (r->fd < 0) {
		got = at < r->size ? MIN(n, r->size - (size_t)at) : 0;
		if (got)
			memcpy(to, r->bytes + at, got);
		*ret_n = got;
		return 0;
	}
	while (got < n) {
		k = pread(r->fd, (char *)to + got, n - got, (off_t)(at + got));
		if (k < 0 && errno == EINTR)
			continue;
		if (k < 0)
			return err_set(err, -errno, "cannot read the recording %s at byte %llu: %s", r->path,
				       (unsigned long long)(at + got), strerror(errno));
		if (k == 0)
			break;
		got += (size_t)k;
	}
	*ret_n = got;
	return 0;
}

static int file_size(struct session_reader *r, uint64_t *ret, struct err *err)
{
	struct stat st;

	if (r->fd < 0) {
		*ret = r->size;
		return 0;
	}
	if (fstat(r->fd, &st) < 0)
		return err_set(err, -errno, "cannot read the recording %s: %s", r->path, strerror(errno));
	*ret = (uint64_t)st.st_size;
	return 0;
}

/* Zeros up to the end of the file are what some file systems leave of data that was not written before the power failed. */
static int only_zeros_follow(struct session_reader *r, bool *ret, struct err *err)
{
	uint8_t block[4096];
	uint64_t at = r->at;
	size_t n;
	int e;

	do {
		e = read_at(r, block, sizeof(block), at, &n, err);
		if (e < 0)
			return e;
		for (size_t i = 0; i < n; i++)
			if (block[i]) {
				*ret = false;
				return 0;
			}
		at += n;
	} while (n == sizeof(block));
	*ret = true;
	return 0;
}

/* Whether @n bytes are the first of a header that may follow. */
static bool is_begun(const struct session_reader *r, const uint8_t *header, size_t n)
{
	uint8_t begin[8];

	set_u32(begin, FORMAT_MARK);
	set_u32(begin + 4, r->chunks);
	return memcmp(header, begin, MIN(n, sizeof(begin))) == 0;
}

static int parse_chunk(struct session_reader *r, const uint8_t *h, struct chunk *ret, struct err *err)
{
	struct chunk c = { get_u32(h + 4), get_u32(h + 8), get_u32(h + 12), get_u32(h + 16), get_u32(h + 20) };

	if (get_u32(h) != FORMAT_MARK)
		return corrupt(r, "no chunk", err);
	if (get_u32(h + 24) != crc32(0, h, FORMAT_CHUNK_SIZE - 4))
		return corrupt(r, "a header whose checksum is wrong", err);
	if (c.number != r->chunks)
		return corrupt(r, "not the number that follows the chunk before", err);
	if (c.encoding > ENCODING_ZSTD)
		return corrupt(r, "an unknown encoding", err);
	if (c.raw_size == 0 || c.raw_size > FORMAT_RAW_MAX || c.raw_size % 8)
		return corrupt(r, "an impossible size", err);
	if (c.stored_size == 0 || c.stored_size > FORMAT_STORED_MAX ||
	    (c.encoding == ENCODING_PLAIN && c.stored_size != c.raw_size))
		return corrupt(r, "an impossible stored size", err);
	*ret = c;
	return 0;
}

static int unpack(struct session_reader *r, const struct chunk *c, struct err *err)
{
	struct buffer swap;
	size_t n;

	if (c->encoding == ENCODING_PLAIN) {
		swap = r->raw;
		r->raw = r->stored;
		r->stored = swap;
		return 0;
	}
	if (reserve(&r->raw, c->raw_size) < 0)
		return no_memory(r, err);
	n = ZSTD_decompressDCtx(r->zstd, r->raw.bytes, c->raw_size, r->stored.bytes, c->stored_size);
	if (n != c->raw_size)
		return corrupt(r, "a payload that cannot be unpacked to its size", err);
	return 0;
}

/* Reads the next chunk; SESSION_CUT where the file ends before its end. */
static int next_chunk(struct session_reader *r, struct err *err)
{
	uint8_t header[FORMAT_CHUNK_SIZE];
	struct chunk c = {0};
	uint64_t size = 0;
	bool zeros = false;
	size_t n;
	int e;

	r->chunk_at = r->at;
	e = read_at(r, header, sizeof(header), r->at, &n, err);
	if (e < 0)
		return e;
	if (n && !header[0]) {
		e = only_zeros_follow(r, &zeros, err);
		if (e < 0)
			return e;
		if (zeros)
			return SESSION_CUT;
	}
	if (n < sizeof(header))
		return is_begun(r, header, n) ? SESSION_CUT : corrupt(r, "no chunk", err);
	e = parse_chunk(r, header, &c, err);
	if (e < 0)
		return e;
	/* Memory only for what the file holds. */
	e = file_size(r, &size, err);
	if (e < 0)
		return e;
	if (size < r->at + sizeof(header) || size - r->at - sizeof(header) < c.stored_size)
		return SESSION_CUT;
	if (reserve(&r->stored, c.stored_size) < 0)
		return no_memory(r, err);
	e = read_at(r, r->stored.bytes, c.stored_size, r->at + sizeof(header), &n, err);
	if (e < 0)
		return e;
	if (n < c.stored_size)
		return SESSION_CUT;
	if (crc32(0, r->stored.bytes, c.stored_size) != c.crc)
		return corrupt(r, "a payload whose checksum is wrong", err);
	e = unpack(r, &c, err);
	if (e < 0)
		return e;
	r->at += sizeof(header) + c.stored_size;
	r->chunks++;
	r->raw_used = c.raw_size;
	r->raw_at = 0;
	return 0;
}

/** struct cursor - the rest of a record's body; @why: what was wrong with it, NULL is nothing */
struct cursor {
	const uint8_t *p, *end;
	const char *why;
};

static const uint8_t *take(struct cursor *c, uint64_t n)
{
	const uint8_t *p = c->p;

	if ((uint64_t)(c->end - p) < n) {
		c->why = "a record that is shorter than its contents";
		return NULL;
	}
	c->p += n;
	return p;
}

static uint32_t take_u32(struct cursor *c)
{
	const uint8_t *p = take(c, 4);

	return p ? get_u32(p) : 0;
}

static const char *take_string(struct cursor *c)
{
	const uint8_t *p = c->p, *nul = memchr(p, 0, (size_t)(c->end - p));

	if (!nul) {
		c->why = "a string without an end";
		return "";
	}
	c->p = nul + 1;
	return (const char *)p;
}

static int read_strings(struct session_reader *r, struct cursor *c, const char *const **ret, uint32_t *ret_n)
{
	uint32_t n = take_u32(c);
	const char **strings;

	if (n > FORMAT_STRINGS_MAX || n > (size_t)(c->end - c->p)) {
		c->why = "a list of more strings than its record has bytes for";
		return 0;
	}
	if (reserve(&r->strings, (n + 1) * sizeof(*strings)) < 0)
		return -ENOMEM;
	strings = (const char **)(void *)r->strings.bytes;
	for (uint32_t i = 0; i < n && !c->why; i++)
		strings[i] = take_string(c);
	strings[n] = NULL;
	*ret = strings;
	*ret_n = n;
	return 0;
}

static void read_bool(struct cursor *c, bool *ret)
{
	uint32_t v = take_u32(c);

	if (v > 1)
		c->why = "a yes or no that is neither";
	*ret = v == 1;
}

static void read_costs(struct cursor *c, struct cost_sum *costs)
{
	const uint8_t *p;

	if (take_u32(c) != COST_ITEMS) {
		c->why = "another number of cost items than this version has";
		return;
	}
	p = take(c, COST_ITEMS * sizeof(*costs));
	if (p)
		memcpy(costs, p, COST_ITEMS * sizeof(*costs));
}

static void read_nodes(struct cursor *c, const struct node **ret, uint32_t *ret_n)
{
	uint32_t n = take_u32(c), zero = take_u32(c);
	const uint8_t *p = take(c, (uint64_t)n * sizeof(**ret));

	if (zero)
		c->why = "a number that should be 0";
	if (!p || c->why)
		return;
	*ret = (const struct node *)(const void *)p;	/* a multiple of 8 from the start of the buffer */
	*ret_n = n;
}

static int read_words(struct session_reader *r, struct cursor *c, const uint64_t **ret, uint32_t *ret_n)
{
	uint32_t n = take_u32(c), form = take_u32(c);
	const uint8_t *p = take(c, (uint64_t)n * sizeof(**ret));
	uint64_t *words;

	if (form > WORDS_COLUMNS)
		c->why = "a log in an unknown form";
	if (!p || c->why)
		return 0;
	if (reserve(&r->words, (n + 1) * sizeof(*words)) < 0)
		return -ENOMEM;
	words = (uint64_t *)(void *)r->words.bytes;
	if (form == WORDS_COLUMNS)
		columns_join(words, p, n);
	else if (n)
		memcpy(words, p, n * sizeof(*words));
	*ret = words;
	*ret_n = n;
	return 0;
}

static void read_bytes(struct cursor *c, void *to, size_t n)
{
	const uint8_t *p = take(c, n);

	if (p)
		memcpy(to, p, n);
}

static int read_field(struct session_reader *r, struct cursor *c, struct record *record, const struct format_field *f)
{
	void *at = format_at(record, f->at);
	uint32_t *n = format_at(record, f->n);

	switch (f->type) {
	case FORMAT_U32:
		read_bytes(c, at, 4);
		return 0;
	case FORMAT_U64:
	case FORMAT_F64:
		read_bytes(c, at, 8);
		return 0;
	case FORMAT_BOOL:
		read_bool(c, at);
		return 0;
	case FORMAT_STRING:
		*(const char **)at = take_string(c);
		return 0;
	case FORMAT_STRINGS:
		return read_strings(r, c, at, n);
	case FORMAT_BUILD_ID:
		*n = take_u32(c);
		read_bytes(c, at, sizeof(record->module.build_id));
		return 0;
	case FORMAT_COSTS:
		read_costs(c, at);
		return 0;
	case FORMAT_NODES:
		read_nodes(c, at, n);
		return 0;
	case FORMAT_WORDS:
		return read_words(r, c, at, n);
	case FORMAT_TEXT:
		*n = take_u32(c);
		*(const char **)at = (const char *)take(c, *n);
		return 0;
	case FORMAT_END:
		break;
	}
	return 0;
}

/* Reads the record at r->raw_at, which lies before r->raw_used; both are multiples of 8. */
static int read_record(struct session_reader *r, struct record *ret, struct err *err)
{
	const uint8_t *p = r->raw.bytes + r->raw_at;
	size_t left = r->raw_used - r->raw_at, at = r->raw_at;
	uint32_t kind = get_u32(p), size = get_u32(p + 4);
	struct record record;
	struct cursor c;
	int e;

	if (kind == 0 || kind >= REC_KINDS)
		return corrupt_record(r, at, "a record of an unknown kind", err);
	if (size > left - FORMAT_RECORD_SIZE)
		return corrupt_record(r, at, "a record that is longer than the chunk", err);
	memset(&record, 0, sizeof(record));
	record.kind = (enum rec_kind)kind;
	c = (struct cursor){ p + FORMAT_RECORD_SIZE, p + FORMAT_RECORD_SIZE + size, NULL };
	for (const struct format_field *f = format_records[kind]; f->type != FORMAT_END && !c.why; f++) {
		e = read_field(r, &c, &record, f);
		if (e < 0)
			return no_memory(r, err);
	}
	if (!c.why && c.p != c.end)
		c.why = "a record that is longer than its contents";
	for (size_t i = FORMAT_RECORD_SIZE + size; i % 8 && !c.why; i++)
		if (p[i])
			c.why = "padding that is not 0";
	if (c.why)
		return corrupt_record(r, at, c.why, err);
	e = law_check(&r->law, &record, &c.why);
	if (e == -ENOMEM)
		return no_memory(r, err);
	if (e < 0)
		return corrupt_record(r, at, c.why, err);
	r->raw_at += (FORMAT_RECORD_SIZE + (size_t)size + 7) & ~(size_t)7;
	*ret = record;
	return 0;
}

/* After the end of the run nothing may follow. */
static int check_end(struct session_reader *r, struct err *err)
{
	uint8_t byte;
	size_t n;
	int e;

	if (r->raw_at < r->raw_used)
		return corrupt_record(r, r->raw_at, "a record after the end of the run", err);
	e = read_at(r, &byte, 1, r->at, &n, err);
	if (e < 0)
		return e;
	r->chunk_at = r->at;
	return n ? corrupt(r, "something after the end of the run", err) : SESSION_COMPLETE;
}

int session_next(struct session_reader *r, struct record *ret, struct err *err)
{
	int e;

	if (r->failed)
		return again(r, err);
	if (r->law.end)
		return check_end(r, err);
	if (r->raw_at == r->raw_used) {
		e = next_chunk(r, err);
		if (e)
			return e;
	}
	return read_record(r, ret, err);
}

void session_reader_close(struct session_reader *r)
{
	if (!r)
		return;
	if (r->fd >= 0)
		close(r->fd);
	ZSTD_freeDCtx(r->zstd);
	law_fini(&r->law);
	free(r->stored.bytes);
	free(r->raw.bytes);
	free(r->words.bytes);
	free(r->strings.bytes);
	free(r->path);
	free(r);
}

static void cleanup_reader(struct session_reader **r)
{
	session_reader_close(*r);
}

static int read_header(struct session_reader *r, struct err *err)
{
	uint8_t header[FORMAT_HEADER_SIZE];
	uint32_t version;
	size_t n;
	int e;

	e = read_at(r, header, sizeof(header), 0, &n, err);
	if (e < 0)
		return e;
	if (n < FORMAT_MAGIC_SIZE || memcmp(header, FORMAT_MAGIC, FORMAT_MAGIC_SIZE) != 0) {
		err_set(err, -EBADMSG, "%s is not a recording of tare%s", r->path, n ? "" : ": it is empty");
		err_next(err, "make one with: tare record -o FILE.tare -- PROGRAM");
		return -EBADMSG;
	}
	if (n < sizeof(header))
		return err_set(err, -EBADMSG, "%s is not a recording of tare: it ends within its first %d bytes", r->path,
			       FORMAT_HEADER_SIZE);
	if (get_u32(header + 12) != crc32(0, header, 12))
		return err_set(err, -EBADMSG, "%s is damaged: the checksum of its first 16 bytes is wrong", r->path);
	version = get_u32(header + 8);
	if (version == 0 || version > FORMAT_VERSION) {
		err_set(err, -EPROTONOSUPPORT, "%s was made by a newer tare: its format is %u, this one reads up to %d",
			r->path, version, FORMAT_VERSION);
		err_next(err, "read it with the tare that recorded it");
		return -EPROTONOSUPPORT;
	}
	r->at = FORMAT_HEADER_SIZE;
	return 0;
}

static int open_reader(struct session_reader **ret, int fd, const char *path, const void *bytes, size_t size,
		       struct err *err)
{
	CLEANUP(cleanup_reader) struct session_reader *r = calloc(1, sizeof(*r));
	int e;

	if (!r) {
		if (fd >= 0)
			close(fd);
		return err_set(err, -ENOMEM, "%s: out of memory while reading the recording", path);
	}
	r->fd = fd;
	r->bytes = bytes;
	r->size = size;
	r->path = strdup(path);
	r->zstd = ZSTD_createDCtx();
	if (!r->path || !r->zstd)
		return err_set(err, -ENOMEM, "%s: out of memory while reading the recording", path);
	e = read_header(r, err);
	if (e < 0)
		return e;
	*ret = r;
	r = NULL;
	return 0;
}

int session_open(struct session_reader **ret, const char *path, struct err *err)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return err_set(err, -errno, "cannot open the recording %s: %s", path, strerror(errno));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return err_set(err, -EINVAL, "%s is not a recording of tare: it is not a regular file", path);
	}
	return open_reader(ret, fd, path, NULL, 0, err);
}

int session_open_bytes(struct session_reader **ret, const void *bytes, size_t size, struct err *err)
{
	return open_reader(ret, -1, "recording", bytes, size, err);
}
