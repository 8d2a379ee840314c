#!/bin/sh
# shell - the scripts are clean by shellcheck
set -u
command -v shellcheck >/dev/null || { echo "shellcheck is not installed"; exit 77; }
cd "$SOURCE" || exit 1
# Every tracked file that begins with a shell's name.
files=$(git ls-files 2>/dev/null | while read -r f; do
	[ -f "$f" ] && head -c 20 "$f" | grep -aqE '^#!/bin/(ba)?sh' && printf '%s\n' "$f"
done)
[ -n "$files" ] || { echo "not a git checkout"; exit 77; }
# shellcheck disable=SC2086
shellcheck -S warning $files
