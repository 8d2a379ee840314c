#!/usr/bin/env python3
"""manual - every command has its page, every option of --help is in it, and mandoc finds nothing to complain of"""
import os
import pathlib
import re
import shutil
import subprocess

from cells import check, done, skip, tare

SOURCE = pathlib.Path(os.environ["SOURCE"])
MAN = SOURCE / "man"


def commands():
    text = tare("help").out.decode()
    return re.findall(r"^  (\w+) ", text.split("Commands:")[1].split("Examples:")[0], re.M)


def page_text(page):
    return page.read_text() if page.exists() else ""


for command in commands():
    if command == "help":
        continue
    page = MAN / f"tare-{command}.1"
    check(f"tare-{command}(1) exists", page.exists())
    help_text = tare(command, "--help").out.decode()
    options = set(re.findall(r"^  (?:-\w, |    )--([a-z-]+)", help_text, re.M))
    check(f"--help of {command} has options", len(options) > 4, help_text)
    text = page_text(page)
    common = page_text(MAN / "tare.1")
    missing = [o for o in sorted(options) if not re.search(rf"^\.It .*Fl -{o}\b", text, re.M)
               and not re.search(rf"^\.It .*Fl -{o}\b", common, re.M)]
    check(f"every option of {command} is in its page or in tare(1)", not missing, missing)
    known = set(re.findall(r"--([a-z-]+)", help_text))
    stale = [o for o in re.findall(r"^\.It .*?Fl -([a-z-]+)", text, re.M) if o not in known]
    check(f"its page has no option that {command} does not have", not stale, stale)
    check(f"EXAMPLES of {command} come right after SYNOPSIS",
          re.search(r"^\.Sh SYNOPSIS\n(?:(?!\.Sh ).*\n)*\.Sh EXAMPLES(?:\\&)?$", text, re.M), "")
    check(f"--help of {command} fits 100 columns", max(map(len, help_text.splitlines())) <= 115, "")

pages = sorted(p for p in MAN.glob("*.[1-9]"))
if shutil.which("mandoc"):
    for page in pages:
        got = subprocess.run(["mandoc", "-T", "lint", "-W", "warning", str(page)], capture_output=True, text=True)
        check(f"mandoc has nothing to say of {page.name}", got.returncode == 0 and not got.stdout, got.stdout + got.stderr)
else:
    skip("mandoc -T lint", "mandoc is not installed")
if shutil.which("man"):
    for page in pages:
        got = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", str(page)], capture_output=True,
                             env=dict(os.environ, MANROFFSEQ="", LC_ALL="C.UTF-8"))
        check(f"man --warnings has nothing to say of {page.name}", got.returncode == 0 and not got.stderr, got.stderr)
else:
    skip("man --warnings", "man is not installed")
done()
