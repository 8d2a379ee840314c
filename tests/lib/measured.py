"""measured - what a heap or cpu document says, by function, for comparison with a program's own truth"""
import re
import shutil
import subprocess

from cells import document, tare

LINE = re.compile(r"^truth (\S+) calls=(\d+) bytes=(\S+) freed=(\d+)", re.M)


def truths(out):
    """{function: (calls, bytes or None, freed)} from the lines that the program printed."""
    return {m[1]: (int(m[2]), None if m[3] == "any" else int(m[3]), int(m[4]))
            for m in LINE.finditer(out.decode(errors="replace"))}


def by_function(doc):
    """{function: [calls, bytes, freed]} over the sites on whose stack the function is."""
    sums = {}
    for site in doc["sites"]:
        for name in {frame["name"] for frame in site["stack"]}:
            s = sums.setdefault(name, [0, 0, 0])
            s[0] += site["calls"]
            s[1] += site["bytes"]
            s[2] += site["calls"] - site["never_freed_calls"]
    return sums


def whole(doc, roots=("_start", "__clone3", "clone3", "start_thread", "__clone")):
    """The share of allocations whose stack reaches the beginning of its thread."""
    calls = sum(s["calls"] for s in doc["sites"])
    return sum(s["calls"] for s in doc["sites"] if s["stack"][-1]["name"] in roots) / calls if calls else 0


def heap(*argv, options=(), env=None):
    """Runs tare heap; (result, document or None)."""
    result = tare("heap", "--json", "--no-file", *options, "--", *argv, env=env)
    return result, document(result.out)


def cpu(*argv, options=(), env=None):
    result = tare("cpu", "--json", "--no-file", *options, "--", *argv, env=env)
    return result, document(result.out)


def have(*programs):
    """The first of the programs that is missing; None."""
    return next((p for p in programs if not shutil.which(p)), None)


def columns_sum(doc):
    """Whether each column of the sites sums to its total."""
    total = {"calls": doc["calls"], "bytes": doc["bytes_allocated"], "peak_bytes": doc["peak_bytes"],
             "never_freed_bytes": doc["never_freed"]["bytes"], "never_freed_calls": doc["never_freed"]["calls"],
             "temporary": doc["temporary"]}
    return {k: (sum(s[k] for s in doc["sites"]), v) for k, v in total.items()
            if sum(s[k] for s in doc["sites"]) != v}


def build_cases(source, target="all"):
    """Copies a folder of cases here and makes it; returns whether that worked."""
    shutil.copytree(source, "cases", dirs_exist_ok=True)
    made = subprocess.run(["make", "-s", "-C", "cases", target], capture_output=True, text=True)
    if made.returncode:
        print(made.stdout, made.stderr)
    return made.returncode == 0
