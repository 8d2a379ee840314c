#!/usr/bin/env python3
"""cpu_truth - programs that know where their CPU time goes, against what tare cpu says of them"""
from cells import check, compile_c, done, equal, skip
from untouched import measured, plain, untouched

SHARES = r"""
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}
static __thread volatile unsigned long sink;
#define BURNER(name) \
	__attribute__((noinline)) static void name(int n) { for (int i = 0; i < n; i++) sink = sink * 3 + (unsigned long)i; }
BURNER(burn_sixty)
BURNER(burn_thirty)
BURNER(burn_ten)
static void (*const burners[])(int) = { burn_sixty, burn_thirty, burn_ten };
static const double share[] = { 0.6, 0.3, 0.1 };
static const char *const name[] = { "burn_sixty", "burn_thirty", "burn_ten" };
struct job { double seconds, spent[3]; };
/* Turns of about a millisecond, each by whoever lags most behind its share. */
static void *job(void *arg)
{
	struct job *j = arg;
	double begin = now(), before = begin, after;
	while (before - begin < j->seconds) {
		int who = 0;
		for (int i = 1; i < 3; i++)
			if (j->spent[i] / share[i] < j->spent[who] / share[who])
				who = i;
		burners[who](300000 + rand() % 100000);
		after = now();
		j->spent[who] += after - before;
		before = after;
	}
	return NULL;
}
int main(int argc, char **argv)
{
	struct job jobs[4] = { 0 };
	pthread_t t[4];
	int n = argc - 1;
	for (int i = 0; i < n; i++) {
		jobs[i].seconds = atof(argv[i + 1]);
		pthread_create(&t[i], NULL, job, &jobs[i]);
		char text[16];
		snprintf(text, sizeof(text), "job %d", i);
		pthread_setname_np(t[i], text);
	}
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	for (int k = 0; k < 3; k++) {
		double sum = 0;
		for (int i = 0; i < n; i++)
			sum += jobs[i].spent[k];
		fprintf(stderr, "spent %s %.6f\n", name[k], sum);
	}
	for (int i = 0; i < n; i++)
		fprintf(stderr, "spent job-%d %.6f\n", i, jobs[i].spent[0] + jobs[i].spent[1] + jobs[i].spent[2]);
	return 0;
}
"""
# Does a fixed amount of work: under tare its own CPU clock holds the sampler's time too, so it is read where tare is not.
SHORT = r"""
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static volatile unsigned long sink;
int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1000000;
	struct timespec a, b;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &a);
	for (long i = 0; i < n; i++)
		sink += (unsigned long)i;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &b);
	fprintf(stderr, "spent short %.9f\n", (b.tv_sec - a.tv_sec) + (b.tv_nsec - a.tv_nsec) / 1e9);
	return 0;
}
"""


def spent(err):
    found = {}
    for line in err.decode().splitlines():
        word = line.split()
        if word[:1] == ["spent"]:
            found[word[1]] = found.get(word[1], 0) + float(word[2])
    return found


def sums(sentence, doc):
    equal(f"{sentence}: self sums to samples", sum(f["self"] for f in doc["functions"]), doc["samples"])
    equal(f"{sentence}: threads sum to samples", sum(t["samples"] for t in doc["threads"]), doc["samples"])
    equal(f"{sentence}: stacks sum to samples", sum(s["samples"] for s in doc["stacks"]), doc["samples"])
    check(f"{sentence}: no total is below self or above all", all(f["self"] <= f["total"] <= doc["samples"] for f in doc["functions"]))
    check(f"{sentence}: intervals hold their values", all(f["self_ratio"]["lo"] <= f["self_ratio"]["value"] <= f["self_ratio"]["hi"]
                                                        for f in doc["functions"]))


def shares():
    program = compile_c("shares", SHARES, "-pthread")
    for hz in ("997", "4999"):
        result, doc = measured("cpu", program, "1.0", "0.5", "0.25", options=("-F", hz, "--stacks"))
        sentence = f"a program of 60, 30 and 10 % at {hz} Hz"
        if not check(f"{sentence}: the instrument was on", result.status == 0 and doc and doc["samples"] > 500, result):
            continue
        truth = spent(result.err)
        all_spent = sum(v for k, v in truth.items() if k.startswith("burn"))
        of = {f["name"]: f for f in doc["functions"]}
        for name in ("burn_sixty", "burn_thirty", "burn_ten"):
            ratio, real = of[name]["self_ratio"], truth[name] / all_spent
            # what a 95 % interval misses once in twenty, twice its width does not
            slack = ratio["hi"] - ratio["lo"]
            check(f"{sentence}: {name}: its own share {real:.3f} lies in the interval, or near it",
                  ratio["lo"] - slack / 2 <= real <= ratio["hi"] + slack / 2, ratio)
        total = doc["samples"] * doc["period_ns"] / 1e9
        check(f"{sentence}: samples x period is its CPU time within 3 %", abs(total / all_spent - 1) < 0.03, (total, all_spent))
        check(f"{sentence}: run.cpu_ns agrees within 5 %", abs(doc["run"]["cpu_ns"] / 1e9 / all_spent - 1) < 0.05,
              (doc["run"]["cpu_ns"], all_spent))
        names = {t["name"]: t["samples"] for t in doc["threads"]}
        for i in range(3):
            real = truth[f"job-{i}"] * 1e9 / doc["period_ns"]
            check(f"{sentence}: thread {i} has its samples within 3 %", abs(names.get(f"job {i}", 0) - real) <= 0.03 * real + 3,
                  (names, real))
        sums(sentence, doc)


def short_processes():
    """Before the agent is there (exec, the loader) nothing is sampled, by design: totals are not expected to hold that."""
    program, processes = compile_c("short", SHORT), 150
    sentence = "short processes of 3 ms"
    once = sorted(spent(plain(program, "1000000").err)["short"] for _ in range(9))[4]
    work = str(int(1000000 * 0.003 / once))
    script = f"i=0; while [ $i -lt {processes} ]; do {program} {work}; i=$((i+1)); done"
    for _ in range(3):      # a bias would be there each time; another load on the machine comes and goes
        before = spent(plain("/bin/sh", "-c", script).err)["short"]
        result, doc = measured("cpu", "/bin/sh", "-c", script, options=("--stacks",))
        after = spent(plain("/bin/sh", "-c", script).err)["short"]
        if not check(f"{sentence}: the instrument was on", result.status == 0 and doc and doc["samples"] > 50, (result, doc and doc["samples"])):
            return
        real = (before + after) / 2 * 1e9 / doc["period_ns"]
        mine = {t["tid"] for t in doc["threads"] if t["name"] == "short"}
        of = [s for s in doc["stacks"] if s["tid"] in mine]
        burnt = sum(s["samples"] for s in of if s["stack"][0]["name"] == "main")
        steady = max(before, after) <= 1.2 * min(before, after)
        if steady and 0.75 <= burnt / real <= 1.25:
            break
    if not steady:
        skip(f"{sentence}: sampled without bias", f"the same work took {before:.3f} s, then {after:.3f} s")
    else:
        check(f"{sentence}: sampled without bias: main has its own time within 25 %", 0.75 <= burnt / real <= 1.25,
              (burnt, real, sum(s["samples"] for s in of), before, after))
    total, whole = doc["samples"] * doc["period_ns"], doc["run"]["cpu_ns"]
    check(f"{sentence}: samples x period is not above the CPU time of all", total <= 1.05 * whole, (total, whole))
    sums(sentence, doc)


def mostly_kernel():
    doc = untouched("a program that lives in the kernel", "cpu", "dd", "if=/dev/zero", "of=/dev/null", "bs=256k", "count=30000",
                    "status=none", options=("--stacks",))
    if doc:
        total = doc["samples"] * doc["period_ns"]
        check("a program that lives in the kernel: samples x period is its CPU time within 15 %",
              abs(total / doc["run"]["cpu_ns"] - 1) < 0.15, (total, doc["run"]["cpu_ns"]))
        sums("a program that lives in the kernel", doc)


shares()
short_processes()
mostly_kernel()
done()
