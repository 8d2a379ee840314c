/* signals.h - the program's view of the signal that the sampler uses */
#ifndef TARE_AGENT_SIGNALS_H
#define TARE_AGENT_SIGNALS_H

#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

struct thread;

typedef void signal_handler(int signal, siginfo_t *info, void *context);

/** signals_init - finds the functions that are stood in for, so that nothing is looked up in a handler */
void signals_init(void);

/** signals_take - installs @handler; from now on the program's own use of @signal is kept apart */
void signals_take(int signal, signal_handler *handler);

/** signals_give_back - the kernel is told what the program wanted: this process is not measured; Context: after fork */
void signals_give_back(void);

/** signals_forward - a signal that is not the sampler's goes where the program wanted it; Context: the handler, all blocked */
void signals_forward(struct thread *t, int signal, siginfo_t *info, void *context);

/** signals_open - the signal is unblocked in the calling thread, whose state is @t */
void signals_open(struct thread *t);

/** signals_shut - really blocks the signal in the calling thread; Return: false: it was, or none is taken */
bool signals_shut(void);
void signals_unshut(void);

/* Between signal_hooks.c, signal_masks.c and signal_waits.c. */

extern int signals_taken;	/* 0: no signal is taken */

/** signals_borrowed - whether this is a child of vfork: the memory is its parent's, handlers and masks are its own */
bool signals_borrowed(void);

/** signals_widened - whether all that blocks the signal in handlers of the program is the agent's wish, not the program's */
bool signals_widened(void);

/** signals_masking - whether a handler of the program may run with the signal blocked */
bool signals_masking(void);

/** signals_deliver - calls the program's handler as the kernel would */
void signals_deliver(int signal, siginfo_t *info, void *context);

/** signals_hold - the program blocks it: now the kernel does too, and has it pending */
void signals_hold(struct thread *t, int signal, const siginfo_t *info, ucontext_t *context);

/** signals_release - the end of signals_hold(): it is unblocked, and sampled; the program's belief is as it was */
void signals_release(struct thread *t);

/** signals_bit - @signal in a mask as the kernel has it */
static inline uint64_t signals_bit(int signal)
{
	return 1ull << (signal - 1);
}

static inline uint64_t *signals_word(const sigset_t *set)
{
	return (uint64_t *)set;
}

/** The functions of libc that are stood in for; those of signals that are not taken get every call. */
struct signal_functions {
	int (*sigaction)(int, const struct sigaction *, struct sigaction *);
	sighandler_t (*signal)(int, sighandler_t);
	sighandler_t (*sysv_signal)(int, sighandler_t);
	sighandler_t (*sigset)(int, sighandler_t);
	int (*sigignore)(int);
	int (*siginterrupt)(int, int);
	int (*sigprocmask)(int, const sigset_t *, sigset_t *);
	int (*pthread_sigmask)(int, const sigset_t *, sigset_t *);
	int (*sighold)(int);
	int (*sigrelse)(int);
	int (*sigblock)(int);
	int (*sigsetmask)(int);
	int (*sigsuspend)(const sigset_t *);
	int (*pause_by_mask)(int);
	int (*pause_by_number)(int);
	int (*pause_by_either)(int, int);
	int (*ppoll)(void *, unsigned long, const void *, const sigset_t *);
	int (*ppoll_chk)(void *, unsigned long, const void *, const sigset_t *, size_t);
	int (*pselect)(int, void *, void *, void *, const void *, const sigset_t *);
	int (*epoll_pwait)(int, void *, int, int, const sigset_t *);
	int (*epoll_pwait2)(int, void *, int, const void *, const sigset_t *);
	int (*set_jump)(struct __jmp_buf_tag *, int);
	__attribute__((noreturn)) void (*jump)(struct __jmp_buf_tag *, int);
	__attribute__((noreturn)) void (*jump_checked)(struct __jmp_buf_tag *, int);
	bool found;
};

extern struct signal_functions signal_functions;

/** signals_real - the functions of libc; Cost: one load and a branch, but for calls before the agent's start */
static inline const struct signal_functions *signals_real(void)
{
	if (__builtin_expect(!signal_functions.found, 0))
		signals_init();
	return &signal_functions;
}

#endif
