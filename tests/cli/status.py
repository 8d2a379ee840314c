#!/usr/bin/env python3
"""status - every cell of the table of exit statuses"""
import os
import shutil
import signal
import subprocess

from cells import check, compile_c, done, equal, skip, tare

MEASURING = {"cpu": [], "heap": [], "record": ["-e", "cpu,heap"]}
SH = shutil.which("sh")


def of_a_program_that_runs(command, words):
    for status in (0, 7, 255):
        got = tare(command, *words, "-q", "--no-file", "--", SH, "-c", f"exit {status}")
        equal(f"{command} ends with the program's own {status}", got.status, status)
    for number in (signal.SIGSEGV, signal.SIGTERM, signal.SIGKILL):
        got = tare(command, *words, "-q", "--no-file", "--", SH, "-c", f"ulimit -c 0; kill -{int(number)} $$")
        equal(f"{command} ends with 128+{int(number)} of a program that {number.name} ended", got.status, 128 + number)


def of_a_program_that_cannot_run(command, words):
    def refused(sentence, status, program):
        got = tare(command, *words, "--", program)
        check(f"{command} ends with {status}: {sentence}", got.status == status, got)
        check(f"{command} says why it cannot run: {sentence}", got.err.startswith(b"tare: ") and not got.out, got)

    refused("no such file", 127, "./no-such-program")
    refused("not found by PATH", 127, "no-such-program-anywhere")
    refused("a directory", 126, "./directory")
    refused("a file without the x bit", 126, "./plain")
    if static:
        refused("a static program", 125, static)
    refused("a set-user-id program", 125, "./setuid")
    check(f"{command} leaves no recording of a program that did not start",
          not [f for f in os.listdir(".") if f.endswith(".tare")], os.listdir("."))


def of_wrong_usage(command, words):
    for wrong in (["--no-such-option"], ["-Z"], ["-d"], ["-d", "10"], ["-d", "10parsecs"], ["--color=mauve"], ["-o", "x.nothing"],
                  ["--quiet=yes"]):
        got = tare(command, *words, *wrong, "--", "true")
        if len(wrong) == 1 and wrong[0] == "-d":
            got = tare(command, *words, "-d")
        check(f"{command} {' '.join(wrong)} is wrong usage: 125", got.status == 125 and got.err.startswith(b"tare: "), got)
    got = tare(command, *words)
    check(f"{command} without a program is wrong usage: 125", got.status == 125, got)
    check(f"{command} names the next step of wrong usage", b"\n  next: " in got.err, got)


os.mkdir("directory")
open("plain", "w").write("not a program\n")
os.chmod("plain", 0o644)
shutil.copy(SH, "setuid")
os.chmod("setuid", 0o4755)
static = compile_c("static", "int main(void) { return 0; }", "-static")
if not static:
    skip("a static program", "there is no static C library here")
if os.geteuid() == 0:
    os.chown("setuid", 65534, 65534)    # the bit means something only if it changes the user
    os.chmod("setuid", 0o4755)

for command, words in MEASURING.items():
    of_a_program_that_runs(command, words)
    of_a_program_that_cannot_run(command, words)
    of_wrong_usage(command, words)

for words, status in (
        (["help"], 0), (["help", "cpu"], 0), (["help", "permissions"], 0), (["help", "formats"], 0), (["--help"], 0),
        (["--version"], 0), (["help", "nothing"], 2), (["help", "--nothing"], 2), (["report", "--nothing"], 2),
        (["report", "a", "b"], 2), (["report", "missing.tare"], 1), (["report"], 1), (["report", "plain"], 1),
        (["report", "directory"], 1), (["export"], 2), (["export", "--format=nothing"], 2), (["export", "--list-formats"], 0),
        (["export", "--format=pprof", "missing.tare"], 1), (["cost", "missing.tare"], 1), (["cost", "--nothing"], 2),
        (["cpu", "--help"], 0), (["heap", "--help"], 0), (["record", "--help"], 0), (["report", "--help"], 0),
        (["export", "--help"], 0), (["cost", "--help"], 0), (["help", "--help"], 0), (["cpu", "--version"], 0)):
    got = tare(*words)
    check(f"tare {' '.join(words)} ends with {status}", got.status == status, got)
    if status:
        check(f"tare {' '.join(words)} says why on stderr alone", got.err.startswith(b"tare: ") and not got.out, got)
    else:
        check(f"tare {' '.join(words)} is silent on stderr", got.out and not got.err, got)

got = tare()
check("tare alone is wrong usage, and names the help", got.status == 2 and b"next: tare --help" in got.err, got)
got = tare("haep", "--", "true")
check("a misspelt command gets a suggestion", got.status == 2 and b"did you mean: heap" in got.err, got)
got = tare("cpu", "--fequency=9", "true")
check("a misspelt option gets a suggestion", got.status == 125 and b"did you mean: --frequency" in got.err, got)

# What comes in later versions says so, and does nothing that looks like an answer.
for words, status in ((["lat", "-f", "f", "--", "true"], 125), (["stall", "--", "true"], 125), (["layout", "--", "true"], 125),
                      (["compare", "true", "true"], 125), (["lab"], 2), (["stack", "-p", "1"], 2), (["doctor"], 2), (["top"], 2),
                      (["cpu", "--wall", "--", "true"], 125), (["cpu", "-p", "1"], 125), (["heap", "--mmap", "--", "true"], 125),
                      (["heap", "--sample=1MB", "--", "true"], 125), (["record", "-e", "lat:f", "--", "true"], 125),
                      (["cpu", "--json-stream", "--", "true"], 125), (["cpu", "-o", "x.html", "--", "true"], 125),
                      (["report", "--base", "x.tare"], 2), (["cost"], 2), (["export", "--format=firefox"], 2)):
    got = tare(*words)
    check(f"tare {' '.join(words)}: not in this version ({status})",
          got.status == status and b"not in this version" in got.err and not got.out, got)

# A result that could not be written.
got = tare("cpu", "-q", "-o", "no-such-directory/x.json", "--", "true")
check("a result that cannot be written is 125", got.status == 125 and got.err.startswith(b"tare: "), got)
with open("/dev/full", "w") as full:
    process = subprocess.run([os.environ["TARE"], "cpu", "-q", "--no-file", "--", "true"], stdout=full, stderr=subprocess.PIPE)
check("a full disk under stdout is 125", process.returncode == 125 and process.stderr.startswith(b"tare: "), process)
with open("/dev/full", "w") as full:
    process = subprocess.run([os.environ["TARE"], "help"], stdout=full, stderr=subprocess.PIPE)
check("a full disk under the stdout of help is 1", process.returncode == 1, process)
done()
