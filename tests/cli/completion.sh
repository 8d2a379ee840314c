#!/bin/bash
# completion - the scripts parse, and bash completes commands, options, values and files by them
set -u
bad=0
check() { # SENTENCE GOT WANTED
	if [ "$2" = "$3" ]; then echo "ok - $1"; else echo "not ok - $1"; echo "  got '$2', wanted '$3'"; bad=1; fi
}
for shell in bash zsh fish; do
	"$TARE" help --completion $shell >tare.$shell || bad=1
	if command -v $shell >/dev/null; then
		$shell -n tare.$shell; check "the script for $shell parses" $? 0
	else
		echo "ok - the script for $shell parses # SKIP there is no $shell here"
	fi
done
# shellcheck disable=SC1091
. ./tare.bash
complete_words() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _tare 2>/dev/null; echo "${COMPREPLY[*]}"; }
check "a command" "$(complete_words tare exp)" export
check "an option" "$(complete_words tare cpu --thr)" --threads
check "a value" "$(complete_words tare cpu --color = al)" always
check "a value of the next word" "$(complete_words tare cpu --stack unw)" unwind
: >tare.x.1.tare; : >other
check "a recording" "$(complete_words tare report tare.x)" tare.x.1.tare
check "no option of tare behind the program" "$(complete_words tare cpu true --thr)" ""
check "a topic" "$(complete_words tare help perm)" permissions
if command -v fish >/dev/null; then
	fish_words() { fish --no-config -c "source ./tare.fish; complete -C '$1'" 2>&1 | cut -f1 | tr '\n' ' '; }
	check "fish: a command" "$(fish_words 'tare exp')" 'export '
	check "fish: an option" "$(fish_words 'tare cpu --thr')" '--threads '
	check "fish: a value" "$(fish_words 'tare cpu --color=al')" '--color=always '
fi
exit $bad
