#!/usr/bin/env bash
# zklock doctor says of each server, alone and of three, what is wrong with it, and in good time.
# shellcheck source-path=SCRIPTDIR
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
readonly DOCTOR_LIMIT_MS=45000 # as the manual says

# The servers' own files are changed below, so none of somebody else's.
ZKLOCK_HOSTS=$(bash "$Zk" start --dir "$Server" --servers 3)
export ZKLOCK_HOSTS
Holders=()
mapfile -t Addresses < <(tr , '\n' <<<"$ZKLOCK_HOSTS")

# doctor STATUS [OPTION]...: in time, and with nothing on standard error unless that is 69.
doctor() {
    local expected=$1 begun
    shift
    begun=$(now_ms)
    status_is "$expected" zklock --root "$Root" doctor "$@" &&
        at_most "$(($(now_ms) - begun))" "$DOCTOR_LIMIT_MS" && is "$(cat "$Work/err")" ''
}
says() { # LEVEL ABOUT REGEX: a line
    matches "$(cat "$Work/out")" "(^|"$'\n'")$1 +$2: [^"$'\n'"]*$3"
}
advises() { # EACH: as many lines of advice as there are findings that are not ok
    is "$(grep -c '^         -> .' "$Work/out" || :)" \
        "$(grep -cE '^(note|warning|wrong) ' "$Work/out" || :)"
}
nodes() { bash "$Zk" cmd "${Addresses[0]}" mntr | sed -n 's/^zk_znode_count[[:space:]]*//p'; }
server_pid() { cat "$Server/$1/pid"; }
# The doctor's word for it, because a server need not answer others.
serves() { # N
    zklock --root "$Root" doctor >"$Work/out" 2>&1 || :
    grep -q "^ok  *${Addresses[$1 - 1]}: .*, serves" "$Work/out"
}
all_serve() { # N...: at once
    local n
    serves "$1" || return
    for n; do
        grep -q "^ok  *${Addresses[n - 1]}: .*, serves" "$Work/out" || return
    done
}
end_server() { # N
    local pid
    pid=$(server_pid "$1")
    kill -KILL "$pid"
    await is_gone "$pid"
}
# begin_anew N LINE...: with these lines in its settings.
begin_anew() {
    local n=$1
    end_server "$n"
    printf '%s\n' "${@:2}" >>"$Server/$n/zoo.cfg"
    bash "$Zk" revive --dir "$Server" "$n"
}

before=$(nodes)
claim "all is well with three servers" doctor 0
claim "... each by itself" is \
    "$(grep -cE '^ok +127.*version 3\.[0-9.]+, (leader|follower), serves' "$Work/out")" 3
claim "... no line that is not ok" is "$(grep -cv '^ok ' "$Work/out" || :)" 0
claim "... with the bounds of the timeout" says ok "${Addresses[0]}" 'from 1000 to 60000 ms'
claim "... and nothing is left over" is "$(nodes)" "$before"
claim "a timeout that is not granted is a warning" doctor 0 --timeout 0.5
claim "... with what bounds it" says warning session '1000 ms, not 500 ms: minSessionTimeout'
claim "... and advice" advises
claim "fewer servers than the ensemble has: a warning" doctor 0 --hosts "${Addresses[0]}"
claim "... with both numbers" says warning --hosts '1 servers of an ensemble of 3'

claim "a name without an address is wrong" doctor 1 \
    --hosts "no-such-host.invalid:2181,$ZKLOCK_HOSTS"
claim "... and is named" says wrong no-such-host.invalid 'no address'
claim "a chroot that does not exist is wrong" doctor 1 --hosts "$ZKLOCK_HOSTS/none"
claim "... and is named" says wrong /none 'does not exist'
for list in a:b 127.0.0.1:0 127.0.0.1:65536 127.0.0.1:99999; do
    claim "$list is no list of servers and is refused" status_is 64 zklock doctor --hosts "$list"
done

claim "JSON" doctor 0 --json
claim "... of one line" is "$(wc -l <"$Work/out")" 1
claim "... of the documented shape" matches "$(cat "$Work/out")" \
    '^\{"wrong":0,"warnings":0,"findings":\[\{"level":"ok","check":"serves","about":"127[^"]*",'
claim "... with a text, and advice or null" matches "$(cat "$Work/out")" \
    '","text":"[^"]*","advice":null\},\{"level":'

# Without a leader nothing would be committed.
follower=$(bash "$Zk" status --dir "$Server" | awk '$3 == "follower" { print NR; exit }')
stopped=$(server_pid "$follower")
kill -STOP "$stopped"
claim "a server that stands still is wrong, and found out" doctor 1
claim "... by itself" says wrong "${Addresses[follower - 1]}" 'answers nothing'
kill -CONT "$stopped"
await serves "$follower"

begin_anew 2 tickTime=400 maxSessionTimeout=30000 maxClientCnxns=5
begin_anew 3 4lw.commands.whitelist=ruok
await all_serve 1 2 3
claim "servers that differ are wrong" doctor 1
claim "... by the tick" says wrong tickTime "400 ms at ${Addresses[1]}, 500 ms at ${Addresses[0]}"
claim "... by a bound" says wrong maxSessionTimeout "30000 ms at ${Addresses[1]}, 60000 ms at"
claim "maxClientCnxns, and how many of them are in use" says ok "${Addresses[1]}" \
    '0 connections of 5'
claim "words that are not in the whitelist: what is not known is a note" says note tickTime \
    '1 of 3 servers is not known'
claim "... with the line that would tell" matches "$(cat "$Work/out")" \
    '-> 4lw.commands.whitelist=srvr,conf,cons in its zoo.cfg'
claim "... and it serves all the same" says ok "${Addresses[2]}" 'version 3.*, serves'
claim "... and advice" advises
for i in 1 2 3; do
    ZKLOCK_HOSTS=${Addresses[1]} "${Zkl[@]}" run "held/$i" -- \
        sh -c 'echo >"$1"; exec sleep 60' sh "$Work/held.$i" &
    Holders+=($!)
done
for i in 1 2 3; do
    await test -e "$Work/held.$i"
done
claim "more than half of the connections" doctor 1
claim "... are a warning" says warning "${Addresses[1]}" '3 connections of 5'
claim "... and three locks" says ok "$Root" '3 locks are in use'
kill "${Holders[@]}"
wait "${Holders[@]}" || :

end_server 1
await all_serve 2 3
claim "a server that is dead is wrong" doctor 1
claim "... and named" says wrong "${Addresses[0]}" 'Connection refused'
end_server 2
await status_is 69 zklock --root "$Root" doctor 2>/dev/null
claim "no quorum: 69" doctor 69
claim "... and why" says wrong session 'no server serves'
claim "... with advice" advises
claim "nothing listens: 69" doctor 69 --hosts 127.0.0.1:1

finish
