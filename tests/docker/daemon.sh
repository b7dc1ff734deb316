# A Docker daemon of our own, for docker.sh: in namespaces of its own, under its directory, and gone
# without a trace when it is ended or killed.
# Sourced, never run; the caller has set -euo pipefail, sourced common.sh and network.sh, and has
# Dir, recall and remember.
# shellcheck shell=bash
# shellcheck disable=SC2154  # see above

readonly DAEMON_LIMIT_S=60
# Where dockerd writes a key and makes sockets whatever it is told: it gets empty ones to itself.
readonly HIDDEN_DIRECTORIES=(/etc/docker /run/docker /run/containerd)

# The pid may have been given to another process since; the data root in its command line says that
# it has not.
daemon_runs() {
    local pid argument
    pid=$(recall pid)
    [[ $pid ]] || return 1
    while IFS= read -r -d '' argument; do
        [[ $argument != "$Dir/data" ]] || return 0
    done 2>/dev/null <"/proc/$pid/cmdline"
    return 1
}

# unshare, whose pid we have, passes no signals on; its one child does.
signal_daemon() { # SIGNAL
    local init
    daemon_runs || return 0
    init=$(pgrep -P "$(recall pid)") || return 0
    kill "-$1" "$init" 2>/dev/null || :
}

restore_forwarding() {
    local before policy forward
    before=$(recall forwarding)
    [[ $before && $before != "$(forwarding)" ]] || return 0
    # Then it may have been that one, and be needed.
    ! pgrep -x dockerd >/dev/null || return 0
    note "putting back what was changed: FORWARD and ip_forward, now $(forwarding), were $before"
    read -r policy forward <<<"$before"
    iptables -P FORWARD "$policy"
    printf '%s\n' "$forward" >/proc/sys/net/ipv4/ip_forward
}

# Our networks have their addresses from a pool of our own, by which their bridges are known also
# when the daemon has died.
remove_bridges() {
    local pool bridge address port
    pool=$(recall pool)
    [[ $pool ]] || return 0
    while read -r bridge address; do
        [[ $bridge == br-* && $address == "$pool".* ]] || continue
        # By itself a container's cable vanishes only when the last connection has timed out.
        for port in "/sys/class/net/$bridge/brif/"*; do
            ip link del "${port##*/}" 2>/dev/null || :
        done
        ip link del "$bridge" || :
    done < <(ip -o -4 addr show | awk '{ print $2, $4 }')
}

# Of one container, or of all if it is ''; none with somebody else's daemon.
our_cgroups() { # CONTAINER
    local name
    name=$(recall cgroup)
    [[ $name ]] || return 0
    find /sys/fs/cgroup -mindepth 1 -depth -type d -path "*/$name*$1*" 2>/dev/null || :
}

# A frozen process does not even die; with cgroups of version 1, not of SIGKILL.
thaw_cgroups() { # CONTAINER
    local directory
    while IFS= read -r directory; do
        [[ ! -e $directory/freezer.state ]] || printf THAWED >"$directory/freezer.state"
        [[ ! -e $directory/cgroup.freeze ]] || printf 0 >"$directory/cgroup.freeze"
    done < <(our_cgroups "$1") 2>/dev/null
}

# As docker does: with version 1 where there are both.
freeze_cgroups() { # CONTAINER
    local directory version=2
    [[ ! -d /sys/fs/cgroup/freezer ]] || version=1
    while IFS= read -r directory; do
        case $version in
        1) [[ ! -e $directory/freezer.state ]] || printf FROZEN >"$directory/freezer.state" ;;
        2) [[ ! -e $directory/cgroup.freeze ]] || printf 1 >"$directory/cgroup.freeze" ;;
        esac
    done < <(our_cgroups "$1")
}

# Where the daemon was killed, some of its processes may be about to end.
remove_cgroups() {
    local directory deadline=$((SECONDS + END_LIMIT_S))
    while [[ $(our_cgroups '') ]] && ((SECONDS < deadline)); do
        while IFS= read -r directory; do
            rmdir "$directory" 2>/dev/null || :
        done < <(our_cgroups '')
    done
}

# dockerd, containerd and the containers are in one process namespace, so they all end with its
# first process, and with them all mounts, which only that mount namespace has. SIGKILL is for when
# nothing is to be kept.
end_daemon() { # SIGNAL
    local deadline=$((SECONDS + END_LIMIT_S)) directory
    thaw_cgroups ''
    signal_daemon "$1"
    while daemon_runs && ((SECONDS < deadline)); do
        sleep 0.05
    done
    if daemon_runs; then
        note "dockerd does not end; killing it"
        thaw_cgroups ''
        signal_daemon KILL
        deadline=$((SECONDS + END_LIMIT_S))
        while daemon_runs; do
            ((SECONDS < deadline)) || fail "$EX_SOFTWARE" "dockerd in $Dir survived SIGKILL"
            sleep 0.05
        done
    fi
    restore_forwarding
    remove_cgroups
    remove_bridges
    while IFS= read -r directory; do
        rmdir "$directory" 2>/dev/null || :
    done < <(recall made)
    rm -rf "$Dir"/{exec,docker.sock,dockerd.pid,pid,cgroup,forwarding,made}
}

# --iptables and --ip-forward off: containers on one bridge reach each other without, and ports are
# published by docker-proxy. Nothing of the machine's firewall is touched; not every version has
# been tried, hence restore_forwarding.
launch_daemon() {
    local third=$((SRANDOM % 256)) directory
    local -a init=()
    ! command_exists tini || init=(tini --)
    # Kept data may have a network in it.
    [[ -e $Dir/pool ]] || remember pool "10.$((160 + SRANDOM % 64)).$third"
    remember cgroup "zklock-docker-$$-$SRANDOM"
    remember forwarding "$(forwarding)"
    for directory in "${HIDDEN_DIRECTORIES[@]}"; do
        [[ -d $directory ]] || printf '%s\n' "$directory"
    done >"$Dir/made"
    mkdir -p "${HIDDEN_DIRECTORIES[@]}"
    printf '{}\n' >"$Dir/daemon.json"
    (
        exec </dev/null >"$Dir/dockerd.log" 2>&1
        close_inherited
        printf '%s\n' "$BASHPID" >"$Dir/pid"
        # shellcheck disable=SC2016  # expanded by the inner shell
        exec setsid unshare --mount --pid --fork --kill-child --mount-proc sh -c '
            for directory in $1; do
                mount -n -t tmpfs tmpfs "$directory"
            done
            shift
            exec "$@"' sh "${HIDDEN_DIRECTORIES[*]}" "${init[@]}" \
            dockerd --data-root "$Dir/data" --exec-root "$Dir/exec" \
            --pidfile "$Dir/dockerd.pid" --host "unix://$Dir/docker.sock" \
            --config-file "$Dir/daemon.json" --storage-driver overlay2 --bridge none \
            --iptables=false --ip6tables=false --ip-forward=false --ip-masq=false \
            --default-address-pool "base=$(recall pool).0/24,size=28" \
            --cgroup-parent "/$(recall cgroup)"
    ) &
}

start_daemon() {
    local begun=$EPOCHREALTIME deadline=$((SECONDS + DAEMON_LIMIT_S))
    # A daemon that has crashed leaves a bridge, its cgroups and its sockets.
    end_daemon KILL
    launch_daemon
    export DOCKER_HOST=unix://$Dir/docker.sock
    until docker version >/dev/null 2>&1; do
        if ! kill -0 $! 2>/dev/null || ((SECONDS >= deadline)); then
            tail -n "$LOG_TAIL_LINES" "$Dir/dockerd.log" >&2
            fail "$EX_SOFTWARE" "dockerd did not start"
        fi
        sleep 0.05
    done
    note "dockerd ready after $(seconds_since "$begun") s"
}

daemon_answers() { command_exists docker && timeout 10 docker version >/dev/null 2>&1; }

# Leaves DOCKER_HOST as it is for somebody else's daemon.
use_own_daemon() {
    export DOCKER_HOST=unix://$Dir/docker.sock
}

find_daemon() {
    if daemon_runs; then
        use_own_daemon
    elif ! daemon_answers; then
        ((EUID == 0)) || fail "$EX_UNAVAILABLE" "no Docker daemon answers; root could start one"
        need_packages "${DOCKER_PACKAGES[@]}"
        # The package may have started it, where there is an init to do so.
        daemon_answers || start_daemon
    fi
    find_compose
}
