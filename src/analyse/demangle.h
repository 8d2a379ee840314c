/* demangle.h - readable names of C++ and Rust functions */
#ifndef TARE_ANALYSE_DEMANGLE_H
#define TARE_ANALYSE_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

enum { DEMANGLE_BYTES = 16384 };	/* longest readable name, with its final 0; longer ones stay as they are */

/**
 * demangle - writes what a symbol's name means to a reader
 *
 * A version ("foo@@GLIBC_2.2.5") and the marks of a compiler's copies and parts (.cold, .part.N, .isra.N, .constprop.N,
 * .lto_priv.N, .llvm.N) are dropped: these are the function that the source has.
 */
void demangle(const char *symbol, char out[DEMANGLE_BYTES]);

/** demangle_rust - "_R..." (v0) and "_ZN...17h0123456789abcdefE" (legacy); false: not such a name, @out is undefined */
bool demangle_rust(const char *name, size_t len, char *out, size_t size);

#endif
