#!/usr/bin/env python3
"""config - $XDG_CONFIG_HOME/tare/config"""
import os

from cells import check, document, done, equal, tare

os.makedirs("c/tare")
os.makedirs("home/.config/tare")
XDG = {"XDG_CONFIG_HOME": os.path.abspath("c")}


def config(text, folder="c/tare"):
    with open(f"{folder}/config", "w") as f:
        f.write(text)


def frequency(*words, env=None):
    got = tare("cpu", "--json", "--no-file", "-q", *words, "--", "true", env=env or XDG)
    return (document(got.out) or {}).get("frequency_hz")


config("# a comment\n\n[cpu]\nfrequency = 499\n[heap]\nlimit = 3\n")
equal("a line of the command's section counts", frequency(), 499)
equal("the command line wins", frequency("-F", "251"), 251)
equal("--no-config ignores it", frequency("--no-config"), 997)
config("frequency = 499\n")
equal("a line before all sections counts", frequency(), 499)
config("[heap]\nlimit = 3\n")
equal("another command's section does not", frequency(), 997)
config("frequency = 333\n", "home/.config/tare")
equal("~/.config is where it is without XDG_CONFIG_HOME", frequency(env={"HOME": os.path.abspath("home")}), 333)
config("[cpu]\nfreqency = 1\n")
got = tare("cpu", "--no-file", "--", "true", env=XDG)
check("a misspelt option is named with file and line", got.status == 125 and b"config:2: unknown option 'freqency'" in got.err, got)
check("the program is not started then", got.out == b"", got)
check("--help still works", tare("cpu", "--help", env=XDG).status == 0)
os.makedirs("unreadable/tare")
os.symlink("config", "unreadable/tare/config")      # not even root can read it
for words, said in (((), False), (("-v",), True)):
    got = tare("cpu", "--no-file", *words, "--", "true", env={"XDG_CONFIG_HOME": os.path.abspath("unreadable")})
    check(f"a configuration that cannot be read is {'said with -v' if said else 'gone without'}",
          got.status == 0 and (b"tare/config: " in got.err) == said, got)
config("no-config = yes\n")
check("the configuration cannot set no-config", tare("report", env=XDG).status == 2)
config("quiet = yes\n")
got = tare("cpu", "--", "true", env=XDG)
check("flags are yes or no", got.err == b"" and got.status == 0, got)
done()
