/* reader.h - reads the encodings of DWARF from a bounded range; after a read past the end all reads give 0 and @bad is set */
#ifndef TARE_WALK_READER_H
#define TARE_WALK_READER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/util.h"
#include "walk/cfi.h"

struct reader {
	const uint8_t *p, *end;
	bool bad;
};

static inline struct reader reader_at(const struct cfi_input *in, uint64_t offset, uint64_t end)
{
	if (end > in->size || offset > end)
		return (struct reader){ .p = in->data, .end = in->data, .bad = true };
	return (struct reader){ .p = in->data + offset, .end = in->data + end };
}

static inline uint64_t reader_offset(const struct cfi_input *in, const struct reader *r)
{
	return (uint64_t)(r->p - in->data);
}

static inline uint64_t read_fixed(struct reader *r, unsigned bytes)
{
	uint64_t v = 0;

	if (UNLIKELY((uint64_t)(r->end - r->p) < bytes)) {
		r->p = r->end;
		r->bad = true;
		return 0;
	}
	memcpy(&v, r->p, bytes);	/* little-endian CPUs only, both of them */
	r->p += bytes;
	return v;
}

static inline uint8_t read_u8(struct reader *r)
{
	if (UNLIKELY(r->p >= r->end)) {
		r->bad = true;
		return 0;
	}
	return *r->p++;
}

static inline uint64_t read_uleb(struct reader *r)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t b;

	if (LIKELY(r->p < r->end && *r->p < 0x80))	/* nearly all of them */
		return *r->p++;
	do {
		b = read_u8(r);
		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while (b & 0x80);
	return v;
}

static inline int64_t read_sleb(struct reader *r)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t b;

	do {
		b = read_u8(r);
		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while (b & 0x80);
	if (shift < 64 && b & 0x40)
		v |= ~0ull << shift;
	return (int64_t)v;
}

static inline void read_skip(struct reader *r, uint64_t bytes)
{
	if (UNLIKELY((uint64_t)(r->end - r->p) < bytes)) {
		r->p = r->end;
		r->bad = true;
	} else {
		r->p += bytes;
	}
}

enum {
	PE_ABSPTR = 0, PE_ULEB = 1, PE_UDATA2 = 2, PE_UDATA4 = 3, PE_UDATA8 = 4, PE_SLEB = 9, PE_SDATA2 = 10, PE_SDATA4 = 11,
	PE_SDATA8 = 12, PE_PCREL = 0x10, PE_DATAREL = 0x30, PE_ALIGNED = 0x50, PE_INDIRECT = 0x80, PE_OMIT = 0xff
};

/* The number alone, without what it is relative to. */
static inline uint64_t read_encoded_number(struct reader *r, uint8_t encoding)
{
	switch (encoding & 0x0f) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		return read_fixed(r, 8);
	case PE_UDATA4:
		return read_fixed(r, 4);
	case PE_SDATA4:
		return (uint64_t)(int64_t)(int32_t)read_fixed(r, 4);
	case PE_UDATA2:
		return read_fixed(r, 2);
	case PE_SDATA2:
		return (uint64_t)(int64_t)(int16_t)read_fixed(r, 2);
	case PE_ULEB:
		return read_uleb(r);
	case PE_SLEB:
		return (uint64_t)read_sleb(r);
	default:
		r->bad = true;
		return 0;
	}
}

/* An indirect pointer is returned as the address of the pointer: nobody here needs what it holds. */
static inline uint64_t read_encoded(struct reader *r, const struct cfi_input *in, uint8_t encoding)
{
	uint64_t here = in->addr + reader_offset(in, r);

	if (LIKELY((encoding & 0x7f) == (PE_PCREL | PE_SDATA4)))
		return here + (uint64_t)(int64_t)(int32_t)read_fixed(r, 4);
	switch (encoding & 0x70) {
	case 0:
		return read_encoded_number(r, encoding);
	case PE_PCREL:
		return here + read_encoded_number(r, encoding);
	case PE_DATAREL:
		return in->data_base + read_encoded_number(r, encoding);
	case PE_ALIGNED:
		read_skip(r, -here & 7);
		return read_fixed(r, 8);
	default:
		r->bad = true;
		return 0;
	}
}

#endif
