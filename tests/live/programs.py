#!/usr/bin/env python3
"""programs - real programs under tare: the same output and status, and something measured"""
import os
import re
import subprocess

from cells import check, compile_c, done, skip
from untouched import missing, untouched

PYTHON = r"""
import concurrent.futures, hashlib, json, re, zlib
def work(n):
    text = json.dumps([{"n": i, "t": str(i) * 5} for i in range(n)])
    return hashlib.sha256(zlib.compress(text.encode())).hexdigest()[:8], len(re.findall(r"1+", text))
with concurrent.futures.ThreadPoolExecutor(4) as pool:
    print(list(pool.map(work, [3000, 4000, 5000, 6000] * 2)))
"""
PERL = r"""
my %h; for my $i (1..60000) { push @{$h{$i % 97}}, "x$i"; }
my $s = join ",", map { scalar @{$h{$_}} } sort { $a <=> $b } keys %h; $s =~ s/(\d+)/<$1>/g; print length($s), "\n"; exit 4;
"""
SQL = ("create table t(a integer primary key, b text); with recursive n(i) as (select 1 union all select i+1 from n where i<30000) "
       "insert into t select i, hex(i*7919%10007) from n; create index i on t(b); select count(*), max(b), sum(length(b)) from t "
       "where b > '33'; select b, count(*) from t group by substr(b,1,3) order by 2 desc, 1 limit 5;")
CPP = r"""
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>
static long work(int n) {
	std::map<std::string, std::unique_ptr<std::vector<int>>> m;
	long caught = 0;
	for (int i = 0; i < n; i++) {
		try {
			auto &v = m["key" + std::to_string(i % 500)];
			if (!v) v = std::make_unique<std::vector<int>>();
			v->push_back(i);
			if (i % 17 == 0) throw std::out_of_range("every seventeenth");
			if (i % 100 == 99) v->at(1000000);
		} catch (const std::out_of_range &) { caught++; }
	}
	return caught;
}
int main() {
	std::vector<std::thread> t;
	long r[4];
	for (int i = 0; i < 4; i++) t.emplace_back([&, i] { r[i] = work(20000 + i); });
	for (auto &x : t) x.join();
	std::printf("%ld %ld %ld %ld\n", r[0], r[1], r[2], r[3]);
}
"""
NODE = "const m = new Map(); for (let i = 0; i < 2e5; i++) m.set('k' + i % 999, [i]); console.log(m.size, process.argv.length)"
MAKE = """all: a.o b.o c.o
	cat a.o b.o c.o | cksum
%.o: %.src
	tr a-z A-Z < $< | sort -r > $@
"""


def run():
    with open("lines", "w") as f:
        for i in range(60000):
            f.write(f"{i * 7919 % 60013} line {i}\n")
    with open("c.c", "w") as f:
        f.write("#include <stdio.h>\n#include <stdlib.h>\nstatic int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }\n"
                "int main(int c, char **v) { printf(\"%d\\n\", f(c + atoi(v[0]))); return 0; }\n")
    with open("script.pl", "w") as f:
        f.write(PERL)
    with open("script.py", "w") as f:
        f.write(PYTHON)
    for name in "abc":
        with open(f"{name}.src", "w") as f:
            f.writelines(f"{name}{i * 31 % 997}\n" for i in range(20000))
    with open("Makefile", "w") as f:
        f.write(MAKE)
    cpp = compile_c("cpp", CPP, "-pthread", "-std=c++17", cxx=True)
    python = next((p for p in ("/usr/bin/python3",) if os.path.exists(p)), "python3")
    cases = [
        ("python3 with threads", "python3", [python, "script.py"], {"env": {"PYTHONHASHSEED": "0"}}),
        ("python3 on malloc", "python3", [python, "script.py"], {"env": {"PYTHONHASHSEED": "0", "PYTHONMALLOC": "malloc"}}),
        ("perl", "perl", ["perl", "script.pl"], {"env": {"PERL_HASH_SEED": "0"}}),
        ("sqlite3", "sqlite3", ["sqlite3", ":memory:"], {"stdin": SQL.encode()}),
        ("gcc compiling a file", "gcc", ["gcc", "-O2", "-c", "-o", "c.o", "c.c"], {}),
        ("gcc with an error", "gcc", ["gcc", "-c", "-o", "c.o", "-x", "c", "lines"], {}),
        ("a C++ program with exceptions and threads", "g++", [cpp], {}),
        ("sort with threads", "sort", ["sort", "-n", "--parallel=2", "-S", "1M", "lines"], {}),
        ("xz", "xz", ["xz", "-1", "-T2", "-c", "lines"], {}),
        ("a pipeline of sh", "sh", ["sh", "-c", "sort lines | uniq -c | awk '{s+=$2} END {print s}'; (exit 5)"], {}),
        ("make -j2", "make", ["make", "-s", "-B", "-j2"], {}),
        ("node", "node", ["node", "-e", NODE], {}),
        ("bash", "bash", ["bash", "-c", "a=(); for i in {1..3000}; do a+=(\"$i\"); done; echo ${#a[@]} ${a[*]:5:3}; exit 7"], {}),
        ("find and grep", "grep", ["sh", "-c", "find /usr/share/doc -maxdepth 1 -name 'lib*' | grep -c z"], {}),
        ("file, in its sandbox", "file", ["file", "/bin/ls", "lines"], {}),
        ("tar and gzip", "tar", ["sh", "-c", "tar cf - lines *.src | gzip -n9 | cksum"], {}),
        ("gdb that runs a program", "gdb", ["gdb", "-q", "-batch", "-nx", "-ex", "run", "-ex", "print 6*7", "/bin/true"],
         {"normal": lambda b: re.sub(rb"process \d+|0x[0-9a-f]+", b"", b)}),
    ]
    for sentence, needs, argv, more in cases:
        if missing(needs) or not argv[0]:
            skip(sentence, f"{needs} is not installed")
            continue
        for command in ("heap", "cpu"):
            if not missing(needs) and (command == "heap" or needs in ("python3", "perl", "gcc", "g++", "node", "make", "sqlite3")):
                doc = untouched(sentence, command, *argv, **more)
                if doc and needs in ("gcc", "make") and command == "heap" and "error" not in sentence:
                    names = {os.path.basename(p["argv"][0]) for p in doc["run"]["processes"]}
                    wanted = {"cc1", "as"} if needs == "gcc" else {"make", "sort", "tr"}
                    check(f"{sentence}: its processes are listed", wanted <= names, names)
    if missing("git"):
        skip("git", "git is not installed")
        return
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b",
           "GIT_AUTHOR_DATE": "1700000000 +0000", "GIT_COMMITTER_DATE": "1700000000 +0000", "GIT_CONFIG_NOSYSTEM": "1"}
    for words in (["init", "-q", "r"], ["-C", "r", "add", "-A"], ["-C", "r", "commit", "-q", "-m", "first"]):
        if words[2:3] == ["add"]:
            subprocess.run(["cp", "lines", "a.src", "b.src", "r/"], check=True)
        subprocess.run(["git", *words], check=True, env={**os.environ, **who})
    untouched("git log", "heap", "git", "-C", "r", "log", "--stat", "-p", env=who)
    untouched("git log", "cpu", "git", "-C", "r", "log", "--stat", "-p", env=who, options=("-F", "4999"))
    untouched("git clone", "heap", "sh", "-c", "rm -rf r2; git clone -q --no-local r r2 && git -C r2 rev-parse HEAD", env=who)


run()
done()
