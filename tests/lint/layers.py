#!/usr/bin/env python3
"""layers - which folder of src/ may include which, and other rules that a look at the text can hold

The law is ARCHITECTURE.md's. Tests (x_test.c) may include what they test with, so only code is held to it.
"""
import os
import pathlib
import re
import subprocess

from cells import check, done

SOURCE = pathlib.Path(os.environ["SOURCE"])
SRC = SOURCE / "src"

MAY = {
    "base": set(),
    "arch": {"base"},
    "walk": {"base", "arch"},
    "probe": {"base", "arch"},
    "record": {"base"},
    "stat": {"base"},
    "collect": {"base", "arch", "walk", "probe", "record"},
    "analyse": {"base", "record", "stat"},
    "render": {"base", "stat", "analyse"},
    "lib": {"base", "arch", "walk", "probe", "stat"},
    "cli": {"base", "arch", "walk", "probe", "record", "stat", "collect", "analyse", "render"},
}
# A record is born in its final form: the agent and the walk know the structs of events, not the bytes of the file.
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
LARGEST_FILE = 600
PRINTS = re.compile(r"\b(printf|fprintf|vprintf|vfprintf|dprintf|puts|fputs|putchar|fputc|perror|exit|_exit|_Exit|abort|err|errx|warn|warnx)\s*\(")
# The collector's child between fork and exec has to end somehow; the agent's own _exit() stands in front of libc's.
MAY_EXIT = {"src/collect/launch.c": {"_exit"}, "src/collect/agent/start.c": {"_exit", "_Exit"}}


def sources(folder=SRC, tests=False):
    for path in sorted(folder.rglob("*")):
        if path.suffix in (".c", ".h") and (tests or not is_test(path)):
            yield path


def is_test(path):
    return path.stem.endswith("_test") or path.stem.endswith("_testing") or "_test_" in path.stem


def name(path):
    return str(path.relative_to(SOURCE))


def bare(text):
    """Text without comments and the insides of strings, line by line as before."""
    def blank(m):
        return re.sub(r"[^\n]", " ", m[0])
    return re.sub(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', blank, text, flags=re.S)


def layer_law():
    bad = []
    for path in sources():
        layer = path.relative_to(SRC).parts[0]
        if layer not in MAY:
            bad.append(f"{name(path)}: no such layer")
            continue
        for included in INCLUDE.findall(path.read_text()):
            other = included.split("/")[0]
            if other in MAY and other != layer and other not in MAY[layer]:
                bad.append(f"{name(path)}: {layer} may not include {included}")
    check("every include obeys the layer law", not bad, "\n  ".join(bad))


def nothing_below_cli_prints():
    bad = []
    for path in sources():
        if path.relative_to(SRC).parts[0] == "cli":
            continue
        for number, line in enumerate(bare(path.read_text()).splitlines(), 1):
            for m in PRINTS.finditer(line):
                if m[1] not in MAY_EXIT.get(name(path), ()):
                    bad.append(f"{name(path)}:{number}: {m[1]}()")
    check("nothing below cli/ prints or exits", not bad, "\n  ".join(bad))


def files_are_short():
    bad = []
    for path in list(sources(tests=True)) + list(sources(SOURCE / "tests", tests=True)) + list(sources(SOURCE / "bench", tests=True)):
        lines = path.read_text().count("\n")
        if lines > LARGEST_FILE:
            bad.append(f"{name(path)}: {lines} lines")
    check(f"no file is longer than {LARGEST_FILE} lines", not bad, "\n  ".join(bad))


def files_say_what_they_are():
    bad = [name(path) for path in sources(tests=True) if not path.read_text().startswith("/*")]
    check("every file opens with what it is", not bad, "\n  ".join(bad))


def no_conditions_in_bodies():
    """No #if in a function's body: a CPU is a folder, a missing feature a twin file."""
    bad = []
    for path in sources():
        depth = 0
        for number, line in enumerate(bare(path.read_text()).splitlines(), 1):
            if re.match(r"\s*#\s*(if|ifdef|ifndef|elif)\b", line) and depth > 0:
                bad.append(f"{name(path)}:{number}: {line.strip()}")
            if not line.lstrip().startswith("#"):
                depth += line.count("{") - line.count("}")
    check("no #if stands in a function's body", not bad, "\n  ".join(bad))


def no_goto():
    bad = [f"{name(path)}:{number}" for path in sources()
           for number, line in enumerate(bare(path.read_text()).splitlines(), 1) if re.search(r"\bgoto\b(?!\")", line)
           and "asm" not in line]
    check("no goto", not bad, "\n  ".join(bad))


def tracked():
    listed = subprocess.run(["git", "-C", str(SOURCE), "ls-files", "-z"], capture_output=True)
    if listed.returncode == 0 and listed.stdout:
        return [SOURCE / f for f in listed.stdout.decode().split("\0") if f]
    skipped = {"build", ".git"}
    return [p for p in SOURCE.rglob("*") if p.is_file() and p.relative_to(SOURCE).parts[0] not in skipped]


def nothing_of_one_machine():
    """No path of the machine it was written on, no host of a registry."""
    words = re.compile(rb"/work(?=/)|(?<![\w.])/root/|/tmp/b-|" + rb"\.\./shared" + rb"|deb\.debian\." + rb"org|registry\.npm" + rb"js|pypi\." + rb"org|proxy\.golang")
    bad = []
    for path in tracked():
        if path == pathlib.Path(__file__).resolve() or not path.is_file():
            continue
        for number, line in enumerate(path.read_bytes().split(b"\n"), 1):
            if words.search(line):
                bad.append(f"{name(path)}:{number}: {line.strip()[:100].decode(errors='replace')}")
    check("nothing names a path of one machine, or a registry's host", not bad, "\n  ".join(bad))


def spaces():
    bad = []
    for path in list(sources(tests=True)):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if line != line.rstrip():
                bad.append(f"{name(path)}:{number}: space at the end of the line")
    check("no line ends with a space", not bad, "\n  ".join(bad))


layer_law()
nothing_below_cli_prints()
files_are_short()
files_say_what_they_are()
no_conditions_in_bodies()
no_goto()
nothing_of_one_machine()
spaces()
done()
