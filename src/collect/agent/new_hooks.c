/*
 * new_hooks - C++ operator new and delete
 *
 * Normally these do nothing but jump on to libstdc++'s, which comes to malloc, where it is recorded. Allocators such as
 * tcmalloc and jemalloc bring operators of their own, not always all of them, that never pass malloc: these are recorded
 * here. (Sign of such an operator: it lies in the object that the next malloc lies in.)
 *
 * A hook of operator new must let bad_alloc through: it holds no state while the real one runs.
 *
 * An object that was loaded with a private libstdc++ (dlopen with RTLD_LOCAL in a C program) is bound to these hooks, and
 * the loader's "next" does not see its library: then libstdc++ is asked for by name, and if there is none (it is linked
 * statically into the object) malloc does what its operator new would have done.
 */
#include <dlfcn.h>
#include <malloc.h>
#include <stddef.h>
#include <stdlib.h>

#include "collect/agent/agent.h"

void *hooks_record_new(void *p, size_t size, const struct walk_start *start);
void hooks_record_delete(void *p);

struct nothrow;		/* std::nothrow_t const & */

static bool same_object(void *a, void *b)
{
	struct dl_find_object first, second;

	return a && b && !_dl_find_object(a, &first) && !_dl_find_object(b, &second) &&
	       first.dlfo_link_map == second.dlfo_link_map;
}

static void *next(const char *symbol, bool *ret_foreign)
{
	void *p = dlsym(RTLD_NEXT, symbol), *library;

	if (!p) {
		library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
		return library ? dlsym(library, symbol) : NULL;
	}
	*ret_foreign = same_object(p, dlsym(RTLD_NEXT, "malloc"));
	return p;
}

#define NEW(symbol, parameters, arguments, without)                                         \
	HOOK void *symbol parameters                                                        \
	{                                                                                   \
		static void *(*real) parameters;                                            \
		static bool foreign;                                                        \
		struct walk_start start = WALK_START();                                     \
                                                                                            \
		if (UNLIKELY(!real))                                                        \
			real = (void *(*)parameters)next(#symbol, &foreign);                          \
		if (UNLIKELY(!real))                                                        \
			return without;                                                     \
		if (LIKELY(!foreign))                                                       \
			return real arguments;                                              \
		return hooks_record_new(real arguments, size, &start);                      \
	}

#define DELETE(symbol, parameters, arguments)                                               \
	HOOK void symbol parameters                                                         \
	{                                                                                   \
		static void (*real) parameters;                                             \
		static bool foreign;                                                        \
                                                                                            \
		if (UNLIKELY(!real))                                                        \
			real = (void (*)parameters)next(#symbol, &foreign);                           \
		if (UNLIKELY(foreign))                                                      \
			hooks_record_delete(p);                                             \
		if (UNLIKELY(!real))                                                        \
			free(p);                                                            \
		else                                                                        \
			real arguments;                                                             \
	}

#define N const struct nothrow *n
NEW(_Znwm, (size_t size), (size), malloc(size))
NEW(_Znam, (size_t size), (size), malloc(size))
NEW(_ZnwmRKSt9nothrow_t, (size_t size, N), (size, n), malloc(size))
NEW(_ZnamRKSt9nothrow_t, (size_t size, N), (size, n), malloc(size))
NEW(_ZnwmSt11align_val_t, (size_t size, size_t align), (size, align), memalign(align, size))
NEW(_ZnamSt11align_val_t, (size_t size, size_t align), (size, align), memalign(align, size))
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t size, size_t align, N), (size, align, n), memalign(align, size))
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t size, size_t align, N), (size, align, n), memalign(align, size))

DELETE(_ZdlPv, (void *p), (p))
DELETE(_ZdaPv, (void *p), (p))
DELETE(_ZdlPvm, (void *p, size_t size), (p, size))
DELETE(_ZdaPvm, (void *p, size_t size), (p, size))
DELETE(_ZdlPvRKSt9nothrow_t, (void *p, N), (p, n))
DELETE(_ZdaPvRKSt9nothrow_t, (void *p, N), (p, n))
DELETE(_ZdlPvSt11align_val_t, (void *p, size_t align), (p, align))
DELETE(_ZdaPvSt11align_val_t, (void *p, size_t align), (p, align))
DELETE(_ZdlPvmSt11align_val_t, (void *p, size_t size, size_t align), (p, size, align))
DELETE(_ZdaPvmSt11align_val_t, (void *p, size_t size, size_t align), (p, size, align))
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t align, N), (p, align, n))
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t align, N), (p, align, n))
