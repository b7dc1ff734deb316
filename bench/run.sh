#!/usr/bin/env bash
# Builds the benchmarks and runs them against a throw-away server, unless ZKLOCK_HOSTS names others.
# Figures are worth something on a machine that does nothing else; its load is printed with them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib/common.sh
. scripts/lib/build.sh

readonly KINDS=(mutex write read semaphore)

usage() {
    cat <<END
usage: bench/run.sh [OPTION]...

Each kind of lock beside the bare round trips, then what holds cost within a process, and a
lingering node that is wanted. In the end 256 locks at a time, for none of which anybody waits,
beside the bare requests. Options:

  -n ROUNDS  of each [2000]
  -t MS      acquire and release with this timeout instead of none
  -k KIND    only this kind, beside the round trips: mutex, read, which is woken by a writer, write,
             or semaphore, of one permit: the waiters of these two list once more than the floor
  -a         only those for which nobody waits
  -r         the client library alone resolves names all the time, as it does by default

ZKLOCK_HOSTS=host:port[,...] uses those servers instead of starting one.

exit status: 0 it was measured; 1 something could not be, or what holds cost within a process is
more than was asked; 64 wrong call.

bench/peers.sh measures other lock services beside this library.
END
}

main() {
    local option kind rounds=2000 is_async=no
    local -a kinds=() options=()
    answer_help "$@"
    while getopts :n:t:k:ar option; do
        case $option in
        n) rounds=$OPTARG ;;
        k) kinds=("$OPTARG") ;;
        t) options+=(-t "$OPTARG") ;;
        a) is_async=yes ;;
        r) options+=(-r) ;;
        :) wrong_call "-$OPTARG takes an argument" ;;
        *) wrong_call "no such option: -$OPTARG" ;;
        esac
    done
    ((OPTIND > $#)) || wrong_call "not an option: ${!OPTIND}"
    begin_benchmarks
    if [[ $is_async == yes ]]; then
        "$BenchBuild/bench/bench_async"
        return
    fi
    for kind in "${kinds[@]:-${KINDS[@]}}"; do
        printf '== %s\n' "$kind"
        "$BenchBuild/bench/bench_floor" -k "$kind" -n "$rounds" "${options[@]}"
    done
    ((${#kinds[@]})) && return
    "$BenchBuild/bench/bench_local" -n "$rounds"
    "$BenchBuild/bench/bench_async"
}

main "$@"
