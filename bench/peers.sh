#!/usr/bin/env bash
# Other lock services beside this library, under the same workloads: Curator and kazoo on the same
# ZooKeeper, Redis, and etcd. Each stays up all the time, and they take turns, so that whatever else
# the machine does falls on all of them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib/common.sh
. scripts/lib/network.sh
. scripts/lib/build.sh
. bench/peers/services.sh
. bench/peers/report.sh

readonly PEERS=(zklock curator kazoo redis etcd)
readonly WORKLOADS=(free lingering read write semaphore several hand-off hand-off-100 turns patient
    impatient)
# A driver answers a little after the window; one that is silent for so long has failed.
readonly ANSWER_LIMIT_S=120
# Until the servers' and the drivers' code is warm.
readonly WARM_UP_MS=2000

usage() {
    cat <<END
usage: bench/peers.sh [OPTION]...    measures, and prints a table
       bench/peers.sh plot NAME      draws the newest record of docs/measurements/NAME, which has
                                     such a table, in docs/benchmarks
       bench/peers.sh record [OPTION]...
                                     measures what docs/benchmarks.md shows, in 12 minutes, keeps
                                     the records, and draws them

  -p PEER,...      of these [$(IFS=, && echo "${PEERS[*]}")]
  -w WORKLOAD,...  of those below [all]
  -n ROUNDS        how often each peer has its turn with each workload [12]
  -m MS            how long a turn takes [600]
  -u US            how long the contenders of patient and impatient hold the lock [1000]
  -s 1|3           ZooKeeper servers [1]

In microseconds, one client alone that acquires and releases:
  free             a mutex
  lingering        a mutex whose node stays for a while after a release
  read, write      a lock for readers and writers
  semaphore        one of four permits
  several          four mutexes at once
In microseconds, from one client's release to the return of the next one's acquire:
  hand-off         one waits
  hand-off-100     a hundred wait
In grants a second, of clients that acquire again as soon as they have released:
  turns            8 clients, which hold for no time
  patient          24 contenders on 4 sessions
  impatient        the same, but a wait ends after 15 ms, and the contender tries again

bench/peers.sh -p zklock -w patient,impatient -n 3 -m 1500 takes 15 seconds.
END
}

# The names that are both in the list and among those known, or a wrong call.
choose() { # LIST KNOWN...
    local name known=" ${*:2} "
    local -a names
    IFS=, read -ra names <<<"$1"
    for name in "${names[@]}"; do
        [[ $known == *" $name "* ]] || wrong_call "no such name: $name"
    done
    printf '%s\n' "${names[@]}"
}

# ---- measuring ----

declare -A ToDriver FromDriver

start_driver() { # PEER
    local to from
    mkfifo "$TMPDIR/$1.in" "$TMPDIR/$1.out"
    "run_$1" <"$TMPDIR/$1.in" >"$TMPDIR/$1.out" 2>"$TMPDIR/$1.log" &
    Started+=($!)
    exec {to}>"$TMPDIR/$1.in" {from}<"$TMPDIR/$1.out"
    ToDriver[$1]=$to FromDriver[$1]=$from
}

# Leaves the driver's answer in Figure.
turn() { # PEER WORKLOAD MS
    local hold_us=0
    [[ $2 != *patient ]] || hold_us=$HoldUs
    # A driver that has ended gives no answer, either.
    (trap '' PIPE && printf '%s %s %s\n' "$2" "$3" "$hold_us" >&"${ToDriver[$1]}") 2>/dev/null || :
    IFS= read -r -t "$ANSWER_LIMIT_S" -u "${FromDriver[$1]}" Figure || {
        tail -n 20 "$TMPDIR/$1.log" >&2
        fail "$EX_SOFTWARE" "$1 does not answer to $2"
    }
}

# The order within a round changes from round to round. Writes PEER WORKLOAD FIGURE.
measure() {
    local round peer workload i count=${#Peers[@]}
    for ((round = 0; round <= Rounds; round++)); do
        for workload in "${Workloads[@]}"; do
            for ((i = 0; i < count; i++)); do
                peer=${Peers[(i + round) % count]}
                [[ ! ${Lacks[$peer $workload]-} ]] || continue
                turn "$peer" "$workload" "$((round ? WindowMs : WARM_UP_MS))"
                if [[ $Figure == - ]]; then
                    Lacks[$peer $workload]=yes
                elif ((round > 0)); then
                    printf '%s %s %s\n' "$peer" "$workload" "$Figure" >>"$TMPDIR/figures"
                fi
            done
        done
        note "round $round of $Rounds, ${SECONDS} s"
    done
}

# On one server, and on three with the waits that end too soon for them.
record() { # OPTION...
    need_packages "${PLOT_PACKAGES[@]}"
    scripts/measurements.sh record peers-one HEAD -- ./bench/peers.sh "$@"
    scripts/measurements.sh record peers-three HEAD -- ./bench/peers.sh -s 3 -u 0 \
        -p zklock,curator,kazoo -w free,hand-off,hand-off-100,turns,patient,impatient "$@"
    plot peers-one
    plot peers-three
}

main() {
    local option peer
    answer_help "$@"
    if [[ ${1-} == record ]]; then
        record "${@:2}"
        return
    fi
    if [[ ${1-} == plot ]]; then
        (($# == 2)) || wrong_call "plot takes a NAME"
        need_packages "${PLOT_PACKAGES[@]}"
        plot "$2"
        return
    fi
    declare -gA Lacks
    Rounds=12 WindowMs=600 HoldUs=1000 Servers=1 Peers=("${PEERS[@]}") Workloads=("${WORKLOADS[@]}")
    while getopts :p:w:n:m:u:s: option; do
        case $option in
        p) mapfile -t Peers < <(choose "$OPTARG" "${PEERS[@]}") ;;
        w) mapfile -t Workloads < <(choose "$OPTARG" "${WORKLOADS[@]}") ;;
        n) Rounds=$OPTARG ;;
        m) WindowMs=$OPTARG ;;
        u) HoldUs=$OPTARG ;;
        s) Servers=$OPTARG ;;
        *) wrong_call "no such option, or it lacks its value: -$OPTARG" ;;
        esac
    done
    ((OPTIND > $#)) || wrong_call "unexpected: ${!OPTIND}"
    ((${#Peers[@]} && ${#Workloads[@]})) || exit "$EX_USAGE"
    [[ $Rounds =~ ^[1-9][0-9]{0,3}$ && $WindowMs =~ ^[1-9][0-9]{0,5}$ ]] ||
        wrong_call "ROUNDS and MS are numbers"
    [[ $HoldUs =~ ^[0-9]{1,6}$ && $Servers =~ ^[13]$ ]] || wrong_call "US is a number, and 1 or 3"
    begin_services
    versions
    for peer in "${Peers[@]}"; do
        start_driver "$peer"
    done
    measure
    summary
}

main "$@"
