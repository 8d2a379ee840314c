/* demangle_reader.h - what the rules of Rust's name schemes read and write with */
#ifndef TARE_ANALYSE_DEMANGLE_READER_H
#define TARE_ANALYSE_DEMANGLE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** struct rust - a name that is being read; after a failure nothing is read or written any more */
struct rust {
	const char *in;		/* v0: behind "_R" */
	size_t len, at;
	char *out;
	size_t room, used;
	unsigned int depth, steps;
	uint64_t lifetimes;	/* bound around here */
	bool skip;		/* reads without writing */
	bool failed;
};

/** struct identifier - bytes of the name; @puny: letters beyond ASCII are in punycode */
struct identifier {
	const char *s;
	size_t n;
	bool puny;
};

void rust_put_bytes(struct rust *r, const char *s, size_t n);
void rust_put(struct rust *r, const char *s);
void rust_put_number(struct rust *r, uint64_t n);
void rust_put_rune(struct rust *r, uint32_t c);
void rust_put_identifier(struct rust *r, struct identifier id);

char rust_peek(const struct rust *r);		/* 0 at the end */
char rust_next(struct rust *r);
bool rust_eat(struct rust *r, char c);		/* reads @c if it comes next */
bool rust_enter(struct rust *r);		/* one rule deeper; false: too deep, or too much work */
uint64_t rust_base62(struct rust *r);		/* "_" is 0, "0_" is 1, "Z_" is 62 */
uint64_t rust_optional62(struct rust *r, char tag);	/* 0: there is none */
size_t rust_decimal(struct rust *r);
struct identifier rust_identifier(struct rust *r);

/** demangle_legacy - "_ZN...17h0123456789abcdefE"; as demangle_rust() */
bool demangle_legacy(const char *name, size_t len, char *out, size_t size);

#endif
