/* signals.h - the program's view of the signal that the sampler uses */
#ifndef TARE_AGENT_SIGNALS_H
#define TARE_AGENT_SIGNALS_H

#include <signal.h>

/** signals_take - installs @handler; from now on the program's own use of @signal is kept apart */
void signals_take(int signal, void (*handler)(int, siginfo_t *, void *));

/** signals_forward - a signal that is not the sampler's goes where the program wanted it */
void signals_forward(int signal, siginfo_t *info, void *context);

struct thread;
/** signals_open - the signal is unblocked in the calling thread, whose state is @t */
void signals_open(struct thread *t);

#endif
