/*
 * capture_tare.c - capture() by the walker under test, with what the agent does around it: dlclose() and the registration of
 * frames are seen. One state a thread, and one more for walks that interrupt a walk.
 */
#include "capture.h"

#include <dlfcn.h>
#include <string.h>

#include "walk/memory.h"
#include "walk/walk.h"

enum { STATES = 2 };

static __thread struct walk_state *states[STATES];
static __thread volatile int used[STATES];	/* until the result has been copied out */

int dlclose(void *object)
{
	int (*real)(void *) = (int (*)(void *))dlsym(RTLD_NEXT, "dlclose");
	int r;

	walk_objects_begin();
	r = real(object);
	walk_objects_end();
	return r;
}

void __register_frame(void *eh_frame);
void __deregister_frame(void *eh_frame);

void __register_frame(void *eh_frame)
{
	walk_objects_begin();
	walk_frames_register(eh_frame);
	walk_objects_end();
}

void __deregister_frame(void *eh_frame)
{
	walk_objects_begin();
	walk_frames_deregister(eh_frame);
	walk_objects_end();
}

__attribute__((noinline, optimize("no-omit-frame-pointer"))) int capture(void **pc, int max)
{
	struct walk_start start = WALK_START();
	struct walk_state *w;
	int n = 0, i;

	walk_init();
	for (i = 0; i < STATES && used[i]; i++)
		;
	if (i == STATES)
		return 0;
	used[i] = 1;
	if (!states[i])
		states[i] = memory_map(sizeof(*states[i]));
	w = states[i];
	if (w && walk_here(w, &start))
		for (uint32_t k = w->top; k < WALK_MAX && n < max; k++)
			pc[n++] = (void *)(w->pc[k] & WALK_PC_EXACT ? (w->pc[k] & ~WALK_PC_EXACT) + 1 : w->pc[k]);
	used[i] = 0;
	return n;
}
