#!/usr/bin/env bash
# What run says of who holds the lock, while it waits and when it is turned away.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2016  # single quotes are for the inner shells
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
use_any_server

Host=$(uname -n)
readonly Host

says() { # PATTERN...
    local pattern
    for pattern; do
        grep -qE "$pattern" "$Work/said" || return 1
    done
}

hold nightly --label 'pg_dump shop'
held="held by $Host pid [0-9]+ \"pg_dump shop\" for [0-9]+s"
claim "a try" status_is 1 zkl run -n nightly -- true
claim "... names the holder" matches "$(cat "$Work/err")" \
    "^zklock: nightly: another client holds the lock, $held\$"
claim "a wait in vain" status_is 1 zkl run -w 2 nightly -- true
claim "... says it at its start" matches "$(sed -n 1p "$Work/err")" \
    "^zklock: nightly: $held; 1 before us\$"
claim "... and at its end" matches "$(sed -n 2p "$Work/err")" \
    "^zklock: nightly: the lock was not acquired within 2 s: $held\$"
claim "... and no more" is "$(wc -l <"$Work/err")" 2
claim "-q: a wait in vain" status_is 1 zkl run -q -w 2 nightly -- true
claim "... is told at its end alone" is "$(wc -l <"$Work/err")" 1

"${Zkl[@]}" run nightly -- true 2>"$Work/said" &
first=$!
await says "1 before us"
"${Zkl[@]}" run nightly -- true 2>"$Work/said" &
second=$!
await says "^zklock: nightly: $held; 2 before us\$"
let_go
claim "who has waited" ends_with "$first" 0
claim "... in turn" ends_with "$second" 0
claim "... has said it once" is "$(wc -l <"$Work/said")" 1

hold files -s
"${Zkl[@]}" run -s files -- bash -c 'touch "$1/second"; exec sleep 60' sh "$Work" &
other=$!
await test -e "$Work/second"
claim "two that share" status_is 1 zkl run -n files -- true
claim "... are named as one and others" matches "$(cat "$Work/err")" \
    "^zklock: files: another client holds the lock, held by $Host pid [0-9]+.*, and by others\$"
kill "$other"
let_go

hold pair
claim "several at once: a wait in vain" status_is 1 zkl run -w 2 --all spare pair -- true
claim "... says which is held" matches "$(sed -n 1p "$Work/err")" \
    "^zklock: pair: held by $Host pid [0-9]+.*; 1 before us\$"
let_go

claim "a free lock" status_is 0 zkl run free -- true
claim "... is not worth a word" is "$(cat "$Work/err")" ''
claim "-q belongs to run" status_is 64 zkl ls -q
finish
