#!/usr/bin/env python3
"""What the commands say of a recording that is made up (session.c), compared with what is kept in report/

usage: tests/run golden/report             compares
       UPDATE=1 tests/run golden/report    writes what they say now into report/; then read the diff of it

Each text is kept as in a UTF-8 locale and as in LC_ALL=C; no byte of the latter is above 0x7f. The version is kept as @VERSION@.
What is known of the recording is checked by number too, so that an update cannot hide a wrong sum.
"""
import difflib
import json
import os
import re
import subprocess

from cells import check, done, equal, skip, tare

HERE, BUILD, SOURCE = os.path.dirname(os.path.abspath(__file__)), os.environ["BUILD"], os.environ["SOURCE"]
KEPT = f"{HERE}/report"
UPDATE = os.environ.get("UPDATE") == "1"
CASES = [("report", "txt", True), ("report --threads --limit=3", "threads.txt", True), ("report --leaks-only", "leaks.txt", True),
         ("report --json --stacks", "json", False), ("cost", "cost.txt", True), ("export --format=folded --of=cpu", "cpu.folded", False),
         ("export --format=folded --of=heap", "heap.folded", False), ("export --format=csv --of=cpu", "cpu.csv", False),
         ("export --format=csv --of=heap", "heap.csv", False), ("export --format=speedscope --of=cpu", "cpu.speedscope.json", False)]


def made(name):
    libs = [f"{BUILD}/src/{lib}/lib{lib}.a" for lib in ("record", "base")]
    result = subprocess.run([os.environ.get("CC", "cc"), f"-I{SOURCE}/src", f"-I{SOURCE}/include", "-o", "session", f"{HERE}/session.c", *libs,
                             "-lzstd", "-lz", "-lm", *sanitizers()], capture_output=True, text=True)
    return check("the recording is made", result.returncode == 0 and subprocess.run(["./session", name]).returncode == 0, result.stderr)


def sanitizers():
    text = subprocess.run(["meson", "introspect", BUILD, "--buildoptions"], capture_output=True, text=True).stdout
    value = next((o["value"] for o in json.loads(text) if o["name"] == "b_sanitize"), "none")
    value = ",".join(value) if isinstance(value, list) else value
    return [f"-fsanitize={value}"] if value not in ("none", "") else []


def utf8():
    names = subprocess.run(["locale", "-a"], capture_output=True, text=True).stdout.split()
    return next((n for n in ("C.utf8", "C.UTF-8", "en_US.utf8") if n in names), None)


def compare(sentence, got, name):
    got = re.sub(r"\btare (\d+\.\d+[\w.~+-]*)", "tare @VERSION@", got.decode())
    got = re.sub(r'("tare_version":")[^"]*', r"\1@VERSION@", got)
    if name.endswith(".json") and got.startswith("{"):
        got = json.dumps(json.loads(got), indent=1, ensure_ascii=False) + "\n"     # so that a diff shows the key
    path = f"{KEPT}/{name}"
    if UPDATE:
        with open(path, "w", newline="") as f:
            f.write(got)
    try:
        with open(path, newline="") as f:
            wanted = f.read()
    except FileNotFoundError:
        wanted = ""
    difference = "".join(difflib.unified_diff(wanted.splitlines(True), got.splitlines(True), "kept", "now", n=1))
    check(sentence, got == wanted and got, difference[:3000])


def known(out):
    doc = json.loads(out)
    cpu, heap = doc["cpu"], doc["heap"]
    total = {f["name"]: (f["self"], f["total"]) for f in cpu["functions"]}
    equal("samples, with the kernel's", cpu["samples"], 880)
    equal("hash_mix", total["hash_mix"], (417, 417))
    equal("parse_headers", total["parse_headers"], (60, 477))
    equal("memcpy", total["memcpy"], (201, 201))
    equal("[kernel]", total["[kernel]"], (31, 31))
    equal("main", total["main"], (9, 809))
    equal("threads", sorted((t["name"], t["samples"]) for t in cpu["threads"]), [("logger", 40), ("worker-0", 840)])
    equal("heap: calls, frees, bytes", (heap["calls"], heap["frees"], heap["bytes_allocated"]), (251, 151, 311216))
    equal("heap: the peak", heap["peak_bytes"], 50 * 4096 + 50 * 64 + 1000)
    check("heap: when the peak was, between two time stamps", 250000000 <= heap["peak_at_ns"] < 255000000, heap["peak_at_ns"])
    equal("heap: never freed", (heap["never_freed"]["bytes"], heap["never_freed"]["calls"]), (6400, 100))
    equal("heap: temporary", heap["temporary"], 101)
    equal("a broken stack is told", doc["loss"]["broken_stacks"], 1)


def main():
    if not made("golden.tare"):
        done()
    os.makedirs(KEPT, exist_ok=True)
    unicode = utf8()
    if UPDATE:
        print("  updated: read the diff of tests/golden/report")
    for words, name, twice in CASES:
        for locale, suffix in ((unicode, ""), ("C", ".C")) if twice else ((unicode, ""),):
            if not locale:
                skip(f"tare {words}", "no UTF-8 locale is installed")
                continue
            result = tare(*words.split(), "--no-config", "-q", "golden.tare", env={"LC_ALL": locale, "TZ": "UTC"})
            equal(f"tare {words} in {locale}: status", (result.status, result.err), (0, b""))
            stem, _, end = name.rpartition(".")
            compare(f"tare {words} in {locale}: as kept", result.out, f"{stem}{suffix}.{end}" if stem else f"report{suffix}.{end}")
            if locale == "C":
                check(f"tare {words} in C: no byte above 0x7f", max(result.out) < 0x80)
            if "--json" in words:
                known(result.out)
    done()


main()
