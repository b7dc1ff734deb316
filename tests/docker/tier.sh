# The tier containers, for test.sh: the programs of the tier server against the ensemble of
# docker-compose.yml, with the leader and with a follower as the server they talk to; and the
# register test with faults in the ensemble.
# Sourced by scripts/test.sh, never run; it has TMPDIR, run_programs and note_failure.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # see above

. scripts/lib/network.sh

# Programs of the tier server that would run here as they run there, or not at all.
declare -rA HAVE_THEIR_OWN_SERVERS=(
    [server.barrier]="takes permissions away on a server of its own"
    [server.brim]="has three of its own"
    [server.counter]="forges the data of its server"
    [server.counter_downgrade]="forges the data of its server, too"
    [server.drop]="needs three servers, which it leaves one after the other"
    [server.flood]="has three of its own"
    [server.frozen]="freezes its server in every case"
    [server.lagging]="stops a thread of its servers"
    [server.partition]="cuts its servers off in network namespaces of its own"
    [server.partition_acl]="cuts its servers off, too"
    [server.rest]="stops one of its three servers"
    [server.several_counter]="forges the data of its server, too"
    [server.silent]="silences servers in network namespaces of its own"
    [server.silent_leader]="silences its leader"
    [server.silent_short]="silences its servers, too"
    [server.stall]="makes the disks of its servers slow"
)
# What the other programs cannot do to servers that they have not started, and nothing else.
readonly SKIPS_EXPECTED=(
    "server.attach: a close that reaches no server says so"
    "server.close: a session may close while the server is frozen (T40, T41)"
    "server.guard_lost: a write to a frozen server is one step of the version (T41)"
    "server.parents: 1,000 one-shot locks leave no directories (T31)"
    "server.reconnect: a restart of the server costs neither place nor hold (T22)"
    "server.support: the server can be frozen, killed and revived with its data"
)

# More than an election takes, and the return of a server after it.
readonly SURVIVE_LIMIT_S=30

# ---- the ensemble ----

containers_directory() { printf '%s/docker\n' "$TMPDIR"; }

# Its own words say how long it took and how large the image is.
start_containers() {
    local status=0 directory
    directory=$(containers_directory)
    ContainersHosts='' ContainersPool='' ContainersCgroup=''
    in_group scripts/docker.sh start --dir "$directory" >"$TMPDIR/docker.env" || status=$?
    # Empty with a daemon that was there before.
    ContainersPool=$(cat "$directory/pool" 2>/dev/null) || :
    ContainersCgroup=$(cat "$directory/cgroup" 2>/dev/null) || :
    if ((status)); then
        note_failure "the ensemble in containers did not start (docker.sh: $status)"
        return 1
    fi
    ContainersHosts=$(sed -n 's/^export ZKLOCK_HOSTS=//p' "$TMPDIR/docker.env")
}

# For every way out.
stop_containers() {
    local directory
    directory=$(containers_directory)
    [[ ! -e $directory ]] || scripts/docker.sh stop --dir "$directory"
}

# What a daemon of ours could leave on the machine, by the names that it gave.
traces_of_containers() {
    ! grep -F " $TMPDIR/" /proc/mounts || :
    [[ ! $ContainersCgroup ]] ||
        find /sys/fs/cgroup -type d -name "$ContainersCgroup*" -prune 2>/dev/null || :
    [[ ! $ContainersPool ]] || ip -o -4 addr | grep -F " $ContainersPool." || :
}

# Prints the hosts with the first server of that mode first: the programs talk to the first.
hosts_with() { # MODE
    scripts/docker.sh status --dir "$(containers_directory)" | awk -v mode="$1" '
        !found && $NF == mode { found = $2; next }
        { others = others "," $2 }
        END { print found others; exit !found }
    '
}

# ---- the programs ----

# Fails unless what was skipped is what had to be.
check_skips() { # ROW COUNT
    local found=$TMPDIR/skips.found expected=$TMPDIR/skips.expected
    show_skips "$Results" | LC_ALL=C sort >"$found"
    printf '%s\n' "${SKIPS_EXPECTED[@]}" | LC_ALL=C sort >"$expected"
    if ! diff "$expected" "$found" >"$TMPDIR/skips.diff"; then
        printf 'skipped in %s (< what was expected, > what was):\n' "$1"
        cat "$TMPDIR/skips.diff"
        note_failure "$1: not the expected tests were skipped"
    elif (($2 != ${#SKIPS_EXPECTED[@]})); then
        note_failure "$1: $2 tests were skipped, ${#SKIPS_EXPECTED[@]} of them known"
    else
        printf '%s: skipped what was expected, %d cases\n' "$1" "$2"
    fi
}

run_server_programs() { # MODE
    local row=containers-$1 left_out
    local -x ZKLOCK_HOSTS
    ZKLOCK_HOSTS=$(hosts_with "$1") || {
        note_failure "$row: there is no $1"
        return 0
    }
    printf '\n==== %s: %s ====\n' "$row" "$ZKLOCK_HOSTS"
    left_out=$(IFS='|' && printf '%s' "${!HAVE_THEIR_OWN_SERVERS[*]}")
    run_programs "$row" -L '^server$' -E "^(${left_out//./\\.})\$"
    check_skips "$row" "$Skipped"
}

# The servers' faults come from the test itself, which prints how many of which kind there were.
run_register_with_faults() {
    local row=containers-register
    local -x ZKLOCK_HOSTS=$ContainersHosts ZKLOCK_DOCKER_DIR
    ZKLOCK_DOCKER_DIR=$(containers_directory)
    printf '\n==== %s: %s ====\n' "$row" "$ZKLOCK_HOSTS"
    run_programs "$row" -R '^register\.register$'
    ((Skipped == 0)) || note_failure "$row: $Skipped tests were skipped"
}

# A server that was cut off for less than syncLimit serves when the cut ends, and may be given up
# after that: it is out for a moment then, and back.
check_survival() {
    local deadline=$((SECONDS + SURVIVE_LIMIT_S)) found
    until found=$(scripts/docker.sh status --dir "$(containers_directory)"); do
        if ((SECONDS >= deadline)); then
            note_failure "the ensemble in containers has not survived the tests: ${found//$'\n'/, }"
            break
        fi
        sleep 0.2
    done
    printf '%s\n' "$found"
}

run_containers() {
    local program traces before
    printf '\n==== containers ====\n'
    before=$(forwarding)
    for program in "${!HAVE_THEIR_OWN_SERVERS[@]}"; do
        printf 'without %s: it %s\n' "$program" "${HAVE_THEIR_OWN_SERVERS[$program]}"
    done | sort
    if start_containers; then
        run_server_programs leader
        run_server_programs follower
        run_register_with_faults
        check_survival
    fi
    stop_containers || note_failure "the ensemble in containers cannot be stopped"
    traces=$(traces_of_containers)
    if [[ $traces ]]; then
        printf 'left behind:\n%s\n' "$traces"
        note_failure "the ensemble in containers has left something behind"
    fi
    printf 'FORWARD and ip_forward: %s\n' "$(forwarding)"
    [[ $(forwarding) == "$before" ]] ||
        note_failure "the ensemble in containers has changed how packets are forwarded: $before"
}
