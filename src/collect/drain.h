/* drain.h - from the arena to session records */
#ifndef TARE_COLLECT_DRAIN_H
#define TARE_COLLECT_DRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "collect/shared.h"
#include "record/session.h"

struct drain;

struct launch_arena;
/**
 * drain_new - reads the arena @arena into @writer
 * @agent_path: the agent's object file, which processes know by a link that is gone later
 *
 * Return: NULL: no memory.
 */
struct drain *drain_new(const struct launch_arena *arena, const char *agent_path, struct session_writer *writer);
void drain_free(struct drain *d);

/**
 * drain_run - takes everything that the agents have written since the last call
 * @last: the measurement has ended: what is not complete now never will be
 *
 * Return: 0; -errno: the session cannot be written any more (said once, in @err); the arena is emptied all the same.
 */
int drain_run(struct drain *d, bool last, struct err *err);

/** drain_ended - the process @pid has ended with @status, as wait(2) gives it */
void drain_ended(struct drain *d, uint32_t pid, int status);

uint64_t drain_events(const struct drain *d);		/* words taken so far */
uint32_t drain_processes(const struct drain *d);
uint32_t drain_running(const struct drain *d);		/* processes that have not ended */
uint32_t drain_flags(const struct drain *d);		/* enum shared_flags of all processes, or'ed */

#endif
