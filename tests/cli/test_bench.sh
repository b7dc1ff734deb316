#!/usr/bin/env bash
# zklock bench prints what it has measured, and leaves nothing behind, however it ends.
# shellcheck source-path=SCRIPTDIR
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
use_own_server
readonly Json='"count":[0-9]+,"median_ms":[0-9.]+,"p99_ms":[0-9.]+'

nodes() { bash "$Zk" cmd "$ZKLOCK_HOSTS" mntr | sed -n 's/^zk_znode_count[[:space:]]*//p'; }
count_of() { awk -v what="$1" '$1 == what { print $2 }' "$Work/out"; }
refused() {
    status_is 64 zkl bench "$@" && matches "$(cat "$Work/err")" "--count takes a whole number"
}
is_measured() { [[ $(zklock --root "$Root" ls) == *zklock-bench-* ]]; }

before=$(nodes)
claim "a lock of its own" status_is 0 zkl bench --count 5
claim "... so many times" is "$(count_of acquire) $(count_of release) $(count_of hand-off)" '5 5 5'
claim "... beside plain requests" is "$(count_of read) $(count_of write)" '5 10'
claim "... with times" matches "$(cat "$Work/out")" \
    $'\nhand-off +5 +[0-9]+[.][0-9]{2} ms +[0-9.]+ ms'
claim "... and nothing else is said" is "$(cat "$Work/err")" ''
claim "... and nothing is left, of the root either" is "$(nodes)" "$before"

zkl run other/lock -- true
before=$(nodes)
claim "a NAME, and JSON" status_is 0 zkl bench --count=3 --json other/lock
claim "... of the documented shape" matches "$(cat "$Work/out")" \
    "^\{\"name\":\"other/lock\",\"times\":\[\{\"what\":\"read\",$Json\},\{\"what\":\"write\",$Json"
claim "... of one line" is "$(wc -l <"$Work/out")" 1
claim "... and a directory that was there stays" is "$(nodes)" "$before"

hold other/lock
claim "a lock that another client holds: 1" status_is 1 zkl bench --count 1 other/lock
claim "... and it is named" matches "$(cat "$Work/err")" 'other/lock'
let_go

for signal in INT TERM; do
    env --default-signal=INT zklock --root "$Root" bench --count 1000000 >"$Work/out" &
    pid=$!
    claim "a bench is at work" await is_measured
    kill -"$signal" "$pid"
    claim "$signal ends it" ends_with "$pid" "$((128 + $(kill -l "$signal")))"
    claim "... and nothing is printed" is "$(cat "$Work/out")" ''
    claim "... nor left" is "$(nodes)" "$before"
done

for value in 0 -1 x 1.5 '' 1000001; do
    claim "--count '$value' is refused" refused --count "$value"
done
claim "a bad name" status_is 64 zkl bench a//b
finish
