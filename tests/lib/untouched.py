"""untouched - a program run without tare and with it: output, errors and status have to be the same, byte for byte"""
import json
import os
import shutil
import subprocess

from cells import Result, check, compile_c, document, equal, tare

AGENT = os.environ["SOURCE"] + "/tests/programs/agent"
HEAP = os.environ["SOURCE"] + "/tests/programs/heap"
_number = 0


def compiled(name, *flags):
    """Compiles tests/programs/agent/NAME.c or .cc into this directory; its path or None."""
    cxx = os.path.exists(f"{AGENT}/{name}.cc")
    with open(f"{AGENT}/{name}.{'cc' if cxx else 'c'}") as f:
        return compile_c(name, f.read(), "-I", AGENT, "-I", HEAP, "-D_GNU_SOURCE", "-Wall", "-Wextra", "-pthread", *flags, cxx=cxx)


def plain(*argv, env=None, stdin=b"", timeout=120, **options):
    """Runs a program alone; a signal N that ended it is status 128+N."""
    full = dict(os.environ)
    full.update(env or {})
    process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=full, **options)
    out, err = process.communicate(stdin, timeout=timeout)
    result = Result(process, out, err)
    if result.status < 0:
        result.status = 128 - result.status
    return result


def measured(command, *argv, options=(), env=None, stdin=b"", timeout=120, **more):
    """Runs tare COMMAND so that stdout and stderr are the program's alone; (result, document or None)."""
    global _number
    _number += 1
    file = f"untouched.{_number}.json"
    with open(f"{file}.in", "wb") as f:
        f.write(stdin)
    with open(f"{file}.in", "rb") as f:
        result = tare(command, "-q", "--no-file", "-o", file, *options, "--", *argv, env=env, stdin=f, timeout=timeout, **more)
    try:
        with open(file, "rb") as f:
            return result, document(f.read())
    except OSError:
        return result, None


def instrument_on(doc):
    if not doc:
        return False
    events = doc["calls"] if "calls" in doc else doc["samples"]
    return events > 0 and (doc["cost"]["cpu_ns"] > 0 or events < 1000)


def untouched(sentence, command, *argv, options=(), env=None, stdin=b"", normal=lambda b: b, **more):
    """Checks that the run under tare is the run without it; the document, or None where nothing can be said of it."""
    alone = plain(*argv, env=env, stdin=stdin, **more)
    under, doc = measured(command, *argv, options=options, env=env, stdin=stdin, **more)
    good = equal(f"{sentence}: {command}: exit status", under.status, alone.status)
    good &= equal(f"{sentence}: {command}: stdout", normal(under.out), normal(alone.out))
    good &= equal(f"{sentence}: {command}: stderr", normal(under.err), normal(alone.err))
    if not check(f"{sentence}: {command}: the instrument was on", instrument_on(doc), json.dumps(doc)[:800]) or not good:
        return None
    doc["out"] = under.out
    return doc


def missing(*programs):
    return next((p for p in programs if not shutil.which(p)), None)
