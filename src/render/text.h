/* text.h - the parts of a text result; private to render/ */
#ifndef TARE_RENDER_TEXT_H
#define TARE_RENDER_TEXT_H

#include "render/render.h"

enum { TEXT_NAME_MOST = 44, TEXT_LIMIT = 10 };

enum text_style { TEXT_PLAIN, TEXT_BOLD, TEXT_DIM };

/** text_style - switches to a style, if there is colour; TEXT_PLAIN ends it */
void text_style(struct out *o, const struct render_options *options, enum text_style style);
uint32_t text_limit(const struct render_options *options);

/** text_left, text_right - a cell of at least @width characters */
void text_left(struct out *o, const char *s, int width);
void text_right(struct out *o, const char *s, int width);
/** text_name - a name as a cell of @width characters, shortened to TEXT_NAME_MOST */
void text_name(struct out *o, const char *name, int width);

/** text_caller - "  <- name" of the nearest caller of another function, if there is one */
void text_caller(struct out *o, const struct tree_node *node);

/** text_losses - lost events, stacks that are not whole, between @before and @after; nothing where there are none */
void text_losses(const struct profile *p, const char *before, const char *after, struct out *o);

void text_cpu(const struct profile *p, const struct render_options *options, struct out *o);
void text_heap(const struct profile *p, const struct render_options *options, struct out *o);
/** text_ledger - the items of the cost, one a line */
void text_ledger(const struct profile *p, const struct render_options *options, struct out *o);
/** text_cost - the last line of every text */
void text_cost(const struct profile *p, const struct render_options *options, struct out *o);

#endif
