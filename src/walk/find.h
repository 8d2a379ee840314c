/* find.h - the FDE of an address of this process, found without a lock: by _dl_find_object(3), or among registered frames */
#ifndef TARE_WALK_FIND_H
#define TARE_WALK_FIND_H

#include <stdint.h>

#include "walk/cfi.h"
#include "walk/walk.h"

/** Named outcomes of find_fde(). */
enum {
	FIND_FDE = 0,
	FIND_NO_FDE = 1,	/* an object is there, but no call frame information */
	FIND_NO_OBJECT = 2
};

/**
 * find_fde - bytes and offset of the FDE that should cover @pc
 * @ret_in, @ret_fde:  set for FIND_FDE only
 *
 * Calls the function of walk_on_object().
 * Context: any thread; signal-safe.
 */
int find_fde(uint64_t pc, struct cfi_input *ret_in, uint64_t *ret_fde);

/** find_object - whether a loaded object, or registered frames, cover @pc */
bool find_object(uint64_t pc);

#endif
