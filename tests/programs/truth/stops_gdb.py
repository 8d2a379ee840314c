# stops_gdb.py - runs in gdb: at each SIGALRM of the program, the addresses of all frames; then the signal is passed on
import json

import gdb

for setting in ("pagination off", "confirm off", "backtrace past-main on", "backtrace past-entry on", "backtrace limit 200",
                "startup-with-shell off", "debuginfod enabled off", "print thread-events off", "width 0"):
    gdb.execute(f"set {setting}", to_string=True)
gdb.execute("handle SIGALRM stop print pass", to_string=True)
gdb.execute("handle SIGUSR1 nostop noprint pass", to_string=True)
signal = []


def stopped(event):
    signal.append(event.stop_signal if isinstance(event, gdb.SignalEvent) else None)


gdb.events.stop.connect(stopped)
out = open("gdb.stops", "w")
gdb.execute("run", to_string=True)
while signal and signal.pop() == "SIGALRM":
    newest = frame = gdb.newest_frame()
    stack, handler = [], False
    while frame is not None:
        if frame.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            stack.append(frame.pc())
        handler |= frame.type() == gdb.SIGTRAMP_FRAME
        try:
            why = frame.unwind_stop_reason()
            frame = frame.older()
        except gdb.error as e:
            why, frame = str(e), None
    try:
        asm = newest.architecture().disassemble(stack[0])[0]["asm"]
    except gdb.error:
        asm = ""
    where = gdb.execute(f"info symbol {stack[0]}", to_string=True).strip()
    out.write(json.dumps({"stack": stack, "asm": asm, "where": where, "signal": handler, "end": why}) + "\n")
    gdb.execute("continue", to_string=True)
out.close()
