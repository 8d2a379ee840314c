"""peers - other people's tools as oracles: the same program in an environment that is equal to the byte"""
import os
import re
import shutil
import subprocess

from cells import TARE, document

VALGRIND = "/usr/bin/valgrind.bin"      # what the distribution's wrapper script runs, without its own variables
USAGE = re.compile(rb"total heap usage: ([\d,]+) allocs, ([\d,]+) frees, ([\d,]+) bytes")


def missing(*programs):
    """A reason to skip, or None."""
    gone = [p for p in programs if not shutil.which(p)]
    return f"{gone[0]} is not installed" if gone else None


def valgrind_words():
    # freeres=no: valgrind's own last act is to call __libc_freeres() and __gnu_cxx::__freeres(), which the program never does
    program = VALGRIND if os.access(VALGRIND, os.X_OK) else "valgrind"
    return [program, "--run-libc-freeres=no", "--run-cxx-freeres=no"]


def tare_words():
    return [TARE, "heap", "--json", "--no-file", "--no-config", "-q", "--"]


def _run(words, env):
    process = subprocess.Popen(words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    out, err = process.communicate(timeout=300)
    return process, out, err


def _seen(words, env):
    """The environment that a program sees under a tool, as {name: value}, and the tool's pid."""
    process, out, _ = _run([*words, "/usr/bin/env", "-0"], env)
    entries = [e.partition("=") for e in out.decode().split("\0") if "=" in e and not e.startswith("\n{")]
    return {name: value for name, _, value in entries}, process.pid


def equal_environments(env):
    """Two environments, such that a program sees the same names, with values of the same length, under valgrind and tare

    Programs copy their environment (perl and python: blocks for each entry), so its size is a part of what they allocate.
    valgrind adds LD_PRELOAD (its wrapper script other variables), tare a LD_PRELOAD of another length: the shorter one gets
    a libc of a long name; libc is there already.
    The last value is the number of digits of tare's pid for which it holds: the pid is a part of the entry's path.
    """
    theirs, _ = _seen(valgrind_words(), env)
    added = {name: value for name, value in theirs.items() if name not in env and name != "LD_PRELOAD"}
    ours_env, theirs_env = {**env, **added}, dict(env)
    ours, pid = _seen(tare_words(), ours_env)
    gap = len(theirs["LD_PRELOAD"]) - len(ours["LD_PRELOAD"])
    libc = ":" + _libc()
    if abs(gap) > len(libc):
        (ours_env if gap > 0 else theirs_env)["LD_PRELOAD"] = "/" * (abs(gap) - len(libc)) + libc[1:]
    ours, pid = _seen(tare_words(), ours_env)
    theirs, _ = _seen(valgrind_words(), theirs_env)
    lengths = [{name: len(value) for name, value in seen.items()} for seen in (ours, theirs)]
    return theirs_env, ours_env, len(str(pid)), lengths[0] == lengths[1] or f"{ours} and {theirs}"


def _libc():
    with open("/proc/self/maps") as maps:
        return next(line.split()[-1] for line in maps if "/libc.so.6" in line or "/libc-2" in line)


def by_valgrind(argv, env):
    """(calls, frees, bytes), stdout"""
    process, out, err = _run([*valgrind_words(), *argv], env)
    m = USAGE.search(err)
    if not m or process.returncode:
        return err[-500:], out
    return tuple(int(n.replace(b",", b"")) for n in m.groups()), out


def by_tare(argv, env, digits=None):
    """(calls, frees, bytes), the program's stdout, the document"""
    for _ in range(8):
        process, out, err = _run([*tare_words(), *argv], env)
        if digits is None or len(str(process.pid)) == digits:
            break
    doc = document(out)
    if doc is None:
        return err[-500:], out, None
    # tare cannot know whether the program ended its line: the document begins with a line break of its own
    return (doc["calls"], doc["frees"], doc["bytes_allocated"]), out[:out.rstrip(b"\n").rfind(b"\n")], doc
