/*
 * threads - the state that the agent keeps for each thread
 *
 * States are cut from private memory and never freed: a walk in a last TLS destructor, or a signal in a thread that is
 * ending, finds its state as it was. When a new thread needs one, a state whose thread the kernel no longer knows is used
 * again. There is no key destructor and no handler at thread exit.
 *
 * pthread_create is hooked, so that a thread is sampled from its first instruction on; the hook leaves no frame on the new
 * thread's stack. Threads made otherwise are met at their first allocation.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <threads.h>

#include "collect/agent/agent.h"
#include "collect/agent/signals.h"

__thread struct thread *agent_thread __attribute__((tls_model("initial-exec")));

enum {
	TID_CLAIMED = 0x7fffffff,	/* of a thread that does not run yet */
	LOOK_AT = 8			/* states looked at for one that is free: bounds the cost of making a thread */
};

static _Atomic(struct thread *) look_next;
static bool forked_blocked;	/* what the thread that forked believed of its mask */

static uint32_t current_tid(void)
{
	return (uint32_t)arch_syscall1(SYS_gettid, 0);
}

/* Claims a state whose thread is gone. @own: the calling thread has none, so one with its number is an earlier thread's. */
static struct thread *thread_reuse(uint32_t own)
{
	struct thread *t = atomic_load(&look_next), *found = NULL;
	uint32_t tid;
	int i;

	for (i = 0; i < LOOK_AT && !found; i++) {
		if (!t)
			t = atomic_load(&agent.threads);
		if (!t)
			return NULL;
		tid = atomic_load(&t->shared->tid);
		if (tid != TID_CLAIMED && (tid == own || arch_syscall3(SYS_tgkill, agent.process->pid, tid, 0) == -3) &&
		    atomic_compare_exchange_strong(&t->shared->tid, &tid, TID_CLAIMED))
			found = t;
		t = t->next;
	}
	atomic_store(&look_next, t);
	return found;
}

static struct thread *thread_new(void)
{
	struct thread *t = private_map(sizeof(*t));
	uint64_t offset = t ? arena_take(sizeof(struct shared_thread)) : 0;

	if (!offset)
		return NULL;
	t->shared = arena_at(offset);
	t->shared->slot = atomic_fetch_add(&agent.process->nthreads, 1);
	t->shared->tid = TID_CLAIMED;
	t->first_allocs = t->first_frees = FIRST_TIMED;
	t->heap_stack.walk.max = t->cpu_stack.walk.max = agent.shared->depth;
	agent.process->private_bytes += sizeof(*t);

	t->shared->next = atomic_load(&agent.process->threads);
	while (!atomic_compare_exchange_weak(&agent.process->threads, &t->shared->next, offset))
		;
	t->next = atomic_load(&agent.threads);
	while (!atomic_compare_exchange_weak(&agent.threads, &t->next, t))
		;
	return t;
}

static struct thread *thread_acquire(uint32_t own)
{
	struct thread *t = thread_reuse(own);

	if (!t)
		return thread_new();
	sampler_forget(t);
	t->busy = t->urgent_blocked = t->urgent_held = false;
	t->last_alloc = 0;
	t->net_bytes = 0;
	t->not_before = 0;
	t->coarse_ticks = 0;	/* the first event gets a time stamp */
	t->heap_stack.epoch = t->cpu_stack.epoch = 0;
	walk_state_reset(&t->heap_stack.walk);
	walk_state_reset(&t->cpu_stack.walk);
	return t;
}

static void log_thread(struct thread *t, struct log *log, enum shared_log_index index)
{
	if (log_room(t, log, index, 1))
		log_put(log, (uint64_t)EVENT_THREAD << 61 | t->tid);
}

/* @t becomes the state of the calling thread. */
static void thread_begin(struct thread *t)
{
	t->tid = current_tid();
	atomic_store(&t->shared->tid, t->tid);
	t->shared->name[0] = 0;
	if (agent.shared->instruments & INSTRUMENT_HEAP)
		log_thread(t, &t->heap_log, LOG_HEAP);
	if (agent.shared->instruments & INSTRUMENT_CPU)
		log_thread(t, &t->cpu_log, LOG_CPU);
	atomic_signal_fence(memory_order_seq_cst);
	agent_thread = t;
	if (agent.shared->instruments & INSTRUMENT_CPU)
		sampler_start(t);
}

COLD struct thread *thread_attach(void)
{
	struct thread *t;

	if (!agent_on())
		return NULL;
	t = thread_acquire(current_tid());
	if (!t)
		return NULL;
	t->urgent_blocked = forked_blocked;
	forked_blocked = false;
	thread_begin(t);
	return t;
}

void threads_after_fork(void)
{
	/* the parent's states stay the parent's: their logs lie in its arena */
	atomic_store(&agent.threads, NULL);
	atomic_store(&look_next, NULL);
	forked_blocked = agent_thread && agent_thread->urgent_blocked;
	agent_thread = NULL;
}

static void *thread_main(void *arg)
{
	struct thread *t = arg;
	void *(*start)(void *) = t->start;
	void *start_arg = t->start_arg;

	thread_begin(t);
	return start(start_arg);	/* a jump: nothing of the agent stays on the stack */
}

static void thread_release(struct thread *t)
{
	atomic_store(&t->shared->tid, 0);	/* no thread has this number: free */
}

/* Whether the new thread is to block the sampling signal: by its attributes, or as its creator. */
static bool starts_blocked(const pthread_attr_t *attributes)
{
	sigset_t mask;

	if (attributes && !pthread_attr_getsigmask_np(attributes, &mask))
		return sigismember(&mask, SAMPLER_SIGNAL) == 1;
	return agent_thread && agent_thread->urgent_blocked;
}

HOOK int pthread_create(pthread_t *ret, const pthread_attr_t *attributes, void *(*start)(void *), void *arg)
{
	static int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
	struct thread *t = NULL;
	bool shut;
	int error;

	if (UNLIKELY(!real)) {
		agent_start();
		real = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))
			dlsym(RTLD_NEXT, "pthread_create");
	}
	if (agent_on())
		t = thread_acquire(TID_CLAIMED);
	if (!t)
		return real(ret, attributes, start, arg);
	t->urgent_blocked = starts_blocked(attributes);
	t->start = start;
	t->start_arg = arg;
	shut = t->urgent_blocked && signals_shut();	/* the new thread opens it when it has its state */
	error = real(ret, attributes, thread_main, t);
	if (shut)
		signals_unshut();
	if (error)
		thread_release(t);
	return error;
}
