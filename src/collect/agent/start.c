/*
 * start - how the agent begins, and what becomes of it at fork and exit
 *
 * It begins at the first call that any hook gets, which is before the constructors of most libraries, and at the latest in
 * its own constructor. The environment of the program holds one entry, the preload, and nothing else; a program that changes its
 * environment changes nothing here. Where anything is missing the agent stays inert: every hook
 * calls the real function.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/agent/agent.h"
#include "collect/agent/signals.h"

struct agent agent;

static uint64_t start_took_ns;	/* CPU time of agent_start() */

static struct agent kept;	/* what it was, for a child of fork; shared NULL: inert */

static bool process_register(int32_t forked_from, uint32_t first_node)
{
	struct shared_header *shared = agent.shared;
	struct shared_process *process;
	uint64_t offset;
	long n;

	agent.process = NULL;
	offset = arena_take(0);
	if (!offset)
		return false;
	process = arena_at(offset);
	process->process = atomic_fetch_add(&shared->nprocesses, 1);
	process->pid = (uint32_t)arch_syscall1(SYS_getpid, 0);
	process->parent_pid = (uint32_t)arch_syscall1(SYS_getppid, 0);
	process->forked_from = forked_from;
	process->first_node = first_node;
	process->start_ticks = arch_ticks();
	n = arch_syscall4(SYS_readlinkat, AT_FDCWD, (long)"/proc/self/exe", (long)process->exe,
		sizeof(process->exe) - 1);
	process->exe[n > 0 ? n : 0] = 0;
	atomic_store(&process->extents, offset - sizeof(struct shared_extent));
	atomic_store(&process->free, (offset + sizeof(*process) + 63) & ~63ull);
	agent.process = process;
	agent.first_node = first_node;
	if (nodes_init())
		return false;
	process->next = atomic_load(&shared->processes);
	while (!atomic_compare_exchange_weak(&shared->processes, &process->next, offset))
		;
	return true;
}

/* The agent records nothing from here on; memory that others may hold stays where it is. */
static void become_inert(void)
{
	agent.heap = false;
	agent.shared = kept.shared = NULL;
	exec_follow(NULL);
}

static void keep(void)
{
	kept = agent;
	arch_syscall3(SYS_madvise, (long)&agent, sizeof(agent), MADV_WIPEONFORK);
}

static bool allocator_is_glibc(void)
{
	struct dl_find_object allocator, libc;

	return !_dl_find_object(dlsym(RTLD_NEXT, "malloc"), &allocator) && !_dl_find_object((void *)strrchr, &libc) &&
	       allocator.dlfo_link_map == libc.dlfo_link_map;
}

static void start(void)
{
	struct dl_find_object self;

	hooks_init();
	signals_init();
	exec_init();
	if (_dl_find_object((void *)start, &self) || !self.dlfo_link_map->l_name)
		return;
	agent.shared = arena_open(self.dlfo_link_map->l_name);
	if (!agent.shared)
		return;
	agent.tick_cost = agent.shared->tick_cost;
	if ((agent.shared->no_children && (uint32_t)arch_syscall1(SYS_getpid, 0) != agent.shared->root_pid) ||
	    walk_init() || !process_register(-1, EVENT_FIRST_NODE)) {
		become_inert();
		return;
	}
	objects_init();
	exec_follow(self.dlfo_link_map->l_name);
	if (agent.shared->instruments & INSTRUMENT_HEAP) {
		/* glibc aligns every block to 16; others align small ones to 8 */
		shadow_init(allocator_is_glibc() ? 4 : 3);
		if (dlsym(RTLD_DEFAULT, "malloc") != (void *)malloc)
			atomic_fetch_or(&agent.process->flags, PROCESS_OWN_MALLOC);
		agent.heap = true;
	}
	if (agent.shared->instruments & INSTRUMENT_CPU)
		sampler_init();
	keep();
}

COLD void agent_start(void)
{
	static bool started;
	uint64_t begin_ns;

	if (started)
		return;
	started = true;
	begin_ns = thread_cpu_ns();
	start();
	start_took_ns = thread_cpu_ns() - begin_ns;
}

static void copy_argv(int argc, char **argv)
{
	struct shared_process *process = agent.process;
	uint32_t used = 0;
	size_t n;
	int i;

	for (i = 0; i < argc && argv[i]; i++) {
		n = strlen(argv[i]) + 1;
		if (used + n > sizeof(process->argv))
			break;
		memcpy(process->argv + used, argv[i], n);
		used += (uint32_t)n;
	}
	process->argv_bytes = used;
	atomic_store_explicit(&process->argv_ready, 1, memory_order_release);
}

static void after_fork(void)
{
	struct shared_process *parent = kept.process;
	uint32_t first_node;

	if (!kept.shared || (agent.shared && agent.process->pid == (uint32_t)arch_syscall1(SYS_getpid, 0)))
		return;		/* inert, or this child knows already */
	agent = kept;
	if (agent.shared->no_children) {
		become_inert();
		signals_give_back();
		return;
	}
	first_node = MIN(atomic_load(&parent->nnodes), 1u << EVENT_NODE_BITS);
	threads_after_fork();
	objects_after_fork();
	if (!process_register((int32_t)parent->process, first_node)) {
		become_inert();
		signals_give_back();
		return;
	}
	memcpy(agent.process->argv, parent->argv, parent->argv_bytes);
	agent.process->argv_bytes = parent->argv_bytes;
	atomic_store_explicit(&agent.process->argv_ready, 1, memory_order_release);
	keep();
	thread_attach();
}

COLD bool agent_wiped(void)
{
	if (!kept.shared)
		return false;
	after_fork();
	return agent.shared != NULL;
}

static void note_exit(int status)
{
	/* a child of vfork runs here too, in its parent's memory */
	if (!agent.shared || (uint32_t)arch_syscall1(SYS_getpid, 0) != agent.process->pid)
		return;
	atomic_store(&agent.process->exit_code, (uint32_t)(status & 0xff) + 1);
	if (agent_thread)
		sampler_settle(agent_thread);
}

static void on_exit_call(int status, void *arg)
{
	note_exit(status);
}

/* Both may be called from signal handlers and after vfork: no look-up here, the kernel is called as libc does. */
HOOK __attribute__((noreturn)) void _exit(int status)
{
	note_exit(status);
	for (;;)
		arch_syscall1(SYS_exit_group, status);
}

HOOK __attribute__((noreturn)) void _Exit(int status)
{
	_exit(status);
}

HOOK pid_t _Fork(void)
{
	static pid_t (*real)(void);
	pid_t pid;

	if (UNLIKELY(!real))
		real = (pid_t(*)(void))dlsym(RTLD_NEXT, "_Fork");
	pid = real();
	if (pid == 0)
		after_fork();
	return pid;
}

static __attribute__((constructor)) void agent_construct(int argc, char **argv)
{
	uint64_t begin_ns = thread_cpu_ns(), before_ns = start_took_ns;	/* 0 unless a hook was called already */
	struct thread *t;

	agent_start();
	if (!agent.shared)
		return;
	copy_argv(argc, argv);
	pthread_atfork(NULL, NULL, after_fork);
	on_exit(on_exit_call, NULL);
	t = thread_here();
	if (!t)
		return;
	t->shared->cost[COST_START].times++;
	cost_add(&t->shared->cost[COST_START], ns_in_ticks(before_ns + thread_cpu_ns() - begin_ns));
}
