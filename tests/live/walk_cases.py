#!/usr/bin/env python3
"""walk_cases - hostile programs for the stack walker, each with the truth of its own (tests/programs/walk)

The walker's sources are compiled into each program, as they are into the agent. A program says its verdict in its last line.
"""
import os
import pathlib
import platform
import subprocess
import sys

SOURCE = pathlib.Path(os.environ.get("SOURCE", pathlib.Path(__file__).resolve().parent.parent.parent))
CC = os.environ.get("CC", "cc").split()
HERE = SOURCE / "tests/programs/walk"
CPU = platform.machine()
INCLUDES = ["-I", HERE, "-I", SOURCE / "src", "-I", SOURCE / "src/arch" / CPU]
# -fomit-frame-pointer: nobody shall be able to follow frame pointers
FLAGS = ["-O2", "-g", "-D_GNU_SOURCE", "-fomit-frame-pointer", "-fasynchronous-unwind-tables", *INCLUDES]

CASES = [
    # name, capture() needed, arguments, sentence
    ("null_call", True, [], "a call through a bad pointer shows its caller"),
    ("dlclose_reuse", True, [], "another object at the same address is walked by its own rules"),
    ("jit", True, [], "frames given to __register_frame are used, and code without them does no harm"),
    ("reenter", True, [], "a walk interrupted by new walks at any instruction gives its own answer"),
    ("random_stacks", False, ["300000"], "300000 random stacks with the walk before equal walks that know nothing"),
    ("oracle", False, [], "a walk is right at every instruction of a body that calls, jumps, throws, loads and is signalled"),
    ("storm", False, [], "walks in signals end right while objects, threads and children come and go"),
]
X86_ONLY = {"oracle"}


def run(argv, **how):
    return subprocess.run([str(a) for a in argv], check=True, **how)


def have_cxx():
    try:
        return run(["c++", "--version"], capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        return None


def build(out):
    walker = []
    sources = [SOURCE / "src/walk" / (n + ".c") for n in ("cache", "cfi", "expr", "find", "full", "memory", "step", "walk")]
    for source in [*sources, SOURCE / "src/arch" / CPU / "arch.c"]:
        walker.append(out / (source.stem + ".o"))
        run([*CC, "-std=gnu11", "-O2", "-g", "-D_GNU_SOURCE", "-fno-strict-aliasing", "-fPIC", *INCLUDES, "-c", source, "-o", walker[-1]])
    (out / "pool").mkdir()
    for i in range(8):
        run([*CC, *FLAGS, "-g0", "-shared", "-fPIC", f"-DVARIANT={i}", "-o", out / f"pool/{i}.so", HERE / "pool.c"])
    for i in range(8, 32):
        (out / f"pool/{i}.so").write_bytes((out / f"pool/{i % 8}.so").read_bytes())
    for name, size in (("small", 200), ("large", 4000)):
        run([*CC, *FLAGS, "-fno-stack-protector", "-fno-stack-clash-protection", "-shared", "-fPIC", f"-DFRAME={size}",
             "-o", out / f"reuse_{name}.so", HERE / "reuse_object.c"])
    return walker


def main():
    out = pathlib.Path.cwd()
    walker = build(out)
    for name, capture, arguments, sentence in CASES:
        if name in X86_ONLY and CPU != "x86_64":
            print(f"ok - {sentence} # SKIP single-stepping oneself is an x86 thing")
            continue
        objects = [HERE / "capture_tare.c"] if capture else []
        link = CC
        if name == "oracle":
            if not have_cxx():
                print(f"ok - {sentence} # SKIP no C++ compiler for the exception")
                continue
            run(["c++", *FLAGS, "-c", HERE / "throw.cc", "-o", out / "throw.o"])
            run([*CC, *FLAGS, "-c", HERE / "oracle.c", "-o", out / "oracle.o"])
            run(["c++", "-rdynamic", "-Wl,-z,lazy", "-o", out / name, out / "oracle.o", out / "throw.o", *walker, "-lm"])
        else:
            run([*link, *FLAGS, "-pthread", "-rdynamic", "-Wl,-rpath,$ORIGIN", "-o", out / name, HERE / (name + ".c"),
                 *objects, *walker, "-lgcc_s"])
        done = subprocess.run([str(out / name), *arguments], capture_output=True, text=True, timeout=300)
        lines = done.stdout.strip().splitlines() or [f"status {done.returncode}, no output"]
        verdict = "ok" if done.returncode in (0, 77) else "not ok"
        print(f"{verdict} - {sentence}" + (f" # SKIP {lines[-1]}" if done.returncode == 77 else ""))
        for line in lines[-4:]:
            print(f"    {line}")
    return 0


sys.exit(main())
