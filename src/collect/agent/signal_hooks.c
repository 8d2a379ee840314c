/*
 * signal_hooks - the sampling signal as the program sees it
 *
 * The sampler keeps its handler installed and its signal unblocked; what the program asks for on that signal (a handler,
 * blocking it) is remembered here, answered as if it had been done, and a signal that is not the sampler's is handed to
 * the program's handler. All other signals pass through untouched.
 */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>

#include "collect/agent/agent.h"
#include "collect/agent/signals.h"

static int taken;		/* 0: no signal is taken */
static struct sigaction wanted;	/* the program's disposition of it */

static int (*real_sigaction)(int, const struct sigaction *, struct sigaction *);

static int real_action(int signal, const struct sigaction *action, struct sigaction *old)
{
	if (UNLIKELY(!real_sigaction))
		real_sigaction = (int (*)(int, const struct sigaction *, struct sigaction *))
			dlsym(RTLD_NEXT, "sigaction");
	return real_sigaction(signal, action, old);
}

void signals_take(int signal, void (*handler)(int, siginfo_t *, void *))
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_sigaction = handler;
	action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
	sigemptyset(&action.sa_mask);
	if (!real_action(signal, &action, &wanted))
		taken = signal;
}

void signals_forward(int signal, siginfo_t *info, void *context)
{
	if (wanted.sa_flags & SA_SIGINFO)
		wanted.sa_sigaction(signal, info, context);
	else if (wanted.sa_handler != SIG_DFL && wanted.sa_handler != SIG_IGN)
		wanted.sa_handler(signal);
}

HOOK int sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
	struct sigaction before = wanted;

	if (!taken || signal != taken)
		return real_action(signal, action, old);
	if (action)
		wanted = *action;
	if (old)
		*old = before;
	return 0;
}

HOOK sighandler_t signal(int number, sighandler_t handler)
{
	static sighandler_t (*real)(int, sighandler_t);
	sighandler_t before = wanted.sa_handler;

	if (!taken || number != taken) {
		if (UNLIKELY(!real))
			real = (sighandler_t(*)(int, sighandler_t))dlsym(RTLD_NEXT, "signal");
		return real(number, handler);
	}
	memset(&wanted, 0, sizeof(wanted));
	wanted.sa_handler = handler;
	wanted.sa_flags = SA_RESTART;
	return before;
}

/* sigprocmask and pthread_sigmask differ in how they report an error; the kernel's answer is theirs. */
static int change_mask(int (*real)(int, const sigset_t *, sigset_t *), int how, const sigset_t *set, sigset_t *old)
{
	struct thread *t = taken ? agent_thread : NULL;
	bool was, names;
	sigset_t changed;
	int error;

	if (!t)
		return real(how, set, old);
	was = t->urgent_blocked;
	if (set) {
		names = sigismember(set, taken) == 1;
		changed = *set;
		sigdelset(&changed, taken);
		set = &changed;
	}
	error = real(how, set, old);
	if (error)
		return error;
	if (set && (how == SIG_SETMASK || names))
		t->urgent_blocked = names && how != SIG_UNBLOCK;
	if (old && was)
		sigaddset(old, taken);
	return 0;
}

HOOK int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	static int (*real)(int, const sigset_t *, sigset_t *);

	if (UNLIKELY(!real))
		real = (int (*)(int, const sigset_t *, sigset_t *))dlsym(RTLD_NEXT, "sigprocmask");
	return change_mask(real, how, set, old);
}

HOOK int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	static int (*real)(int, const sigset_t *, sigset_t *);

	if (UNLIKELY(!real))
		real = (int (*)(int, const sigset_t *, sigset_t *))dlsym(RTLD_NEXT, "pthread_sigmask");
	return change_mask(real, how, set, old);
}

void signals_open(struct thread *t)
{
	sigset_t mine, before;

	if (!taken)
		return;
	sigemptyset(&mine);
	sigaddset(&mine, taken);
	if (!arch_syscall4(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&mine, (long)&before, 8) &&
	    sigismember(&before, taken) == 1)
		t->urgent_blocked = true;
}
