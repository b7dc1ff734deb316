#!/usr/bin/env bash
# run --all: several locks in one step, all of them or none; what CMD and its caller see of it. That
# a node is deleted is in test_hostile.c.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2016  # single quotes are for later evaluation and inner shells
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
use_own_server

contenders() { zkl show --json "$1" | grep -o '"position"' | wc -l; }
queue_is() { # NAME COUNT
    (($(contenders "$1") == $2))
}
nodes_of() { zkl show --json "$1" | grep -oE '"node":"[^"]*"' | cut -d'"' -f4; }
tokens_of() { zkl show --json "$1" | grep -oE '"token":[0-9]*' | cut -d: -f2; }
holders_of() { zkl show --json "$1" | grep -o '"holder":true' | wc -l; }

# ---- what CMD finds ----
hold free/b --all free/c free/a/x
{
    printf '%s/' "$Root/free/b"; nodes_of free/b
    printf '%s/' "$Root/free/c"; nodes_of free/c
    printf '%s/' "$Root/free/a/x"; nodes_of free/a/x
} >"$Work/nodes"
tr '\0' '\n' <"/proc/$(cat "$Work/held")/environ" >"$Work/environment"
claim "CMD finds the names in the order of the command line" \
    is "$(grep -A 2 '^ZKLOCK_NAME=' "$Work/environment")" $'ZKLOCK_NAME=free/b\nfree/c\nfree/a/x'
claim "... and the nodes" \
    is "$(grep -A 2 '^ZKLOCK_NODE=' "$Work/environment")" "ZKLOCK_NODE=$(cat "$Work/nodes")"
claim "... and one token" is "$(grep '^ZKLOCK_TOKEN=' "$Work/environment")" \
    "ZKLOCK_TOKEN=$(tokens_of free/c)"
claim "... which is that of each" is "$(tokens_of free/b) $(tokens_of free/a/x)" \
    "$(tokens_of free/c) $(tokens_of free/c)"
for name in free/a/x free/b free/c; do
    claim "$name is held while CMD runs" status_is 1 zkl run -n "$name" -- true
done
let_go
claim "all are free when the command has ended" \
    is "$(contenders free/a/x) $(contenders free/b) $(contenders free/c)" '0 0 0'
claim "CMD's status" status_is 7 zkl run --all free/a free/b -- sh -c 'exit 7'
claim "one is enough" is "$(zkl run --all single -- printenv ZKLOCK_NAME)" single
mapfile -t many < <(seq -f 'many/%g' 64)
claim "64" is "$(zkl run --all "${many[@]}" -- printenv ZKLOCK_NODE | grep -c "^$Root/many/")" 64
claim "64 names that one cannot be among" status_is 64 zkl run --all "${many[@]:1}" a//b -- true
claim "... which is named" matches "$(cat "$Work/err")" "'a//b' is not a valid lock name"

# ---- one of them is taken ----
for taken in one two three; do
    hold "$taken"
    claim "1 at once with -n: $taken is taken" \
        status_is 1 zkl run -n --all one two three -- touch "$Work/ran"
    claim "... and says which" is "$(cat "$Work/err")" \
        "zklock: $taken: another client holds the lock"
    claim "1 after -w" status_is 1 zkl run -q -w 0.2 --all one two three -- touch "$Work/ran"
    claim "... and says which" is "$(cat "$Work/err")" "zklock: one and 2 more: the locks were not\
 acquired within 0.2 s ($taken: another client holds the lock)"
    claim "-E replaces the 1" status_is 42 zkl run -n -E 42 --all one two three -- touch "$Work/ran"
    claim "CMD was not run" test ! -e "$Work/ran"
    claim "no other is held" status_is 0 zkl run -n --all "free/$taken" \
        "$([[ $taken == one ]] && echo two || echo one)" -- true
    "${Zkl[@]}" -v run --all one two three -- touch "$Work/ran" 2>"$Work/err" &
    waiter=$!
    await queue_is "$taken" 2
    claim "which is waited for, -v says" \
        await grep -q "^zklock: $taken: waiting: 1 contender ahead" "$Work/err"
    let_go
    claim "when it is free, CMD runs" ends_with "$waiter" 0
    claim "..." test -e "$Work/ran"
    claim "... and -v has said each" is "$(grep -c '^zklock: acquired ' "$Work/err")" 3
    rm "$Work/ran"
done

# ---- both orders ----
# Taken one after another, each would have the other's second.
hold x
"${Zkl[@]}" run --all x y -- touch "$Work/forth" &
forth=$!
await queue_is x 2
"${Zkl[@]}" run --all y x -- touch "$Work/back" &
back=$!
await queue_is x 3
claim "the queues have both in one order" \
    is "$(nodes_of y | cut -d- -f1-5)" "$(nodes_of x | tail -n 2 | cut -d- -f1-5)"
let_go
claim "who names them in one order ends" ends_with "$forth" 0
claim "... and who names them in the other" ends_with "$back" 0
claim "both have run" test -e "$Work/forth" -a -e "$Work/back"

# The directory is there for one at a time.
alone='mkdir "$1/alone" && rmdir "$1/alone"'
many_times() { # NAME...
    for _ in {1..15}; do
        timeout -s KILL "$SOON_S" "${Zkl[@]}" run --all "$@" -- sh -c "$alone" sh "$Work" || return
    done
}
many_times x y z &
first=$!
many_times z y x &
second=$!
many_times y w x &
third=$!
claim "at the same time, too" wait "$first"
claim "..." wait "$second"
claim "..." wait "$third"

# ---- kinds ----
# Both are there at once, or neither ends.
meet='touch "$1/$2"; until [[ -e $1/$3 ]]; do sleep 0.02; done'
"${Zkl[@]}" run -s --all r s -- bash -c "$meet" sh "$Work" reader other &
first=$!
"${Zkl[@]}" run --all --shared s r -- bash -c "$meet" sh "$Work" other reader &
second=$!
claim "readers hold together" ends_with "$first" 0
claim "both of them" ends_with "$second" 0
hold r -s --all s
claim "who is no reader does not share with one" status_is 1 zkl run -n --all q s -- true
claim "... which is named" is "$(cat "$Work/err")" 'zklock: s: another client holds the lock'
claim "a reader of one of them does" status_is 0 zkl run -ns s -- true
let_go
hold s
claim "a reader of all does not share with who holds one" status_is 1 zkl run -ns --all r s -- true
claim "... which is named" is "$(cat "$Work/err")" 'zklock: s: another client holds the lock'
let_go

hold p --permits 2 --all q
claim "a permit of each" is "$(zkl show q | head -n 1) $(zkl show p | head -n 1)" \
    'permits: 2 permits: 2'
claim "two of two hold together" is \
    "$(zkl run --permits 2 --all q p o -- bash -c "
        zklock --root $Root show --json p | grep -o '\"holder\":true' | wc -l")" 2
claim "a third finds none" is "$(zkl run -n --permits 2 --all o q -- bash -c "
    zklock --root $Root run -n --permits 2 --all o q p -- true 2>&1 || echo \$?")" \
    $'zklock: q: no permit is free\n1'
claim "64 for another number" status_is 64 zkl run --permits 3 --all m q -- touch "$Work/ran"
claim "... which is named" is "$(cat "$Work/err")" \
    'zklock: q: the number of permits is 2, not 3'
let_go

# ---- signals ----
hold busy
for signal in INT:130 TERM:143; do
    env --default-signal "${Zkl[@]}" run --all idle busy -- touch "$Work/ran" 2>/dev/null &
    waiter=$!
    await queue_is busy 2
    kill "-${signal%:*}" "$waiter"
    claim "${signal%:*} while waiting: ${signal#*:}" ends_with "$waiter" "${signal#*:}"
    claim "... and the places are given up" \
        await eval 'queue_is busy 1 && queue_is idle 0'
done
claim "CMD was not run" test ! -e "$Work/ran"
let_go
rm -f "$Work/ready"
env --default-signal "${Zkl[@]}" run --all idle busy -- bash -c '
    trap "exit 3" TERM
    exec 9<> <(:)
    : >"$1/ready"
    while :; do read -rt 0.01 -u 9 || :; done' bash "$Work" &
runner=$!
await test -e "$Work/ready"
kill -TERM "$runner"
claim "a signal is forwarded, CMD decides" ends_with "$runner" 3

# ---- no server answers ----
"${Zkl[@]}" --timeout 2 run --all lost/one lost/two -- \
    sh -c 'echo >"$1/running"; exec sleep 1000' sh "$Work" 2>"$Work/err" &
runner=$!
await test -s "$Work/running"
freeze
reap "$runner"
thaw
claim "75 when the holds could not be kept" is "$Status" 75
claim "... and says of which" matches "$(cat "$Work/err")" \
    'lost/one and 1 more: sh ended after SIGTERM with status 143; the exit status is 75'
claim "they go to the next" status_is 0 zkl run -w 20 --all lost/two lost/one -- true
finish
