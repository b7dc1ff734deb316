#!/usr/bin/env bash
# What three servers pay for a write that changes nothing: CPU time, and bytes in their logs. The
# kinds take turns, so that whatever else the machine does falls on all of them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib/common.sh
. scripts/lib/build.sh

readonly KINDS=(delete check acl sync exists)

usage() {
    cat <<END
usage: bench/barrier.sh [-n ROUNDS] [-r RATE] [-s SECONDS]    [3] rounds, [1500] a second, [10]

Prints for each kind of request: CPU seconds of three servers for 10,000 requests, bytes in a
server's log for each, both medians; the median answer in microseconds, and how many were refused.
ZKLOCK_ZK_CLASSPATH names another release's jars.
END
}

# Of all servers: user and system time in clock ticks, children's not.
cpu_ticks() {
    local pid
    for pid in $(scripts/zk.sh status --dir "$TMPDIR/zk" | cut -d ' ' -f 2); do
        sed 's/.*) //' "/proc/$pid/stat"
    done | awk '{ sum += $12 + $13 } END { print sum }'
}

# Without the zeros that a log file is filled up with.
log_bytes() {
    find "$TMPDIR/zk/1/data" -name 'log.*' -exec \
        perl -0777 -ne 's/\0+\z//; $sum += length; END { print $sum }' {} +
}

round() { # KIND
    local cpu log result
    cpu=$(cpu_ticks)
    log=$(log_bytes)
    result=$("$BenchBuild/bench/bench_barrier" "$1" "$Rate" "$Seconds")
    printf '%s %d %d %s\n' "$1" "$(($(cpu_ticks) - cpu))" "$(($(log_bytes) - log))" "$result"
}

# Of "KIND TICKS BYTES ANSWERED REFUSED MEDIAN LONGEST" lines.
report() {
    local kind
    printf '%-8s %14s %12s %12s %8s\n' kind 'CPU s/10,000' 'log bytes' 'answer us' refused
    for kind in "${KINDS[@]}"; do
        awk -v kind="$kind" -v hz="$(getconf CLK_TCK)" '
            function median(values, n,    i, j, t) {
                for (i = 2; i <= n; i++)
                    for (j = i; j > 1 && values[j] < values[j - 1]; j--) {
                        t = values[j]; values[j] = values[j - 1]; values[j - 1] = t
                    }
                return values[int((n + 1) / 2)]
            }
            $1 == kind {
                n++
                cpu[n] = $2 / hz / $4 * 10000; log_[n] = $3 / $4; took[n] = $6; refused += $5
            }
            END {
                printf "%-8s %14.2f %12.1f %12d %8d\n", kind, median(cpu, n), median(log_, n),
                    median(took, n), refused
            }
        ' "$TMPDIR/results"
    done
}

main() {
    local rounds=3 option kind i
    answer_help "$@"
    Rate=1500 Seconds=10
    while getopts :n:r:s: option; do
        case $option in
        n) rounds=$OPTARG ;;
        r) Rate=$OPTARG ;;
        s) Seconds=$OPTARG ;;
        *) wrong_call "no such option, or it lacks its number: -$OPTARG" ;;
        esac
    done
    need_packages "${BUILD_PACKAGES[@]}" "${SERVER_PACKAGES[@]}"
    own_tmpdir barrier
    build_benchmarks
    ZKLOCK_HOSTS=$(scripts/zk.sh start --dir "$TMPDIR/zk" --servers 3)
    export ZKLOCK_HOSTS
    printf '%s; %s cores; load average before %s\n' \
        "$(scripts/zk.sh cmd "${ZKLOCK_HOSTS%%,*}" srvr | sed -n 's/^Zookeeper version: //p')" \
        "$(nproc)" "$(cut -d ' ' -f 1 /proc/loadavg)"
    round delete >/dev/null # until the servers are warm
    for ((i = 0; i < rounds; i++)); do
        for kind in "${KINDS[@]}"; do
            round "$kind" >>"$TMPDIR/results"
        done
    done
    report
}

main "$@"
