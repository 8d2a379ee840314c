/* talk.h - what tare says to the person at the terminal: on stderr, never among the results */
#ifndef TARE_CLI_TALK_H
#define TARE_CLI_TALK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

/** talk_error - "tare: SENTENCE" with the lines that follow it; @where adds file and line (-v) */
void talk_error(const struct err *err, bool where);

/** talk_wrote - "wrote FILE" */
void talk_wrote(const char *path);
/** talk_next - "next: COMMAND" followed by @path quoted for a shell (NULL: none) and @rest */
void talk_next(const char *command, const char *path, const char *rest);

/** talk_progress - one line where stderr is a terminal, without escapes; written over by the next one */
void talk_progress(const char *line);
/** talk_progress_end - wipes it */
void talk_progress_end(void);

/** talk_utf8 - whether this locale is UTF-8 */
bool talk_utf8(void);
/** talk_colour - whether what goes to @fd is coloured: --color over NO_COLOR over TERM=dumb and not a terminal */
bool talk_colour(const char *color_option, int fd);

#endif
