#!/usr/bin/env python3
"""heaptrack's figures of a single-threaded program that does the same each time, against tare heap's

Within heaptrack's own definitions. It rounds to three digits in decimal units. It does not see memalign() (the program
is built without it). Its own library needs libstdc++, whose emergency pool, one block of 72 704 bytes, so is in the
peak and the calls of a C program too; it is on heaptrack's built-in list of what is no leak. "Temporary" is freed with
no other *event* of the heap in between; tare's is freed with no other *allocation* in between (CLI.md), and heaptrack
takes blocks of one size and stack for one another. Both definitions are computed here from a third sequence of events:
valgrind's trace of each call.
"""
import glob
import os
import re
import subprocess

from cells import check, done, equal
from peers import by_tare, missing, valgrind_words

SOURCE = os.environ["SOURCE"] + "/tests/programs/truth"
ENV = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "HOME": os.getcwd()}
POOL = 72704
CALL = re.compile(rb"-- (malloc|calloc|realloc|free|memalign|posix_memalign|aligned_alloc|_Zn\w+|_Zd\w+)"
                  rb"\(([^)]*)\)(?:malloc\(\d+\))?(?: = 0x([0-9A-Fa-f]+))?")


def events(argv):
    """[(freed address or None, allocated address or None, bytes)] by valgrind."""
    err = subprocess.run([*valgrind_words(), "--trace-malloc=yes", *argv], env=ENV, stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE).stderr
    found = []
    for m in CALL.finditer(err):
        name, words, result = m[1], m[2], m[3] and int(m[3], 16)
        numbers = [int(n, 0) for n in re.findall(rb"0x[0-9A-Fa-f]+|\d+", words)]
        if name == b"free" or name.startswith(b"_Zd"):
            if numbers[0]:
                found.append((numbers[0], None, 0))
        elif name == b"realloc":
            found.append((numbers[0] or None, result, numbers[1]))
        elif name == b"calloc":
            found.append((None, result, numbers[0] * numbers[1]))
        else:
            found.append((None, result, numbers[-1]))
    return found


def sums(sequence):
    """What both tools have to say of a sequence of events."""
    live, total, peak, calls, frees = {}, 0, 0, 0, 0
    last_allocated, last_event, temporary, strictly = None, None, 0, 0
    for freed, allocated, size in sequence:
        if freed:
            total -= live.pop(freed)
            frees += 1
            temporary += freed == last_allocated
            strictly += freed == last_event
            last_event = None
            if freed == last_allocated:
                last_allocated = None
        if allocated:
            live[allocated] = size
            total += size
            calls += 1
            peak = max(peak, total)
            last_allocated = last_event = allocated
    return {"calls": calls, "frees": frees, "peak": peak, "never_freed": (total, len(live)), "temporary": temporary,
            "strictly temporary": strictly}


def by_heaptrack(argv):
    for old in glob.glob("heaptrack.out*"):
        os.unlink(old)
    told = subprocess.run(["heaptrack", "-o", "heaptrack.out", *argv], env=ENV, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    files = glob.glob("heaptrack.out*")
    if not files:
        return None
    text = subprocess.run(["heaptrack_print", "-f", files[0]], capture_output=True, text=True).stdout
    text += told.stdout + told.stderr
    found = {}
    for key, pattern in (("calls", r"calls to allocation functions: (\d+)"), ("temporary", r"temporary memory allocations: (\d+)"),
                         ("peak", r"peak heap memory consumption: (\S+)"), ("leaked", r"total memory leaked: (\S+)"),
                         ("leaked calls", r"leaked allocations:\s+(\d+)")):
        m = re.search(pattern, text)
        found[key] = m and m[1]
    return found


def rounded(text):
    """(value, half of its last digit) of 600.26K"""
    m = re.fullmatch(r"([\d.]+)([KMG]?)B?", text)
    unit = {"": 1, "K": 1e3, "M": 1e6, "G": 1e9}[m[2]]
    return float(m[1]) * unit, 0.5001 * unit * 10 ** -len(m[1].partition(".")[2])


def near(sentence, text, exact):
    value, half = rounded(text)
    check(sentence, abs(exact - value) <= half, f"heaptrack {text}, tare {exact}")


def compare(name, *flags):
    source = next(f"{SOURCE}/{name}.{s}" for s in ("c", "cc") if os.path.exists(f"{SOURCE}/{name}.{s}"))
    brings, has = (0, POOL) if source.endswith(".cc") else (POOL, 0)
    made = subprocess.run(["g++" if source.endswith(".cc") else "gcc", "-O1", "-g", "-fno-builtin", "-o", name, source, *flags],
                          capture_output=True, text=True)
    if not check(f"{name} is built", made.returncode == 0, made.stderr):
        return
    argv = [f"./{name}"]
    ours, _, doc = by_tare(argv, ENV)
    theirs, traced = by_heaptrack(argv), sums(events(argv))
    if not check(f"{name}: all have an answer", doc and theirs and all(theirs.values()), (ours, theirs)):
        return
    print(f"  heaptrack {theirs}; from valgrind's trace {traced}")
    never = (doc["never_freed"]["bytes"], doc["never_freed"]["calls"])
    equal(f"{name}: calls, as heaptrack", doc["calls"] + bool(brings), int(theirs["calls"]))
    near(f"{name}: the peak, as heaptrack", theirs["peak"], doc["peak_bytes"] + brings)
    near(f"{name}: never freed, as heaptrack", theirs["leaked"], never[0] - has)
    equal(f"{name}: never freed calls, as heaptrack", never[1] - bool(has), int(theirs["leaked calls"]))
    excess = int(theirs["temporary"]) - traced["strictly temporary"]
    check(f"{name}: heaptrack's temporary is that of its definition", 0 <= excess <= doc["calls"] / 1000, (traced, theirs))
    equal(f"{name}: calls, as traced", doc["calls"], traced["calls"])
    equal(f"{name}: frees, as traced", doc["frees"], traced["frees"])
    equal(f"{name}: the peak, as traced", doc["peak_bytes"], traced["peak"])
    equal(f"{name}: never freed, as traced", never, traced["never_freed"])
    equal(f"{name}: temporary, as traced", doc["temporary"], traced["temporary"])


def main():
    reason = missing("heaptrack", "heaptrack_print", "valgrind", "gcc", "g++")
    if reason:
        print(reason)
        raise SystemExit(77)
    compare("plain", "-DWITHOUT_MEMALIGN")
    compare("plus", "-std=c++17")
    done()


main()
