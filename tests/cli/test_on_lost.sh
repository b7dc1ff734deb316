#!/usr/bin/env bash
# run --on-lost: what becomes of CMD when its hold cannot be kept, and when its runner is stopped or
# killed. Each CMD counts its SIGTERMs and goes on. It ends with 5 when it is told to, or when this
# test is over.
#
# shellcheck source-path=SCRIPTDIR
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
use_own_server

cat >"$Work/command" <<'END_OF_COMMAND'
trap 'echo >>"$1.term"' TERM
exec {never}<> <(:)
echo $$ >"$1.pid"
until test -e "$1.done" || ! test -e "$1.pid"; do read -rt 0.02 -u "$never" || :; done
exit 5
END_OF_COMMAND

# start NAME TIMEOUT OPTION...: a run of the lock NAME; its pid is ${Runners[NAME]}.
declare -A Runners
start() {
    "${Zkl[@]}" --timeout "$2" run "${@:3}" "$1" -- bash "$Work/command" "$Work/$1" \
        2>"$Work/$1.err" &
    Runners[$1]=$!
    await test -s "$Work/$1.pid"
}

terms() { if test -e "$Work/$1.term"; then wc -l <"$Work/$1.term"; else echo 0; fi; }
said() { # NAME REGEX: a line of its messages
    grep -Eq "$2" "$Work/$1.err" || {
        cat "$Work/$1.err" >&2
        return 1
    }
}
runs() { kill -0 "$(cat "$Work/$1.pid")"; }
finish_command() { : >"$Work/$1.done"; }
next_within() { status_is 0 zkl run -w "$2" "$1" -- true; }

# ---- no server answers ----
start term 2 --on-lost term
start early 2 --on-lost=term --grace 0
start ignore 2 --on-lost=ignore
freeze
for name in term early ignore; do
    await grep -q 'the hold is lost: bash may run on' "$Work/$name.err"
    claim "$name: CMD runs on without its hold" runs "$name"
done
thaw
claim "term: CMD was sent SIGTERM, once" is "$(terms term)" 1
claim "... before its hold ended" said term 'certain for only [1-9][0-9]* ms more: SIGTERM sent$'
claim "... with --grace 0, too" is "$(terms early)" 1
claim "... later" said early 'certain for only ([1-9][0-9]?|100) ms more: SIGTERM sent$'
claim "ignore: CMD was sent none" is "$(terms ignore)" 0
for name in term ignore; do
    claim "$name: the next holder follows while CMD runs" next_within "$name" 10
    claim "... it does" runs "$name"
    finish_command "$name"
    claim "... and the status is 75" ends_with "${Runners[$name]}" 75
    claim "... which is told" said "$name" "$name: the lock was lost while bash ran$"
    claim "... with CMD's own" said "$name" 'bash ended with status 5; the exit status is 75$'
done
finish_command early
reap "${Runners[early]}"

# ---- the runner is stopped ----
start term-stopped 2 --on-lost term
start ignore-stopped 2 --on-lost ignore
for name in term-stopped ignore-stopped; do
    kill -STOP "${Runners[$name]}"
done
await test -e "$Work/term-stopped.term"
for name in term-stopped ignore-stopped; do
    claim "$name: the next holder follows" next_within "$name" 10
    claim "... while CMD runs" runs "$name"
    kill -CONT "${Runners[$name]}"
    await grep -q 'the hold is lost: bash may run on' "$Work/$name.err"
    finish_command "$name"
    claim "... and the status is 75" ends_with "${Runners[$name]}" 75
done
claim "the guardian sent SIGTERM, once" is "$(terms term-stopped)" 1
claim "... which is told" said term-stopped 'the guardian sent SIGTERM'
claim "... none with ignore" is "$(terms ignore-stopped)" 0

# ---- the runner is killed ----
start term-killed 10 --on-lost term
start ignore-killed 10 --on-lost ignore
for name in term-killed ignore-killed; do
    kill -KILL "${Runners[$name]}"
done
await test -e "$Work/term-killed.term"
for name in term-killed ignore-killed; do
    claim "$name: the lock is not free while CMD runs" status_is 1 zkl run -n "$name" -- true
    claim "... it does" runs "$name"
    finish_command "$name"
    claim "... and is when CMD has ended" next_within "$name" 5
done
claim "... none was sent with ignore" is "$(terms ignore-killed)" 0

start alone 10 --on-lost term
pkill -KILL -P "${Runners[alone]}" -x zklock-guardian
kill -KILL "${Runners[alone]}"
claim "SIGTERM comes without the guardian, too" await test -e "$Work/alone.term"
finish_command alone

finish
