#!/usr/bin/env bash
# zklock held, ask and break: what they do, what they say, and their exit statuses.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2016  # single quotes are for later evaluation and inner shells
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
use_any_server

host=$(hostname)
queued() { matches "$(zkl ls --json "$1")" "^\{\"locks\":\[\{\"name\":\"$1\",\"contenders\":$2,"; }
says_last() { matches "$(tail -1 "$Work/err")" "^$1"; }
says() { is "$(cat "$Work/out" "$Work/err")" "$1"; }

# ---- held ----
claim "held of a free lock is 1" status_is 1 zkl held job
claim "... without a word" says ''
claim "64 for a name that cannot be" status_is 64 zkl held a/../b
claim "64 without a name" status_is 64 zkl held
claim "64 with two" status_is 64 zkl held job more
hold job
claim "held of a lock that is held is 0" status_is 0 zkl held job
claim "... without a word" says ''
claim "held -v says by whom" status_is 0 zkl -v held job
claim "... in a line" grep -qx "zklock: job: held by $host pid $Holder \"zklock\"" "$Work/err"

# Under a run it is about that run, also among several locks and beside others who share it.
claim "under a run: its own locks are held by it; another lock by any client" status_is 0 \
    zkl run --all left right -- bash -c 'held() { zklock --root "$0" held "$1"; }
        held left && held right && ! held free && held job' "$Root"
claim "under a run whose node has gone: not held" status_is 1 \
    env ZKLOCK_NAME=job ZKLOCK_NODE="$Root/job/_c_gone-lock-0000000000" "${Zkl[@]}" held job
claim "a run below another root is not about this lock" status_is 0 \
    env ZKLOCK_NAME=job ZKLOCK_NODE=/locks/job/_c_gone-lock-0000000000 "${Zkl[@]}" held job
claim "the second of two readers holds as well" status_is 0 \
    zkl run -s shared -- "${Zkl[@]}" run -s shared -- "${Zkl[@]}" held shared

# ---- a run inside a run ----
inside() { # OPTIONS-OF-THE-OUTER OPTIONS-OF-THE-INNER
    # shellcheck disable=SC2086  # options, none of which has a blank
    status_is "$3" zkl run $1 nest -- zklock --root "$Root" run $2 nest -- true
}
claim "a run inside a run of the same lock is told at once" inside '' '' 64
claim "... why" matches "$(cat "$Work/err")" 'nest: .*it would wait for itself$'
claim "... also by a reader inside a writer" inside '' -s 64
claim "a reader inside a reader is not" inside -s -s 0
claim "nor one of two permits inside the other" inside '--permits 2' '--permits 2' 0
claim "but the only permit is" inside '--permits 1' '--permits 1' 64
claim "with -n it does not wait, so its status is that of a taken lock" \
    inside '' '-n -E 9' 9
claim "what has outlived its run may lock" status_is 0 \
    env ZKLOCK_NAME=nest ZKLOCK_NODE="$Root/nest/_c_gone-lock-0000000000" \
    "${Zkl[@]}" run nest -- true

# ---- ask ----
claim "ask of a lock that is held" status_is 0 zkl ask job
claim "... without a word" says ''
claim "... takes nothing away" status_is 0 zkl held job
claim "ask of a free lock is 1" status_is 1 zkl ask free
claim "... and says so" says 'zklock: free: no client holds this lock'
claim "64 for a name that cannot be" status_is 64 zkl ask a/../b

# ---- break ----
claim "break of a free lock is 1" status_is 1 zkl break --yes free
claim "... and says so" says 'zklock: free: no client holds this lock'
claim "64 for a name that cannot be" status_is 64 zkl break --yes a/../b
claim "64 with three operands" status_is 64 zkl break --yes job node more
claim "a break is not done without a yes" status_is 64 zkl break job </dev/null
claim "... shows whom it is about" matches "$(head -1 "$Work/err")" \
    "^zklock: job: $host pid $Holder \"zklock\" holds( for [0-9]+s)?; 0 behind it\$"
claim "... and says how to say yes" matches "$(tail -1 "$Work/err")" '--yes'
claim "... and the lock is held as before" status_is 0 zkl held job
claim "break of a node that is not there is 1" status_is 1 \
    zkl break --yes job _c_none-lock-0000000009
claim "... and says so" says "zklock: job: no contender has the node '_c_none-lock-0000000009'"

"${Zkl[@]}" run job -- true 2>"$Work/waiter" &
waiter=$!
await eval 'queued job 2 2>/dev/null'
node=$(zkl show --json job | grep -oE '"node":"[^"]+"' | tail -1 | cut -d'"' -f4)
claim "break of a waiter" status_is 0 zkl break -y job "$node"
claim "... shows that it waits" matches "$(cat "$Work/err")" 'waits for [0-9]+s; 0 behind it$'
await eval 'queued job 2 2>/dev/null' # it has a new place
claim "... which takes a new place" is "$(zkl show --json job | grep -c "$node")" 0
claim "break of the holder" status_is 0 zkl break --yes job
claim "... says who is behind it" matches "$(cat "$Work/err")" '; 1 behind it$'
Status=0
wait "$Holder" || Status=$?
claim "the holder's run ends with 75" is "$Status" 75
claim "the waiter follows" ends_with "$waiter" 0

# Two who share it: which of them has to be said.
"${Zkl[@]}" run -s pair -- sleep 1000 2>/dev/null &
one=$!
await eval 'queued pair 1 2>/dev/null'
"${Zkl[@]}" run -s pair -- sleep 1000 2>/dev/null &
two=$!
await eval 'queued pair 2 2>/dev/null'
claim "break of one of several holders needs its node" status_is 1 zkl break --yes pair
claim "... and says so" says \
    "zklock: pair: 2 clients hold this lock: name the NODE of one ('zklock show -l')"
node=$(zkl show --json pair | grep -oE '"node":"[^"]+"' | head -1 | cut -d'"' -f4)
claim "... which does" status_is 0 zkl break --yes pair "$node"
claim "... and leaves the other" queued pair 1
kill -STOP "$two"
claim "without time there is no mark" status_is 1 zkl break --yes --wait 0 pair
claim "... and none is claimed" says_last "zklock: pair: not gone yet, and not known to be marked:"
claim "a holder that does not answer is not gone in time" status_is 1 \
    zkl break --yes --wait 1 pair
claim "... and is marked" says_last "zklock: pair: not gone yet; the mark stays"
"${Zkl[@]}" run -s pair -- sleep 1000 2>/dev/null &
three=$!
await eval 'queued pair 2 2>/dev/null'
await status_is 0 zkl held pair
claim "held: by the one behind a holder that was broken" status_is 0 zkl held pair
kill -CONT "$two"
claim "the one that was broken ends with 75 when it goes on" ends_with "$two" 75
kill -TERM "$one" "$three" 2>/dev/null || :
claim "one was broken" ends_with "$one" 75
claim "the last one had its signal" ends_with "$three" 143

claim "--yes is only of break" status_is 64 zkl ask --yes job
claim "held has no --json" status_is 64 zkl held --json job
finish
