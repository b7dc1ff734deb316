#!/usr/bin/env bash
# What run says of who holds the lock, while it waits and when it is turned away.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2016  # single quotes are for the inner shells
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
use_any_server

Host=$(uname -n)
readonly Host
Held="held by $Host pid [0-9]+ \"pg_dump 'shop'\" for [0-9hms]+"

says() { # FILE PATTERN
    grep -qE "$2" "$Work/$1"
}

hold nightly --label 'pg_dump "shop"'
claim "a try" status_is 1 zkl run -n nightly -- true
claim "... names the holder" matches "$(cat "$Work/err")" \
    "^zklock: nightly: another client holds the lock, $Held\$"
claim "a wait in vain" status_is 1 zkl run -w 2 nightly -- true
claim "... names it, too" matches "$(tail -n 1 "$Work/err")" \
    "^zklock: nightly: the lock was not acquired within 2 s: $Held\$"
claim "-q: a wait in vain" status_is 1 zkl run -q -w 2 nightly -- true
claim "... is told at its end alone" is "$(wc -l <"$Work/err")" 1

"${Zkl[@]}" run nightly -- true 2>"$Work/first" &
first=$!
claim "who waits says for whom" await says first "^zklock: nightly: $Held; 1 before us\$"
"${Zkl[@]}" run nightly -- true 2>"$Work/second" &
second=$!
claim "... and for how many" await says second "^zklock: nightly: $Held; 2 before us\$"
let_go
claim "it goes on in its turn" ends_with "$first" 0
claim "... and the other" ends_with "$second" 0
claim "... which has said it once" is "$(wc -l <"$Work/second")" 1

hold files -s
"${Zkl[@]}" run -s files -- bash -c 'touch "$1/two"; exec sleep 60' sh "$Work" &
other=$!
await test -e "$Work/two"
claim "two that share" status_is 1 zkl run -n files -- true
claim "... are named as one and others" matches "$(cat "$Work/err")" \
    "^zklock: files: another client holds the lock, held by $Host pid [0-9]+.*, and by others\$"
kill "$other"
let_go

hold pair
"${Zkl[@]}" run --all spare pair -- true 2>"$Work/several" &
several=$!
claim "of several it names the one that is held" await says several \
    "^zklock: pair: held by $Host pid [0-9]+.*; 1 before us\$"
kill "$several"
claim "a signal ends the wait" ends_with "$several" 143
let_go

claim "a free lock" status_is 0 zkl run free -- true
claim "... is not worth a word" is "$(cat "$Work/err")" ''
claim "-q belongs to run" status_is 64 zkl ls -q
finish
