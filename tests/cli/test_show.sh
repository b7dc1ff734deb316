#!/usr/bin/env bash
# zklock ls and show: what they print for locks that are held and waited for.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2016  # single quotes are for later evaluation and inner shells
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
use_any_server

claim "ls of nothing prints nothing" status_is 0 zkl ls
claim "..." is "$(cat "$Work/out" "$Work/err")" ''
claim "ls --json of nothing" is "$(zkl ls --json)" '{"locks":[]}'
claim "show of a free lock" status_is 0 zkl show free
claim "... says so" is "$(cat "$Work/err")" \
    'zklock: free: no client holds this lock or waits for it'
claim "show --json of a free lock" is "$(zkl show --json free)" \
    '{"name":"free","permits":null,"contenders":[]}'

hold team/build
"${Zkl[@]}" --label 'nightly run' run team/build -- true &
waiter=$!
await eval '[[ $(zkl ls) =~ team/build\ .*\ 2\ +[0-9]+s$ ]]'
zkl run other -- zklock --root "$Root" ls >"$Work/ls"
mapfile -t lines <"$Work/ls"
host=$(hostname)
claim "ls prints a title and a line a lock" is "${#lines[@]}" 3
claim "..." matches "${lines[0]}" '^NAME +HOLDER +DEPTH +OLDEST WAIT$'
claim "a lock that nobody waits for" matches "${lines[1]}" \
    "^other +$host pid [0-9]+ \"zklock\" +1 +-\$"
claim "one with a waiter: the holder, both of them, the wait" matches "${lines[2]}" \
    "^team/build +$host pid $Holder \"zklock\" +2 +[0-9]+s\$"
claim "ls --names" is "$(zkl run other -- zklock --root "$Root" ls --names)" $'other\nteam/build'
zkl ls --json team >"$Work/json"
json='^\{"locks":\[\{"name":"team/build","contenders":2,"holders":1,"holder":\{"holder":true,'
json+="\"kind\":\"mutex\",.*\"node\":\"[^\"]+-lock-0000000000\",\"host\":\"$host\","
json+="\"pid\":$Holder,.*\},\"oldest_wait_since\":\"20[0-9T:-]+Z\","
json+='"oldest_wait_since_ms":[0-9]+,"oldest_wait_ms":[0-9]+\}\]\}$'
claim "ls --json PREFIX: what is below, every key" matches "$(cat "$Work/json")" "$json"
zkl run other -- zklock --root "$Root" ls --prometheus >"$Work/metrics"
claim "ls --prometheus: HELP and TYPE once, then a sample a lock" is \
    "$(sed -E 's/^(# HELP [^ ]+) .*/\1/; s/(build"\}) [0-9]+\.[0-9]{3}$/\1 T/' "$Work/metrics")" \
    '# HELP zklock_lock_contenders
# TYPE zklock_lock_contenders gauge
zklock_lock_contenders{name="other"} 1
zklock_lock_contenders{name="team/build"} 2
# HELP zklock_lock_oldest_wait_seconds
# TYPE zklock_lock_oldest_wait_seconds gauge
zklock_lock_oldest_wait_seconds{name="other"} 0.000
zklock_lock_oldest_wait_seconds{name="team/build"} T'
for option in --json --names --watch; do
    claim "--prometheus does not go with $option" status_is 64 zkl ls --prometheus "$option"
done
claim "options may come first" is "$(zkl --json show team/build)" \
    "$(zkl show --json team/build)"

zkl show team/build >"$Work/show"
mapfile -t lines <"$Work/show"
host=$(hostname)
claim "show prints a title and a line a contender" is "${#lines[@]}" 3
claim "..." matches "${lines[0]}" '^POS +AGE +HELD +WHO +WHAT +STATE$'
claim "the holder: its age, who it is, what it runs" matches "${lines[1]}" \
    "^1 +[0-9]+s +[0-9]+s +$host pid $Holder +zklock +holds\$"
claim "the waiter, with its label and the position of whom it waits for" matches "${lines[2]}" \
    "^2 +[0-9]+s +- +$host pid $waiter +nightly run +waits on 1\$"
claim "... in 80 columns" is "$(awk 'length > 80' "$Work/show")" ''

zkl show -l team/build >"$Work/show"
mapfile -t lines <"$Work/show"
claim "--long prints a title and a line a contender" is "${#lines[@]}" 3
holder="^1 +$host +$Holder +zklock +- +20[0-9-]+T[0-9:]+Z +[0-9]+s +[0-9]+s +[0-9]+ +0x[0-9a-f]+ "
holder+='+_c_[^ ]+-lock-0000000000 +holds$'
claim "the holder" matches "${lines[1]}" "$holder"
node=$(grep -oE '_c_[^ ]+-lock-0000000000' <<<"${lines[1]}")
claim "the waiter, with its label and whom it waits for" matches "${lines[2]}" \
    "^2 +$host +$waiter +zklock +nightly run +.* waits on $node\$"

zkl show --json team/build >"$Work/json"
number='[0-9]+'
holder="\{\"position\":1,\"holder\":true,\"kind\":\"mutex\",\"may_linger\":false,"
holder+="\"broken\":false,"
holder+="\"node\":\"$node\","
holder+="\"waits_on\":null,\"host\":\"$host\","
holder+="\"pid\":$Holder,\"thread\":$number,\"program\":\"zklock\",\"label\":null,"
holder+="\"since\":\"20[0-9T:-]+Z\",\"since_ms\":$number,"
holder+="\"held_since\":\"20[0-9T:-]+Z\",\"held_since_ms\":$number,\"token\":$number,"
holder+="\"session\":\"0x[0-9a-f]+\"\}"
claim "JSON: the holder, every key" matches "$(cat "$Work/json")" \
    "^\{\"name\":\"team/build\",\"permits\":null,\"contenders\":\[$holder,"
waiter_json="\{\"position\":2,\"holder\":false,\"kind\":\"mutex\",\"may_linger\":false,"
waiter_json+="\"broken\":false,"
waiter_json+="\"node\":\"[^\"]+\","
waiter_json+="\"waits_on\":\"$node\","
waiter_json+="\"host\":\"$host\",\"pid\":$waiter,.*\"label\":\"nightly run\",.*"
waiter_json+="\"held_since\":null,\"held_since_ms\":null,"
claim "JSON: the waiter" matches "$(cat "$Work/json")" "$waiter_json"
let_go
claim "the waiter ran after the holder" ends_with "$waiter" 0

hold shared -s
claim "ls: one who shares" matches "$(zkl run -s shared -- zklock --root "$Root" ls)" \
    "shared +$host pid $Holder \"zklock\" and 1 more +2 +-\$"
let_go

zkl run --show-command named -- zklock --root "$Root" show --json named >"$Work/named"
claim "--show-command: CMD and its arguments are the label" matches "$(cat "$Work/named")" \
    "\"label\":\"zklock --root $Root show --json named\""
zkl --label text run --show-command named -- zklock --root "$Root" show --json named >"$Work/named"
claim "... but for another label" matches "$(cat "$Work/named")" '"label":"text"'
claim "show has no --show-command" status_is 64 zkl show --show-command named

long=$(printf '%0128d' 0)
"${Zkl[@]}" --label "$long" run wide -- zklock --root "$Root" show wide >"$Work/wide"
claim "what is no terminal is given the whole text" matches "$(cat "$Work/wide")" " $long +holds"

claim "64 for a name that cannot be" status_is 64 zkl show a/../b
finish
