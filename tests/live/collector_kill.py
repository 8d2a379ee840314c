#!/usr/bin/env python3
"""collector_kill - tare or the program is killed, stopped or interrupted at a terminal; limits on files, memory and places"""
import os
import pty
import re
import resource
import select
import signal
import subprocess
import time

from cells import TARE, check, compile_c, document, done, equal, tare

# Prints a line, allocates (RATE a ms, kept if "keep") and burns CPU for some seconds; then prints what it saw.
TARGET = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static volatile sig_atomic_t ints;
static void on(int n) { (void)n; ints++; }
static void *volatile kept;
__attribute__((noinline)) static void work(void) { for (int i = 0; i < 100; i++) { kept = malloc(50); free(kept); } }
int main(int argc, char **argv)
{
	double seconds = atof(argv[1]);
	struct timespec a, b, some = { 0, 1000000 };
	long rounds = 0;
	if (argc > 2 && strstr(argv[2], "catch"))
		signal(SIGINT, on);
	if (argc > 2 && strstr(argv[2], "segv"))
		seconds = 0.3;
	printf("ready %d\n", getpid());
	fflush(stdout);
	clock_gettime(CLOCK_MONOTONIC, &a);
	do {
		work();
		rounds++;
		if (argc < 3 || !strstr(argv[2], "fast"))
			nanosleep(&some, NULL);
		clock_gettime(CLOCK_MONOTONIC, &b);
	} while ((b.tv_sec - a.tv_sec) + (b.tv_nsec - a.tv_nsec) / 1e9 < seconds);
	if (argc > 2 && strstr(argv[2], "segv"))
		*(volatile int *)8 = 1;
	printf("ints %d\n", (int)ints);
	return 3;
}
"""
target = compile_c("target", TARGET)


def start(*words, target_words, **options):
    process = subprocess.Popen([TARE, *words, "--", target, *target_words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, process_group=0, **options)
    return process, int(process.stdout.readline().split()[1])


def rss_bytes(pid):
    with open(f"/proc/{pid}/status") as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read())[1]) * 1024


def killed_tare():
    process, pid = start("record", "-q", "-e", "heap,cpu", "-o", "killed.tare", target_words=["4", "fast"])
    time.sleep(1)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    time.sleep(0.7)
    before = rss_bytes(pid)
    time.sleep(1)
    after = rss_bytes(pid)
    check("after kill -9 of tare the program's memory does not grow", after - before < 4 << 20, (before, after))
    out, err = process.communicate(timeout=30)
    equal("after kill -9 of tare the program runs to its normal end", (out, err), (b"ints 0\n", b""))
    got = tare("report", "--json", "killed.tare")
    doc = document(got.out)
    check("the recording opens", got.status == 0 and doc, got)
    equal("and says that it is not complete", doc["run"]["complete"], False)
    check("both instruments are in it", doc["heap"]["calls"] > 1000 and doc["cpu"]["samples"] > 100, doc["heap"]["calls"])


def killed_program():
    for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGABRT, signal.SIGALRM):
        process, pid = start("heap", "-q", "--no-file", "--json", target_words=["30"])
        time.sleep(0.2)
        os.kill(pid, number)
        out, err = process.communicate(timeout=30)
        doc = document(out)
        equal(f"{number.name} of the program: status, signal, something measured",
              (process.returncode, doc and doc["run"]["signal"], doc and doc["calls"] > 0), (128 + number, number, True))
        equal(f"{number.name} of the program: calls but those of libc are whole rounds", (doc or {"calls": 0})["frees"] >= 100, True)
    got = tare("cpu", "-q", "--no-file", "--json", "--", target, "1", "segv,fast")
    doc = document(got.out)
    equal("SIGSEGV of the program: status, signal, something measured",
          (got.status, doc and doc["run"]["signal"], doc and doc["samples"] > 50), (139, 11, True))


class Terminal:
    """tare on a pseudo terminal of its own, in a foreground group under a leader, as a shell starts it there."""

    def __init__(self, *words):
        leader, self.fd = pty.fork()
        if leader == 0:
            signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            group = os.fork()
            if group == 0:
                os.setpgid(0, 0)
                os.tcsetpgrp(0, os.getpid())
                signal.signal(signal.SIGTTOU, signal.SIG_DFL)
                os.execv(TARE, [TARE, *words])
            print(f"tare is {group}", flush=True)
            _, status = os.waitpid(group, 0)
            code = os.waitstatus_to_exitcode(status)
            print(f"tare ended {code}", flush=True)
            os._exit(0)
        self.leader, self.text = leader, b""
        self.read_until(b"\n")
        self.pid = int(re.search(rb"tare is (\d+)", self.text)[1])

    def read_until(self, word, seconds=20):
        end = time.monotonic() + seconds
        while word not in self.text and time.monotonic() < end:
            if select.select([self.fd], [], [], 0.1)[0]:
                try:
                    self.text += os.read(self.fd, 65536)
                except OSError:
                    break
        return word in self.text

    def type(self, keys):
        os.write(self.fd, keys)

    def end(self, seconds=30):
        if not self.read_until(b"tare ended ", seconds):
            os.kill(self.pid, signal.SIGKILL)
            self.read_until(b"tare ended ", 5)
            os.waitpid(self.leader, 0)
            return None
        self.read_until(b"\0", 0.3)
        os.waitpid(self.leader, 0)
        return int(re.search(rb"tare ended (-?\d+)", self.text)[1])


def terminals():
    t = Terminal("cpu", "--no-file", "--", target, "30", "fast")
    t.read_until(b"ready")
    t.type(b"\x03")
    equal("^C at a terminal ends a program that does not catch it: 130", t.end(), 130)
    check("and the result is shown", b"cost:" in t.text, t.text[-500:])
    t = Terminal("cpu", "--no-file", "--", target, "1.5", "catch,fast")
    t.read_until(b"ready")
    t.type(b"\x03")
    equal("^C at a terminal and a program that catches it: its own status", t.end(), 3)
    check("it saw one ^C, and the result comes", b"ints 1\r" in t.text and b"cost:" in t.text, t.text[-500:])
    t = Terminal("heap", "-o", "second.tare", "--", target, "25", "catch")
    t.read_until(b"ready")
    pid = int(re.search(rb"ready (\d+)", t.text)[1])
    t.type(b"\x03")
    time.sleep(0.3)
    t.type(b"\x03")
    equal("a second ^C: 130", t.end(10), 130)
    os.kill(pid, signal.SIGKILL)
    equal("the recording of that can be read", tare("report", "second.tare").status, 0)
    t = Terminal("cpu", "--no-file", "--", target, "2", "fast")
    t.read_until(b"ready")
    pid = int(re.search(rb"ready (\d+)", t.text)[1])
    t.type(b"\x1a")
    states, until = "", time.monotonic() + 5
    while time.monotonic() < until and states != "TT":
        states = "".join(open(f"/proc/{p}/stat").read().rsplit(")", 1)[1].split()[0] for p in (t.pid, pid))
        time.sleep(0.02)
    equal("^Z at a terminal stops both", states, "TT")
    os.killpg(os.getpgid(t.pid), signal.SIGCONT)
    equal("fg lets both go on to the end", t.end(), 3)


def places():
    os.makedirs("with space", exist_ok=True)
    got = tare("heap", "-q", "--no-file", "--json", "--", target, "0.2", env={"TMPDIR": os.path.abspath("with space")})
    check("a TMPDIR with a space in it is no obstacle", got.status == 3 and (document(got.out) or {}).get("calls", 0) > 0, got)
    got = tare("heap", "-q", "--no-file", "--json", "--", target, "0.2", env={"TMPDIR": "/nonexistent"})
    check("a TMPDIR that is not there is no obstacle", got.status == 3 and (document(got.out) or {}).get("calls", 0) > 0, got)
    if os.path.exists("/proc/self"):
        got = tare("heap", "-q", "--", target, "0.2", cwd="/proc")
        check("a directory where no recording can be made: 125, and a sentence", got.status == 125 and b"ready" not in got.out
              and got.err.startswith(b"tare: "), got)
    for out in ("/dev/full", "/nonexistent/x.json", "/proc/x.tare"):
        got = tare("heap", "-q", "-o", out, "--", target, "0.2")
        check(f"-o {out}: 125, and a sentence", got.status == 125 and got.err.startswith(b"tare: "), got)
    with open("/dev/full", "wb") as full:
        process = subprocess.run([TARE, "heap", "-q", "--no-file", "--json", "--", "/bin/true"], stdout=full,
                                 stderr=subprocess.PIPE)
    check("a result that cannot be written to stdout: 125, and a sentence", process.returncode == 125 and
          process.stderr.startswith(b"tare: "), process)


def limits():
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    for sentence, what, value in (("ulimit -v 2 GB", resource.RLIMIT_AS, 2 << 30), ("ulimit -v 300 MB", resource.RLIMIT_AS, 300 << 20),
                                  ("ulimit -n 20", resource.RLIMIT_NOFILE, 20),
                                  ("ulimit -l 64 KB", resource.RLIMIT_MEMLOCK, 64 << 10),
                                  ("ulimit -i 0", resource.RLIMIT_SIGPENDING, 0),
                                  ("ulimit -s 256 KB", resource.RLIMIT_STACK, 256 << 10)):
        for command in ("heap", "cpu"):
            # the limit is the program's: a shell under tare sets it for what it starts
            letter = {resource.RLIMIT_AS: f"-v {value >> 10}", resource.RLIMIT_NOFILE: f"-n {value}",
                      resource.RLIMIT_MEMLOCK: f"-l {value >> 10}", resource.RLIMIT_SIGPENDING: f"-i {value}",
                      resource.RLIMIT_STACK: f"-s {value >> 10}"}[what]
            got = tare(command, "-q", "--no-file", "--json", "--", "/bin/bash", "-c", f"ulimit {letter}; exec {target} 0.4 fast")
            doc = document(got.out) or {}
            functions = ({f["name"] for s in doc.get("sites", []) for f in s["stack"]} if command == "heap" else
                         {f["name"] for f in doc.get("functions", [])})
            check(f"{sentence} of the program: {command} measures it all the same", got.status == 3 and "work" in functions and
                  got.err == b"", (got, doc.get("notes")))
    got = tare("heap", "-q", "-o", "limited.tare", "--", target, "1", "fast", preexec_fn=limit)
    check("a limit on the recording's size: the program ends as it does, tare says it and ends with 125 or its status",
          got.status in (125, 3) and b"ints 0" in got.out and (got.status == 3 or got.err.startswith(b"tare: ")), got)


killed_tare()
killed_program()
terminals()
places()
limits()
done()
