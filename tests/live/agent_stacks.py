#!/usr/bin/env python3
"""agent_stacks - stacks of every shape, and objects that come and go: whole walks, right names, an unchanged program"""
import os
import subprocess

from cells import check, compile_c, done, equal
from measured import by_function, truths, whole
from untouched import compiled, instrument_on, measured, untouched

OBJECT = "void visit_%s(void (*f)(void), int n) { while (n--) f(); __asm__ volatile(\"\"); }\n"
CASES = [
    ("two coroutines", ["coroutines", "32768"]),
    ("two coroutines on stacks of 8 KB", ["coroutines", "8192"]),
    ("exceptions through many frames", ["exceptions"]),
    ("recursion of 900 frames", ["recursion", "900"]),
    ("recursion of 100 000 frames", ["recursion", "100000"]),
    ("alloca and aligned frames", ["alloca"]),
    ("longjmp", ["jumps"]),
]
ROOTS = ("_start", "__clone3", "clone3", "start_thread", "__clone", "_dl_start_user")     # the last one: constructors
program = compiled("stacks", "-ldl")
if not check("stacks.cc can be built", program):
    done()


def wrong_counts(doc):
    found, known = by_function(doc), truths(doc["out"])
    return [(f, found.get(f), t) for f, t in known.items() if tuple(found.get(f, [0, 0, 0])) != t]


for sentence, words in CASES:
    doc = untouched(sentence, "heap", program, *words)
    if doc:
        check(f"{sentence}: counted to the unit", not wrong_counts(doc), wrong_counts(doc))
        equal(f"{sentence}: no stack is broken", doc["loss"]["broken_stacks"], 0)
        if words[-1] == "100000":
            check(f"{sentence}: the cut stacks are counted", doc["loss"]["truncated_stacks"] >= 10, doc["loss"])
        elif words[0] == "coroutines":
            both = [s for s in doc["sites"] if {"turn_even", "turn_odd"} <= {f["name"] for f in s["stack"]}]
            check(f"{sentence}: no stack is joined of two", not both, both[:1])
        else:
            check(f"{sentence}: stacks are whole", whole(doc, ROOTS) > 0.97, whole(doc, ROOTS))
    doc = untouched(sentence, "cpu", program, *words, options=("-F", "4999", "--stacks"))
    if doc:
        check(f"{sentence}: few samples are broken", doc["loss"]["broken_stacks"] <= 3 + 0.01 * doc["samples"], doc["loss"])
        both = [s for s in doc["stacks"] if {"turn_even", "turn_odd"} <= {f["name"] for f in s["stack"]}]
        check(f"{sentence}: no sample is joined of two stacks", not both, both[:1])


def objects():
    for name in ("first", "second"):
        with open(f"{name}.c", "w") as f:
            f.write(OBJECT % name)
        subprocess.run([os.environ.get("CC", "cc"), "-O1", "-g", "-fPIC", "-shared", "-fno-optimize-sibling-calls", "-o", f"{name}.so",
                        f"{name}.c"], check=True)
    paths = [os.path.abspath("first.so"), os.path.abspath("second.so")]
    sentence = "objects loaded and unloaded beside a thread"
    result, doc = measured("heap", program, "objects", "3", *paths)
    if check(f"{sentence}: heap: runs", result.status == 0 and instrument_on(doc), result):
        doc["out"] = result.out
        check(f"{sentence}: closed objects are named, and counted to the unit", not wrong_counts(doc), wrong_counts(doc))
        equal(f"{sentence}: nothing is lost", (doc["loss"]["events"], doc["loss"]["broken_stacks"]), (0, 0))
        both = [s for s in doc["sites"] if {"visit_first", "visit_second"} <= {f["name"] for f in s["stack"]}]
        check(f"{sentence}: no name of the wrong object", not both, both[:1])
    result, doc = measured("cpu", program, "objects", "3", *paths, options=("-F", "4999", "--stacks"))
    if check(f"{sentence}: cpu at 4999 Hz: runs", result.status == 0 and instrument_on(doc), result):
        names = {f["name"]: f["total"] for f in doc["functions"]}
        check(f"{sentence}: samples in closed objects are named", names.get("visit_first", 0) > 0 and names.get("visit_second", 0) > 0,
              {k: v for k, v in names.items() if "visit" in k})
        check(f"{sentence}: few samples are broken", doc["loss"]["broken_stacks"] <= 3 + 0.01 * doc["samples"], (doc["loss"], doc["samples"]))


objects()
done()
