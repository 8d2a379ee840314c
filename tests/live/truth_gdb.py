#!/usr/bin/env python3
"""Stacks of a program without frame pointers at random stops: gdb's and libunwind's, against tare's walk

programs/truth/stops.c is stopped by a timer; gdb prints its frames and passes the signal on, and the program's own
handler walks the same stop. All addresses of all frames have to be equal, to the outermost. Where gdb and tare differ,
and one of them is known to be wrong, the stop is named with who is right:
  - __longjmp: its tables describe the target from some point on. gdb and tare follow the tables; libunwind 1.6 ends at
    the target.
"""
import collections
import json
import os
import platform
import re
import subprocess

from cells import check, done, equal, skip
from measured import cpu
from peers import missing

BUILD, SOURCE = os.environ["BUILD"], os.environ["SOURCE"]
PROGRAMS = SOURCE + "/tests/programs/truth"
STOPS = 2000
PROLOGUE = re.compile(r"(push|pop|ret|leave)\b|(sub|add|lea|mov) .*%rsp$")
# where a stop counts as seen in it, by the symbol of its innermost frame
KINDS = {
    "assembly of libc": re.compile(r"__(mem|str)\w+_(avx|evex|sse|erms|generic)|__mpn_|__(sig)?setjmp|__longjmp"),
    "a PLT stub": re.compile(r"@plt|section \.plt"),
    "the lazy binder": re.compile(r"_dl_runtime_resolve|_dl_fixup|do_lookup_x|_dl_lookup_symbol_x|check_match"),
}


def build(*flags):
    libs = [f"{BUILD}/src/{name}/lib{name}.a" for name in ("walk", "arch", "base")]
    made = subprocess.run([os.environ.get("CC", "cc"), "-O2", "-fomit-frame-pointer", "-fno-builtin", "-no-pie", "-Wl,-z,lazy", f"-I{SOURCE}/src",
                           f"-I{SOURCE}/src/arch/{platform.machine()}", f"-I{SOURCE}/include", "-o", "stops", f"{PROGRAMS}/stops.c",
                           *libs, "-lpthread", *flags], capture_output=True, text=True)
    return made.returncode == 0, made.stderr


def stops(mode):
    """gdb's view, and the program's answers: (list, {who: [(end, addresses)]})"""
    subprocess.run(["gdb", "-batch", "-nx", "-x", f"{PROGRAMS}/stops_gdb.py", "--args", "./stops", str(STOPS), mode, "program.stops"],
                   stdin=subprocess.DEVNULL, capture_output=True, timeout=300)
    with open("gdb.stops") as f:
        seen = [json.loads(line) for line in f]
    answers = collections.defaultdict(list)
    with open("program.stops") as f:
        for line in f:
            _, _, who, end, *pcs = line.split()
            answers[who].append((end, [int(pc, 16) for pc in pcs]))
    return seen, answers


def name_differences(who, seen, answers):
    """Prints each stop whose stacks differ; those that are not the ones that the head of this file explains."""
    unexplained = []
    for i, ((end, stack), truth) in enumerate(zip(answers, seen)):
        if stack == truth["stack"] and end == "whole":
            continue
        explained = who == "unwind" and "__longjmp" in truth["where"]
        print(f"  stop {i}, {truth['where']}, {truth['asm']}: {who} {end} {list(map(hex, stack))}, gdb {list(map(hex, truth['stack']))}"
              + (" (gdb is right: see the head of this file)" if explained else ""))
        if not explained:
            unexplained.append(i)
    return unexplained


def at_random_stops(mode, with_unwind):
    seen, answers = stops(mode)
    if not equal(f"{mode}: gdb and the program count the same stops", (len(seen), len(answers["tare"])), (STOPS, STOPS)):
        return
    for who in ["tare"] + ["unwind"] * with_unwind:
        same = sum(stack == truth["stack"] for (_, stack), truth in zip(answers[who], seen))
        print(f"  {mode}: {who} agrees with gdb at {same} of {STOPS} stops")
        unexplained = name_differences(who, seen, answers[who])
        if who == "tare":
            check(f"{mode}: the whole stack is gdb's at each stop", not unexplained, unexplained)
    kinds = collections.Counter()
    for truth in seen:
        for kind, pattern in KINDS.items():
            kinds[kind] += bool(pattern.search(truth["where"]))
        kinds["a prologue or an epilogue"] += bool(PROLOGUE.match(truth["asm"]))
        kinds["a handler on an alternate stack"] += truth["signal"]
    print(f"  {mode}: {dict(kinds)}")
    for kind in (*KINDS, "a prologue or an epilogue", "a handler on an alternate stack"):
        check(f"{mode}: some stops were in {kind}", kinds[kind] > 0)


def samples_are_whole():
    """Of tare cpu: the share of samples whose outermost frame begins its thread. Periods that passed in the kernel have no stack by
    design: they are one frame, [kernel], known from the thread's CPU clock."""
    for name, argv in (("a program of short calls", ["./stops", "4000", "main", "/dev/null"]),
                       ("python", ["/usr/bin/python3", "-c", "import json\nfor i in range(60): json.loads(json.dumps(list(range(20000))))"]),
                       ("perl", ["/usr/bin/perl", "-e", "my %h; $h{$_ % 5003} .= $_ for 1..3000000; print scalar(keys %h)"])):
        if not os.access(argv[0], os.X_OK):
            skip(f"samples of {name} are whole", f"{argv[0]} is not installed")
            continue
        _, doc = cpu(*argv, options=("--stacks",))
        if not check(f"samples of {name}: there are some", doc is not None and doc["samples"] > 200, doc and doc["samples"]):
            continue
        roots = collections.Counter()
        for s in doc["stacks"]:
            if [f["name"] for f in s["stack"]] != ["[kernel]"]:
                roots[s["stack"][-1]["name"]] += s["samples"]
        sampled = sum(roots.values())
        whole = sum(n for root, n in roots.items() if root in ("_start", "__clone3", "clone3", "_dl_start_user"))
        print(f"  {name}: {whole} of {sampled} samples are whole; {dict(roots)}")
        check(f"samples of {name} are whole, 99.9 % of them", sampled > 200 and whole >= 0.999 * sampled, roots)


def main():
    reason = missing("gdb")
    if reason:
        print(reason)
        raise SystemExit(77)
    options = json.loads(subprocess.run(["meson", "introspect", BUILD, "--buildoptions"], capture_output=True, text=True).stdout)
    if next((o["value"] for o in options if o["name"] == "b_sanitize"), "none") not in ("none", []):
        print("the walker of a sanitized build has frames of the sanitizer's")
        raise SystemExit(77)
    with_unwind, _ = build("-DWITH_LIBUNWIND", "-lunwind")
    if not with_unwind:
        skip("libunwind is asked too", "libunwind-dev is not installed")
    made, why = build(*["-DWITH_LIBUNWIND", "-lunwind"] * with_unwind)
    if check("the program is built", made, why):
        at_random_stops("main", with_unwind)
        at_random_stops("thread", with_unwind)
    samples_are_whole()
    done()


main()
