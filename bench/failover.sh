#!/usr/bin/env bash
# How long a lock stays taken after its holder was killed, for session timeouts and tickTimes: from
# kill -9 of "zklock run" to the first line of the next one's command, on three servers. With the
# guardian killed before, nothing ends the session but its timeout.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib/common.sh
. scripts/lib/build.sh

readonly WAIT_LIMIT_S=60
readonly TICKS=(100 500 2000) TIMEOUTS=(1000 4000 10000)

usage() {
    cat <<END
usage: bench/failover.sh [-n ROUNDS]    so many for each pair of tickTime and timeout [10]

Prints, for each tickTime and session timeout in ms, how long it took at least, in the median and
at most with the guardian killed as well; in the median and at most with the guardian left alone;
and how long after a release in good order (median). Takes some 11 s a round and tickTime.
END
}

await_file() { # FILE
    local deadline=$((SECONDS + WAIT_LIMIT_S))
    until [[ -s $1 ]]; do
        ((SECONDS < deadline)) || fail "$EX_SOFTWARE" "$1: not within $WAIT_LIMIT_S s"
        sleep 0.002
    done
}

is_queued() { # NAME
    [[ $("$BenchBuild/zklock" ls --json "$1") == *"\"name\":\"$1\",\"contenders\":2"[^0-9]* ]]
}

# Their command lines are one process each, so that killing one kills nothing else. Without a
# terminal: a zklock that is killed does not give back the one that it gave to its command.
hold_and_wait() { # NAME TIMEOUT FILE
    local timeout deadline=$((SECONDS + WAIT_LIMIT_S))
    timeout=$(awk -v ms="$2" 'BEGIN { print ms / 1000 }')
    rm -f "$3".held "$3".next
    # shellcheck disable=SC2016  # expanded by the inner shell
    setsid "$BenchBuild/zklock" --timeout "$timeout" run "$1" -- \
        bash -c 'echo "$EPOCHREALTIME" >"$0.held"; exec sleep 1000' "$3" 2>/dev/null &
    Holder=$!
    await_file "$3.held"
    # shellcheck disable=SC2016  # expanded by the inner shell
    setsid "$BenchBuild/zklock" run "$1" -- bash -c 'echo "$EPOCHREALTIME" >"$0.next"' "$3" &
    Waiter=$!
    until is_queued "$1"; do
        ((SECONDS < deadline)) || fail "$EX_SOFTWARE" "$1: nobody waits"
        sleep 0.01
    done
    [[ ! -e $3.next ]] || fail "$EX_SOFTWARE" "$1: the lock was free too soon"
}

# Appends "TIMEOUT KIND MILLISECONDS".
round() { # TIMEOUT
    local kind signal begun file=$TMPDIR/round-$1
    for kind in killed left released; do
        hold_and_wait "bench-$1" "$1" "$file"
        signal=TERM
        [[ $kind == released ]] || signal=KILL
        [[ $kind != killed ]] || pkill -KILL -P "$Holder" -x zklock-guardian
        begun=$EPOCHREALTIME
        kill "-$signal" "$Holder"
        wait "$Holder" 2>/dev/null || : # here bash tells of a killed one
        await_file "$file.next"
        awk -v t="$1" -v kind="$kind" -v a="$begun" -v b="$(<"$file.next")" \
            'BEGIN { printf "%d %s %.0f\n", t, kind, (b - a) * 1000 }' >>"$TMPDIR/results"
        wait "$Waiter"
    done
}

rounds() { # TIMEOUT COUNT
    local i
    for ((i = 0; i < $2; i++)); do
        round "$1"
    done
}

measure() { # TICK COUNT
    local timeout pid
    local -a pids=()
    : >"$TMPDIR/results"
    ZKLOCK_HOSTS=$(scripts/zk.sh start --dir "$TMPDIR/zk" --servers 3 --tick "$1" \
        --min-session $((2 * $1)))
    export ZKLOCK_HOSTS
    for timeout in "${TIMEOUTS[@]}"; do
        ((timeout >= 2 * $1)) || continue
        rounds "$timeout" "$2" &
        pids+=($!)
    done
    for pid in "${pids[@]}"; do
        wait "$pid" || fail "$EX_SOFTWARE" "tickTime $1: a row could not be measured"
    done
    scripts/zk.sh stop --dir "$TMPDIR/zk"
    sort -k 1,1n -k 2,2 -k 3,3n "$TMPDIR/results" | awk -v tick="$1" '
        function row() {
            if (key == "") return
            median = v[int((n + 1) / 2)]
            if (kind == "killed")
                printf "%8d %8d %8d %8d %8d", tick, timeout, v[1], median, v[n]
            else if (kind == "left")
                printf " %8d %8d", median, v[n]
            else
                printf " %9d\n", median
        }
        $1 " " $2 != key { row(); key = $1 " " $2; timeout = $1; kind = $2; n = 0 }
        { v[++n] = $3 }
        END { row() }'
}

main() {
    local count=10 tick
    answer_help "$@"
    if [[ ${1-} == -n && ${2-} =~ ^[1-9][0-9]{0,3}$ ]]; then
        count=$2
    elif (($#)); then
        wrong_call "unexpected: $*"
    fi
    need_packages "${BUILD_PACKAGES[@]}" "${SERVER_PACKAGES[@]}"
    own_tmpdir bench
    build_benchmarks
    printf '%d rounds each, in ms; load average before %s\n\n' "$count" \
        "$(cut -d ' ' -f 1 /proc/loadavg)"
    printf '%8s %8s %8s %8s %8s %8s %8s %9s\n' \
        tickTime timeout min median max guarded max released
    for tick in "${TICKS[@]}"; do
        measure "$tick" "$count"
    done
}

main "$@"
