#!/usr/bin/env python3
"""agent_exec - programs that become other programs, with and without an environment, and those that cannot be measured"""
import os
import re
import shutil
import signal
import stat
import subprocess

from cells import TARE, check, compile_c, document, done, equal, skip, tare
from measured import by_function
from untouched import compiled, measured, missing, plain, untouched

LEAF = r"""
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
static void *volatile kept;
__attribute__((noinline)) static void leaf_work(int n) { while (n--) kept = malloc(30); }
int main(int argc, char **argv)
{
	struct sigaction a;
	sigset_t set;
	leaf_work(atoi(argv[1]));
	if (argc > 2) {		/* what it has inherited */
		sigprocmask(SIG_BLOCK, NULL, &set);
		for (int i = 1; i < 32; i++) {
			sigaction(i, NULL, &a);
			printf("%d%s%s ", i, sigismember(&set, i) ? "b" : "", a.sa_handler == SIG_IGN ? "i" : a.sa_handler ? "h" : "");
		}
		puts("");
	}
	return atoi(argv[1]) + (getenv("LD_PRELOAD") == NULL && argc > 3);
}
"""
INHERIT = r"""
#include <signal.h>
#include <unistd.h>
int main(int argc, char **argv)
{
	sigset_t set;
	(void)argc;
	sigfillset(&set);
	sigprocmask(SIG_SETMASK, &set, NULL);
	signal(SIGURG, SIG_IGN);
	signal(SIGUSR2, SIG_IGN);
	execv(argv[1], argv + 1);
	return 1;
}
"""
leaf = compile_c("leaf", LEAF)
inherit = compile_c("inherit", INHERIT)
FOLLOWED = [
    ("sh -c exec", ["/bin/sh", "-c", f"exec {leaf} 9"]),
    ("a chain of shells", ["/bin/sh", "-c", f"exec sh -c 'exec sh -c \"exec {leaf} 9\"'"]),
    ("env with a variable", ["/usr/bin/env", "A=b", leaf, "9"]),
    ("env -i", ["/usr/bin/env", "-i", leaf, "9"]),
    ("a shell that unsets LD_PRELOAD", ["/bin/sh", "-c", f"unset LD_PRELOAD; {leaf} 4; exec {leaf} 5"]),
    ("nice, nohup, setsid, timeout", ["nice", "setsid", "-w", "timeout", "20", leaf, "9"]),
    ("xargs", ["/bin/sh", "-c", f"printf '4 5' | xargs -n 1 {leaf}"]),
]


def followed():
    for sentence, words in FOLLOWED:
        doc = untouched(sentence, "heap", *words)
        if doc:
            equal(f"{sentence}: the program at the end is measured", by_function(doc).get("leaf_work"), [9, 270, 0])


WAYS = ["execve", "execve-null", "execv", "execvp", "execvpe", "execl", "execlp", "execle", "fexecve", "execveat", "vfork",
        "posix_spawn", "posix_spawnp"]
LEAF_WORK = [9, 270, 0]


def without_entry(out):
    """The environment that a program printed, without tare's entry."""
    out = re.sub(rb"(?m)^LD_PRELOAD=/\S*/tare\.\d+\.\w+/agent\.so\n", b"", out)
    return re.sub(rb"/[^\s:=]*/tare\.\d+\.\w+/agent\.so:", b"", out)


def ways():
    execs = compiled("execs")
    for way in WAYS:
        doc = untouched(f"{way} with another environment", "heap", execs, way, execs, normal=without_entry)
        if doc:
            equal(f"{way}: the program that it starts is measured", by_function(doc).get("leaf_work"), LEAF_WORK)
    # the loader splits at spaces too
    other = compile_c("other.so", "#include <stdio.h>\n__attribute__((constructor)) static void here(void) { puts(\"other\"); }",
                      "-shared", "-fPIC")
    for entry in (f"LD_PRELOAD={other}", "LD_PRELOAD="):
        doc = untouched(f"{entry[:12]} of the program's own", "heap", execs, "preload", entry, execs,
                        normal=lambda out: without_entry(out).replace(b"LD_PRELOAD=\n", b""))
        if doc:
            equal(f"{entry[:12]} of the program's own: it is measured", by_function(doc).get("leaf_work"), LEAF_WORK)
    alone_left(execs)
    limits(execs)


def alone_left(execs):
    """Where the entry would do harm, or is not wanted."""
    for way, calls in (("execve", LEAF_WORK), ("posix_spawn", None), ("vfork", None)):
        under, doc = measured("heap", execs, way, execs, options=["--no-children"])
        equal(f"--no-children: {way}: only the process itself is measured", by_function(doc or {"sites": []}).get("leaf_work"), calls)
        if calls is None:
            check(f"--no-children: {way}: a child's environment is as it was given", b"LD_PRELOAD" not in under.out, under)
    needed = re.findall(r"(/\S+) \(", subprocess.run(["ldd", execs], capture_output=True, text=True).stdout)
    if os.geteuid() != 0 or not needed:
        return skip("in another root, where the agent is not, nothing is added", "needs root and ldd")
    for file in needed + [execs]:
        os.makedirs("jail" + os.path.dirname(file), exist_ok=True)
        shutil.copy(file, "jail" + file)
    alone = plain(execs, "jail", "jail", execs)
    under, _ = measured("heap", execs, "jail", "jail", execs)
    equal("in another root, where the agent is not, nothing is added", (under.status, under.out, under.err),
          (alone.status, alone.out, alone.err))


def limits(execs):
    for name, mode, text in (("first/plain", 0o644, "#!/bin/sh\nexit 1\n"), ("plain", 0o644, ""), ("garbage", 0o755, "\x01\x02"),
                             ("first/tool", 0o644, "#!/bin/sh\n"), ("second/tool", 0o755, f"{leaf} 9\n")):
        os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
        with open(name, "w") as f:
            f.write(text)
        os.chmod(name, mode)
    os.symlink("loop", "loop")
    untouched("calls that fail", "heap", execs, "errors")
    # "tool" has no "#!" and lies behind one that is not executable
    for way in ("execvp", "execlp", "execvpe", "posix_spawnp"):
        alone = plain(execs, way, "tool")
        under, doc = measured("heap", execs, way, "tool")
        equal(f"{way} of a script that it has to search: status and output", (under.status, under.out, under.err),
              (alone.status, alone.out, alone.err))
        if way != "posix_spawnp":
            equal(f"{way} of a script that it has to search: its program is measured",
                  by_function(doc or {"sites": []}).get("leaf_work"), LEAF_WORK)
    untouched("the largest environment", "heap", execs, "full")
    for n in ("3500", "9000"):
        doc = untouched(f"an environment of {n} entries from a small stack", "heap", execs, "many", n,
                        normal=lambda out: without_entry(out)[:20000])
        if doc:
            equal(f"programs with an environment of {n} entries are measured", by_function(doc).get("leaf_work"), [40, 1200, 0])


def inherited():
    for command in ("heap", "cpu"):
        alone = plain(inherit, leaf, "3", "show")
        under, doc = measured(command, inherit, leaf, "3", "show")
        sentence = f"{command}: a program inherits the same signal mask and ignored signals"
        if command == "cpu" and under.out == alone.out.replace(b"23bi", b"23") != alone.out:
            skip(sentence, "SIGURG, blocked or ignored by a sampled program, is neither after exec (docs/dev/NOTES.md)")
        else:
            equal(sentence, under.out, alone.out)
        alone = plain(leaf, "3", "show")
        under, doc = measured(command, leaf, "3", "show")
        equal(f"{command}: a program starts with the same signals", under.out, alone.out)


def scripts():
    with open("script", "w") as f:
        f.write(f"#!/bin/sh\n{leaf} 9\necho status $?\n")
    os.chmod("script", 0o755)
    doc = untouched("a script with a shebang", "heap", os.path.abspath("script"))
    if doc:
        equal("a script's child is measured", by_function(doc).get("leaf_work"), [9, 270, 0])
    with open("bare", "w") as f:
        f.write(f"{leaf} 9\n")
    os.chmod("bare", 0o755)
    under, doc = measured("heap", os.path.abspath("bare"))
    equal("a script without a shebang is run by sh", (under.status, by_function(doc or {"sites": []}).get("leaf_work")), (9, [9, 270, 0]))


def refused():
    shutil.copy("/bin/true", "setuid")
    if os.geteuid() == 0:
        shutil.chown("setuid", 65534)
    os.chmod("setuid", 0o4755)
    if os.stat("setuid").st_uid == os.geteuid():
        skip("set-user-id is refused", "needs root to make one of another user")
    else:
        got = tare("heap", "--", "./setuid")
        check("set-user-id is refused with the reason", got.status == 125 and b"set-user-id" in got.err and b"next" in got.err, got)
    static = compile_c("static", LEAF, "-static")
    if static:
        for command in ("heap", "cpu"):
            got = tare(command, "--", static, "3")
            check(f"{command}: a static program is refused with the reason", got.status == 125 and b"static" in got.err, got)
    else:
        skip("a static program is refused", "no static libc")
    if compile_c("bits32", "int main(void) { return 0; }", "-m32"):
        got = tare("heap", "--", "./bits32")
        check("a 32-bit program is refused with the reason", got.status == 125 and b"32-bit" in got.err, got)
    else:
        # The head of one will do: it is refused before it is run.
        with open("/bin/true", "rb") as f:
            head = bytearray(f.read(4096))
        head[4] = 1
        with open("bits32", "wb") as f:
            f.write(head)
        os.chmod("bits32", 0o755)
        got = tare("heap", "--", "./bits32")
        check("a 32-bit program is refused with the reason", got.status == 125 and b"32-bit" in got.err, got)


def unprivileged():
    """As a user without rights: execute-only programs, and tare with the capability that it asks for."""
    user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", "HOME=/nonexistent"]
    agent = f"{os.environ['BUILD']}/libtare-agent.so"
    if os.geteuid() != 0 or missing("setpriv") or not os.path.exists(agent):
        return skip("a program without read permission is measured", "needs root and setpriv")
    os.makedirs("open", exist_ok=True)
    for folder in (".", "open"):
        os.chmod(folder, 0o777)
    for file in (TARE, agent, leaf):
        shutil.copy(file, "open/")
    os.chmod("open/leaf", 0o711)
    command = user + [os.path.abspath("open/tare"), "heap", "-q", "--no-file", "-o", os.path.abspath("open/it.json"), "--",
                      os.path.abspath("open/leaf"), "9"]
    if subprocess.run(user + ["test", "-x", os.path.abspath("open/tare")]).returncode:
        return skip("a program without read permission is measured", "another user cannot reach this directory")

    def run(sentence):
        got = subprocess.run(command, capture_output=True)
        with open("open/it.json", "rb") as f:
            doc = document(f.read())
        os.unlink("open/it.json")
        equal(sentence, (got.returncode, doc and doc["calls"]), (9, 9))
    run("a program without read permission is measured")
    if missing("setcap") or subprocess.run(["setcap", "cap_perfmon=ep", "open/tare"]).returncode:
        return skip("tare with cap_perfmon measures", "no setcap here")
    run("tare with cap_perfmon measures")


def changes_user():
    if os.geteuid() != 0 or missing("setpriv"):
        return skip("a program that changes its user goes on being measured", "needs root and setpriv")
    os.chmod(".", 0o755)
    doc = untouched("a program that changes its user", "heap", "setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
                    leaf, "9")
    if doc and by_function(doc).get("leaf_work") is None:
        skip("a program that changes its user goes on being measured", "it finds no arena: /proc/PID/fd is root's (docs/dev/NOTES.md)")
    elif doc:
        equal("a program that changes its user goes on being measured", by_function(doc).get("leaf_work"), [9, 270, 0])


def stays_behind():
    """What runs on when the program has ended, and tare too, sees nothing of it."""
    script = "(sleep 1; /bin/echo later; /bin/echo error >&2) & echo now"
    alone, under = plain("/bin/sh", "-c", script), tare("heap", "-q", "--no-file", "-o", "behind.json", "--", "/bin/sh", "-c", script)
    equal("a process that stays behind: stdout and stderr are the same", (under.out, under.err), (alone.out, alone.err))


def ignored_child_signal():
    def ignore():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    got = tare("heap", "-q", "--no-file", "-o", "ignored.json", "--", leaf, "9", preexec_fn=ignore, timeout=6)
    equal("where SIGCHLD is ignored the program's status comes back", got.status, 9)
    got = tare("heap", "-q", "--no-file", "-o", "ignored.json", "--", "/bin/sh", "-c", "grep SigIgn /proc/self/status",
               preexec_fn=ignore, timeout=6)
    alone = plain("/bin/sh", "-c", "grep SigIgn /proc/self/status", preexec_fn=ignore)
    equal("and the program inherits it as ignored", got.out, alone.out)


followed()
ways()
inherited()
scripts()
refused()
unprivileged()
changes_user()
stays_behind()
ignored_child_signal()
done()
