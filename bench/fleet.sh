#!/usr/bin/env bash
# What a fleet of sessions costs three servers while it rests, is kept, waits, or holds: the
# library's own requests, packets, transactions, and CPU time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib/common.sh
. scripts/lib/build.sh

readonly STATES=(resting kept waiting holding)
# As servers are by default.
readonly TICK_MS=2000

usage() {
    cat <<END
usage: bench/fleet.sh [-t TIMEOUT_MS] [-s SECONDS] [SESSIONS]...    [10000], [20], [100 1000]

Prints for each state and number of sessions, a second each: writes and syncs that the library
sends, packets that come to the servers, transactions in their log, and CPU of all three in percent
of a processor. A waiter is looked at when it has waited for a session timeout and a half.
END
}

servers() { tr ',' ' ' <<<"$ZKLOCK_HOSTS"; }

# Of all servers together.
counter() { # KEY
    local host
    for host in $(servers); do
        scripts/zk.sh cmd "$host" mntr
    done | awk -v key="$1" '$1 == key { sum += $2 } END { printf "%d\n", sum }'
}

# Of all servers: user and system time in clock ticks, children's not.
cpu_ticks() {
    local pid
    for pid in $(scripts/zk.sh status --dir "$TMPDIR/zk" | cut -d ' ' -f 2); do
        sed 's/.*) //' "/proc/$pid/stat"
    done | awk '{ sum += $12 + $13 } END { print sum }'
}

# WRITES SYNCS PACKETS TRANSACTIONS TICKS, and when.
look() {
    local sent
    echo >&"${FLEET[1]}"
    read -r sent <&"${FLEET[0]}"
    printf '%s %s %s %s %s\n' "$sent" "$(counter zk_packets_received)" \
        "$(counter zk_proposal_count)" "$(cpu_ticks)" "$EPOCHREALTIME"
}

measure() { # STATE SESSIONS
    local line before after input
    coproc FLEET { "$BenchBuild/bench/bench_fleet" "$1" "$2" "$TimeoutMs"; }
    read -r line <&"${FLEET[0]}" && [[ $line == ready ]] || fail "$EX_SOFTWARE" "no fleet of $2"
    sleep "$(awk -v ms="$TimeoutMs" 'BEGIN { print ms * 1.5 / 1000 }')"
    before=$(look)
    sleep "$Seconds"
    after=$(look)
    input=${FLEET[1]}
    exec {input}>&-
    wait "$FLEET_PID"
    awk -v state="$1" -v sessions="$2" -v hz="$(getconf CLK_TCK)" -v before="$before" \
        -v after="$after" 'BEGIN {
            split(before, b, " "); split(after, a, " ")
            seconds = a[6] - b[6]
            printf "%s | %d | %.1f | %.1f | %.1f | %.1f | %.1f\n", state, sessions,
                (a[1] - b[1]) / seconds, (a[2] - b[2]) / seconds, (a[3] - b[3]) / seconds,
                (a[4] - b[4]) / seconds, (a[5] - b[5]) / hz / seconds * 100
        }'
}

main() {
    local option sessions state
    answer_help "$@"
    TimeoutMs=10000 Seconds=20
    while getopts :t:s: option; do
        case $option in
        t) TimeoutMs=$OPTARG ;;
        s) Seconds=$OPTARG ;;
        *) wrong_call "no such option, or it lacks its number: -$OPTARG" ;;
        esac
    done
    shift $((OPTIND - 1))
    (($#)) || set -- 100 1000
    need_packages "${BUILD_PACKAGES[@]}" "${SERVER_PACKAGES[@]}"
    own_tmpdir fleet
    build_benchmarks
    ZKLOCK_HOSTS=$(scripts/zk.sh start --dir "$TMPDIR/zk" --servers 3 --tick "$TICK_MS" \
        --prop maxClientCnxns=0)
    export ZKLOCK_HOSTS
    printf '%s; %s cores; T = %s ms; %s s each\n\n' \
        "$(scripts/zk.sh cmd "${ZKLOCK_HOSTS%%,*}" srvr | sed -n 's/^Zookeeper version: //p')" \
        "$(nproc)" "$TimeoutMs" "$Seconds"
    echo 'sessions that are | how many | writes of ours/s | syncs/s | packets/s |' \
        'log entries/s | CPU %'
    for sessions in "$@"; do
        for state in "${STATES[@]}"; do
            measure "$state" "$sessions"
        done
    done
}

main "$@"
