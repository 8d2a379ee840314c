/*
 * signal_hooks - handlers of the sampling signal, as the program sees them
 *
 * The sampler keeps its handler installed; what the program asks for on that signal is remembered here, answered as if it
 * had been done, and a signal that is not the sampler's is handed to the program's handler. The agent's handler runs with
 * everything blocked, since it works on a stack of its own; the program's gets the mask that the kernel would have given
 * it, and is called by a jump, so that neither its stack nor a walk of it shows the agent.
 *
 * Other signals pass through, but for handlers on an alternate stack: the sampling signal is blocked in them, since such
 * stacks may be too small for a second frame of the kernel. Not where SA_NODEFER says that signals may nest there: such
 * handlers are also those that are left by a jump which brings no mask back.
 *
 * Actions lie in a ring: a handler that reads one while another thread sets the next needs no lock.
 */
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#include "collect/agent/agent.h"
#include "collect/agent/signals.h"

enum { ACTIONS = 16, SIGNALS = 64 };

int signals_taken;
struct signal_functions signal_functions;

static signal_handler *our_handler;
static struct sigaction actions[ACTIONS];	/* the program's; one is in force */
static _Atomic uint32_t current, used = 1;
static _Atomic uint64_t widened;	/* handlers of other signals in which the agent has the signal blocked */
static _Atomic uint64_t naming;		/* handlers in which the program has it blocked */
static _Atomic bool interrupts;		/* siginterrupt() */

COLD void signals_init(void)
{
	struct signal_functions *f = &signal_functions;

	f->sigaction = dlsym(RTLD_NEXT, "sigaction");
	f->signal = dlsym(RTLD_NEXT, "signal");
	f->sysv_signal = dlsym(RTLD_NEXT, "__sysv_signal");
	f->sigset = dlsym(RTLD_NEXT, "sigset");
	f->sigignore = dlsym(RTLD_NEXT, "sigignore");
	f->siginterrupt = dlsym(RTLD_NEXT, "siginterrupt");
	f->sigprocmask = dlsym(RTLD_NEXT, "sigprocmask");
	f->pthread_sigmask = dlsym(RTLD_NEXT, "pthread_sigmask");
	f->sighold = dlsym(RTLD_NEXT, "sighold");
	f->sigrelse = dlsym(RTLD_NEXT, "sigrelse");
	f->sigblock = dlsym(RTLD_NEXT, "sigblock");
	f->sigsetmask = dlsym(RTLD_NEXT, "sigsetmask");
	f->sigsuspend = dlsym(RTLD_NEXT, "sigsuspend");
	f->pause_by_mask = dlsym(RTLD_NEXT, "sigpause");
	f->pause_by_number = dlsym(RTLD_NEXT, "__xpg_sigpause");
	f->pause_by_either = dlsym(RTLD_NEXT, "__sigpause");
	f->ppoll = dlsym(RTLD_NEXT, "ppoll");
	f->ppoll_chk = dlsym(RTLD_NEXT, "__ppoll_chk");
	f->pselect = dlsym(RTLD_NEXT, "pselect");
	f->epoll_pwait = dlsym(RTLD_NEXT, "epoll_pwait");
	f->epoll_pwait2 = dlsym(RTLD_NEXT, "epoll_pwait2");
	f->set_jump = dlsym(RTLD_NEXT, "__sigsetjmp");
	f->jump = dlsym(RTLD_NEXT, "siglongjmp");
	f->jump_checked = dlsym(RTLD_NEXT, "__longjmp_chk");
	f->found = true;
}

static bool has_handler(const struct sigaction *action)
{
	return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

/* A handler without SA_RESTART has to interrupt calls; the timer's signals, which come in calls too, must not. */
static void install(const struct sigaction *program, struct sigaction *ret_ours)
{
	struct sigaction *ours = ret_ours;

	memset(ours, 0, sizeof(*ours));
	ours->sa_sigaction = our_handler;
	ours->sa_flags = (program->sa_flags & ~SA_RESETHAND) | SA_SIGINFO;
	if (!has_handler(program))
		ours->sa_flags |= SA_ONSTACK | SA_RESTART;
	if (!agent.shared || agent.shared->sampler != SAMPLER_PERF)
		ours->sa_flags |= SA_RESTART;
	memset(&ours->sa_mask, 0xff, sizeof(ours->sa_mask));
	signals_real()->sigaction(signals_taken, ours, NULL);
}

static void set_bit(_Atomic uint64_t *bits, int signal, bool on)
{
	uint64_t bit = signals_bit(signal);

	if (on)
		atomic_fetch_or(bits, bit);
	else if (*bits & bit)
		atomic_fetch_and(bits, ~bit);
}

/* The taken signal's action becomes @action, which is kept as the kernel would give it back. */
static void set_action(const struct sigaction *action, struct sigaction *old)
{
	struct sigaction *mine = &actions[atomic_fetch_add(&used, 1) % ACTIONS], ours, seen;

	if (!has_handler(action))
		signals_real()->sigaction(signals_taken, action, NULL);	/* the kernel forgets what is pending */
	*mine = *action;
	install(action, &ours);
	signals_real()->sigaction(signals_taken, NULL, &seen);
	mine->sa_flags &= ~(ours.sa_flags & ~seen.sa_flags);	/* that this kernel does not know */
	mine->sa_flags |= seen.sa_flags & ~ours.sa_flags;	/* that libc adds */
	mine->sa_restorer = seen.sa_restorer;
	sigdelset(&mine->sa_mask, SIGKILL);
	sigdelset(&mine->sa_mask, SIGSTOP);
	set_bit(&naming, signals_taken, has_handler(action) && (!(action->sa_flags & SA_NODEFER) ||
								sigismember(&action->sa_mask, signals_taken) == 1));
	mine = &actions[atomic_exchange(&current, (uint32_t)(mine - actions))];
	if (old)
		*old = *mine;
}

void signals_take(int signal, signal_handler *handler)
{
	struct sigaction ours;

	if (signals_real()->sigaction(signal, NULL, &actions[0]))
		return;
	our_handler = handler;
	signals_taken = signal;
	install(&actions[0], &ours);
}

void signals_give_back(void)
{
	uint64_t bit;

	if (!signals_taken)
		return;
	bit = signals_bit(signals_taken);
	signals_real()->sigaction(signals_taken, &actions[current], NULL);
	if (agent_thread && agent_thread->urgent_blocked)
		arch_syscall4(SYS_rt_sigprocmask, SIG_BLOCK, (long)&bit, 0, 8);
	signals_taken = 0;
}

bool signals_borrowed(void)
{
	return agent_on() && agent.process->pid != (uint32_t)arch_syscall1(SYS_getpid, 0);
}

bool signals_widened(void)
{
	return widened && !naming;
}

bool signals_masking(void)
{
	return widened | naming;
}

void signals_forward(struct thread *t, int signal, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;

	/* blocked in the kernel as well: a call with a mask of its own, as sigsuspend, lets it in */
	if (t && t->urgent_blocked && sigismember(&interrupted->uc_sigmask, signal) != 1)
		signals_hold(t, signal, info, interrupted);
	else
		signals_deliver(signal, info, context);
}

/* SA_RESETHAND: of all that come at once one gets the handler. */
static COLD bool reset_action(uint32_t seen)
{
	uint32_t next = atomic_fetch_add(&used, 1) % ACTIONS;
	struct sigaction ours;

	actions[next] = actions[seen];
	actions[next].sa_handler = SIG_DFL;
	if (!atomic_compare_exchange_strong(&current, &seen, next))
		return false;
	set_bit(&naming, signals_taken, false);
	install(&actions[next], &ours);
	return true;
}

static __attribute__((noinline)) void set_handler_mask(const struct sigaction *action, int signal, const ucontext_t *context)
{
	uint64_t mask = *signals_word(&context->uc_sigmask) | *signals_word(&action->sa_mask);

	if (!(action->sa_flags & SA_NODEFER))
		mask |= signals_bit(signal);
	arch_syscall4(SYS_rt_sigprocmask, SIG_SETMASK, (long)&mask, 0, 8);
}

void signals_deliver(int signal, siginfo_t *info, void *context)
{
	const struct sigaction *action;
	signal_handler *handler;
	uint32_t seen;

	do {
		seen = atomic_load(&current);
		action = &actions[seen];
		if (!has_handler(action))
			return;
		handler = action->sa_sigaction;
	} while (action->sa_flags & SA_RESETHAND && !reset_action(seen));
	set_handler_mask(action, signal, context);
	handler(signal, info, context);		/* a jump */
}

/* An action of a signal that is not taken. */
static int other_action(int signal, const struct sigaction *action, struct sigaction *old)
{
	bool ours = action && signals_taken, wide, names, was;
	struct sigaction changed;
	int error;

	if (!signals_taken || signal < 1 || signal > SIGNALS)
		return signals_real()->sigaction(signal, action, old);
	was = widened & signals_bit(signal);
	names = action && has_handler(action) && sigismember(&action->sa_mask, signals_taken) == 1;
	wide = action && has_handler(action) && (action->sa_flags & (SA_ONSTACK | SA_NODEFER)) == SA_ONSTACK && !names;
	if (ours && (wide || was || names != !!(naming & signals_bit(signal))))
		ours = !signals_borrowed();
	if (ours && wide) {
		changed = *action;
		sigaddset(&changed.sa_mask, signals_taken);
		action = &changed;
	}
	error = signals_real()->sigaction(signal, action, old);
	if (error)
		return error;
	if (ours) {
		set_bit(&widened, signal, wide);
		set_bit(&naming, signal, names);
	}
	if (old && was)
		sigdelset(&old->sa_mask, signals_taken);
	return 0;
}

/* In a child of vfork the kernel's action is the child's, and the remembered one is its parent's. */
static int borrowed_action(const struct sigaction *action, struct sigaction *old)
{
	int error = signals_real()->sigaction(signals_taken, action, old);

	if (!error && old && old->sa_sigaction == our_handler)
		*old = actions[current];
	return error;
}

HOOK int sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
	if (!signals_taken || signal != signals_taken)
		return other_action(signal, action, old);
	if (action && signals_borrowed())
		return borrowed_action(action, old);
	if (action)
		set_action(&(struct sigaction){ .sa_sigaction = action->sa_sigaction, .sa_mask = action->sa_mask,
						.sa_flags = action->sa_flags }, old);
	else if (old)
		*old = actions[current];
	return 0;
}

HOOK int __sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
	return sigaction(signal, action, old);
}

/* The older functions, of the taken signal. SIG_ERR: not a handler. */
static sighandler_t simple_action(sighandler_t handler, int flags, bool masks_itself)
{
	struct sigaction action = { .sa_handler = handler, .sa_flags = flags }, old;

	if (handler == SIG_ERR) {
		errno = EINVAL;
		return SIG_ERR;
	}
	if (masks_itself)
		sigaddset(&action.sa_mask, signals_taken);
	return sigaction(signals_taken, &action, &old) ? SIG_ERR : old.sa_handler;
}

/* An older function has set the action of a signal that is not taken; their handlers have no alternate stack. */
static void other_was_set(int number)
{
	if (!signals_taken || number < 1 || number > SIGNALS || !(signals_bit(number) & (widened | naming)) ||
	    signals_borrowed())
		return;
	set_bit(&widened, number, false);
	set_bit(&naming, number, false);
}

HOOK sighandler_t signal(int number, sighandler_t handler)
{
	sighandler_t before;

	if (signals_taken && number == signals_taken)
		return simple_action(handler, interrupts ? 0 : SA_RESTART, true);
	before = signals_real()->signal(number, handler);
	if (before != SIG_ERR)
		other_was_set(number);
	return before;
}

HOOK sighandler_t bsd_signal(int number, sighandler_t handler)
{
	return signal(number, handler);
}

HOOK sighandler_t ssignal(int number, sighandler_t handler)
{
	return signal(number, handler);
}

HOOK sighandler_t __sysv_signal(int number, sighandler_t handler)
{
	sighandler_t before;

	if (signals_taken && number == signals_taken)
		return simple_action(handler, (int)(SA_RESETHAND | SA_NODEFER | SA_INTERRUPT), false);
	before = signals_real()->sysv_signal(number, handler);
	if (before != SIG_ERR)
		other_was_set(number);
	return before;
}

HOOK sighandler_t sysv_signal(int number, sighandler_t handler)
{
	return __sysv_signal(number, handler);
}

/* SIG_HOLD, as an answer: it was blocked. */
HOOK sighandler_t sigset(int number, sighandler_t handler)
{
	sighandler_t before;
	sigset_t set, old;

	if (!signals_taken || number != signals_taken) {
		before = signals_real()->sigset(number, handler);
		if (before != SIG_ERR && handler != SIG_HOLD)
			other_was_set(number);
		return before;
	}
	sigemptyset(&set);
	sigaddset(&set, number);
	if (handler != SIG_HOLD) {
		before = simple_action(handler, 0, false);
		if (before == SIG_ERR || sigprocmask(SIG_UNBLOCK, &set, &old))
			return SIG_ERR;
	} else {
		before = actions[current].sa_handler;
		if (sigprocmask(SIG_BLOCK, &set, &old))
			return SIG_ERR;
	}
	return sigismember(&old, number) == 1 ? SIG_HOLD : before;
}

HOOK int sigignore(int number)
{
	int error;

	if (signals_taken && number == signals_taken)
		return simple_action(SIG_IGN, 0, false) == SIG_ERR ? -1 : 0;
	error = signals_real()->sigignore(number);
	if (!error)
		other_was_set(number);
	return error;
}

HOOK int siginterrupt(int number, int interrupt)
{
	struct sigaction action;

	if (!signals_taken || number != signals_taken)
		return signals_real()->siginterrupt(number, interrupt);
	action = actions[current];
	interrupts = interrupt != 0;
	action.sa_flags = interrupt ? action.sa_flags & ~SA_RESTART : action.sa_flags | SA_RESTART;
	return sigaction(number, &action, NULL);
}
