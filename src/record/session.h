/* session.h - records in and out of a session file; the only code that knows bytes
 *
 * A session is a file of chunks, append-only, each with a checksum, so that it is whole up to the last chunk written,
 * whatever ended the writer. Writers and readers see the structs below; docs/format.md describes the bytes.
 *
 * All times are ticks of the machine's counter (arch_ticks()) unless the name ends in _ns; struct rec_clock relates both.
 */
#ifndef TARE_RECORD_SESSION_H
#define TARE_RECORD_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum session_instrument { INSTRUMENT_CPU = 1, INSTRUMENT_HEAP = 2 };	/* bits */

enum rec_kind {
	REC_RUN = 1,		/* first: what was started, how, where */
	REC_CLOCK,		/* now and then: ticks against ns */
	REC_PROCESS,		/* a process that has an agent; the same pid again after exec */
	REC_MODULE,		/* an object file mapped in a process */
	REC_NODES,		/* call-tree nodes of a process, by ascending number from max(first_node, EVENT_FIRST_NODE) */
	REC_LOG,		/* events of one thread slot, in order; a long one is read as several, divided between events */
	REC_THREAD,		/* a thread's name */
	REC_COUNTERS,		/* of a process, cumulative: the last one holds */
	REC_PERF_MAP,		/* text of /tmp/perf-PID.map: names of JIT code; long text is read as several, divided between
				   lines: their names add up */
	REC_PROCESS_END,	/* a process has gone */
	REC_END,		/* last: the run is complete */
	REC_NOTE,		/* something to tell the reader of the result */
	REC_KINDS
};

struct rec_run {
	uint32_t instruments;		/* enum session_instrument, or'ed */
	uint32_t pid;			/* of the program started */
	bool attached;
	uint32_t cpu_hz;		/* samples a second asked for */
	uint64_t heap_sample_bytes;	/* 0: every call */
	uint64_t start_ticks;
	uint64_t start_monotonic_ns;
	uint64_t start_realtime_ns;	/* since the epoch */
	double signal_ns;		/* calibrated: delivery of a signal and return, per CPU sample; 0: not known */
	double signal_ns_sd;
	uint32_t cpus;
	const char *kernel, *arch, *cpu_model, *hypervisor;	/* hypervisor: "" none */
	bool pmu;
	uint32_t argc;
	const char *const *argv;
};

struct rec_clock {
	uint64_t ticks, monotonic_ns;
};

struct rec_process {
	uint32_t process;		/* number in this session, from 0 */
	uint32_t pid, parent_pid;
	int32_t forked_from;		/* process whose nodes, modules and live blocks it inherited; -1: it began by exec */
	uint32_t first_node;		/* nodes below are those of forked_from */
	uint64_t start_ticks;
	uint32_t argc;
	const char *const *argv;
};

struct rec_module {
	uint32_t process;
	uint32_t first_node;		/* nodes from this number on that lie in it belong to it; a later module wins */
	uint64_t start, end, bias;	/* bias: run-time address minus ELF address */
	uint32_t build_id_len;
	uint8_t build_id[20];
	const char *path;		/* absolute; "[vdso]" */
};

/** struct node - one frame of a call tree */
struct node {
	uint64_t pc;			/* a return address; bit 63 set: an exact address (innermost frame of a sample, or
					   a frame that a signal interrupted) */
	uint32_t parent;		/* caller's node, a smaller number */
	uint32_t zero;
};
#define NODE_PC_EXACT (1ull << 63)

struct rec_nodes {
	uint32_t process, first, n;
	const struct node *nodes;	/* numbers first ... first + n - 1 */
};

struct rec_log {
	uint32_t process;
	uint32_t slot;			/* number of the thread slot in its process */
	uint32_t instrument;		/* one bit of enum session_instrument */
	uint32_t n;
	const uint64_t *words;		/* record/event.h */
};

struct rec_thread {
	uint32_t process, tid;
	const char *name;
};

/** struct cost_sum - a piece of tare's own work, timed on a share of its occurrences */
struct cost_sum {
	uint64_t times;			/* it happened */
	uint64_t timed;			/* of these were timed */
	uint64_t ticks;			/* sum over the timed */
	uint64_t ticks_squared;		/* sum of squares, ticks^2 */
};

/** Kinds of work. Of each thread the first operations, while all is cold, are apart and all timed. */
enum cost_item {
	COST_ALLOC_WALK, COST_ALLOC_WRITE, COST_FREE, COST_SAMPLE,
	COST_FIRST_ALLOC, COST_FIRST_FREE,
	COST_START,		/* the agent in a process: once each */
	COST_ITEMS
};

struct rec_counters {
	uint32_t process;
	uint32_t threads;
	uint64_t calls, frees, bytes, failed;	/* heap, as counted where they happened, lost events included */
	uint64_t inherited_frees;		/* of blocks that fork gave */
	uint64_t unknown_frees;			/* of blocks that were never seen */
	uint64_t lost_heap_events;		/* no room; their bytes: */
	uint64_t lost_alloc_bytes;
	uint64_t samples, lost_samples;
	uint64_t tare_samples;			/* fell into tare's own work: the program's CPU time they are not */
	uint64_t truncated_stacks, broken_stacks;
	uint64_t nested_events;			/* hooks entered from inside tare: not recorded */
	uint64_t memory_bytes;			/* tare's memory in the process */
	uint64_t thread_cpu_ns;			/* CPU time of the sampled threads up to their last sample */
	struct cost_sum cost[COST_ITEMS];
};

struct rec_perf_map {
	uint32_t process;
	uint32_t size;
	const char *text;		/* not terminated */
};

struct rec_process_end {
	uint32_t process;
	int32_t exit_code;		/* -1: not known */
	int32_t signal;			/* 0: none; -1: not known */
	uint64_t end_ticks;
};

struct rec_end {
	uint64_t wall_ns, cpu_ns;	/* of the run; CPU of the program and the children it waited for */
	uint64_t maxrss_bytes;
	uint64_t collector_cpu_ns;	/* CPU that tare itself used beside the program */
	uint64_t arena_bytes;		/* shared memory that was used */
	int32_t exit_code;		/* -1: ended by a signal */
	int32_t signal;			/* 0: none */
	bool measured_to_end;		/* false: -d or ^C ended the measurement first */
};

struct rec_note {
	const char *code, *text, *next;	/* CLI.md 1.7; next may be "" */
};

/** struct record - one of the above */
struct record {
	enum rec_kind kind;
	union {
		struct rec_run run;
		struct rec_clock clock;
		struct rec_process process;
		struct rec_module module;
		struct rec_nodes nodes;
		struct rec_log log;
		struct rec_thread thread;
		struct rec_counters counters;
		struct rec_perf_map perf_map;
		struct rec_process_end process_end;
		struct rec_end end;
		struct rec_note note;
	};
};

struct session_writer;

/**
 * session_create - opens a new session file for writing
 * @path:  must not exist, unless @force (then it is emptied)
 *
 * Return: 0; -EEXIST; other -errno with a sentence.
 */
int session_create(struct session_writer **ret, const char *path, bool force, struct err *err);

/**
 * session_write - appends one record; small ones are gathered and written by session_flush() or when there are enough
 *
 * A record has to be one that session_next() would return: RUN comes first, a process before what names it, nodes by
 * ascending number (numbers that are left out become nodes with pc 0 and parent NODE_LOST), nothing after END.
 * Context: ignore SIGXFSZ, else the limit on the size of files ends this process.
 * Return:  0; -EINVAL: not such a record, it alone is not written; -ENOSPC, -EIO ...: this and all further records are lost,
 *          the file stays readable up to here.
 */
int session_write(struct session_writer *w, const struct record *record, struct err *err);

/** session_flush - what was written so far survives the end of this process */
int session_flush(struct session_writer *w, struct err *err);
uint64_t session_bytes(const struct session_writer *w);	/* size of the file so far */
/** session_close - flushes and frees; NULL is allowed; Return: 0 or what the last write failed with */
int session_close(struct session_writer *w, struct err *err);

struct session_reader;

/** How a session file ends. */
enum session_end {
	SESSION_MORE = 0,	/* a record was returned */
	SESSION_COMPLETE,	/* REC_END was the last record */
	SESSION_CUT		/* the file ends early: the writer was killed, or the file was truncated */
};

/**
 * session_open - opens a session file for reading
 *
 * Return: 0; -errno with a sentence (no such file; not a session; made by a newer tare).
 */
int session_open(struct session_reader **ret, const char *path, struct err *err);

/** session_open_bytes - the same on bytes in memory, which must live as long as the reader (tests, fuzzers) */
int session_open_bytes(struct session_reader **ret, const void *bytes, size_t size, struct err *err);

/**
 * session_next - the next record
 * @ret: its pointers are valid until the next call
 *
 * After SESSION_CUT it may be called again: there are more records if the writer lives and has written some.
 * Return: enum session_end; -EBADMSG with a sentence that says where: the file is corrupt. All counts, lengths and
 *         strings of a record that is returned have been checked (strings terminated, sizes in bounds, node parents
 *         smaller than the node, log words are whatever they are).
 */
int session_next(struct session_reader *r, struct record *ret, struct err *err);
void session_reader_close(struct session_reader *r);

#endif
