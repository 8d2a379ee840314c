/* pool_load.h - the functions of pool.c, from the 32 objects in pool/ beside the program: 16384 call sites */
#ifndef POOL_LOAD_H
#define POOL_LOAD_H

#include <string.h>
#include "truth.h"
#include "pool.h"

enum { OBJECTS = 32, FUNCTIONS = OBJECTS * POOL_FUNCTIONS, MAX_DEPTH = 100 };

static pool_function *functions[FUNCTIONS];
static uint32_t width[MAX_DEPTH + 1];

static inline const char *load_pool(void)
{
	for (int i = 0; i < OBJECTS; i++) {
		char name[32];
		void *object;

		sprintf(name, "$ORIGIN/pool/%d.so", i);
		object = dlopen(name, RTLD_NOW | RTLD_LOCAL);
		if (!object)
			return dlerror();
		memcpy(functions + i * POOL_FUNCTIONS, dlsym(object, "pool_functions"), sizeof(functions) / OBJECTS);
	}
	for (int level = 0; level <= MAX_DEPTH; level++)
		width[level] = FUNCTIONS;
	return NULL;
}

/* Calls @leaf below @depth pool functions that @seed picks. */
static inline void go_down(uint64_t seed, int depth, long (*leaf)(void *), void *arg)
{
	struct descent d = { .functions = functions, .width = width, .depth = depth, .leaf = leaf, .arg = arg };

	functions[pool_choice(seed, FUNCTIONS)](&d, seed, 1);
}

#endif
