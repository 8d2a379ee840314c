/*
 * session_mutate - changes sessions behind their checksums, for libFuzzer
 *
 * Blind changes end at the checksum of the first chunk. So one chunk is taken, unpacked, changed (a record's body, the whole
 * payload, the packed bytes, or the header), and written back with checksums and sizes that fit; now and then nothing is
 * mended, so that those checks are met as well.
 */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "base/util.h"
#include "record/format.h"

size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max, unsigned int seed);

enum { PAYLOAD_MAX = 1 << 16 };

/** struct place - a chunk of the session that is changed */
struct place {
	size_t at, stored;	/* stored: bytes that are there */
};

static struct place choose_chunk(const uint8_t *bytes, size_t size, unsigned int seed)
{
	struct place found[64];
	size_t at = FORMAT_HEADER_SIZE, n = 0;

	while (n < ARRAY_SIZE(found) && size - at >= FORMAT_CHUNK_SIZE) {
		size_t rest = size - at - FORMAT_CHUNK_SIZE, stored = get_u32(bytes + at + 16);

		found[n++] = (struct place){ at, MIN(stored, rest) };
		at += FORMAT_CHUNK_SIZE + MIN(stored, rest);
	}
	return n ? found[seed % n] : (struct place){0};
}

/* Changes the body of one record in a payload of room PAYLOAD_MAX; its size and padding follow. */
static size_t mutate_record(uint8_t *payload, size_t size, unsigned int seed)
{
	static uint8_t tail[PAYLOAD_MAX];
	size_t at = 0, body, whole, left;

	for (unsigned int skip = seed % 16;; skip--) {
		if (size - at < FORMAT_RECORD_SIZE)
			return LLVMFuzzerMutate(payload, size, PAYLOAD_MAX - 8);
		body = MIN(get_u32(payload + at + 4), size - at - FORMAT_RECORD_SIZE);
		whole = MIN((FORMAT_RECORD_SIZE + body + 7) & ~(size_t)7, size - at);
		if (!skip || size - at - whole < FORMAT_RECORD_SIZE)
			break;
		at += whole;
	}
	left = size - at - whole;
	memcpy(tail, payload + at + whole, left);
	body = LLVMFuzzerMutate(payload + at + FORMAT_RECORD_SIZE, body, PAYLOAD_MAX - at - FORMAT_RECORD_SIZE - left - 8);
	set_u32(payload + at + 4, (uint32_t)body);
	whole = (FORMAT_RECORD_SIZE + body + 7) & ~(size_t)7;
	memset(payload + at + FORMAT_RECORD_SIZE + body, 0, whole - FORMAT_RECORD_SIZE - body);
	memcpy(payload + at + whole, tail, left);
	return at + whole + left;
}

static size_t unpack(uint8_t *to, const uint8_t *chunk, size_t stored)
{
	size_t n = MIN(stored, (size_t)PAYLOAD_MAX);

	if (get_u32(chunk + 8) == ENCODING_ZSTD) {
		n = ZSTD_decompress(to, PAYLOAD_MAX, chunk + FORMAT_CHUNK_SIZE, stored);
		if (!ZSTD_isError(n))
			return n;
		n = MIN(stored, (size_t)PAYLOAD_MAX);
	}
	memcpy(to, chunk + FORMAT_CHUNK_SIZE, n);
	return n;
}

static void seal(uint8_t *chunk, size_t stored)
{
	set_u32(chunk + 20, (uint32_t)crc32(0, chunk + FORMAT_CHUNK_SIZE, (uInt)stored));
	set_u32(chunk + 24, (uint32_t)crc32(0, chunk, FORMAT_CHUNK_SIZE - 4));
}

/* Puts a payload in the place of the chunk's; the session's new size, or @size where it has no room. */
static size_t replace(uint8_t *bytes, size_t size, size_t max, struct place p, const uint8_t *payload, size_t n, bool plain)
{
	size_t behind = size - p.at - FORMAT_CHUNK_SIZE - p.stored;
	uint8_t *chunk = bytes + p.at;

	if (p.at + FORMAT_CHUNK_SIZE + n + behind > max)
		return size;
	memmove(chunk + FORMAT_CHUNK_SIZE + n, chunk + FORMAT_CHUNK_SIZE + p.stored, behind);
	memcpy(chunk + FORMAT_CHUNK_SIZE, payload, n);
	if (plain) {
		set_u32(chunk + 8, ENCODING_PLAIN);
		set_u32(chunk + 12, (uint32_t)n);
	}
	set_u32(chunk + 16, (uint32_t)n);
	seal(chunk, n);
	return p.at + FORMAT_CHUNK_SIZE + n + behind;
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t max, unsigned int seed)
{
	static uint8_t payload[PAYLOAD_MAX];
	struct place p;
	size_t n;

	if (size < FORMAT_HEADER_SIZE + FORMAT_CHUNK_SIZE || seed % 16 == 0)
		return LLVMFuzzerMutate(bytes, size, max);
	p = choose_chunk(bytes, size, seed >> 8);
	switch (seed >> 4 & 7) {
	case 0:		/* the header */
		LLVMFuzzerMutate(bytes + p.at + 4, 16, 16);
		set_u32(bytes + p.at + 24, (uint32_t)crc32(0, bytes + p.at, FORMAT_CHUNK_SIZE - 4));
		return size;
	case 1:		/* the packed bytes */
		n = MIN(p.stored, (size_t)PAYLOAD_MAX);
		memcpy(payload, bytes + p.at + FORMAT_CHUNK_SIZE, n);
		n = LLVMFuzzerMutate(payload, n, PAYLOAD_MAX);
		return replace(bytes, size, max, p, payload, n, false);
	case 2:
	case 3:
		n = unpack(payload, bytes + p.at, p.stored);
		n = (LLVMFuzzerMutate(payload, n, PAYLOAD_MAX) + 7) & ~(size_t)7;
		return replace(bytes, size, max, p, payload, MIN(n, (size_t)PAYLOAD_MAX), true);
	default:
		n = unpack(payload, bytes + p.at, p.stored);
		n = n < PAYLOAD_MAX / 2 ? mutate_record(payload, n, seed >> 16) : n;
		return replace(bytes, size, max, p, payload, n, true);
	}
}
