/* walk.h - a stack from a register set, by the unwind tables, from anywhere
 *
 * The walk is exact: it follows .eh_frame and nothing else. It is made cheap by two memories that never make it wrong:
 * a cache of compact rules by address, and the thread's previous walk, whose outer frames are verified word by word
 * instead of unwound. Nothing here allocates from malloc, takes a lock, calls the loader (but _dl_find_object(3), which is
 * async-signal-safe), or changes errno.
 */
#ifndef TARE_WALK_WALK_H
#define TARE_WALK_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include "arch/arch.h"

enum { WALK_MAX = 1024 };	/* frames that a walk keeps */

/** A frame's address with this bit is exact: the code there was interrupted. Without it, a return address: look up pc - 1. */
#define WALK_PC_EXACT (1ull << 63)

/** How a walk ended. */
enum walk_end {
	WALK_WHOLE = 0,		/* at the outermost frame */
	WALK_TRUNCATED = 1,	/* at the limit of frames */
	WALK_BROKEN = 2		/* at a frame that could not be stepped over */
};

/** struct walk_start - the frame a walk begins with: "returning to @pc, with sp and fp as given" */
struct walk_start {
	uint64_t pc;		/* a return address */
	uint64_t sp;		/* after the return */
	uint64_t fp;		/* rbp, x29 */
};

/**
 * struct walk_state - a thread's walks: the result of the last one, and what the next one verifies
 *
 * The caller gives zeroed memory that is never freed while its thread may walk; before it is given to another thread,
 * walk_state_reset(). One state must not be walked with by two walks at once: if a signal handler walks, it has a state of
 * its own (a walk on a busy state does nothing and returns false).
 *
 * Frames lie innermost first at pc[top] ... pc[WALK_MAX - 1]: so the outermost frame has a fixed place, and parallel
 * arrays of the caller (a call-tree node per frame) stay valid for the frames that were kept.
 */
struct walk_state {
	uint32_t top;		/* index of the innermost frame; WALK_MAX: none */
	uint32_t kept;		/* frames, from the outermost, that are the same as in the walk before, in the same places */
	enum walk_end end;
	uint32_t max;		/* the limit of frames; 0 means WALK_MAX */
	uint64_t pc[WALK_MAX];	/* return addresses; a frame that a signal interrupted has its own address | WALK_PC_EXACT */
	uint64_t priv[WALK_MAX * 15];	/* walk/state.h */
};

/**
 * walk_here - walks from a frame of this thread that is still live
 * @w:     the thread's state
 * @start: the frame to begin with; its pc becomes the innermost frame
 *
 * Cost:    bench/walk.
 * Context: any thread; signal-safe; errno kept.
 * Return:  false if @w is busy with the walk that this one interrupted (@w is untouched).
 */
bool walk_here(struct walk_state *w, const struct walk_start *start);

/** walk_state_reset - forgets everything, so that another thread may use the state; @max stays */
void walk_state_reset(struct walk_state *w);

/** WALK_START - the caller of the function in which this stands (which must keep a frame pointer) */
#define WALK_START()                                                                                  \
	((struct walk_start){                                                                         \
		.pc = (uint64_t)__builtin_return_address(0),                                          \
		.sp = ARCH_FRAME_CFA(),                                                               \
		.fp = *(const uint64_t *)__builtin_frame_address(0),                                  \
	})

/**
 * walk_context - walks from the code that a signal interrupted, which becomes the innermost frame
 * @context: third argument of a SA_SIGINFO handler
 *
 * Context: signal handler.
 * Return:  as walk_here().
 */
bool walk_context(struct walk_state *w, const ucontext_t *context);

/** struct walk_object - a loaded object that a walk has met */
struct walk_object {
	uint64_t start, end;	/* addresses it covers */
	uint64_t bias;		/* load address minus ELF address */
	const char *path;	/* of the loader; "" is the main program */
};

/**
 * walk_on_object - sets a function that is called for the object of each address whose rule is looked up
 *
 * It is called again and again for one object (each time an address is not in the cache), in signal handlers too.
 */
void walk_on_object(void (*fn)(const struct walk_object *object));

/**
 * walk_init - maps the rule cache; to be called once, before any walk
 *
 * Return: 0; -ENOMEM.
 */
int walk_init(void);

/**
 * walk_objects_begin, walk_objects_end - brackets of a time in which objects may vanish (dlclose, __deregister_frame)
 *
 * Between the two, walks use no remembered rule; after it, everything remembered before is void.
 * Context: any thread; signal-safe; may nest and overlap.
 */
void walk_objects_begin(void);
void walk_objects_end(void);

/** walk_generation - changes whenever remembered addresses may mean something else */
uint32_t walk_generation(void);

/**
 * walk_stacks_changed - memory that was a stack may be gone (munmap): walks must ask anew what they may read
 *
 * Not needed for the stack of a thread that ends: it needs walk_state_reset(). Context: any thread; signal-safe.
 */
void walk_stacks_changed(void);

/**
 * walk_frames_register - call frame information of code made at run time, as given to __register_frame()
 * @eh_frame: CIEs and FDEs that end with four zero bytes; must stay readable until it is deregistered
 *
 * To be called within walk_objects_begin() and _end(), as walk_frames_deregister() is.
 * Context: any thread; signal-safe. Return: 0; -ENOMEM; -EBADMSG.
 */
int walk_frames_register(const void *eh_frame);
void walk_frames_deregister(const void *eh_frame);

/** struct walk_stats - counts since walk_init(), over all threads; approximate where threads race */
struct walk_stats {
	uint64_t misses;	/* addresses whose rule was not in the cache */
	uint64_t full;		/* walks that needed all callee-saved registers, hence the interpreter for each frame */
	uint64_t memory_bytes;
};
void walk_stats(struct walk_stats *ret);

#endif
