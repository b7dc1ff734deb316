#!/usr/bin/env bash
# How long the command takes: "zklock run" of a free lock beside flock(1) and beside its round trips
# to the server, and "zklock show" of a long queue.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib/common.sh
. scripts/lib/build.sh

readonly WAIT_LIMIT_S=60
readonly LOOKS=10 # of the packets of one show; the least has the fewest of others

usage() {
    cat <<END
usage: bench/cli.sh [-n ROUNDS] [-q CONTENDERS]    [200], [1000]

Prints how long whole processes take, one after the other in each round: true, flock of it, zklock
run of it, and a program that makes the same round trips by the client library alone. Then, how long
zklock show takes for a queue of so many contenders, and how many packets it sends.
END
}

# All that came to the server so far.
packets() {
    scripts/zk.sh cmd "$ZKLOCK_HOSTS" mntr | awk '$1 == "zk_packets_received" { print $2 }'
}

is_queued() { # CONTENDERS
    [[ $("$BenchBuild/zklock" ls --json bench/queue) == *"\"contenders\":$1"[^0-9]* ]]
}

show() { "$BenchBuild/zklock" show bench/queue; }

# The fewest packets between two looks, with a command in between or without.
least_packets() { # COMMAND...
    local i before count least=
    for ((i = 0; i < LOOKS; i++)); do
        before=$(packets)
        "$@" >/dev/null
        count=$(($(packets) - before))
        [[ $least ]] && ((least <= count)) || least=$count
    done
    printf '%s\n' "$least"
}

queue() { # CONTENDERS ROUNDS
    local input deadline=$((SECONDS + WAIT_LIMIT_S))
    coproc QUEUE { "$BenchBuild/bench/bench_cli" queue "$1"; }
    until is_queued "$1"; do
        ((SECONDS < deadline)) || fail "$EX_SOFTWARE" "no queue of $1 contenders"
        sleep 0.1
    done
    [[ $(show | wc -l) == $(($1 + 1)) ]] || fail "$EX_SOFTWARE" "show has another number of lines"
    printf '\nwhole process, ms | least | median | nine of ten within\n'
    "$BenchBuild/bench/bench_cli" time "$2" "zklock show of $1 contenders" \
        "$BenchBuild/zklock" show bench/queue
    printf '\npackets of one zklock show of %d contenders, session included: %d\n' "$1" \
        $(($(least_packets show) - $(least_packets true)))
    input=${QUEUE[1]}
    exec {input}>&-
    wait "$QUEUE_PID"
}

main() {
    local option rounds=200 contenders=1000
    answer_help "$@"
    while getopts :n:q: option; do
        case $option in
        n) rounds=$OPTARG ;;
        q) contenders=$OPTARG ;;
        *) wrong_call "no such option, or it lacks its number: -$OPTARG" ;;
        esac
    done
    shift $((OPTIND - 1))
    (($# == 0)) || wrong_call "unexpected: $1"
    need_packages util-linux # flock
    begin_benchmarks
    "$BenchBuild/bench/bench_cli" start "$rounds" "$BenchBuild/zklock"
    queue "$contenders" $(((rounds + 9) / 10))
}

main "$@"
