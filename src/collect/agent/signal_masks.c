/*
 * signal_masks - masks of the sampling signal, as the program sees them
 *
 * The signal stays unblocked, or a program that blocks all signals would not be sampled. That the program blocks it is a
 * belief, kept for each thread: masks are answered by it. When a signal of the program's own comes all the same, belief
 * becomes fact: it is really blocked, and sent again, so that the kernel has it pending as it should; the thread is not
 * sampled until the program unblocks it.
 *
 * Where a handler of the program runs with the signal really blocked, that is left as it is: it ends with the handler.
 */
#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include "collect/agent/agent.h"
#include "collect/agent/signals.h"

static bool really_blocked(void)
{
	uint64_t mask = 0;

	arch_syscall4(SYS_rt_sigprocmask, SIG_BLOCK, 0, (long)&mask, 8);
	return mask & signals_bit(signals_taken);
}

/* @now: it is blocked for the program from here on. @set is changed so that the kernel does what is right. */
static void adjust(struct thread *t, int how, bool now, sigset_t *set)
{
	bool real = t->urgent_held || (signals_masking() && really_blocked());
	bool in_handler = real && !t->urgent_held, widened = in_handler && signals_widened();
	bool stays = real && (now || widened);

	if (how == SIG_SETMASK ? stays : how == SIG_UNBLOCK && !stays)
		sigaddset(set, signals_taken);
	else
		sigdelset(set, signals_taken);
	if (!now)
		t->urgent_blocked = t->urgent_held = false;
	else if (!in_handler || widened)
		t->urgent_blocked = true;
}

static void answer(bool was_blocked, bool was_held, sigset_t *old)
{
	if (was_blocked)
		sigaddset(old, signals_taken);
	else if (!was_held && signals_widened())
		sigdelset(old, signals_taken);
}

/* sigprocmask and pthread_sigmask differ in how they report an error; the real function's answer is theirs. */
static int change_mask(int (*real)(int, const sigset_t *, sigset_t *), int how, const sigset_t *set, sigset_t *old)
{
	struct thread *t = signals_taken ? agent_thread : NULL;
	bool was_blocked, was_held, changes;
	sigset_t changed;
	int error;

	if (!t)
		return real(how, set, old);
	was_blocked = t->urgent_blocked;
	was_held = t->urgent_held;
	changes = set && (how == SIG_SETMASK || ((how == SIG_BLOCK || how == SIG_UNBLOCK) &&
						 sigismember(set, signals_taken) == 1));
	if (changes) {
		bool now = how != SIG_UNBLOCK && sigismember(set, signals_taken) == 1;

		if ((now != was_blocked || was_held) && signals_borrowed()) {
			changes = false;	/* the mask is a child's of vfork, for exec; the belief is its parent's */
		} else {
			changed = *set;
			set = &changed;
			adjust(t, how, now, &changed);
		}
	}
	error = real(how, set, old);
	if (error) {
		t->urgent_blocked = was_blocked;
		t->urgent_held = was_held;
		return error;
	}
	if (changes && was_held && !t->urgent_held)
		signals_release(t);
	if (old)
		answer(was_blocked, was_held, old);
	return 0;
}

HOOK int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	return change_mask(signals_real()->sigprocmask, how, set, old);
}

HOOK int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	return change_mask(signals_real()->pthread_sigmask, how, set, old);
}

static int change_one(int how, int number)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, number);
	return sigprocmask(how, &set, NULL);
}

HOOK int sighold(int number)
{
	if (!signals_taken || number != signals_taken)
		return signals_real()->sighold(number);
	return change_one(SIG_BLOCK, number);
}

HOOK int sigrelse(int number)
{
	if (!signals_taken || number != signals_taken)
		return signals_real()->sigrelse(number);
	return change_one(SIG_UNBLOCK, number);
}

/* Masks of the first 32 signals. */
static int change_old_mask(int how, int mask)
{
	sigset_t set, old;

	sigemptyset(&set);
	sigemptyset(&old);
	*signals_word(&set) = (uint32_t)mask;
	sigprocmask(how, &set, &old);
	return (int)*signals_word(&old);
}

HOOK int sigblock(int mask)
{
	return signals_taken ? change_old_mask(SIG_BLOCK, mask) : signals_real()->sigblock(mask);
}

HOOK int sigsetmask(int mask)
{
	return signals_taken ? change_old_mask(SIG_SETMASK, mask) : signals_real()->sigsetmask(mask);
}

HOOK int siggetmask(void)
{
	return signals_taken ? change_old_mask(SIG_BLOCK, 0) : signals_real()->sigblock(0);
}

void signals_open(struct thread *t)
{
	uint64_t mine, before = 0;

	if (!signals_taken)
		return;
	mine = signals_bit(signals_taken);
	if (!arch_syscall4(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&mine, (long)&before, 8) && before & mine)
		t->urgent_blocked = true;
}

bool signals_shut(void)
{
	uint64_t mine, before = 0;

	if (!signals_taken)
		return false;
	mine = signals_bit(signals_taken);
	return !arch_syscall4(SYS_rt_sigprocmask, SIG_BLOCK, (long)&mine, (long)&before, 8) && !(before & mine);
}

void signals_unshut(void)
{
	uint64_t mine = signals_bit(signals_taken);

	arch_syscall4(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&mine, 0, 8);
}

/* To the thread if it was sent to it, else to the process, where any thread may take it. */
static void send_again(int signal, const siginfo_t *info)
{
	long pid = arch_syscall1(SYS_getpid, 0), tid = arch_syscall1(SYS_gettid, 0);

	if (info->si_code == SI_TKILL)
		arch_syscall4(SYS_rt_tgsigqueueinfo, pid, tid, signal, (long)info);
	else if (arch_syscall3(SYS_rt_sigqueueinfo, pid, signal, (long)info))
		arch_syscall2(SYS_kill, pid, signal);	/* only the main thread may say again who sent it */
}

COLD void signals_hold(struct thread *t, int signal, const siginfo_t *info, ucontext_t *context)
{
	static const struct timespec none;
	uint64_t set = signals_bit(signal);
	siginfo_t pending[2];	/* of the thread, of the process */
	int n = 0, i;

	/* a sample that is due would hide the program's: a signal is pending once */
	if (agent.shared)
		sampler_forget(t);
	while (n < 2 && arch_syscall4(SYS_rt_sigtimedwait, (long)&set, (long)&pending[n], (long)&none, 8) == signal)
		n += !sampler_is_ours(&pending[n]);
	t->urgent_held = true;
	sigaddset(&context->uc_sigmask, signal);
	send_again(signal, info);
	for (i = 0; i < n; i++)
		send_again(signal, &pending[i]);
}

COLD void signals_release(struct thread *t)
{
	bool belief = t->urgent_blocked;

	t->urgent_held = false;
	if (agent.shared)
		sampler_resume(t);	/* unblocks it, so that it may be held again in here */
	else
		signals_unshut();
	t->urgent_blocked = belief;
}
