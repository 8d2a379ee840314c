/* measure.h - start a program, measure it, give the result: what cpu, heap and record share */
#ifndef TARE_CLI_MEASURE_H
#define TARE_CLI_MEASURE_H

#include "cli/command.h"

enum { MEASURE_HZ = 997, MEASURE_MAX_HZ = 100000 };

/** struct measure - what to measure */
struct measure {
	uint32_t instruments;		/* enum session_instrument */
	uint32_t cpu_hz;
	uint64_t heap_sample_bytes;
	const char *next_command;	/* of the line "next:", before the recording's name; NULL: none */
};

/**
 * measure_program - runs inv->operands with the agent and writes the result
 *
 * Return: the program's own exit status, or tare's (command.h); a sentence in inv->err where tare failed.
 */
int measure_program(struct invocation *inv, const struct measure *what);

/** measure_no_heap_sampling - says that heap sampling is not in this version; Return: the exit status */
int measure_no_heap_sampling(struct invocation *inv, const char *option);

#endif
