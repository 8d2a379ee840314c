/* cost.h - what measuring cost, and what the reader should know of the result; private to analyse/ */
#ifndef TARE_ANALYSE_COST_H
#define TARE_ANALYSE_COST_H

#include "analyse/cpu.h"
#include "analyse/load.h"

/** cost_fill - the cost ledger of a profile; after its run and instruments are filled in */
void cost_fill(struct profile *p, const struct load *l, const struct cpu *c);

/** notes_fill - adds what the analysis found to the notes of the recording, and puts all into the profile */
void notes_fill(struct profile *p, struct load *l);

#endif
