#!/usr/bin/env python3
"""agent_signals - programs with signals of their own see the same signals under tare, and are sampled all the same"""
import os
import subprocess

from cells import TARE, check, compile_c, document, done, equal, skip
from untouched import compiled, measured, plain, untouched

CASES = [       # sentence, words, CPU time in ms that it burns at least
    ("its own SIGPROF timer", ["prof"], 300),
    ("its own SIGVTALRM timer", ["virtual"], 300),
    ("its own SIGALRM timer", ["alarm"], 300),
    ("its own SIGURG handler", ["urgent"], 150),
    ("urgent data on a socket", ["out-of-band"], 60),
    ("SIGURG blocked, pending, waited for", ["blocked-urgent"], 60),    # and 90 while one is pending, when there are no samples
    ("SIGURG waited for by sigsuspend", ["suspended"], 50),
    ("all signals blocked", ["all-blocked"], 400),
    ("all signals blocked in threads", ["blocked-in-threads"], 400),
    ("sigset, sighold, siginterrupt", ["old-functions"], 400),
    ("a call that its own SIGURG interrupts, or not", ["own-interrupt"], 100),
    ("calls that wait are not interrupted", ["interrupted"], 120),
    ("calls that wait are not interrupted after work of the kernel", ["interrupted-in-kernel"], 30),
    ("faults that siglongjmp recovers from", ["faults"], 140),
    ("masks across siglongjmp", ["jumped-masks"], 50),
    ("masks in handlers", ["handler-masks"], 100),
    ("an alternate stack of 16 KB", ["alternate", "16384"], 90),
    ("an alternate stack of 2 KB more than the least", ["alternate", "2048"], 90),
    ("stack overflow handled on an alternate stack", ["overflow"], 40),
]

URGENT = [      # the same, of urgent.c: it uses the sampler's own signal, in ways that few programs do
    ("sysv_signal, sigignore, sigblock and their kin", ["kinds-of-signal"], 90),
    ("masks and handlers of children", ["children"], 60),
    ("SIG_IGN discards what is pending", ["discarded"], 60),
    ("SIGURG let in by sigsuspend, ppoll, pselect, epoll_pwait, sigpause", ["waits"], 120),
    ("SIGURG blocked by all threads, waited for by one", ["one-waits"], 60),
    ("a busy handler on an alternate stack with no room for another", ["busy-on-alternate"], 240),
    ("a handler left by a jump without a mask", ["jump-off"], 100),
    ("a handler that nests, its frames and its stack", ["nests"], 100),
    ("two signals on one alternate stack", ["timer-on-alternate"], 300),
    ("each SIGURG to a process arrives", ["each-arrives"], 50),
]

# Becomes another program for which perf_event_open is forbidden, as in many containers.
NO_PERF = r"""
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };
	if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
		return 77;
	execv(argv[1], argv + 1);
	return 78;
}
"""

program, urgent = compiled("signals"), compiled("urgent")
if not check("signals.c and urgent.c can be built", program and urgent):
    done()
for path, (sentence, words, ms) in [(program, case) for case in CASES] + [(urgent, case) for case in URGENT]:
    doc = untouched(sentence, "cpu", path, *words, options=("-F", "4999"))
    if doc:
        # whatever the program blocks and handles, its time is seen
        wanted = ms * 1e6 / doc["period_ns"]
        enough = 0.85 * wanted - 5
        for _ in range(3):      # a busy machine takes time away from one run or another
            if doc["samples"] < enough:
                doc = measured("cpu", path, *words, options=("-F", "4999"))[1] or doc
        check(f"{sentence}: sampled all along", doc["samples"] >= enough, (doc["samples"], wanted))


def without_perf():
    """Samples come from a timer then."""
    forbidden = compile_c("no_perf", NO_PERF)
    if not forbidden or plain(forbidden, "/bin/true").status:
        return skip("without perf events", "no seccomp here")
    for sentence, words, ms in CASES:
        if words[0] not in ("prof", "all-blocked", "interrupted", "interrupted-in-kernel", "faults"):
            continue
        alone = plain(program, *words)
        got = subprocess.run([forbidden, TARE, "cpu", "-q", "--no-file", "-o", "timer.json", "--", program, *words],
                             capture_output=True, stdin=subprocess.DEVNULL)
        with open("timer.json", "rb") as f:
            doc = document(f.read())
        os.unlink("timer.json")
        sentence = f"without perf events: {sentence}"
        equal(f"{sentence}: status and output", (got.returncode, got.stdout, got.stderr), (alone.status, alone.out, alone.err))
        check(f"{sentence}: it is said", any(n["code"] == "no-permission" for n in doc["notes"]), doc["notes"])
        wanted = ms * 1e6 / doc["period_ns"]
        check(f"{sentence}: sampled all along", doc["samples"] >= 0.7 * wanted - 5, (doc["samples"], wanted))


without_perf()
for sentence, words, ms in CASES[3:8] + CASES[13:14] + CASES[18:]:
    untouched(sentence, "heap", program, *words)
for sentence, words, ms in URGENT[:5]:
    untouched(sentence, "heap", urgent, *words)
done()
