#!/bin/bash
# install - an installed tree works under any prefix, and uninstalling leaves nothing
set -u
bad=0
check() { # SENTENCE COMMAND...
	local sentence=$1
	shift
	if "$@" >log 2>&1; then echo "ok - $sentence"; else echo "not ok - $sentence"; sed 's/^/  /' log; bad=1; fi
}
root="$PWD/a root"
check 'it installs under DESTDIR' env DESTDIR="$root" meson install -C "$BUILD" --no-rebuild
tare=$(find "$root" -name tare -path '*/bin/tare' | head -n 1)
check 'the program is in bin' test -x "$tare"
check 'the agent is in lib/tare beside bin' test -f "$(dirname "$tare")/../lib/tare/libtare-agent.so"
check 'the manual is there' test -n "$(find "$root" -name 'tare-cpu.1*')"
check 'the completions are there' test -n "$(find "$root" -name '_tare')"
mkdir moved
mv "$root"/*/ moved/ 2>/dev/null
tare=$(find "$PWD/moved" -name tare -path '*/bin/tare' | head -n 1)
check 'the installed program measures, wherever its tree lies' "$tare" cpu -q --no-file -- true
rm -r moved
check 'it installs again' env DESTDIR="$root" meson install -C "$BUILD" --no-rebuild
check 'it uninstalls' env DESTDIR="$root" ninja -C "$BUILD" uninstall
check 'uninstalling leaves no file' test -z "$(find "$root" -type f)"
exit $bad
