#!/usr/bin/env python3
"""Programs that know what they allocate, against what tare heap says of them."""
import os
import re

from cells import check, done, equal
from measured import build_cases, by_function, columns_sum, heap, truths, whole

CASES = [
    ("each way to get memory is counted", ["coverage"], 0),
    ("a realloc and a calloc that fail change nothing", ["failed_realloc"], 0),
    ("nothing is lost at _exit", ["abrupt_end"], 0),
    ("nothing is lost at quick_exit", ["abrupt_end", "quick_exit"], 0),
    ("nothing is lost at SIGKILL", ["abrupt_end", "kill"], 137),
    ("nothing is lost at abort", ["abrupt_end", "abort"], 134),
    ("nothing is lost at exec", ["abrupt_end", "exec"], 0),
    ("the loader sees the program as the caller of dlopen", ["runpath"], 0),
    ("a load of 300 000 operations is counted to the unit", ["heapload", "-n", "300000"], 0),
    ("two threads are counted to the unit", ["heapload", "-n", "200000", "-t", "2"], 0),
    ("sixteen threads are counted to the unit", ["heapload", "-n", "20000", "-t", "16", "-l", "2000"], 0),
    ("stacks that share their outer part are counted to the unit", ["heapload", "-n", "200000", "-g", "50", "-p", "70"], 0),
]

if not build_cases(os.environ["SOURCE"] + "/tests/programs/heap"):
    check("the cases can be built", False)
    done()
for sentence, words, status in CASES:
    result, doc = heap(f"cases/build/{words[0]}", *words[1:])
    if not equal(f"{sentence}: exit status", result.status, status) or not check(
            f"{sentence}: there is a document", doc is not None, repr(result)):
        continue
    if not check(f"{sentence}: the instrument was on", doc["calls"] > 0 and doc["cost"]["cpu_ns"] > 0, doc["notes"]):
        continue
    found, wrong = by_function(doc), []
    known = truths(result.out)
    for function, (calls, size, freed) in known.items():
        got = found.get(function, [0, 0, 0])
        if got[0] != calls or got[2] != freed or (size is not None and got[1] != size):
            wrong.append((function, got, (calls, size, freed)))
    check(f"{sentence}: the program says its truth", bool(known), repr(result))
    check(sentence, not wrong, wrong)
    check(f"{sentence}: columns sum to totals", not columns_sum(doc), columns_sum(doc))
    equal(f"{sentence}: nothing is lost", (doc["loss"]["events"], doc["loss"]["broken_stacks"]), (0, 0))
    check(f"{sentence}: stacks are whole", whole(doc) > 0.97, whole(doc))
    text = result.out.decode(errors="replace")
    failed = re.search(r"failed=(\d+)", text)
    if failed:
        equal(f"{sentence}: failed calls", doc["failed"], int(failed[1]))
    peak = re.search(r"stacks=\d+ peak_bytes(<?=)(\d+)", text)
    if peak:
        # the load's own blocks; the rest of the program has some too
        mine = sum(s["peak_bytes"] for s in doc["sites"] if any(f["name"] == "acquire" for f in s["stack"]))
        bound = doc["peak_uncertain_bytes"]
        holds = mine == int(peak[2]) if peak[1] == "=" else 0 < mine <= int(peak[2]) + bound
        check(f"{sentence}: the peak", holds, (mine, peak[0], bound))
done()
