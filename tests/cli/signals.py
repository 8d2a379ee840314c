#!/usr/bin/env python3
"""signals - interrupts, signals passed on, time limits, and the sudden end of tare"""
import glob
import json
import os
import signal
import subprocess
import time

from cells import TARE, check, compile_c, document, done, equal, tare

# Says "ready", then spins and allocates until it is told to end; INT and TERM are counted, not obeyed, if asked so.
TARGET = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
static volatile sig_atomic_t ints, usr1s, conts;
static void on(int n) { if (n == SIGINT) ints++; else if (n == SIGUSR1) usr1s++; else conts++; }
int main(int argc, char **argv)
{
	double seconds = atof(argv[1]);
	time_t end = time(NULL) + 60;
	struct timespec began, now;
	if (argc > 2) { signal(SIGINT, on); }
	signal(SIGUSR1, on);
	signal(SIGCONT, on);
	printf("ready %d\n", getpid());
	fflush(stdout);
	clock_gettime(CLOCK_MONOTONIC, &began);
	do {
		void *volatile p = malloc(100);
		free(p);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - began.tv_sec) + (now.tv_nsec - began.tv_nsec) / 1e9 < seconds && time(NULL) < end);
	printf("ints %d usr1s %d conts %d\n", (int)ints, (int)usr1s, (int)conts);
	return 3;
}
"""
target = compile_c("target", TARGET)


class Started:
    """tare with the target, in a process group of its own, as a shell would start it."""

    def __init__(self, *words, target_words):
        self.process = subprocess.Popen([TARE, *words, "--", target, *target_words], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, process_group=0)
        line = self.process.stdout.readline().decode().split()
        self.pid = int(line[1]) if line[:1] == ["ready"] else None

    def interrupt(self):
        os.killpg(self.process.pid, signal.SIGINT)      # what a terminal does

    def end(self):
        self.out, self.err = self.process.communicate(timeout=60)
        self.status = self.process.returncode
        return self

    def __repr__(self):
        return f"status {self.status}, stdout {self.out[-400:]!r}, stderr {self.err[-400:]!r}"


def gone(pid, seconds=10):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            with open(f"/proc/{pid}/stat") as f:
                if f.read().rsplit(")", 1)[1].split()[0] == "Z":
                    return True
        except OSError:
            return True
        time.sleep(0.02)
    return False


def interrupts():
    run = Started("cpu", "-q", "--no-file", "--json", target_words=["30"])
    run.interrupt()
    run.end()
    equal("^C ends a program that obeys it: 128+2", run.status, 130)
    doc = document(run.out)
    equal("the result is there all the same", (doc or {}).get("schema"), "tare.cpu/1")
    equal("the document tells the signal", (doc or {}).get("run", {}).get("signal"), signal.SIGINT)
    run = Started("cpu", "-q", "--no-file", target_words=["1.5", "count"])
    run.interrupt()
    run.end()
    check("^C of a program that goes on: tare waits, and ends with its status", run.status == 3 and b"ints 1 " in run.out, run)
    check("and gives the result", b"\ncost: " in run.out, run)
    run = Started("cpu", "-q", "-o", "twice.tare", target_words=["20", "count"])
    run.interrupt()
    time.sleep(0.3)
    run.interrupt()
    until = time.monotonic() + 10
    while run.process.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    equal("a second ^C ends at once with 130", run.process.poll(), 130)
    equal("the recording of a second ^C can be read", tare("report", "twice.tare").status, 0)
    os.kill(run.pid, signal.SIGKILL)
    run.end()


def passed_on():
    run = Started("cpu", "-q", "--no-file", target_words=["1.5"])
    os.kill(run.process.pid, signal.SIGUSR1)
    run.end()
    check("USR1 to tare reaches the program", b"usr1s 1 " in run.out and run.status == 3, run)
    for number in (signal.SIGTERM, signal.SIGHUP):
        run = Started("heap", "-q", "--no-file", target_words=["30"])
        os.kill(run.process.pid, number)
        run.end()
        check(f"{number.name} to tare ends the program, and tare with 128+{int(number)}", run.status == 128 + number, run)
        check(f"the result of a run that {number.name} ended is there", b"\ncost: " in run.out, run)
    run = Started("cpu", "-q", "--no-file", target_words=["1.5"])
    os.kill(run.process.pid, signal.SIGTSTP)
    until = time.monotonic() + 5
    state = ""
    while time.monotonic() < until and state != "T":
        state = open(f"/proc/{run.pid}/stat").read().rsplit(")", 1)[1].split()[0]
        time.sleep(0.02)
    equal("TSTP to tare stops the program", state, "T")
    os.kill(run.process.pid, signal.SIGCONT)
    os.kill(run.pid, signal.SIGCONT) if gone(run.pid, 0.5) else None
    run.end()
    check("CONT lets it go on to its end", run.status == 3, run)


def time_limit():
    before = time.monotonic()
    run = Started("cpu", "-q", "--no-file", "--json", "-d", "300ms", target_words=["2.5"])
    lines = []
    while True:
        line = run.process.stdout.readline()
        if not line or line.startswith(b"{"):
            lines.append(line)
            break
        lines.append(line)
    alive = not gone(run.pid, 0)
    check("-d gives the result while the program runs on", alive and lines[-1].startswith(b"{"), lines)
    doc = json.loads(lines[-1]) if lines[-1] else {"run": {}}
    check("with -d the exit code is not known yet: null", doc["run"].get("exit_code") is None, doc["run"])
    run.end()
    check("then tare waits, and ends with the program's status", run.status == 3 and time.monotonic() - before > 1.5, run)
    got = tare("cpu", "-q", "--no-file", "-d", "1h", "--", "sh", "-c", "exit 9")
    equal("a program that ends before -d is over ends the measurement", got.status, 9)


def sudden_end():
    os.mkdir("killed")
    os.chdir("killed")
    run = Started("heap", "-q", target_words=["2"])
    time.sleep(1.0)
    os.kill(run.process.pid, signal.SIGKILL)
    run.process.wait()
    check("kill -9 of tare does not end the program", not gone(run.pid, 0))
    files = glob.glob("tare.*.tare")
    equal("a recording is left", len(files), 1)
    got = tare("report", "--json")
    doc = document(got.out)
    check("it can be read", got.status == 0 and doc is not None, got)
    equal("and is said to be incomplete", (doc or {}).get("run", {}).get("complete"), False)
    check("it holds what happened before", ((doc or {}).get("heap") or {}).get("calls", 0) > 1000, got.err)
    check("the program goes on to its end", gone(run.pid, 20))
    run.process.stdout.close()
    run.process.stderr.close()


interrupts()
passed_on()
time_limit()
sudden_end()
done()
