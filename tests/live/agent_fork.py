#!/usr/bin/env python3
"""agent_fork - processes that multiply: each has its own books, nothing hangs, nothing is lost"""
import re

from cells import check, done, equal
from measured import by_function, columns_sum, truths
from untouched import compiled, measured, untouched

CASES = [
    ("a child's books are its own", ["books", "1"]),
    ("forty children, one after the other", ["books", "40"]),
    ("a chain of forks", ["grandchildren", "5"]),
    ("200 forks beside threads that allocate", ["beside-threads", "200"]),
    ("vfork and exec, and vfork of nothing", ["vfork", "10"]),
    ("posix_spawn", ["spawn", "10"]),
    ("system and popen", ["shells", "3"]),
    ("a daemon", ["daemon"]),
    ("clone with a stack of its own", ["clone"]),
    ("fork by the bare system call", ["system-call"]),
    ("exec in a thread", ["exec-in-thread"]),
    ("exec that fails", ["failed-exec"]),
    ("a child of vfork changes its signal mask", ["vfork-masks"]),
]

program = compiled("forks")
if not check("forks.c can be built", program):
    done()


def heap(sentence, words):
    doc = untouched(sentence, "heap", program, *words)
    if not doc:
        return
    found, known = by_function(doc), truths(doc["out"])
    wrong = [(f, found.get(f), t) for f, t in known.items() if tuple(found.get(f, [0, 0, 0])) != t]
    check(f"{sentence}: counted to the unit", known and not wrong, wrong)
    check(f"{sentence}: columns sum to totals", not columns_sum(doc), columns_sum(doc))
    equal(f"{sentence}: nothing is lost", (doc["loss"]["events"], doc["loss"]["broken_stacks"]), (0, 0))
    inherited = re.search(rb"inherited_frees=(\d+)", doc["out"])
    if inherited:
        equal(f"{sentence}: inherited_frees", doc["inherited_frees"], int(inherited[1]))


def without_children():
    result, doc = measured("heap", program, "books", "3", options=("--no-children",))
    found = by_function(doc) if doc else {}
    equal("--no-children: the parent's calls alone", (found.get("parent_work"), found.get("child_work")), ([100, 10000, 10], None))
    equal("--no-children: one process", [p["pid"] for p in doc["run"]["processes"]], [doc["run"]["pid"]])
    result, doc = measured("heap", "/bin/sh", "-c", f"{program} leaf 9", options=("--no-children",))
    equal("--no-children: a program that the program starts is left alone",
          (result.status, by_function(doc).get("child_work"), len(doc["run"]["processes"])), (9, None, 1))


def processes():
    _, doc = measured("heap", program, "books", "2")
    listed = doc["run"]["processes"]
    equal("each process is listed", len(listed), 3)
    equal("with its exit code", [p["exit_code"] for p in listed], [0, 3, 3])
    equal("and its parent", [p["parent_pid"] for p in listed[1:]], [doc["run"]["pid"]] * 2)


for name, words in CASES:
    heap(name, words)
for name, words in CASES[3:8]:
    untouched(name, "cpu", program, *words, options=("-F", "1999"))
without_children()
processes()
done()
