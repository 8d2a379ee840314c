#!/usr/bin/env python3
"""agent_threads - threads that come and go in every way: no call is lost, nothing of the program changes"""
import os
import re

from cells import check, compile_c, done, equal
from measured import by_function, columns_sum, truths
from untouched import compiled, untouched

# What each thread does is told by its name; each burns the CPU time that it is given, by its own clock.
NAMES = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static volatile unsigned long sink;
static void burn(double ms)
{
	struct timespec ts;
	do {
		for (int i = 0; i < 2000; i++)
			sink += i;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	} while (ts.tv_sec * 1e3 + ts.tv_nsec / 1e6 < ms);
}
static void *one(void *arg)
{
	char name[16];
	snprintf(name, sizeof(name), "burner %ld", (long)arg);
	pthread_setname_np(pthread_self(), name);
	burn((long)arg);
	return NULL;
}
int main(void)
{
	static const long ms[] = { 50, 100, 200 };
	pthread_t t[3];
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, one, (void *)ms[i]);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	puts("burnt");
}
"""

CASES = [
    ("a thousand short threads in sequence", ["sequence", "1000"]),
    ("64 threads at once", ["at-once", "64"]),
    ("200 detached threads", ["detached", "200"]),
    ("200 cancelled threads with cleanup handlers", ["cancelled", "200"]),
    ("allocations in the last rounds of key destructors", ["destructors", "100"]),
    ("a thread's first malloc is in a signal handler", ["first-in-handler", "100"]),
    ("exit beside threads that allocate", ["beside", "exit"]),
    ("_exit beside threads that allocate", ["beside", "_exit"]),
    ("quick_exit beside threads that allocate", ["beside", "quick_exit"]),
    ("a signal ends it beside threads that allocate", ["beside", "raise"]),
    ("an atexit handler that allocates", ["atexit"]),
    ("an at_quick_exit handler that allocates", ["at-quick-exit"]),
    ("the main thread ends first", ["main-ends"]),
]


def counts():
    program = compiled("threads")
    if not check("threads.c can be built", program):
        return
    for sentence, words in CASES:
        doc = untouched(sentence, "heap", program, *words)
        if not doc:
            continue
        found, known = by_function(doc), truths(doc["out"])
        wrong = [(f, found.get(f), t) for f, t in known.items() if tuple(found.get(f, [0, 0, 0])) != t]
        check(f"{sentence}: counted to the unit", known and not wrong, wrong)
        check(f"{sentence}: columns sum to totals", not columns_sum(doc), columns_sum(doc))
        if words[0] != "beside":        # the others may be inside a hook when the process ends
            equal(f"{sentence}: nothing is lost", (doc["loss"]["events"], doc["loss"]["broken_stacks"]), (0, 0))
    for sentence, words in CASES[1:8:2]:
        untouched(sentence, "cpu", program, *words, options=("-F", "4999"))


def names():
    doc = untouched("threads that name themselves", "cpu", compile_c("names", NAMES, "-pthread"), options=("-F", "1999"))
    if not doc:
        return
    of = {}
    for thread in doc["threads"]:
        of[thread["name"]] = of.get(thread["name"], 0) + thread["samples"]
    equal("each thread is listed by its own name", sorted(n for n in of if re.match("burner", n or "")),
          ["burner 100", "burner 200", "burner 50"])
    equal("samples of threads sum to all samples", sum(of.values()), doc["samples"])
    for name, ms in (("burner 50", 50), ("burner 100", 100), ("burner 200", 200)):
        wanted = ms * 1e6 / doc["period_ns"]
        check(f"{name}: as many samples as its clock says, within 5 standard deviations and 3 %",
              abs(of.get(name, 0) - wanted) <= 5 + 0.03 * wanted, (of.get(name), wanted))


counts()
names()
done()
