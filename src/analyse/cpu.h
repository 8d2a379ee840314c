/* cpu.h - CPU samples -> counts by thread and stack; private to analyse/ */
#ifndef TARE_ANALYSE_CPU_H
#define TARE_ANALYSE_CPU_H

#include "analyse/load.h"
#include "analyse/resolve.h"

struct cpu_stream {
	struct process *process;
	uint32_t tid;
	bool time_follows;	/* the next word is the time of a sample */
};

struct cpu {
	struct load *load;
	struct cpu_stream *streams;
	size_t nstreams, streams_room;
	struct table stream_index;	/* process, slot -> index + 1 */
	struct table counts;		/* owner of the node, node, thread -> samples */
	uint64_t handler_ticks, handler_ticks_squared, handled;
};

void cpu_init(struct cpu *c, struct load *load);
void cpu_fini(struct cpu *c);
void cpu_log(struct cpu *c, const struct rec_log *log);

/** cpu_mark - marks the nodes that have samples; before resolve_tree() */
void cpu_mark(struct cpu *c);

/** cpu_profile_new - after the tree is built; Owns: @arena */
struct cpu_profile *cpu_profile_new(struct cpu *c, struct resolve *r, struct arena *arena);

#endif
