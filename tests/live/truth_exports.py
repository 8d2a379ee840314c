#!/usr/bin/env python3
"""Exports of a recording, read by readers that are not ours, against the JSON document of the same recording

pprof: go tool pprof -top, each sample type, every function flat and cum, and a decoder of the wire format below.
folded: a flame graph's way to add up, below. speedscope: its published schema, by ajv, where node finds both
(NODE_PATH); and the totals. Each check is tried on a damaged file too: it has to notice.
"""
import collections
import csv
import gzip
import json
import os
import re
import subprocess

from cells import check, done, equal, skip, tare
from peers import missing

SOURCE = os.environ["SOURCE"] + "/tests/programs/truth"


def export(kind, suffix):
    name = f"{kind}.{suffix}"
    result = tare("export", "--no-config", "-q", "--of", kind, "-o", name, "run.tare")
    check(f"{kind} is exported as .{suffix}", result.status == 0 and os.path.getsize(name) > 0, repr(result))
    return name


def expected(doc):
    """{sample type: {function: (flat, cum)}}, cum None where several functions have the name, from the document"""
    cpu, heap = doc["cpu"], doc["heap"]
    names = collections.Counter(f["name"] for f in cpu["functions"])
    samples = {}
    for f in cpu["functions"]:
        flat, _ = samples.get(f["name"], (0, 0))
        samples[f["name"]] = (flat + f["self"], f["total"] if names[f["name"]] == 1 else None)
    wanted = {"samples": samples}
    for kind, key in (("alloc_objects", "calls"), ("alloc_space", "bytes"), ("inuse_objects", "never_freed_calls"),
                      ("inuse_space", "never_freed_bytes"), ("peak_space", "peak_bytes")):
        flat, cum = collections.Counter(), collections.Counter()
        for site in heap["sites"]:
            flat[site["stack"][0]["name"]] += site[key]
            for name in {f["name"] for f in site["stack"]}:
                cum[name] += site[key]
        wanted[kind] = {name: (flat[name], cum[name]) for name in cum if cum[name]}
    return wanted


def pprof_top(path, kind, unit):
    """({function: (flat, cum)}, total, the header) as go tool pprof says; None if it fails"""
    result = subprocess.run(["go", "tool", "pprof", "-top", "-symbolize=none", "-nodecount=1000000", "-nodefraction=0", "-edgefraction=0",
                             f"-unit={unit}", f"-sample_index={kind}", path], capture_output=True, text=True,
                            env={**os.environ, "PPROF_TMPDIR": os.getcwd()})
    if result.returncode:
        return None
    number = re.compile(r"^\s*(-?[\d.]+)\w*\s+[\d.]+%\s+[\d.]+%\s+(-?[\d.]+)\w*\s+[\d.]+%\s+(.*?)( \(inline\)| \(partial-inline\))?$")
    rows = {}
    for line in result.stdout.splitlines():
        m = number.match(line)
        if m:
            rows[m[3]] = (round(float(m[1])), round(float(m[2])))
    total = re.search(r"of ([\d.]+)\w* total", result.stdout)
    return rows, total and round(float(total[1])), result.stdout


def differences(rows, wanted):
    wrong = []
    for name, (flat, cum) in wanted.items():
        got = rows.get(name, (0, 0))
        if got[0] != flat or (cum is not None and got[1] != cum):
            wrong.append((name, got, (flat, cum)))
    return wrong + [(name, got, None) for name, got in rows.items() if name not in wanted and got != (0, 0)]


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """(number, value, offset of the value) of a message"""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            start = at
            value, at = varint(data, at)
            yield key >> 3, value, start
        else:
            size, at = varint(data, at)
            yield key >> 3, data[at:at + size], at
            at += size


def packed(data):
    at = 0
    while at < len(data):
        value, at = varint(data, at)
        yield value


def decode(raw):
    """{sample type: sum}, and the number of samples, by the wire format"""
    strings = [v.decode() for n, v, _ in fields(raw) if n == 6]
    kinds = [strings[dict((n, v) for n, v, _ in fields(v))[1]] for n, v, _ in fields(raw) if n == 1]
    sums, count = [0] * len(kinds), 0
    locations = {dict((n, v) for n, v, _ in fields(v) if n == 1)[1] for n, v, _ in fields(raw) if n == 4}
    known = True
    for n, sample, _ in fields(raw):
        if n == 2:
            parts = dict((m, list(packed(v))) for m, v, _ in fields(sample) if m in (1, 2))
            known &= set(parts[1]) <= locations
            sums = [a + b for a, b in zip(sums, parts[2])]
            count += 1
    return dict(zip(kinds, sums)), count, strings[0] == "" and known and 0 not in locations


def one_number_more(raw):
    """The same profile with one sample's first value one more."""
    for n, sample, offset in fields(raw):
        for m, values, inner in fields(sample) if n == 2 else ():
            if m == 2 and values[0] < 100:
                at = offset + inner
                return raw[:at] + bytes([raw[at] + 1]) + raw[at + 1:]
    return raw


def check_pprof(doc, wanted):
    totals = {"samples": doc["cpu"]["samples"], "alloc_objects": doc["heap"]["calls"], "alloc_space": doc["heap"]["bytes_allocated"],
              "inuse_objects": doc["heap"]["never_freed"]["calls"], "inuse_space": doc["heap"]["never_freed"]["bytes"],
              "peak_space": doc["heap"]["peak_bytes"]}
    for kind, names in (("cpu", ("samples",)), ("heap", ("alloc_objects", "alloc_space", "inuse_objects", "inuse_space", "peak_space"))):
        path = export(kind, "pb.gz")
        with gzip.open(path) as f:
            raw = f.read()
        sums, _, sound = decode(raw)
        check(f"pprof {kind}: string 0 is empty, locations are defined", sound)
        if kind == "cpu":
            ns = int(doc["cpu"]["samples"] * 1e9 / doc["cpu"]["frequency_hz"] + 0.5)
            equal("pprof cpu: nanoseconds are the samples' periods", sums["cpu"], ns)
        for name in names:
            equal(f"pprof {name}: the sum of the samples", sums[name], totals[name])
            if missing("go"):
                skip(f"pprof {name}: go tool pprof -top", missing("go"))
                continue
            unit = "B" if name.endswith("space") else "count"
            top = pprof_top(path, name, unit)
            if not check(f"pprof {name}: go tool pprof reads it", top is not None):
                continue
            wrong = differences(top[0], wanted[name])
            equal(f"pprof {name}: the total of -top", top[1], totals[name])
            check(f"pprof {name}: every function's flat and cum ({len(top[0])})", len(top[0]) > 3 and not wrong, wrong[:5])
            check(f"pprof {name}: the header tells the cost", re.search(r"tare \S+: measuring cost", top[2]), top[2][:300])
        if not missing("go"):
            with open(path, "rb") as f:
                whole = f.read()
            with open("cut.pb.gz", "wb") as f:
                f.write(whole[:len(whole) // 2])
            check(f"pprof {kind}: a cut file is refused", pprof_top("cut.pb.gz", names[0], "count") is None)
            with gzip.open("more.pb.gz", "wb") as f:
                f.write(one_number_more(raw))
            top = pprof_top("more.pb.gz", names[0], "count")
            check(f"pprof {kind}: one more in one sample is noticed", top and differences(top[0], wanted[names[0]]), top and top[2][:300])


def folded(text):
    """({function: (flat, cum)}, total) in a flame graph's way; ValueError for what is no stack"""
    flat, cum, total = collections.Counter(), collections.Counter(), 0
    for line in text.splitlines():
        stack, _, number = line.rpartition(" ")
        frames = stack.split(";")
        if not all(frames) or not number.isdigit():
            raise ValueError(line)
        flat[frames[-1]] += int(number)
        total += int(number)
        for name in set(frames):
            cum[name] += int(number)
    return {name: (flat[name], cum[name]) for name in cum}, total


def check_folded(doc, wanted):
    for kind, name, total in (("cpu", "samples", doc["cpu"]["samples"]), ("heap", "alloc_space", doc["heap"]["bytes_allocated"])):
        with open(export(kind, "folded")) as f:
            text = f.read()
        rows, whole = folded(text)
        wrong = differences(rows, {n.replace(";", ":"): v for n, v in wanted[name].items()})
        equal(f"folded {kind}: the total", whole, total)
        check(f"folded {kind}: every function's own and total", not wrong, wrong[:5])
        changed = re.sub(r"(\d+)$", lambda m: str(int(m[1]) + 1), text.rstrip("\n"))
        check(f"folded {kind}: one number more is noticed", differences(folded(changed)[0], wanted[name]))
        try:
            noticed = folded(text[:len(text) // 2].rstrip("0123456789"))[1] != total
        except ValueError:
            noticed = True
        check(f"folded {kind}: a cut file is noticed", noticed)


SCHEMA = """
const Ajv = require('ajv'), fs = require('fs'), path = require('path');
const root = path.dirname(require.resolve('speedscope/package.json'));
const folder = path.join(root, 'dist/release');
const name = fs.readdirSync(folder).find(f => /^file-format-schema.*json$/.test(f));
const schema = JSON.parse(fs.readFileSync(path.join(folder, name)));
delete schema.$schema;
const validate = new Ajv({ strict: false }).compile(schema);
for (const f of process.argv.slice(1))
  console.log(validate(JSON.parse(fs.readFileSync(f))) ? 'valid' : JSON.stringify(validate.errors.slice(0, 3)));
"""


def check_speedscope(doc, wanted):
    paths = []
    for kind in ("cpu", "heap"):
        path = export(kind, "speedscope.json")
        paths.append(path)
        with open(path) as f:
            file = json.load(f)
        flat, cum, ends = collections.Counter(), collections.Counter(), True
        sums = [sum(profile["weights"]) for profile in file["profiles"]]
        for profile in file["profiles"]:
            ends &= profile["endValue"] == sum(profile["weights"]) and len(profile["weights"]) == len(profile["samples"])
            if kind == "heap" and profile is not file["profiles"][0]:
                continue        # of the same stacks: never freed, alive at the peak
            for stack, weight in zip(profile["samples"], profile["weights"]):
                names = [file["shared"]["frames"][i]["name"] for i in stack]
                flat[names[-1]] += weight
                for name in set(names):
                    cum[name] += weight
        check(f"speedscope {kind}: the ends are the sums", ends and file["profiles"])
        if kind == "heap":
            heap = doc["heap"]
            equal("speedscope heap: allocated, never freed, alive at the peak", sums,
                  [heap["bytes_allocated"], heap["never_freed"]["bytes"], heap["peak_bytes"]])
            wrong = differences({n: (flat[n], cum[n]) for n in cum}, wanted["alloc_space"])
            check("speedscope heap: every function's own and total", not wrong, wrong[:5])
        else:
            hz, samples = doc["cpu"]["frequency_hz"], doc["cpu"]["samples"]
            # the time of each thread, a profile of its own, is rounded once
            error = sum(flat.values()) - samples * 1e9 / hz
            check("speedscope cpu: the weights sum to the time", abs(error) <= len(file["profiles"]), error)
            wrong = [(n, flat[n], v[0]) for n, v in wanted["samples"].items() if abs(flat[n] - v[0] * 1e9 / hz) > v[0] + 1]
            check("speedscope cpu: every function's own time", not wrong, wrong[:5])
    with open("bad.speedscope.json", "w") as f:
        json.dump({**json.load(open(paths[0])), "profiles": [{"type": "sampled"}]}, f)
    result = None if missing("node") else subprocess.run(["node", "-e", SCHEMA, *paths, "bad.speedscope.json"], capture_output=True, text=True)
    if not result or result.returncode:
        skip("speedscope: its schema", "node, or its packages speedscope and ajv (NODE_PATH), are not installed")
        return
    said = result.stdout.splitlines()
    check("speedscope: both files are valid by its schema", said[:2] == ["valid", "valid"], said)
    check("speedscope: a file without samples is not", said[2] != "valid")


def check_csv(doc):
    for kind, key, total in (("cpu", "samples", doc["cpu"]["samples"]), ("heap", "bytes", doc["heap"]["bytes_allocated"])):
        with open(export(kind, "csv"), newline="") as f:
            rows = [row for row in csv.reader(line for line in f if not line.startswith("#"))]
        column = next((i for i, name in enumerate(rows[0]) if name in (key, f"{key}_count", "self", "bytes_allocated")), None)
        if check(f"csv {kind}: it has a column of {key}", column is not None, rows[0]):
            equal(f"csv {kind}: the column sums to the total", sum(int(row[column]) for row in rows[1:]), total)


def main():
    made = subprocess.run(["g++", "-O2", "-g", "-std=c++17", "-o", "load", f"{SOURCE}/load.cc", "-lpthread"], capture_output=True, text=True)
    if not check("the program is built", made.returncode == 0, made.stderr):
        done()
    recorded = tare("record", "--no-config", "-q", "-e", "cpu,heap", "-o", "run.tare", "--", "./load", "40")
    told = tare("report", "--no-config", "--json", "--stacks", "run.tare")
    if not check("there is a recording", recorded.status == 0 and told.status == 0, (repr(recorded), repr(told)[:500])):
        done()
    doc = json.loads(told.out)
    check("both instruments were on", doc["cpu"]["samples"] > 200 and doc["heap"]["calls"] > 1000, (doc["cpu"]["samples"], doc["heap"]["calls"]))
    deepest = max(len(s["stack"]) for s in doc["cpu"]["stacks"])
    check("some stacks are deeper than 64 frames", deepest > 64, deepest)
    wanted = expected(doc)
    check_pprof(doc, wanted)
    check_folded(doc, wanted)
    check_speedscope(doc, wanted)
    check_csv(doc)
    done()


main()
