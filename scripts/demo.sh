#!/usr/bin/env bash
# The lock at work: 8 processes add 1 to the number in one file, 50 times each, first without the
# lock, then under it, where one of them is killed while it holds. Installs what a bare Debian
# lacks, builds, starts a throw-away server unless ZKLOCK_HOSTS names another, and leaves nothing
# running.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib/common.sh
. scripts/lib/build.sh

readonly PROCESSES=8 ROUNDS=50
# So many rounds has the one that is killed done before; the others are in the midst of theirs.
readonly KILL_AFTER=20
# For what takes milliseconds on an idle machine; and for the end of a dead holder's session on a
# server that grants no short ones.
readonly SOON_S=10 EXPIRY_LIMIT_S=60
readonly BUILD=build/demo

usage() {
    cat <<END
usage: scripts/demo.sh

Runs $PROCESSES processes that do $ROUNDS racy updates each on one file, without the lock and under
it, with one holder killed on the way, and checks that no update made under the lock is lost.

ZKLOCK_HOSTS=host:port[,...] uses those servers instead of starting one.

exit status: 0 none was lost; 1 one was, or something else went wrong; 64 wrong call; 69 a package
or the server is missing; 70 the build or the start of the server failed.
END
}

say() { printf 'demo: %s\n' "$*"; }
title() { printf '\n---- %s ----\n' "$*"; }

Problems=()
problem() { Problems+=("$*"); }
stop_if_problems() {
    ((${#Problems[@]})) || return 0
    printf 'demo: FAILED: %s\n' "${Problems[@]}"
    exit 1
}

# ---- ending ----

declare -A Workers=() # by pid: the file its output goes to

on_exit() {
    local status=$?
    trap - EXIT
    trap '' INT TERM HUP
    end_job TERM
    [[ ! -e $Work/zk ]] || scripts/zk.sh stop --dir "$Work/zk" || :
    # From here on bash would only tell of those it sees killed.
    exec 2>/dev/null
    # Children that were not waited for yet, so their pids are theirs.
    ((${#Workers[@]} == 0)) || kill -KILL "${!Workers[@]}" || :
    wait || :
    rm -rf "$Work"
    exit "$status"
}

# ---- building ----

build_demo() {
    say "building in $BUILD"
    build_quietly examples "$BUILD" all
    Counter=$PWD/$BUILD/counter
    Zklock=$PWD/$BUILD/zklock/zklock
}

start_server() {
    local answer
    if [[ ${ZKLOCK_HOSTS-} ]]; then
        answer=$("$Zklock" show "$Lock" 2>&1) || fail $? "$answer"
        say "using the servers at $ZKLOCK_HOSTS"
    else
        in_group scripts/zk.sh start --dir "$Work/zk" >"$Work/hosts"
        ZKLOCK_HOSTS=$(<"$Work/hosts")
        say "started a throw-away server at $ZKLOCK_HOSTS"
    fi
    export ZKLOCK_HOSTS
}

# ---- the processes and their file ----

reset_file() { printf '%019d\n' 0 >"$File"; }

file_says() {
    local number
    read -r number <"$File"
    printf '%d\n' "$((10#$number))"
}

start_worker() { # ARGUMENT...
    local out
    out=$(mktemp "$Work/out.XXXXXX")
    "$Counter" "$@" </dev/null >"$out" &
    Workers[$!]=$out
}

# Adds what the workers say they have done to Total.
finish_workers() {
    local pid word count status
    for pid in "${!Workers[@]}"; do
        status=0
        wait "$pid" || status=$?
        ((status == 0)) || problem "process $pid ended with status $status"
        read -r word count <"${Workers[$pid]}" && [[ $word == 'done' ]] || {
            problem "process $pid did not say how many rounds it did"
            count=0
        }
        unset "Workers[$pid]"
        Total=$((Total + count))
    done
}

# ---- the queue ----

show_queue() { "$Zklock" show "$Lock" | sed 's/^/    /'; }

# Prints "PID CONTENDERS": who is first in the queue, and how many stand in it. Fails when empty.
queue_head() {
    "$Zklock" show --json "$Lock" | awk '
        match($0, /"position":1,[^}]*"pid":[0-9]+/) {
            head = substr($0, RSTART, RLENGTH)
            sub(/.*:/, "", head)
            print head, gsub(/"position":/, "")
        }'
}

# Returns when so many stand in the queue, or another than PID is first, or after a while: it is
# only for a better picture.
await_queue() { # COUNT [PID]
    local pid count deadline=$((SECONDS + SOON_S))
    while ((SECONDS < deadline)); do
        read -r pid count < <(queue_head) || continue
        ((count < $1)) && [[ ${2-$pid} == "$pid" ]] || return 0
    done
}

# Waits until another than PID, which was killed, is first; says how long after the kill that was.
await_next_holder() { # PID
    local pid count seconds deadline=$((SECONDS + EXPIRY_LIMIT_S))
    while ((SECONDS < deadline)); do
        if read -r pid count < <(queue_head) && [[ $pid != "$1" ]]; then
            seconds=$(seconds_since "$KilledAt")
            say "$seconds s after the kill its session has ended on the server: $pid holds"
            return
        fi
        sleep 0.05
    done
    problem "$EXPIRY_LIMIT_S s after process $1 was killed nobody else held"
}

# ---- the two runs ----

run_without_lock() {
    title "without the lock"
    reset_file
    Total=0
    local i value
    for ((i = 0; i < PROCESSES; i++)); do
        start_worker "$File" "$ROUNDS"
    done
    finish_workers
    stop_if_problems
    value=$(file_says)
    say "$PROCESSES processes added 1 to the number in a file, $Total times in all"
    say "the file says $value: $((Total - value)) updates were lost"
}

start_victim() {
    coproc Victim { exec "$Counter" -l "$Lock" -s "$KILL_AFTER" "$File" "$ROUNDS"; }
    Pid=$!
    Workers[$Pid]=
    # The coprocess's own names vanish with it.
    exec {FromVictim}<&"${Victim[0]}" {ToVictim}>&"${Victim[1]}"
}

# It has acquired the lock and stands still before it reads the file, so the rounds it says it has
# done are all it has done.
kill_victim() {
    local word='' head='' count status=0
    read -r -t "$EXPIRY_LIMIT_S" word Finished <&"$FromVictim" || :
    [[ $word == holding ]] || fail 1 "process $Pid did not come to hold the lock"
    await_queue "$PROCESSES"
    say "process $Pid holds, has done $Finished rounds, and stands still before reading the file:"
    show_queue
    read -r head count < <(queue_head) || :
    [[ $head == "$Pid" ]] || problem "process $Pid says it holds, but first in the queue is '$head'"
    KilledAt=$EPOCHREALTIME
    kill -KILL "$Pid"
    wait "$Pid" 2>/dev/null || status=$?
    unset "Workers[$Pid]"
    exec {FromVictim}<&- {ToVictim}>&-
    if ((status == 128 + $(kill -l KILL))) && [[ $head == "$Pid" ]]; then
        Killed=$((Killed + 1))
    else
        problem "process $Pid ended with status $status"
    fi
    Total=$((Total + Finished))
}

run_under_lock() {
    title "under the lock $Lock"
    reset_file
    Total=0 Killed=0 Finished=0
    local i
    start_victim
    for ((i = 1; i < PROCESSES; i++)); do
        start_worker -l "$Lock" "$File" "$ROUNDS"
    done
    await_queue $((PROCESSES / 2))
    say "the queue, at a moment while they run:"
    show_queue
    kill_victim
    local left=$((ROUNDS - Finished))
    start_worker -l "$Lock" "$File" "$left"
    say "killed it with SIGKILL; another, process $!, is to do its other $left rounds"
    say "until the dead one's session ends on the server, its node stands:"
    await_queue $((PROCESSES + 1)) "$Pid"
    show_queue
    await_next_holder "$Pid"
    finish_workers
}

conclude() {
    local value lost wanted=$((PROCESSES * ROUNDS))
    value=$(file_says)
    lost=$((Total - value))
    say "$Total rounds were done, the file says $value"
    ((Total == wanted)) || problem "$Total rounds were done, not $wanted"
    ((lost == 0)) || problem "the file says $value after $Total rounds"
    ((Killed == 1)) || problem "$Killed holders were killed"
    stop_if_problems
    printf '\ndemo: ok: %d increments by %d processes, %d lost, %d holder killed\n' \
        "$value" "$PROCESSES" "$lost" "$Killed"
}

main() {
    answer_help "$@"
    (($# == 0)) || wrong_call "unexpected: $1"
    local -a packages=("${BUILD_PACKAGES[@]}")
    [[ ${ZKLOCK_HOSTS-} ]] || packages+=("${SERVER_PACKAGES[@]}")
    need_packages "${packages[@]}"

    Work=$(mktemp -d "${TMPDIR:-/tmp}/zklock-demo.XXXXXX")
    trap on_exit EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    File=$Work/number
    # Nobody else's, should the server be shared.
    Lock=demo/$(uname -n)-${Work##*.}
    build_demo
    start_server
    run_without_lock
    run_under_lock
    conclude
}

main "$@"
