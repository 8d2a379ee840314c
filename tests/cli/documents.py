#!/usr/bin/env python3
"""documents - every key of each schema is there, the sums hold, and every estimate lies within its interval"""
import os

from cells import check, compile_c, document, done, equal, tare

EVERY = {"schema", "tare_version", "run", "machine", "notes", "loss", "cost"}
RUN = {"argv", "pid", "attached", "start_time", "wall_ns", "cpu_ns", "exit_code", "signal", "complete", "file", "processes"}
MACHINE = {"kernel", "arch", "cpu_model", "cpus", "hypervisor", "pmu"}
LOSS = {"events", "truncated_stacks", "broken_stacks"}
COST = {"ratio", "cpu_ns", "memory_bytes", "file_bytes", "items", "not_measured", "outside"}
CPU = {"clock", "frequency_hz", "period_ns", "samples", "functions", "threads", "stacks"}
HEAP = {"calls", "frees", "inherited_frees", "failed", "bytes_allocated", "peak_bytes", "peak_at_ns", "never_freed", "temporary",
        "sample_bytes", "sites"}
REPORT = {"instruments", "findings", "cpu", "heap", "lat", "stall", "base", "diff", "slow_calls"}
FRAME = {"name", "module", "file", "line"}

target = compile_c("target", r"""
#include <stdlib.h>
#include <pthread.h>
static volatile unsigned sink;
static void *spin(void *arg)
{
	for (int i = 0; i < 300; i++) {
		char *volatile p = malloc(1000 + i);
		for (unsigned k = 0; k < 200000; k++)
			sink += k;
		if (i % 10)
			free(p);
	}
	return arg;
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, spin, NULL);
	spin(NULL);
	pthread_join(t, NULL);
	return 0;
}
""", "-pthread")


def has(sentence, value, keys):
    missing = sorted(keys - set(value or {}))
    check(f"{sentence} has all its keys", value is not None and not missing, f"missing {missing}")


def estimates(value, path=""):
    """Every {value, lo, hi, n} of a document, with where it is."""
    if isinstance(value, dict):
        if {"value", "lo", "hi", "n"} <= set(value):
            yield path, value
        for key, inner in value.items():
            yield from estimates(inner, f"{path}.{key}")
    elif isinstance(value, list):
        for inner in value:
            yield from estimates(inner, f"{path}[]")


def of_every_document(name, doc):
    has(name, doc, EVERY)
    has(f"run of {name}", doc["run"], RUN)
    has(f"machine of {name}", doc["machine"], MACHINE)
    has(f"loss of {name}", doc["loss"], LOSS)
    has(f"cost of {name}", doc["cost"], COST)
    items = sum(item["cpu_ns"] for item in doc["cost"]["items"])
    check(f"{name}: cost.cpu_ns is the sum of its items", abs(items - doc["cost"]["cpu_ns"]) <= len(doc["cost"]["items"]) + 1,
          (items, doc["cost"]["cpu_ns"]))
    ratio = doc["cost"]["ratio"]["value"]
    check(f"{name}: cost.ratio is cost.cpu_ns / run.cpu_ns", abs(ratio - doc["cost"]["cpu_ns"] / doc["run"]["cpu_ns"]) < 1e-3 + ratio / 100,
          (ratio, doc["cost"]["cpu_ns"], doc["run"]["cpu_ns"]))
    wrong = [(path, e) for path, e in estimates(doc) if None not in e.values() and not e["lo"] <= e["value"] <= e["hi"]]
    check(f"{name}: every estimate lies within its interval", not wrong, wrong[:3])


def of_cpu(name, cpu, stacks):
    has(name, cpu, CPU)
    check(f"{name}: there are samples: the instrument was on", cpu["samples"] > 20, cpu["samples"])
    equal(f"{name}: the self samples sum to all", sum(f["self"] for f in cpu["functions"]), cpu["samples"])
    equal(f"{name}: the threads' samples sum to all", sum(t["samples"] for t in cpu["threads"]), cpu["samples"])
    check(f"{name}: no function has more of its own than in total", all(f["total"] >= f["self"] for f in cpu["functions"]))
    if stacks:
        equal(f"{name}: the stacks' samples sum to all", sum(s["samples"] for s in cpu["stacks"]), cpu["samples"])
        has(f"{name}: a frame", cpu["stacks"][0]["stack"][0], FRAME)
    else:
        equal(f"{name}: stacks are null unless asked for", cpu["stacks"], None)


def of_heap(name, heap):
    has(name, heap, HEAP)
    check(f"{name}: there are calls: the instrument was on", heap["calls"] >= 600, heap["calls"])
    for column, total in (("calls", heap["calls"]), ("bytes", heap["bytes_allocated"]), ("peak_bytes", heap["peak_bytes"]),
                          ("never_freed_bytes", heap["never_freed"]["bytes"]), ("never_freed_calls", heap["never_freed"]["calls"]),
                          ("temporary", heap["temporary"])):
        equal(f"{name}: the column {column} sums to its total", sum(s[column] for s in heap["sites"]), total)
    equal(f"{name}: every call is recorded: sample_bytes is null", heap["sample_bytes"], None)
    has(f"{name}: a frame", heap["sites"][0]["stack"][0], FRAME)


for command, words in (("cpu", ["--stacks"]), ("heap", []), ("record", ["-e", "cpu,heap"])):
    got = tare(command, *words, "--json", "-q", "-o", f"{command}.tare", "--", target)
    doc = document(got.out)
    if not check(f"{command}: there is a document", doc is not None, got):
        continue
    of_every_document(command, doc)
    if command == "cpu":
        of_cpu("cpu", doc, True)
    elif command == "heap":
        of_heap("heap", doc)
    else:
        of_cpu("record.cpu", doc["cpu"], False)
        of_heap("record.heap", doc["heap"])
got = tare("report", "--json", "record.tare")
report = document(got.out)
if check("report: there is a document", report is not None, got):
    has("report", report, REPORT)
    equal("report: the schema", report["schema"], "tare.report/1")
    equal("report and record say the same of the heap", report["heap"], doc["heap"])
    equal("report and record say the same of the CPU", report["cpu"], doc["cpu"])
    tare("report", "-q", "-o", "x.json", "record.tare")
    equal("-o F.json holds the same document", document(open("x.json", "rb").read()), report)
got = tare("cost", "--json", "record.tare")
cost = document(got.out)
if check("cost: there is a document", cost is not None, got):
    has("cost", cost, EVERY | {"primitives"})
    equal("cost and report say the same of the cost", cost["cost"], report["cost"])
for form in ("pprof", "folded", "speedscope", "csv"):
    for of in ("cpu", "heap"):
        got = tare("export", f"--format={form}", "--of", of, "record.tare")
        check(f"{form} of {of} is written", got.status == 0 and len(got.out) > 50, got)
got = tare("export", "--format=folded", "--of", "heap", "cpu.tare")
check("a recording without it is refused", got.status == 1 and got.err.startswith(b"tare: "), got)
got = tare("export", "-o", "x.pb.gz", "record.tare")
check("without --format the suffix decides", got.status == 0 and open("x.pb.gz", "rb").read(2) == b"\x1f\x8b", got)
got = tare("export", "--format=folded", "--of", "cpu", "record.tare", env={"LC_ALL": "C"})
folded = got.out.decode(errors="replace").splitlines()
equal("the folded lines sum to the samples", sum(int(line.rsplit(" ", 1)[1]) for line in folded if not line.startswith("#")),
      doc["cpu"]["samples"])
done()
