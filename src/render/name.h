/* name.h - functions, places and stacks as people read them */
#ifndef TARE_RENDER_NAME_H
#define TARE_RENDER_NAME_H

#include "analyse/profile.h"
#include "render/out.h"

/** name_out - a name without control characters; at most @most characters, the middle left out; 0: all of it */
void name_out(struct out *o, const char *name, int most);
/** name_width - characters (not bytes) that name_out() writes */
int name_width(const char *name, int most);

/** name_place - "hash.c:7", or the module where no file is known; in @text */
const char *name_place(char *text, size_t size, const char *file, uint32_t line, const char *module);

/** name_is_allocator - a wrapper of the allocator: operator new, xmalloc ... */
bool name_is_allocator(const char *name);

/** name_site - the first caller that is not a wrapper of the allocator; the leaf itself where all are */
const struct tree_node *name_site(const struct tree_node *leaf);

/** name_caller - the nearest caller of another function; NULL: none */
const struct tree_node *name_caller(const struct tree_node *node);

#endif
