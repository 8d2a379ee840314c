/*
 * signal_waits - calls that bring a mask of their own, and jumps that bring one back
 *
 * A wait such as sigsuspend lets in what is blocked outside it. If the program's signal comes then, the handler cannot know
 * whether the wait has begun: it is held (signal_masks.c), the wait ends, and is made again; now the kernel does all by
 * itself, and nothing is lost in between.
 *
 * A jump brings back the kernel's mask of sigsetjmp(). The belief goes with it, in the last word of the mask's room, which
 * neither libc nor the kernel uses. What does not save a mask, which is most of them, costs a jump more.
 */
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>

#include "collect/agent/agent.h"
#include "collect/agent/signals.h"

/* The calling thread if it believes that the signal is blocked. */
static struct thread *believing(void)
{
	struct thread *t = signals_taken ? agent_thread : NULL;

	return t && t->urgent_blocked ? t : NULL;
}

static bool is_pending(void)
{
	uint64_t pending = 0;

	arch_syscall2(SYS_rt_sigpending, (long)&pending, 8);
	return pending & signals_bit(signals_taken);
}

/* After a wait of @t: whether it has to be made again, which it is once, if the signal was held in it. */
static bool wait_again(struct thread *t, int result, bool was_held, int times)
{
	if (!t->urgent_held)
		return false;
	if (!was_held && result < 0 && errno == EINTR && times == 1)
		return true;
	if (!is_pending())
		signals_release(t);
	return false;
}

/* A jump for nearly all; the variables of the rest must not keep it from being one, so none has its address taken. */
#define WAIT(call)                                                      \
	do {                                                            \
		struct thread *t_ = believing();                        \
		bool held_;                                             \
		int result_, times_ = 0;                                \
									\
		if (LIKELY(!t_))                                        \
			return call;                                    \
		held_ = t_->urgent_held;                                \
		do                                                      \
			result_ = call;                                 \
		while (wait_again(t_, result_, held_, ++times_));       \
		return result_;                                         \
	} while (0)

HOOK int sigsuspend(const sigset_t *mask)
{
	WAIT(signals_real()->sigsuspend(mask));
}

HOOK int __sigsuspend(const sigset_t *mask)
{
	WAIT(signals_real()->sigsuspend(mask));
}

/* The header gives the name sigpause to the other of the two. */
HOOK int pause_by_mask(int mask) __asm__("sigpause");
int pause_by_mask(int mask)
{
	WAIT(signals_real()->pause_by_mask(mask));
}

HOOK int pause_by_number(int number) __asm__("__xpg_sigpause");
int pause_by_number(int number)
{
	WAIT(signals_real()->pause_by_number(number));
}

HOOK int __sigpause(int number_or_mask, int is_number)
{
	WAIT(signals_real()->pause_by_either(number_or_mask, is_number));
}

HOOK int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	WAIT(signals_real()->ppoll(fds, n, timeout, mask));
}

HOOK int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask, size_t size)
{
	WAIT(signals_real()->ppoll_chk(fds, n, timeout, mask, size));
}

HOOK int pselect(int n, fd_set *reads, fd_set *writes, fd_set *others, const struct timespec *timeout, const sigset_t *mask)
{
	WAIT(signals_real()->pselect(n, reads, writes, others, timeout, mask));
}

HOOK int epoll_pwait(int fd, struct epoll_event *events, int n, int timeout_ms, const sigset_t *mask)
{
	WAIT(signals_real()->epoll_pwait(fd, events, n, timeout_ms, mask));
}

HOOK int epoll_pwait2(int fd, struct epoll_event *events, int n, const struct timespec *timeout, const sigset_t *mask)
{
	WAIT(signals_real()->epoll_pwait2(fd, events, n, timeout, mask));
}

enum {
	LAST_WORD = _SIGSET_NWORDS - 1,
	SAID = 0x74617265	/* in the last word, but for its lowest bit, which says that it was blocked */
};

static __attribute__((noinline)) void save_belief(struct __jmp_buf_tag *env)
{
	struct thread *t = signals_taken ? agent_thread : NULL;

	if (t)
		env->__saved_mask.__val[LAST_WORD] = (unsigned long)SAID << 1 | t->urgent_blocked;
}

/* The frame of the caller is what is saved: nothing of this function may stay on the stack, so its end is a jump. */
HOOK int __sigsetjmp(struct __jmp_buf_tag env[1], int with_mask)
{
	if (with_mask)
		save_belief(env);
	return signals_real()->set_jump(env, with_mask);
}

static void bring_back(struct __jmp_buf_tag *env)
{
	struct thread *t = signals_taken ? agent_thread : NULL;
	unsigned long word;
	uint64_t bit;

	if (!t)
		return;
	if (!env->__mask_was_saved) {
		/* perhaps out of a handler where the agent has it blocked, or it would stay so */
		bit = signals_bit(signals_taken);
		if (signals_widened() && !t->urgent_held)
			arch_syscall4(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&bit, 0, 8);
		return;
	}
	word = env->__saved_mask.__val[LAST_WORD];
	if (word >> 1 != SAID)
		return;
	t->urgent_blocked = word & 1;
	if (t->urgent_blocked)
		sigdelset(&env->__saved_mask, signals_taken);
	if (t->urgent_held)
		signals_release(t);
}

HOOK void siglongjmp(struct __jmp_buf_tag env[1], int value)
{
	bring_back(env);
	signals_real()->jump(env, value);
}

HOOK void longjmp(struct __jmp_buf_tag env[1], int value)
{
	siglongjmp(env, value);
}

HOOK void _longjmp(struct __jmp_buf_tag env[1], int value)
{
	siglongjmp(env, value);
}

HOOK __attribute__((noreturn)) void __longjmp_chk(struct __jmp_buf_tag *env, int value)
{
	bring_back(env);
	signals_real()->jump_checked(env, value);
}
