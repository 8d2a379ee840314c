#!/usr/bin/env python3
"""A recording that was cut or damaged, read by the program: it says so; it never crashes and never answers as if nothing were

(Each byte position is tried on the reader itself in src/record; here are the whole commands, at random positions of a real recording.)
"""
import os
import random
import subprocess

from cells import check, document, done, equal, tare

CUTS, FLIPS = 60, 60
SOURCE = os.environ["SOURCE"] + "/tests/programs/truth"


def refused(result):
    """Whether a command failed as it should: status 1, one sentence, no result."""
    return result.status == 1 and result.err.startswith(b"tare: ") and not result.out


def sums_hold(doc):
    cpu, heap = doc["cpu"], doc["heap"]
    return ((not cpu or sum(f["self"] for f in cpu["functions"]) == cpu["samples"] == sum(t["samples"] for t in cpu["threads"])) and
            (not heap or (sum(s["calls"] for s in heap["sites"]) == heap["calls"] and sum(s["bytes"] for s in heap["sites"]) == heap["bytes_allocated"]
                          and sum(s["peak_bytes"] for s in heap["sites"]) == heap["peak_bytes"])))


def write(name, data):
    with open(name, "wb") as f:
        f.write(data)
    return name


def cuts(whole, random_):
    wrong, read, calls = [], 0, []
    for size in sorted([0, 1, 8, 15, 16, 17, 43, 44, 45, len(whole) - 1] + [random_.randrange(len(whole)) for _ in range(CUTS)]):
        result = tare("report", "--no-config", "--json", write("cut.tare", whole[:size]))
        doc = document(result.out)
        if result.status == 0 and doc and doc["run"]["complete"] is False and sums_hold(doc):
            read += 1
            calls.append(doc["heap"]["calls"] if doc["heap"] else 0)
        elif not refused(result):
            wrong.append((size, repr(result)[:300]))
    print(f"  {read} of {CUTS + 10} cut recordings are read as far as they go; the last with {calls[-1] if calls else 0} calls")
    check("a cut recording is read as incomplete, or refused with a sentence", not wrong, wrong[:3])
    check("some cut recordings are read", read > 0)
    check("a longer part holds no less", calls == sorted(calls), calls)


def flips(whole, random_):
    wrong = []
    for at in sorted(random_.randrange(len(whole)) for _ in range(FLIPS)):
        data = bytearray(whole)
        data[at] ^= 1 << random_.randrange(8)
        name = write("flipped.tare", data)
        for words in (("report", "--json"), ("report",), ("export", "--format=pprof"), ("cost",)):
            result = tare(*words, "--no-config", name)
            if not refused(result):
                wrong.append((at, words, repr(result)[:300]))
    check("a recording with one bit changed is refused with a sentence", not wrong, (len(wrong), wrong[:3]))


def texts(whole):
    name = write("half.tare", whole[:len(whole) * 9 // 10])
    for words in (("report",), ("export", "--format=folded"), ("export", "--format=pprof", "--of", "heap"), ("cost",)):
        result = tare(*words, "--no-config", name)
        check(f"tare {' '.join(words)} of a cut recording gives a result or a sentence", result.status == 0 or refused(result), repr(result))
    result = tare("report", "--no-config", name)
    if result.status == 0:
        check("the text says that the recording was cut", any(w in result.out + result.err for w in (b"complete", b"cut", b"early")), repr(result))
    for sentence, name in (("an empty file", write("empty.tare", b"")), ("text", write("text.tare", b"no recording\n" * 100)), ("a directory", "."),
                           ("a file that is not there", "none.tare"), ("random bytes", write("random.tare", os.urandom(5000)))):
        result = tare("report", "--no-config", name)
        check(f"{sentence} is refused with a sentence", refused(result), repr(result))


def main():
    made = subprocess.run(["g++", "-O2", "-g", "-std=c++17", "-o", "load", f"{SOURCE}/load.cc", "-lpthread"], capture_output=True, text=True)
    if not check("the program is built", made.returncode == 0, made.stderr):
        done()
    recorded = tare("record", "--no-config", "-q", "-e", "cpu,heap", "-o", "run.tare", "--", "./load", "40")
    told = tare("report", "--no-config", "--json", "run.tare")
    doc = document(told.out)
    if not check("there is a recording", recorded.status == 0 and doc is not None, (repr(recorded), repr(told)[:300])):
        done()
    equal("the whole one is complete", doc["run"]["complete"], True)
    check("its sums hold", sums_hold(doc))
    with open("run.tare", "rb") as f:
        whole = f.read()
    random_ = random.Random(20)
    cuts(whole, random_)
    flips(whole, random_)
    texts(whole)
    done()


main()
