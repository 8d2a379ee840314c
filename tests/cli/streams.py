#!/usr/bin/env python3
"""streams - what goes to stdout, what to stderr, and how"""
import os
import shutil
import subprocess

from cells import check, document, done, equal, skip, tare

SH = shutil.which("sh")
TALK = "echo to-stdout; echo to-stderr >&2"


def text_result():
    got = tare("cpu", "--no-file", "--", SH, "-c", TALK)
    check("the program's stdout comes first and unchanged", got.out.startswith(b"to-stdout\n"), got)
    check("the last line of a text result is the cost", got.out.decode().splitlines()[-1].startswith("cost: "), got)
    check("without a recording stderr is the program's alone", got.err == b"to-stderr\n", got)
    got = tare("cpu", "--", SH, "-c", TALK)
    check("after the result come what was written and the next step",
          b"\nwrote tare.sh." in got.err and b"\nnext: tare report tare.sh." in got.err, got)
    got = tare("cpu", "-q", "--", SH, "-c", TALK)
    check("-q drops them", got.err == b"to-stderr\n", got)
    check("-q keeps the result", b"\ncost: " in got.out, got)


def json_result():
    for command, words in (("cpu", []), ("heap", []), ("record", ["-e", "cpu,heap"])):
        got = tare(command, *words, "--json", "--no-file", "-q", "--", SH, "-c", "printf without-end")
        doc = document(got.out)
        check(f"{command} --json: the last line of stdout parses", doc is not None, got)
        check(f"{command} --json: it begins on a new line", got.out.startswith(b"without-end\n"), got)
        equal(f"{command} --json: its schema fits", (doc or {}).get("schema"), f"tare.{command}/1")
        equal(f"{command} --json: run.file is null without a recording", (doc or {}).get("run", {}).get("file"), None)
        equal(f"{command} --json: the program's status is in it", (doc or {}).get("run", {}).get("exit_code"), 0)
        check(f"{command} --json is one line", got.out.count(b"\n") <= 2 and got.out.endswith(b"\n"), got)
    with open("out", "wb") as out:
        subprocess.run([os.environ["TARE"], "cpu", "--json", "--no-file", "-q", "--", SH, "-c", "echo one line"], stdout=out)
    lines = open("out", "rb").read().split(b"\n")
    check("in a file, no empty line comes between", lines[0] == b"one line" and lines[1].startswith(b"{"), lines[:2])
    got = tare("cpu", "--json", "--no-file", "./no-such-program")
    check("after a failure there is no document", got.out == b"", got)


def output_file():
    got = tare("heap", "-o", "a b.json", "--", SH, "-c", "printf mine")
    equal("with -o F.json stdout is the program's alone", got.out, b"mine")
    doc = document(open("a b.json", "rb").read())
    equal("-o F.json holds the document", (doc or {}).get("schema"), "tare.heap/1")
    check("what was written is named", b"wrote a b.json\n" in got.err, got)
    first = os.stat("a b.json").st_ino
    tare("heap", "-q", "--no-file", "-o", "a b.json", "--", "true")
    check("-o replaces an older result by a new file", os.stat("a b.json").st_ino != first)
    tare("heap", "-q", "--no-file", "-o", "x.txt", "--", "true")
    check("-o F.txt holds the text", open("x.txt").read().splitlines()[-1].startswith("cost: "))
    check("nothing half-written is left", not [f for f in os.listdir(".") if ".new-" in f], os.listdir("."))


def recordings():
    got = tare("cpu", "-o", "r.tare", "--", SH, "-c", "echo mine")
    equal("with -o F.tare stdout is the program's alone", got.out, b"mine\n")
    check("-o F.tare is a recording", tare("report", "r.tare").status == 0)
    before = open("r.tare", "rb").read()
    got = tare("cpu", "-o", "r.tare", "--", SH, "-c", "echo started")
    check("a recording is not replaced unasked", got.status == 125 and b"--force" in got.err, got)
    check("then the program is not started", got.out == b"", got)
    check("the recording is as it was", open("r.tare", "rb").read() == before)
    got = tare("cpu", "-o", "r.tare", "--force", "--", "true")
    check("--force replaces it", got.status == 0 and open("r.tare", "rb").read() != before, got)
    got = tare("cpu", "--json", "-o", "s.tare", "--", "true")
    check("--json beside -o F.tare gives the document on stdout", (document(got.out) or {}).get("schema") == "tare.cpu/1", got)
    check("--no-file with -o F.tare is wrong usage", tare("cpu", "--no-file", "-o", "n.tare", "--", "true").status == 125)
    os.mkdir("names")
    got = tare("cpu", "-q", "--json", "--", SH, "-c", "true", cwd="names")
    doc = document(got.out) or {}
    name = f"tare.sh.{doc.get('run', {}).get('pid')}.tare"
    equal("an automatic name has program and PID", os.listdir("names"), [name])
    equal("run.file names it", doc.get("run", {}).get("file"), name)
    os.mkdir("taken")
    with open("/proc/sys/kernel/pid_max") as f:
        last = int(f.read())
    for pid in range(os.getpid(), os.getpid() + 2000):      # one of them will be the program's; the kernel begins anew at 300
        open(f"taken/tare.sh.{pid if pid < last else pid - last + 300}.tare", "w").close()
    got = tare("cpu", "-q", "--json", "--", SH, "-c", "true", cwd="taken")
    doc = document(got.out) or {}
    name = f"tare.sh.{doc.get('run', {}).get('pid')}.2.tare"
    check("a taken name gets .2 before the suffix", got.status == 0 and doc["run"]["file"] == name and os.path.exists(f"taken/{name}"), got)
    check("a taken name is never overwritten", os.path.getsize(f"taken/{name.replace('.2.', '.')}") == 0)
    os.mkdir("empty")
    got = tare("report", cwd="empty")
    check("report without a recording here says what to type", got.status == 1 and b"next: tare record" in got.err, got)
    got = tare("report", cwd="names")
    check("report takes the newest recording here", got.status == 0 and b"\ncost: " in got.out, got)


def no_file():
    os.mkdir("clean")
    got = tare("heap", "--no-file", "--", "true", cwd="clean")
    check("--no-file leaves nothing", os.listdir("clean") == [] and got.status == 0, os.listdir("clean"))
    left = [f for f in os.listdir(os.environ["TMPDIR"]) if f.startswith("tare-")]
    check("--no-file leaves nothing in TMPDIR", not left, left)
    got = tare("heap", "--no-file", "--", "true", env={"TMPDIR": "/nonexistent"})
    check("--no-file where TMPDIR is no directory takes another place", got.status == 0 and b"\ncost: " in got.out, got)


def escapes():
    for sentence, words, env in (("not a terminal", [], {"TERM": "xterm"}), ("--color=never", ["--color=never"], {"TERM": "xterm"}),
                                 ("NO_COLOR", [], {"NO_COLOR": "1", "TERM": "xterm"}), ("TERM=dumb", [], {"TERM": "dumb"})):
        got = tare("report", *words, "names/" + os.listdir("names")[0], env=env)
        check(f"{sentence}: no escape byte", b"\x1b" not in got.out + got.err and got.status == 0, got)
    got = tare("report", "--color=always", "names/" + os.listdir("names")[0], env={"NO_COLOR": "1"})
    check("--color=always beats NO_COLOR", b"\x1b" in got.out, got)
    got = tare("report", "names/" + os.listdir("names")[0], env={"LC_ALL": "C"})
    check("LC_ALL=C: no byte above 0x7f", all(b < 0x80 for b in got.out + got.err) and got.status == 0, got)
    got = tare("help", env={"LC_ALL": "C"})
    check("LC_ALL=C: the help is ASCII", all(b < 0x80 for b in got.out), got)


def terminal():
    if not shutil.which("script"):
        skip("a terminal", "there is no script(1) here")
        return
    for env, wanted in (({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True)):
        full = dict(os.environ, TERM="xterm", **env)
        name = os.listdir("names")[0]
        p = subprocess.run(["script", "-qec", f"'{os.environ['TARE']}' report names/{name}", "/dev/null"], stdin=subprocess.DEVNULL,
                           capture_output=True, env=full)
        check(f"on a terminal with {env or 'nothing set'}: {'colour' if wanted else 'no colour'}",
              (b"\x1b[" in p.stdout) == wanted, p)
    full = dict(os.environ, TERM="dumb")
    p = subprocess.run(["script", "-qec", f"'{os.environ['TARE']}' cpu --no-file -- sh -c 'i=0; while [ $i -lt 100000 ]; do "
                        "i=$((i+1)); done'", "/dev/null"], stdin=subprocess.DEVNULL, capture_output=True, env=full)
    check("TERM=dumb on a terminal: progress has no escape byte", b"\x1b" not in p.stdout and p.returncode == 0, p)


def broken_pipe():
    name = os.listdir("names")[0]
    p = subprocess.run(["bash", "-c", f"\"$TARE\" report names/{name} | true; echo ${{PIPESTATUS[0]}}"], capture_output=True)
    check("a reader that has gone is no crash, and needs no words", p.stdout in (b"1\n", b"0\n") and p.stderr == b"", p)
    p = subprocess.run(["bash", "-c", "\"$TARE\" cpu -q --no-file -- sh -c 'trap \"echo trapped >&2\" PIPE; kill -PIPE $$; exit 3' "
                        ">/dev/null; echo $?"], capture_output=True)
    check("the program does not inherit an ignored SIGPIPE", p.stdout == b"3\n" and p.stderr == b"trapped\n", p)


text_result()
json_result()
output_file()
recordings()
no_file()
escapes()
terminal()
broken_pipe()
done()
