/*
 * session_write - records into a session file
 *
 * Records are gathered in memory in the form that they have in the file, and go out as a chunk when there is enough of
 * them: one write(2) a chunk, at the end of the file only, so that whatever ends this process leaves whole chunks and at
 * most one torn at the end. zstd's level 1 is used since this runs beside the program that is being measured; logs, which
 * are most of a session, are brought into a form that it packs well (columns.c).
 *
 * A write that fails (disk full) is final: the torn chunk is taken off, and every later call answers the same, so that a
 * session never has a hole that its reader could not see.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "base/util.h"
#include "record/event.h"
#include "record/format.h"

enum {
	BATCH_SIZE = 64 << 10,		/* a chunk is written when its records have this many bytes */
	PART_SIZE = 512 << 10,		/* nodes, words and text in a record; more is divided into several */
	SMALL_SIZE = 128,		/* chunks below are not packed */
	COLUMN_MIN = 4096,		/* bytes of a column that gets a zstd block of its own */
	COLUMNS_WORDS_MIN = 128		/* logs of fewer words stay as they are */
};

/* Where a zstd block ends: columns of a log differ in their statistics, and a block has one set of tables. */
struct cuts {
	size_t *at;
	size_t n, size;
};

struct session_writer {
	int fd;
	char *path;
	uint64_t bytes;			/* of whole chunks in the file, its header included */
	uint32_t chunks;
	uint8_t *raw, *out;
	size_t raw_used, raw_size, out_size;
	struct cuts cuts;
	ZSTD_CCtx *zstd;
	struct law law;
	int failed;			/* 0, or what every call answers from now on */
	struct err why;
};

/* Answers as the first failure did. */
static int again(const struct session_writer *w, struct err *err)
{
	if (err)
		*err = w->why;
	return w->failed;
}

/* Final as well: what is lost may be what later records build on. */
static int no_memory(struct session_writer *w, struct err *err)
{
	w->failed = err_set(&w->why, -ENOMEM, "%s: out of memory while writing the recording", w->path);
	return again(w, err);
}

static void sentence_of_failure(struct session_writer *w, int code)
{
	err_set(&w->why, code, "cannot write the recording %s: %s; its first %llu bytes are kept and can be read", w->path,
		strerror(-code), (unsigned long long)w->bytes);
	switch (code) {
	case -ENOSPC:
	case -EDQUOT:
		err_next(&w->why, "make room, or name a file on another disk with -o FILE");
		break;
	case -EFBIG:
		err_next(&w->why, "raise the limit on the size of files (ulimit -f)");
		break;
	default:
		err_next(&w->why, "name a file on another disk with -o FILE");
	}
}

static int write_all(struct session_writer *w, const uint8_t *p, size_t n, struct err *err)
{
	size_t left = n;
	ssize_t r;

	while (left) {
		r = write(w->fd, p, left);
		if (r > 0) {
			p += r;
			left -= (size_t)r;
			continue;
		}
		if (r < 0 && errno == EINTR)
			continue;
		w->failed = r < 0 ? -errno : -EIO;
		sentence_of_failure(w, w->failed);
		/* A torn chunk would do no harm: where this fails the reader says that the file was cut short. */
		(void)!ftruncate(w->fd, (off_t)w->bytes);
		return again(w, err);
	}
	w->bytes += n;
	return 0;
}

/* Packs the gathered records behind the chunk header in w->out; 0: they did not shrink. */
static size_t pack(struct session_writer *w)
{
	ZSTD_outBuffer out = { w->out + FORMAT_CHUNK_SIZE, w->raw_used, 0 };
	ZSTD_inBuffer in = { w->raw, 0, 0 };
	size_t left;

	ZSTD_CCtx_reset(w->zstd, ZSTD_reset_session_only);
	ZSTD_CCtx_setPledgedSrcSize(w->zstd, w->raw_used);
	for (size_t i = 0; i <= w->cuts.n; i++) {
		bool last = i == w->cuts.n;

		in.size = last ? w->raw_used : w->cuts.at[i];
		left = ZSTD_compressStream2(w->zstd, &out, &in, last ? ZSTD_e_end : ZSTD_e_flush);
		if (left)
			return 0;	/* no room: not smaller */
	}
	return out.pos;
}

static int write_chunk(struct session_writer *w, struct err *err)
{
	size_t need = FORMAT_CHUNK_SIZE + w->raw_used, stored;
	enum format_encoding encoding = ENCODING_ZSTD;
	uint8_t *h;

	if (w->out_size < need) {
		h = realloc(w->out, need);
		if (!h)
			return no_memory(w, err);
		w->out = h;
		w->out_size = need;
	}
	stored = w->raw_used < SMALL_SIZE ? 0 : pack(w);
	if (!stored) {
		encoding = ENCODING_PLAIN;
		stored = w->raw_used;
		memcpy(w->out + FORMAT_CHUNK_SIZE, w->raw, stored);
	}
	h = w->out;
	set_u32(h, FORMAT_MARK);
	set_u32(h + 4, w->chunks++);
	set_u32(h + 8, encoding);
	set_u32(h + 12, (uint32_t)w->raw_used);
	set_u32(h + 16, (uint32_t)stored);
	set_u32(h + 20, (uint32_t)crc32(0, h + FORMAT_CHUNK_SIZE, (uInt)stored));
	set_u32(h + 24, (uint32_t)crc32(0, h, FORMAT_CHUNK_SIZE - 4));
	w->raw_used = 0;
	w->cuts.n = 0;
	return write_all(w, w->out, FORMAT_CHUNK_SIZE + stored, err);
}

static uint8_t *put_u32(uint8_t *p, uint32_t v)
{
	set_u32(p, v);
	return p + 4;
}

static uint8_t *put_bytes(uint8_t *p, const void *from, size_t n)
{
	if (n)
		memcpy(p, from, n);
	return p + n;
}

static const char *or_empty(const char *s)
{
	return s ? s : "";
}

static size_t string_size(const char *s)
{
	return strlen(or_empty(s)) + 1;
}

/* Number of elements of a field that has one. */
static uint32_t number(const struct record *record, const struct format_field *f)
{
	return *(const uint32_t *)format_at(record, f->n);
}

static size_t field_size(const struct record *record, const struct format_field *f)
{
	const void *at = format_at(record, f->at);
	size_t size = 4;

	switch (f->type) {
	case FORMAT_U32:
	case FORMAT_BOOL:
		return 4;
	case FORMAT_U64:
	case FORMAT_F64:
		return 8;
	case FORMAT_STRING:
		return string_size(*(const char *const *)at);
	case FORMAT_STRINGS:
		for (uint32_t i = 0; i < number(record, f); i++)
			size += string_size((*(const char *const *const *)at)[i]);
		return size;
	case FORMAT_BUILD_ID:
		return 4 + sizeof(record->module.build_id);
	case FORMAT_COSTS:
		return 4 + sizeof(record->counters.cost);
	case FORMAT_NODES:
		return 8 + (size_t)number(record, f) * sizeof(struct node);
	case FORMAT_WORDS:
		return 8 + (size_t)number(record, f) * sizeof(uint64_t);
	case FORMAT_TEXT:
		return 4 + (size_t)number(record, f);
	case FORMAT_END:
		break;
	}
	return 0;
}

static int add_cut(struct cuts *c, size_t at)
{
	size_t size = c->size ? 2 * c->size : 64;
	size_t *grown;

	if (c->n == c->size) {
		grown = realloc(c->at, size * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		c->at = grown;
		c->size = size;
	}
	c->at[c->n++] = at;
	return 0;
}

static uint8_t *put_words(struct session_writer *w, uint8_t *p, const uint64_t *words, uint32_t n)
{
	bool columns = n >= COLUMNS_WORDS_MIN;

	p = put_u32(put_u32(p, n), columns ? WORDS_COLUMNS : WORDS_PLAIN);
	if (!columns)
		return put_bytes(p, words, n * sizeof(*words));
	columns_split(p, words, n);
	for (size_t i = 0; n >= COLUMN_MIN && i <= 8; i++)
		if (add_cut(&w->cuts, (size_t)(p - w->raw) + i * n) < 0)
			break;		/* only packs less well */
	return p + n * sizeof(*words);
}

static uint8_t *put_field(struct session_writer *w, uint8_t *p, const struct record *record, const struct format_field *f)
{
	const void *at = format_at(record, f->at);
	uint32_t n = f->n ? number(record, f) : 0;

	switch (f->type) {
	case FORMAT_U32:
		return put_bytes(p, at, 4);
	case FORMAT_U64:
	case FORMAT_F64:
		return put_bytes(p, at, 8);
	case FORMAT_BOOL:
		return put_u32(p, *(const bool *)at);
	case FORMAT_STRING:
		return put_bytes(p, or_empty(*(const char *const *)at), string_size(*(const char *const *)at));
	case FORMAT_STRINGS:
		p = put_u32(p, n);
		for (uint32_t i = 0; i < n; i++) {
			const char *s = or_empty((*(const char *const *const *)at)[i]);

			p = put_bytes(p, s, strlen(s) + 1);
		}
		return p;
	case FORMAT_BUILD_ID:
		return put_bytes(put_u32(p, n), at, sizeof(record->module.build_id));
	case FORMAT_COSTS:
		return put_bytes(put_u32(p, COST_ITEMS), at, sizeof(record->counters.cost));
	case FORMAT_NODES:
		return put_bytes(put_u32(put_u32(p, n), 0), *(const struct node *const *)at, n * sizeof(struct node));
	case FORMAT_WORDS:
		return put_words(w, p, *(const uint64_t *const *)at, n);
	case FORMAT_TEXT:
		return put_bytes(put_u32(p, n), *(const char *const *)at, n);
	case FORMAT_END:
		break;
	}
	return p;
}

/* Appends a record to those gathered, writing them first where it would not fit. */
static int append(struct session_writer *w, const struct record *record, struct err *err)
{
	const struct format_field *fields = format_records[record->kind];
	size_t size = 0, whole, grown;
	uint8_t *p, *raw;
	int r;

	for (const struct format_field *f = fields; f->type != FORMAT_END; f++)
		size += field_size(record, f);
	whole = (FORMAT_RECORD_SIZE + size + 7) & ~(size_t)7;
	if (whole > FORMAT_RAW_MAX) {	/* megabytes of arguments: more than the kernel lets a program have */
		w->failed = err_set(&w->why, -E2BIG, "%s: a record of %zu bytes is too large to be written", w->path, whole);
		return again(w, err);
	}
	if (w->raw_used && w->raw_used + whole > BATCH_SIZE) {
		r = write_chunk(w, err);
		if (r < 0)
			return r;
	}
	if (w->raw_used + whole > w->raw_size) {
		grown = MAX(w->raw_used + whole, (size_t)BATCH_SIZE);
		raw = realloc(w->raw, grown);
		if (!raw)
			return no_memory(w, err);
		w->raw = raw;
		w->raw_size = grown;
	}
	p = put_u32(put_u32(w->raw + w->raw_used, record->kind), (uint32_t)size);
	for (const struct format_field *f = fields; f->type != FORMAT_END; f++)
		p = put_field(w, p, record, f);
	memset(p, 0, (size_t)(w->raw + w->raw_used + whole - p));
	w->raw_used += whole;
	return w->raw_used >= BATCH_SIZE ? write_chunk(w, err) : 0;
}

/* Numbers below @nodes that were given to no node (the target had no memory for it) become nodes without an address. */
static int fill_gap(struct session_writer *w, const struct rec_nodes *nodes, struct err *err)
{
	static const struct node none[4096];
	struct record gap = { REC_NODES, .nodes = { .process = nodes->process, .nodes = none } };
	uint32_t first;
	int r = 0;

	while (r == 0 && (first = law_next_node(&w->law, nodes->process)) < nodes->first) {
		gap.nodes.first = first;
		gap.nodes.n = MIN(nodes->first - first, (uint32_t)ARRAY_SIZE(none));
		r = session_write(w, &gap, err);
	}
	return r;
}

static int append_nodes(struct session_writer *w, struct record record, struct err *err)
{
	const uint32_t most = PART_SIZE / sizeof(struct node);
	struct rec_nodes *nodes = &record.nodes;
	uint32_t left = nodes->n;
	int r;

	do {
		nodes->n = MIN(left, most);
		r = append(w, &record, err);
		if (r < 0)
			return r;
		left -= nodes->n;
		nodes->first += nodes->n;
		nodes->nodes += nodes->n;
	} while (left);
	return 0;
}

/* The number of words, at most @most, that hold whole events; @n if they are few. */
static uint32_t whole_events(const uint64_t *words, uint32_t n, uint32_t most)
{
	uint32_t i = 0, whole = 0;

	if (n <= most)
		return n;
	while (i < most) {
		enum event_op op = event_op(words[i]);

		i += op == EVENT_SAMPLE ? 2 : 1;
		if (op != EVENT_WIDE && i <= most)
			whole = i;
	}
	return whole ? whole : most;
}

static int append_log(struct session_writer *w, struct record record, struct err *err)
{
	struct rec_log *log = &record.log;
	uint32_t left = log->n;
	int r;

	do {
		log->n = whole_events(log->words, left, PART_SIZE / sizeof(*log->words));
		r = append(w, &record, err);
		if (r < 0)
			return r;
		left -= log->n;
		log->words += log->n;
	} while (left);
	return 0;
}

/* Text is divided at the ends of lines. */
static int append_perf_map(struct session_writer *w, struct record record, struct err *err)
{
	struct rec_perf_map *map = &record.perf_map;
	uint32_t left = map->size;
	const char *line;
	int r;

	do {
		map->size = MIN(left, (uint32_t)PART_SIZE);
		line = map->size < left ? memrchr(map->text, '\n', map->size) : NULL;
		if (line)
			map->size = (uint32_t)(line + 1 - map->text);
		r = append(w, &record, err);
		if (r < 0)
			return r;
		left -= map->size;
		map->text += map->size;
	} while (left);
	return 0;
}

int session_write(struct session_writer *w, const struct record *record, struct err *err)
{
	const char *why = NULL;
	int r;

	if (w->failed)
		return again(w, err);
	r = record->kind == REC_NODES ? fill_gap(w, &record->nodes, err) : 0;
	if (r < 0)
		return r;
	r = law_check(&w->law, record, &why);
	if (r == -ENOMEM)
		return no_memory(w, err);
	if (r < 0)
		return err_set(err, -EINVAL, "%s: not written, since no session may hold this: %s", w->path, why);
	switch (record->kind) {
	case REC_NODES:
		return append_nodes(w, *record, err);
	case REC_LOG:
		return append_log(w, *record, err);
	case REC_PERF_MAP:
		return append_perf_map(w, *record, err);
	default:
		return append(w, record, err);
	}
}

int session_flush(struct session_writer *w, struct err *err)
{
	if (w->failed)
		return again(w, err);
	return w->raw_used ? write_chunk(w, err) : 0;
}

uint64_t session_bytes(const struct session_writer *w)
{
	return w->bytes;
}

static void writer_free(struct session_writer *w)
{
	if (w->fd >= 0)
		close(w->fd);
	ZSTD_freeCCtx(w->zstd);
	law_fini(&w->law);
	free(w->cuts.at);
	free(w->raw);
	free(w->out);
	free(w->path);
	free(w);
}

static void cleanup_writer(struct session_writer **w)
{
	if (*w)
		writer_free(*w);
}

static int write_header(struct session_writer *w, struct err *err)
{
	uint8_t header[FORMAT_HEADER_SIZE];

	memcpy(header, FORMAT_MAGIC, FORMAT_MAGIC_SIZE);
	set_u32(header + 8, FORMAT_VERSION);
	set_u32(header + 12, (uint32_t)crc32(0, header, 12));
	return write_all(w, header, sizeof(header), err);
}

static int open_new(const char *path, bool force, struct err *err)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | (force ? O_TRUNC : O_EXCL), 0666);
	int code = -errno;

	if (fd >= 0)
		return fd;
	err_set(err, code, "cannot create the recording %s: %s", path, strerror(-code));
	if (code == -EEXIST)
		err_next(err, "--force replaces it; -o FILE names another");
	else
		err_next(err, "name a file in a folder that can be written to with -o FILE");
	return code;
}

int session_create(struct session_writer **ret, const char *path, bool force, struct err *err)
{
	CLEANUP(cleanup_writer) struct session_writer *w = calloc(1, sizeof(*w));
	int r;

	if (!w)
		return err_set(err, -ENOMEM, "%s: out of memory while writing the recording", path);
	w->fd = -1;
	w->path = strdup(path);
	w->zstd = ZSTD_createCCtx();
	if (!w->path || !w->zstd)
		return err_set(err, -ENOMEM, "%s: out of memory while writing the recording", path);
	ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, 1);
	r = w->fd = open_new(path, force, err);
	if (r < 0)
		return r;
	r = write_header(w, err);
	if (r < 0)
		return r;
	*ret = w;
	w = NULL;
	return 0;
}

int session_close(struct session_writer *w, struct err *err)
{
	int r, fd;

	if (!w)
		return 0;
	r = session_flush(w, err);
	fd = w->fd;
	w->fd = -1;
	/* Quotas and network file systems may refuse only here. */
	if (close(fd) < 0 && errno != EINTR && !w->failed) {
		w->failed = -errno;
		sentence_of_failure(w, w->failed);
		r = again(w, err);
	}
	writer_free(w);
	return r;
}
