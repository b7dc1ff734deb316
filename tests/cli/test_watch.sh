#!/usr/bin/env bash
# zklock ls and show --watch in a pipe: one view after the other, also when the servers were gone.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2016  # single quotes are for later evaluation and inner shells
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
use_own_server

watch=("${Zkl[@]}" --timeout 2)
statuses() { # COMMAND OF A PIPE: those of its two parts
    timeout "$SOON_S" bash -c "$1; echo \"\${PIPESTATUS[*]}\"" 2>"$Work/err"
}

hold job
claim "who closes the pipe ends it by SIGPIPE" is \
    "$(statuses 'zklock --root '"$Root"' ls --watch --interval 0.1 | head -1 >/dev/null')" '141 0'
claim "... without a word" is "$(cat "$Work/err")" ''
claim "... where that is ignored, too" is "$(statuses 'trap "" PIPE
    zklock --root '"$Root"' show --watch --interval 0.1 job | head -1 >/dev/null')" '141 0'
claim "... without a word" is "$(cat "$Work/err")" ''
begun=$(now_ms)
claim "... and at once, however long the pause is" is \
    "$(statuses 'zklock --root '"$Root"' ls --watch --interval 600 | head -1 >/dev/null')" '141 0'
claim "..." at_most $(($(now_ms) - begun)) $((SOON_S * 1000))

"${Zkl[@]}" ls --watch --interval 0.1 | head -5 >"$Work/out" || :
claim "views have a blank line between them" is "$(sed 's/ .*//' "$Work/out" | xargs -d '\n')" \
    'NAME job  NAME job'
claim "... and no control sequences" is "$(tr -d '\n -~' <"$Work/out")" ''
"${Zkl[@]}" show --watch --interval 0.1 --json job | head -3 >"$Work/out" || :
claim "--json: a document a line" is "$(grep -c '^{"name":"job",.*}$' "$Work/out")" 3
begun=$(now_ms)
"${Zkl[@]}" ls --watch | head -3 >"$Work/out" || :
claim "by default there is a second between two" at_most 1000 $(($(now_ms) - begun))

"${watch[@]}" ls --watch --interval 0.1 >"$Work/views" 2>"$Work/said" &
watcher=$!
await test -s "$Work/views"
let_go
kill -KILL "$ServerPid"
claim "the servers are gone: it says so" await grep -q 'zklock: no server answers' "$Work/said"
bash "$Zk" revive --dir "$Server" 1
claim "they are back: it says so" await grep -q 'zklock: a server answers again' "$Work/said"
claim "... once" is "$(wc -l <"$Work/said")" 2
hold later
claim "... and goes on" await grep -q '^later ' "$Work/views"
let_go
kill "$watcher"
claim "a signal ends it" ends_with "$watcher" 143
claim "70 for output that cannot be written" status_is 70 bash -c \
    "zklock --root $Root ls --watch >/dev/full"

# ---- sorting ----

hold b/deep
"${Zkl[@]}" run b/deep -- true &
await eval '[[ $(zkl ls --json b/deep) == *\"contenders\":2,* ]]'
hold_first=$Holder
"${Zkl[@]}" run b/deep -- true &
"${Zkl[@]}" run a/flat -- sh -c "read -r _ <'$Work/gate2'" &
mkfifo "$Work/gate2"
await eval '[[ $(zkl ls --names | xargs) == "a/flat b/deep" ]]'
await eval '[[ $(zkl ls --json b/deep) == *\"contenders\":3,* ]]'
claim "sorted by name" is "$(zkl ls | awk '{ print $1 }' | xargs)" 'NAME a/flat b/deep'
claim "--sort depth: the longest queue first" is \
    "$(zkl ls --sort depth | awk '{ print $1 }' | xargs)" 'NAME b/deep a/flat'
claim "--sort wait: who waits longest first" is \
    "$(zkl ls --sort wait | awk '{ print $1 }' | xargs)" 'NAME b/deep a/flat'
Holder=$hold_first
let_go
echo >"$Work/gate2"
wait || :

for value in x 0 0.09 -1 ''; do
    claim "--interval '$value' is refused" status_is 64 zkl ls --watch --interval "$value"
done
claim "--interval is of no use alone" status_is 64 zkl ls --interval 1
claim "--sort takes three words" status_is 64 zkl ls --sort size
claim "--sort is for ls" status_is 64 zkl show --sort depth job
finish
