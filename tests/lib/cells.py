"""cells - many small checks in one test file, each counted by tests/run

A check is a sentence and whether it holds. done() at the end gives the exit status.
"""
import json
import os
import signal
import subprocess
import sys

TARE = os.environ["TARE"]
_bad = 0


def check(sentence, holds, detail=""):
    global _bad
    print(f"{'ok' if holds else 'not ok'} - {sentence}", flush=True)
    if not holds:
        _bad += 1
        print(f"  {detail}", flush=True)
    return holds


def equal(sentence, got, wanted):
    return check(sentence, got == wanted, f"got {got!r}, wanted {wanted!r}")


def skip(sentence, reason):
    print(f"ok - {sentence} # SKIP {reason}", flush=True)


def done():
    sys.exit(1 if _bad else 0)


class Result:
    def __init__(self, process, out, err):
        # A shell sees 128+N; tare itself dying of a signal is never what a test expects.
        self.status = process.returncode
        self.out, self.err = out, err

    def __repr__(self):
        return f"status {self.status}, stdout {self.out[-600:]!r}, stderr {self.err[-600:]!r}"


def tare(*words, env=None, stdin=subprocess.DEVNULL, timeout=120, **options):
    """Runs tare; stdout and stderr as bytes."""
    full = dict(os.environ)
    full.update(env or {})
    process = subprocess.Popen([TARE, *words], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=full, **options)
    try:
        out, err = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        out, err = process.communicate()
        err += b"\n[test: no end in time]"
    return Result(process, out, err)


def compile_c(name, text, *flags, cxx=False):
    """Compiles a program into this directory; returns its path or None."""
    source = f"{name}.{'cc' if cxx else 'c'}"
    with open(source, "w") as f:
        f.write(text)
    cc = os.environ.get("CC", "cc")
    if cxx:
        cc = "clang++" if "clang" in cc else "g++"
    done_ = subprocess.run([cc, "-O1", "-g", "-o", name, source, *flags], capture_output=True, text=True)
    if done_.returncode:
        print(done_.stderr)
        return None
    return os.path.abspath(name)


def document(out):
    """The JSON document on the last line of stdout; None where there is none."""
    lines = out.decode(errors="replace").splitlines()
    try:
        return json.loads(lines[-1], parse_constant=lambda c: (_ for _ in ()).throw(ValueError(c)))
    except (IndexError, ValueError):
        return None
