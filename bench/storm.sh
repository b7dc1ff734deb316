#!/usr/bin/env bash
# Five hundred sessions hold a lock each on three servers, which are slow for a while. Shows whether
# reconnects and heartbeats keep the servers slow when the cause is gone.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib/common.sh
. scripts/lib/build.sh

# Of the disk that stalls, and of those that are slow. With ten transactions a sync the latter let
# 40 and 200 writes a second through.
readonly STALL_MS=8000
readonly SLOW_MS=250
readonly TIRED_MS=50
readonly BATCH=10
# As in earnest: a server that is silent for five of these is left out.
readonly TICK_MS=2000

usage() {
    cat <<END
usage: bench/storm.sh [-q] [-n SESSIONS] [-t TIMEOUT_MS] [-d SECONDS] WAY...

Prints a line a second, and a table in the end. With -q only the table.

WAY is how the servers are slow:
  stall      each sync of a log takes $((STALL_MS / 1000)) s
  slow       they commit $((BATCH * 1000 / SLOW_MS)) writes a second
  tired      they commit $((BATCH * 1000 / TIRED_MS)) writes a second
  limp       the same after a stall
  turns      one server after the other is stopped for a third of the time
  quorum     two of three are stopped
END
}

# What the program runs to make them slow, and to end it.
begin_of() { # WAY PIDS
    case $1 in
    stall) echo "echo $STALL_MS >$SLOW_SYNC_FILE" ;;
    slow) echo "echo $SLOW_MS >$SLOW_SYNC_FILE" ;;
    tired) echo "echo $TIRED_MS >$SLOW_SYNC_FILE" ;;
    limp)
        echo "echo $STALL_MS >$SLOW_SYNC_FILE;" \
            "(sleep $((STALL_MS / 1000)); echo $TIRED_MS >$SLOW_SYNC_FILE) &"
        ;;
    turns)
        echo "(for pid in ${*:2}; do kill -STOP \$pid; sleep $((Seconds / 3)); kill -CONT \$pid;" \
            "done) &"
        ;;
    quorum) echo "kill -STOP $2 $3" ;;
    esac
}

end_of() { # WAY PIDS
    case $1 in
    stall | slow | tired | limp) echo "echo 0 >$SLOW_SYNC_FILE" ;;
    turns | quorum) echo "kill -CONT ${*:2}" ;;
    esac
}

one() { # WAY
    local dir=$TMPDIR/zk-$1
    local -a pids options=(--servers 3 --tick "$TICK_MS" --min-session "$((2 * TICK_MS))"
        --prop forceSync=yes --jvm -Xmx1g)
    [[ $1 != @(slow|tired|limp) ]] || options+=(--jvm "-Dzookeeper.maxBatchSize=$BATCH")
    echo 0 >"$SLOW_SYNC_FILE"
    ZKLOCK_HOSTS=$(LD_PRELOAD=$PWD/$BenchBuild/bench/libbench_slow_sync.so \
        scripts/zk.sh start --dir "$dir" "${options[@]}")
    export ZKLOCK_HOSTS
    mapfile -t pids < <(scripts/zk.sh status --dir "$dir" | cut -d ' ' -f 2)
    echo "== $1" >&3
    in_group "$BenchBuild/bench/bench_storm" "${Options[@]}" "$(begin_of "$1" "${pids[@]}")" \
        "$(end_of "$1" "${pids[@]}")" | tee "$TMPDIR/$1.out" >&3
    scripts/zk.sh stop --dir "$dir"
}

# The last line of bench_storm, as a row.
row() { # WAY
    sed -nE 's|.*: ([0-9]+) connections meanwhile, ([0-9]+) after; .* ([0-9]+) outstanding at the '\
'most; ([0-9]+) holds lost, ([0-9]+) sessions expired; all well ([0-9.]+) s after the end|'\
"$1"' \| \1 \| \2 \| \3 \| \4 \| \5 \| \6|p' "$TMPDIR/$1.out"
}

main() {
    local way
    answer_help "$@"
    Seconds=30 Options=()
    exec 3>&1 # what is left out with -q
    if [[ ${1-} == -q ]]; then
        exec 3>/dev/null
        shift
    fi
    while [[ ${1-} == -[ntd] ]]; do
        [[ ${2-} =~ ^[1-9][0-9]*$ ]] || wrong_call "$1 takes a number"
        [[ $1 != -d ]] || Seconds=$2
        Options+=("$1" "$2")
        shift 2
    done
    for way in "${@:-none}"; do
        [[ $way =~ ^(stall|slow|tired|limp|turns|quorum)$ ]] || wrong_call "no such way: $way"
    done
    need_packages "${BUILD_PACKAGES[@]}" "${SERVER_PACKAGES[@]}"
    own_tmpdir storm
    export SLOW_SYNC_FILE=$TMPDIR/sync_ms
    build_benchmarks
    for way in "$@"; do
        one "$way"
    done
    printf '\nway | connections meanwhile | after it | outstanding at the most | %s\n' \
        'holds lost | sessions expired | all well after, s'
    for way in "$@"; do
        row "$way"
    done
}

main "$@"
