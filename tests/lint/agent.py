#!/usr/bin/env python3
"""agent - what the agent takes from other libraries, and what it gives the target, are kept lists

The agent lives in somebody else's process. Everything that it imports was looked at once: no heap, no lock of the target's,
no exit. A new import is a decision, so it fails here until it stands in agent_imports.txt; the same for what it exports.
"""
import os
import pathlib
import re
import subprocess

from cells import check, done, skip

HERE = pathlib.Path(__file__).resolve().parent
AGENT = pathlib.Path(os.environ["BUILD"]) / "libtare-agent.so"


def kept(name):
    path = HERE / name
    if not path.exists():
        return None
    return {line.split("#")[0].strip() for line in path.read_text().splitlines()} - {""}


def symbols(*flags):
    text = subprocess.run(["nm", "-D", *flags, str(AGENT)], capture_output=True, text=True, check=True).stdout
    return {re.sub(r"@.*", "", line.split()[-1]) for line in text.splitlines() if line.strip()}


def compare(sentence, file, there):
    listed = kept(file)
    if listed is None:
        skip(sentence, f"tests/lint/{file} is not there yet")
        return
    more, fewer = sorted(there - listed), sorted(listed - there)
    check(sentence, not more and not fewer, f"not in tests/lint/{file}: {' '.join(more) or 'none'}; "
          f"there, but not used: {' '.join(fewer) or 'none'}")


def libraries():
    text = subprocess.run(["readelf", "-dW", str(AGENT)], capture_output=True, text=True, check=True).stdout
    needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", text))
    allowed = re.compile(r"libc\.so\.6|ld-linux.*")
    check("the agent needs libc alone", all(allowed.fullmatch(n) for n in needed), needed)
    relocations = subprocess.run(["readelf", "-rW", str(AGENT)], capture_output=True, text=True, check=True).stdout
    check("its thread-local storage needs no allocation", not re.search(r"R_X86_64_(DTPMOD|TLSDESC)|R_AARCH64_(TLS_DTPMOD|TLSDESC)",
                                                                        relocations), "a dynamic TLS relocation")


if not AGENT.exists():
    skip("the agent's symbols", "this build has no agent")
else:
    # Weak imports of the start-up code are not the agent's choice.
    start = {"__cxa_finalize", "__gmon_start__", "_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable"}
    compare("what the agent imports is the kept list", "agent_imports.txt", symbols("--undefined-only") - start)
    compare("what the agent exports is the kept list", "agent_exports.txt", symbols("--defined-only"))
    libraries()
done()
