#!/usr/bin/env bash
# What zklock run says of the servers and of itself without being asked, and how often -vv repeats
# itself.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2016  # single quotes are for an inner shell
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

ZKLOCK_HOSTS=$(bash "$Zk" start --dir "$Server" --max-session 8000)
export ZKLOCK_HOSTS

claim "a timeout as asked" status_is 0 zkl --timeout 8 run a -- true
claim "... is not worth a word" is "$(cat "$Work/err")" ''
claim "a longer one" status_is 0 zkl --timeout 0.5 run a -- true
claim "... neither" is "$(cat "$Work/err")" ''
claim "a shorter one" status_is 0 zkl --timeout 30 run a -- true
claim "... is told once" is "$(cat "$Work/err")" \
    'zklock: the servers grant a session timeout of 8 s instead of 30 s'
claim "a shorter one than the default" status_is 0 zkl run a -- true
claim "... is told, too" is "$(cat "$Work/err")" \
    'zklock: the servers grant a session timeout of 8 s instead of 10 s'

"${Zkl[@]}" --timeout 2 run a -- sh -c 'touch "$1"; exec sleep 30' sh "$Work/runs" 2>"$Work/err" &
pid=$!
await test -e "$Work/runs"
kill -STOP "$pid"
sleep 2.5 # for longer than the timeout
kill -CONT "$pid"
claim "a pause in which the hold is lost: 75" ends_with "$pid" 75
claim "... and the pause is told" grep -Eq \
    '^zklock: warning: this process stood still for [0-9]+ ms$' "$Work/err"

zklock --hosts 127.0.0.1:1 -vv run -w 3 a -- true 2>"$Work/err" || :
claim "-vv repeats no line of the client while no server listens" at_most \
    "$(grep -c 'refused to accept the client' "$Work/err")" 2
claim "... and has each once" grep -q 'refused to accept the client' "$Work/err"
claim "... and the reason in the end" matches "$(tail -n 1 "$Work/err")" \
    'within 3 s: the servers refuse connections$'
claim "... in a few lines" at_most "$(wc -l <"$Work/err")" 8
finish
