#!/usr/bin/env python3
"""agent_places - descriptors and memory of the program: its numbers are its own, and it may close and lock all"""
import os
import re
import resource

from cells import check, done, equal, skip
from measured import by_function, truths
from untouched import compiled, measured, plain, untouched

program = compiled("places")
if not check("places.c can be built", program):
    done()
for sentence, words, ms in (("all descriptors closed", ["close"], 290), ("close_range", ["close-range"], 290),
                            ("the lowest numbers", ["numbers"], 170), ("no descriptor left", ["full"], 190)):
    for command in ("heap", "cpu"):
        doc = untouched(sentence, command, program, *words, options=("-F", "1999") if command == "cpu" else ())
        if doc and command == "heap":
            found, known = by_function(doc), truths(doc["out"])
            wrong = [(f, found.get(f), t) for f, t in known.items() if tuple(found.get(f, [0, 0, 0])) != t]
            check(f"{sentence}: counted to the unit", not wrong, wrong)
        elif doc:
            wanted = ms * 1e6 / doc["period_ns"]
            check(f"{sentence}: sampled all along", doc["samples"] >= 0.85 * wanted, (doc["samples"], wanted))
for mode in ("lock-current", "lock-all"):
    alone = plain(program, mode)
    rss = int(re.search(rb"rss (\d+) kB", alone.err)[1])
    for command in ("heap", "cpu"):
        under, doc = measured(command, program, mode)
        more = int(re.search(rb"rss (\d+) kB", under.err)[1]) - rss
        equal(f"{mode}: {command}: status and stdout", (under.status, under.out), (alone.status, alone.out))
        check(f"{mode}: {command}: resident memory grows by less than 100 MB (alone {rss >> 10} MB)", more < 100 << 10, f"{more >> 10} MB more")
LIMIT = 128 << 20
try:
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (LIMIT, LIMIT))
except (ValueError, OSError):
    LIMIT = 0
if os.geteuid() == 0 and LIMIT:
    def ordinary():
        if LIMIT:
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (LIMIT, LIMIT))
        os.setgroups([])
        os.setgid(65534)
        os.setuid(65534)
    os.chmod(".", 0o777)
    alone = plain(program, "lock-current", preexec_fn=ordinary, env={"HOME": "/nonexistent"})
    under, doc = measured("heap", program, "lock-current", preexec_fn=ordinary, env={"HOME": "/nonexistent"})
    equal("mlockall of a user with a limit of 128 MB", (under.status, under.out), (alone.status, alone.out))
else:
    skip("mlockall of a user with a limit of 128 MB", "needs root, and rights to raise limits")
for mb in (2048, 600):
    untouched(f"malloc of most of an address limit of {mb} MB", "heap", program, "limited", str(mb))
script = "ulimit -v 200000; i=0; while [ $i -lt 100 ]; do /bin/true || echo failed $?; i=$((i+1)); done; echo done"
doc = untouched("a hundred processes under an address limit", "heap", "/bin/sh", "-c", script)
if doc:
    # each of them forks and execs
    check("a hundred processes under an address limit: all are measured, or it is said", len(doc["run"]["processes"]) >= 101 or
          doc["loss"]["events"] > 0 or any(n["code"] in ("loss", "short-run") for n in doc["notes"]), len(doc["run"]["processes"]))
done()
