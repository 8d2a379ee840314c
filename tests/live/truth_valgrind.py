#!/usr/bin/env python3
"""valgrind's "total heap usage" of programs that do the same each time, against tare heap's, to the unit

What makes the two runs the same: each program gets an environment of equal entries and bytes
(peers.equal_environments), no input, no address or time in what it does. python: PYTHONHASHSEED=0 (else sets and dicts
of strings differ in order), PYTHONMALLOC=malloc (else its own allocator stands between), LC_ALL=C. perl:
PERL_HASH_SEED=0 PERL_PERTURB_KEYS=0. sort: -S and --parallel=1 (its buffer depends on free memory, its threads on the
CPUs). Each difference that remains is a case of its own below, with its size and reason.
"""
import collections
import os
import re
import subprocess

from cells import check, done, equal, skip
from measured import columns_sum
from peers import by_tare, by_valgrind, equal_environments, missing, valgrind_words

SOURCE = os.environ["SOURCE"] + "/tests/programs/truth"
JOB = ("import json,re,collections\n"
       "d=[{'n':i,'s':str(i)*3,'l':list(range(i%9))} for i in range(800)]\n"
       "t=json.dumps(d)\n"
       "assert json.loads(t)==d\n"
       "print(len(re.findall('[0-9]{3,}',t)),collections.Counter(t).most_common(2))\n")
PERL = "my %h; for my $i (1..4000) { push @{$h{$i % 97}}, join('-', $i, $i*3) } print scalar(map { split /-/ } map { @$_ } values %h), qq{\\n};"
SQL = ("create table t(a integer primary key, b text); "
       "with recursive n(i) as (select 1 union all select i+1 from n where i<3000) insert into t select i, hex(i)||'-'||i from n; "
       "create index u on t(b); select count(*), max(b), group_concat(substr(b,1,1)) from t where b like '%7%' group by a%5;")

PYTHON_ENV = {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"}
PERL_ENV = {"PERL_HASH_SEED": "0", "PERL_PERTURB_KEYS": "0"}


def build(name, *flags, out=None):
    source = next(f"{SOURCE}/{name}.{s}" for s in ("c", "cc") if os.path.exists(f"{SOURCE}/{name}.{s}"))
    made = subprocess.run(["g++" if source.endswith(".cc") else "gcc", "-O1", "-g", "-fno-builtin", "-o", out or name, source, *flags],
                          capture_output=True, text=True)
    return check(f"{name} is built", made.returncode == 0, made.stderr)


def by_size(words, env):
    """{size: blocks asked for}, of valgrind's trace or of sizes.c"""
    err = subprocess.run(words, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE).stderr
    sizes = collections.Counter()
    for m in re.finditer(rb"-- (?:malloc|realloc|calloc)\((?:0x[0-9A-Fa-f]+,)?(\d+)(?:,(\d+))?\)", err):
        sizes[int(m[1]) * int(m[2] or 1)] += 1
    for m in re.finditer(rb"^size (\d+) count (\d+)$", err, re.M):
        sizes[int(m[1])] += int(m[2])
    return sizes


def low_addresses(argv, theirs_env, env):
    """The bytes that python's integers need less under valgrind: one that holds an address (a thread's number is one) has one digit
    of 30 bits there, 28 bytes, since valgrind puts everything low; else two, 32 bytes. Told by sizes alone, without tare: as many blocks
    of 32 are fewer under valgrind as there are more of 28, and no other size differs."""
    gap = len(_preload(theirs_env)) - len(os.path.abspath("sizes.so"))
    native = by_size(argv, {**env, "LD_PRELOAD": "/" * gap + os.path.abspath("sizes.so")})
    traced = by_size([*valgrind_words(), "--trace-malloc=yes", *argv], theirs_env)
    differs = {size: traced[size] - native[size] for size in native if native[size] != traced[size] and size < 4000}
    print(f"  blocks of a size, valgrind minus native: {differs}")
    n = differs.get(28, 0)
    check("python: integers of two digits are all that is larger without valgrind", differs == {28: n, 32: -n} and n > 0, differs)
    return (0, 0, -4 * n)


def _preload(env):
    out = subprocess.run([*valgrind_words(), "/usr/bin/env", "-0"], env=env, capture_output=True).stdout
    return next(e[11:] for e in out.decode().split("\0") if e.startswith("LD_PRELOAD="))


def compare(sentence, argv, extra=None, explained=(0, 0, 0), repeat=True):
    """The two triples; explained is what valgrind is known to see more, or a function that finds it without tare."""
    if not os.access(argv[0], os.X_OK):
        return skip(sentence, f"{argv[0]} is not installed")
    env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "HOME": os.getcwd(), **(extra or {})}
    theirs_env, ours_env, digits, same = equal_environments(env)
    if same is not True:
        return skip(sentence, f"no equal environments: {same}")
    theirs, their_out = by_valgrind(argv, theirs_env)
    ours, our_out, doc = by_tare(argv, ours_env, digits)
    if not check(f"{sentence}: both have an answer", doc is not None and isinstance(theirs, tuple), (theirs, ours)):
        return None
    if repeat:
        again, _ = by_valgrind(argv, theirs_env)
        if again != theirs:
            return skip(sentence, f"the program is not deterministic here: {theirs} and {again} under valgrind")
    check(f"{sentence}: the program's output is the same", our_out == their_out, (our_out[-100:], their_out[-100:]))
    print(f"  {os.path.basename(argv[0])}: {ours[0]} calls, {ours[1]} frees, {ours[2]} bytes; valgrind minus tare: "
          f"{tuple(t - o for t, o in zip(theirs, ours))}")
    if callable(explained):
        explained = explained(argv, theirs_env, env)
    equal(f"{sentence}: valgrind minus tare", tuple(t - o for t, o in zip(theirs, ours)), explained)
    check(f"{sentence}: columns sum to totals", not columns_sum(doc), columns_sum(doc))
    equal(f"{sentence}: nothing is lost", doc["loss"]["events"], 0)
    equal(f"{sentence}: what was not freed is what was never freed", doc["never_freed"]["calls"], ours[0] - ours[1])
    return doc


def main():
    reason = missing("valgrind", "gcc", "g++")
    if reason:
        print(reason)
        raise SystemExit(77)
    build("sizes", "-shared", "-fPIC", out="sizes.so")
    if build("plain"):
        compare("a C program", ["./plain"])
    if build("plus", "-std=c++17"):
        compare("a C++ program", ["./plus"])
    if build("odd_new", "-std=c++17"):
        # libstdc++ hands aligned new of 101 bytes at 64 to aligned_alloc as 128, and that is what passes malloc; valgrind replaces new itself.
        compare("aligned new of an odd size is counted as libstdc++ asks for it", ["./odd_new"], explained=(0, 0, 100 * (101 - 128)))
    compare("python without site", ["/usr/bin/python3", "-S", "-c", JOB], PYTHON_ENV, low_addresses)
    compare("python", ["/usr/bin/python3", "-c", JOB], PYTHON_ENV, low_addresses)
    compare("python with its own allocator", ["/usr/bin/python3", "-S", "-c", JOB], {**PYTHON_ENV, "PYTHONMALLOC": "default"})
    compare("perl", ["/usr/bin/perl", "-e", PERL], PERL_ENV)
    compare("sqlite3", ["/usr/bin/sqlite3", "-batch", "-init", "/dev/null", ":memory:", SQL])
    with open("words", "w") as f:
        f.writelines(f"{i * 7919 % 10007} word {i}\n" for i in range(20000))
    compare("sort", ["/usr/bin/sort", "-S", "8M", "--parallel=1", "-k2,2", "-k1,1n", "words"])
    done()


main()
