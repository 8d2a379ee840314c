#!/usr/bin/env python3
"""allocators - the same truth whatever allocator a program brings, preloaded or linked"""
import ctypes.util
import os

from cells import check, done, equal, skip
from measured import by_function, columns_sum, truths
from untouched import compiled, untouched

ALLOCATORS = ["jemalloc", "tcmalloc_minimal", "mimalloc"]
program = compiled("news", "-std=c++17", "-Wno-parentheses")
if not check("news.cc can be built", program):
    done()


def run(sentence, argv, env=None):
    doc = untouched(sentence, "heap", *argv, env=env)
    if not doc:
        return
    found, known = by_function(doc), truths(doc["out"])
    wrong = [(f, found.get(f), t) for f, t in known.items() if t[0] and tuple(found.get(f, [0, 0, 0])) != t]
    check(f"{sentence}: counted to the unit", len(known) == 8 and not wrong, wrong)
    check(f"{sentence}: columns sum to totals", not columns_sum(doc), columns_sum(doc))
    equal(f"{sentence}: no event is lost", doc["loss"]["events"], 0)


run("glibc", [program, "2"])
for name in ALLOCATORS:
    library = ctypes.util.find_library(name)
    if not library:
        skip(f"{name} preloaded", f"lib{name} is not installed")
        continue
    run(f"{name} preloaded", [program, "2"], {"LD_PRELOAD": library})
    os.rename(program, f"{program}.glibc")
    linked = compiled("news", "-std=c++17", "-Wno-parentheses", "-Wl,--no-as-needed", f"-l:{library}")
    if linked:
        run(f"{name} linked", [linked, "2"])
    else:
        skip(f"{name} linked", "it cannot be linked here")
    os.rename(f"{program}.glibc", program)
done()
