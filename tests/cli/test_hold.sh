#!/usr/bin/env bash
# CMD and the hold it runs under: when no server answers any more, CMD's process group is gone
# before the hold stops being certain. The server is frozen for it.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2016  # single quotes are for the inner shells
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
use_own_server

readonly T_MS=3000
# The newest heartbeat that can count was acknowledged T/4 and T/22 before one that was sent before
# the freeze, and is good for T less a margin of T/24. A new session's certainty is T less the
# margin, hence run_for_t.
readonly CERTAIN_MS=$((T_MS * 23 / 24 - T_MS / 4 - T_MS / 22))

Run=("${Zkl[@]}" --timeout 3 run)

# Writes the time into $Work/NAME for as long as it lives, and into NAME.term when SIGTERM comes;
# then it does what ON_TERM says.
cat >"$Work/beat" <<'END'
stamp() { printf '%s\n' "${EPOCHREALTIME/./}" | sed 's/...$//'; }
name=$1
echo $$ >"$name.pid"
trap "stamp >'$name.term'; $2" TERM
exec {never}<> <(:)
while :; do
    printf '%s\n' "${EPOCHREALTIME/./}" >"$name.new"
    mv "$name.new" "$name"
    read -rt 0.005 -u "$never" || :
done
END
last_ms() { sed 's/...$//' "$Work/$1"; }

# Waits until $runner's session is older than T.
run_for_t() {
    local until
    await test -s "$Work/parent"
    until=$(($(now_ms) + T_MS))
    await eval "((\$(now_ms) > $until))"
}

reset() { rm -f "$Work"/parent* "$Work"/child* "$Work"/done; }

# ---- a CMD that does not obey ----
# Where the machine has let the runner stand still for longer than CMD's grace, it could not act.
for _ in 1 2 3; do
    reset
    "${Run[@]}" stubborn -- bash -c 'bash "$1/beat" "$1/child" : & . "$1/beat" "$1/parent" :' \
        bash "$Work" 2>"$Work/err" &
    runner=$!
    run_for_t
    await test -s "$Work/child"
    freeze
    reap "$runner"
    ended=$(now_ms)
    thaw
    grep 'stood still' "$Work/err" || break
done
claim "75 when the hold could not be kept" is "$Status" 75
claim "... and says why" matches "$(cat "$Work/err")" 'the lock was lost while bash ran'
claim "... which it did while the hold was still certain" \
    matches "$(cat "$Work/err")" 'the hold is about to end: SIGKILL sent'
claim "a CMD that ignores SIGTERM is gone before its hold ends" \
    at_most $(($(last_ms parent) - FrozenAt)) "$CERTAIN_MS"
claim "its child as well" at_most $(($(last_ms child) - FrozenAt)) "$CERTAIN_MS"
for name in parent child; do # if they are not
    kill -KILL "$(cat "$Work/$name.pid")" 2>/dev/null || :
done
claim "both were sent SIGTERM before" test -s "$Work/parent.term" -a -s "$Work/child.term"
claim "... with the grace of a quarter of the timeout" \
    matches "$(cat "$Work/err")" 'SIGTERM sent, SIGKILL follows in (750|[67][0-9]{2}) ms'
claim "the runner does not wait for a server that does not answer" \
    at_most $((ended - $(last_ms parent))) 5000
printf '    (dead %d ms after the freeze, the hold certain for at most %d)\n' \
    $(($(last_ms parent) - FrozenAt)) "$CERTAIN_MS"

# ---- who waits, and no server answers ----
reset
"${Run[@]}" busy -- sleep 1000 2>/dev/null &
holder=$!
await eval '[[ $(zkl ls --json busy) == *\"contenders\":1,* ]]'
"${Run[@]}" -w 7 -E 42 busy -- true 2>"$Work/err" &
waiter=$!
await eval '[[ $(zkl ls --json busy) == *\"contenders\":2,* ]]'
freeze
reap "$waiter"
thaw
claim "69 when no server answers any more, whatever -E says" is "$Status" 69
claim "... and says so" matches "$(cat "$Work/err")" \
    'not acquired within 7 s: no server answers'
claim "... and when the connection broke" matches "$(cat "$Work/err")" \
    'zklock: the connection to the servers broke'
kill "$holder" 2>/dev/null || :
reap "$holder"

# ---- a CMD that obeys ----
reset
"${Run[@]}" obedient -- bash "$Work/beat" "$Work/parent" 'exit 0' 2>"$Work/err" &
runner=$!
run_for_t
freeze
reap "$runner"
thaw
claim "75 for a CMD that ends by itself in its grace, whatever its status" is "$Status" 75
claim "... which is told" matches "$(cat "$Work/err")" \
    'obedient: bash ended after SIGTERM with status 0; the exit status is 75'

reset
"${Run[@]}" plain -- bash "$Work/beat" "$Work/parent" 'trap - TERM; kill $$' 2>/dev/null &
runner=$!
run_for_t
freeze
reap "$runner"
thaw
claim "75 for a CMD that dies of the SIGTERM" is "$Status" 75

reset
"${Run[@]}" asleep -- bash "$Work/beat" "$Work/parent" 'exit 5' 2>"$Work/err" &
runner=$!
run_for_t
read -r command <<<"$(pgrep -P "$runner" -x bash)"
kill -STOP "$command"
freeze
reap "$runner"
thaw
claim "a CMD that was stopped is woken to end in its grace" is "$Status" 75
claim "... by itself" matches "$(cat "$Work/err")" 'bash ended after SIGTERM with status 5;'

# ---- the connection comes back in time ----
reset
"${Run[@]}" resumed -- bash -c 'trap "echo >\"$1/parent.term\"" TERM; echo >"$1/parent"
    exec 9<> <(:); until test -e "$1/done"; do read -rt 0.01 -u 9 || :; done; exit 6' bash "$Work" \
    2>"$Work/err" &
runner=$!
run_for_t
freeze
await test -e "$Work/parent.term"
thaw
await eval '(($(now_ms) > FrozenAt + T_MS + 500))'
: >"$Work/done"
claim "75 after SIGTERM although heartbeats came back" ends_with "$runner" 75
claim "... where CMD may finish" matches "$(cat "$Work/err")" \
    'bash ended after SIGTERM with status 6;'

# ---- the runner is stopped for longer than the session lives ----
reset
"${Run[@]}" stopped -- bash "$Work/beat" "$Work/parent" : 2>/dev/null &
runner=$!
await test -s "$Work/parent"
kill -STOP "$runner"
claim "the lock of a stopped runner goes to the next" status_is 0 zkl run -w 20 stopped -- true
kill -CONT "$runner"
claim "a runner that wakes after its hold ended kills CMD: 75" ends_with "$runner" 75
ended=$(now_ms)
claim "... at once" at_most $((ended - $(last_ms parent))) 4000

# ---- the end of CMD while no server answers ----
reset
"${Run[@]}" silent -- \
    bash -c 'exec 9<> <(:); until test -e "$1/done"; do read -rt 0.01 -u 9 || :; done' \
    bash "$Work" &
runner=$!
await eval '[[ $(zkl show --json silent) == *holder\":true* ]]'
freeze
: >"$Work/done"
reap "$runner"
ended=$(now_ms)
thaw
claim "CMD's status when it ends while no server answers" is "$Status" 0
claim "... and the end is not held up" at_most $((ended - FrozenAt)) 4500

finish
