#!/usr/bin/env python3
"""Names, files and lines of frames against addr2line, nm and the program's own perf map

tare tells no addresses in its documents, so the program tells them: each function of its site prints where it was
called (return address minus one, relative to its object), and addr2line -fiC of that has to be what tare heap says of
the same stack, inlined frames included.
"""
import collections
import glob
import os
import platform
import re
import shutil
import subprocess

from cells import check, done, equal, skip
from measured import cpu, heap
from peers import missing

SOURCE = os.environ["SOURCE"] + "/tests/programs/truth"


def build(name, source, *flags):
    made = subprocess.run(["g++" if source.endswith(".cc") else "gcc", "-g", "-o", name, f"{SOURCE}/{source}", *flags], capture_output=True, text=True)
    return check(f"{name} is built", made.returncode == 0, made.stderr)


def addr2line(path, address):
    """[(function, file's name, line)], innermost first"""
    out = subprocess.run(["addr2line", "-f", "-i", "-C", "-e", path, address], capture_output=True, text=True).stdout.splitlines()
    frames = []
    for function, place in zip(out[::2], out[1::2]):
        file, _, line = place.partition(" (discriminator")[0].rpartition(":")
        frames.append((function, os.path.basename(file), int(line) if line.isdigit() else None))
    if len(frames) > 1:
        # GNU addr2line names the first of several by the symbol table, which knows the outermost only; the place is right.
        frames[0] = (symbolizer(path, address), *frames[0][1:])
    return frames


def symbolizer(path, address):
    """The innermost function by LLVM's reader; None where it is not installed"""
    program = next((p for p in ("llvm-symbolizer", *sorted(glob.glob("/usr/lib/llvm-*/bin/llvm-symbolizer"))) if shutil.which(p)), None)
    if not program:
        return None
    out = subprocess.run([program, "-e", path, "--functions=linkage", address], capture_output=True, text=True).stdout.splitlines()
    return out[0] if out else None


def plain(name):
    """The last component, without template and function arguments: documents have the linkage name, DWARF the plain one."""
    name = re.sub(r" \[clone [^]]*\]|\.(isra|part|constprop|cold)\b.*", "", name).replace("(anonymous namespace)", "anonymous")
    for pattern in (r"<[^<>]*>", r"\([^()]*\)"):
        while re.search(pattern, name):
            name = re.sub(pattern, "", name)
    return name.removesuffix(" const").rpartition(" ")[2].rpartition("::")[2]


def against_addr2line(name, path_of_debug, doc, out):
    """The program prints 'site BYTES ADDRESS...': the return addresses of a stack whose innermost call allocated a number of bytes"""
    agreed, wrong = 0, []
    for m in re.finditer(r"^site (\d+) (.*)$", out, re.M):
        wanted = [frame for address in m[2].split() for frame in addr2line(path_of_debug, address)]
        sites = [s for s in doc["sites"] if s["calls"] and s["bytes"] == int(m[1])]
        if len(sites) != 1:
            wrong.append((m[0], len(sites), "sites of that size"))
            continue
        got = [(f["name"], f["file"] and os.path.basename(f["file"]), f["line"]) for f in sites[0]["stack"]]
        got = [f for f in got if f[0] not in ("_start", "__libc_start_main", "__libc_start_call_main")]
        same = len(got) == len(wanted) and all(a[1:] == b[1:] and (b[0] is None or plain(a[0]) == plain(b[0])) for a, b in zip(got, wanted))
        agreed += len(wanted) if same else 0
        if not same:
            wrong.append((m[1], got, wanted))
    print(f"  {name}: {agreed} frames agree with addr2line")
    check(f"{name}: functions, files and lines, inlined ones too, are addr2line's", agreed > 10 and not wrong, wrong[:2])


def stripped(doc, unstripped):
    """module+offset is the start of a function, by nm of the copy that has symbols; equal functions are one row"""
    starts = {}
    for line in subprocess.run(["nm", "-C", unstripped], capture_output=True, text=True).stdout.splitlines():
        m = re.match(r"([0-9a-f]+) [tTwW] (.*)", line)
        if m:
            starts[int(m[1], 16)] = m[2]
    names, wrong = collections.Counter(), []
    for site in doc["sites"]:
        for frame in site["stack"]:
            if frame["module"] and os.path.basename(frame["module"]) == "bare":
                names[frame["name"]] += 1
                m = re.fullmatch(r"bare\+0x([0-9a-f]+)", frame["name"])
                if not m and frame["name"] not in ("main", "_start"):
                    wrong.append(frame["name"])
                elif m and int(m[1], 16) not in starts:
                    wrong.append(frame["name"])
    print(f"  stripped: {len(names)} functions, {[(n, starts.get(int(n.split('0x')[1], 16))) for n in names if '0x' in n][:6]}")
    check("stripped: frames are named by the offset of their function's first byte", len(names) >= 5 and not wrong, wrong[:5])


def main():
    reason = missing("addr2line", "nm", "objcopy", "strip", "gcc", "g++")
    if reason:
        print(reason)
        raise SystemExit(77)
    if build("named", "named.cc", "-O2", "-std=c++17", "-no-pie", "-rdynamic"):
        result, doc = heap("./named")
        out = result.out.decode(errors="replace")
        if check("named: there is a document", doc is not None, repr(result)):
            against_addr2line("debug information in the program", "named", doc, out)
        subprocess.run("objcopy --only-keep-debug named apart.debug && cp named apart && strip -g apart && objcopy --add-gnu-debuglink=apart.debug apart",
                       shell=True, check=True)
        result, doc = heap("./apart")
        if check("apart: there is a document", doc is not None, repr(result)):
            against_addr2line("debug information in a file apart", "apart.debug", doc, result.out.decode(errors="replace"))
    if build("whole", "named.cc", "-O2", "-std=c++17"):
        subprocess.run(["strip", "-s", "-o", "bare", "whole"], check=True)
        result, doc = heap("./bare")
        if check("bare: there is a document", doc is not None, repr(result)):
            stripped(doc, "whole")
            check("bare: a note says so", any(n["code"] == "stripped" for n in doc["notes"]), doc["notes"])
    if platform.machine() != "x86_64":
        skip("code made at run time has the names of its perf map", "its code is x86_64's")
    elif build("jit", "jit.c", "-O2"):
        result, doc = cpu("./jit", options=("--stacks",))
        if check("jit: there is a document", doc is not None, repr(result)):
            own = {f["name"]: f["self"] for f in doc["functions"]}
            made = [own.get(f"jit function {i}", 0) for i in range(3)]
            print(f"  jit: {made} samples of {doc['samples']}")
            check("code made at run time has the names of its perf map", sum(made) > 0.8 * doc["samples"], own)
            check("its functions have their shares, 1 : 2 : 3", made[0] < made[1] < made[2], made)
            callers = collections.Counter(s["stack"][1]["name"] for s in doc["stacks"] if s["stack"][0]["name"].startswith("jit") for _ in range(s["samples"])
                                          if len(s["stack"]) > 1)
            print(f"  jit: called by {dict(callers)}; broken {doc['loss']['broken_stacks']}")
        for line in result.out.decode().splitlines():
            if line.startswith("/tmp/perf-"):
                os.unlink(line)
    done()


main()
