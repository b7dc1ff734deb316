#!/usr/bin/env bash
# The ensemble of docker-compose.yml, and faults in it. Uses the Docker daemon that is there, or
# starts one in namespaces of its own that vanishes without a trace; makes the image out of
# Debian's packages, for where no registry can be reached. For tests, not for data that matters.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/network.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/network.sh"
# shellcheck source-path=SCRIPTDIR source=../tests/docker/daemon.sh
. "$(dirname "${BASH_SOURCE[0]}")/../tests/docker/daemon.sh"
# shellcheck source-path=SCRIPTDIR source=../tests/docker/image.sh
. "$(dirname "${BASH_SOURCE[0]}")/../tests/docker/image.sh"

readonly SERVE_LIMIT_S=90 END_LIMIT_S=20
readonly ANSWER_LIMIT_S=2 CHECK_LIMIT_S=8 UNPAUSE_LIMIT_S=3 UNPAUSE_TRIES=4
readonly LOG_TAIL_LINES=30
# What a directory of ours holds; without it nothing is ever removed.
readonly MARKER=.zklock-docker
readonly SERVERS=(1 2 3)

usage() {
    cat <<'EOF'
usage: docker.sh start [--dir DIR]   start the ensemble; print "export ..." lines for a shell
       docker.sh stop [--dir DIR] [--keep]
                                     end all that start began; --keep leaves the images
       docker.sh image [--dir DIR]   only make the image and keep it
       docker.sh status [--dir DIR]  print "zkN ADDRESS STATE MODE" per server
       docker.sh fault [--dir DIR] pause|kill|cut N
       docker.sh heal [--dir DIR] N  undo what was done to server N

  --dir DIR   state and images; default ${TMPDIR:-/tmp}/zklock-docker-UID

  eval "$(scripts/docker.sh start)"  sets ZKLOCK_HOSTS, and DOCKER_HOST if the daemon is ours

A daemon that answers at DOCKER_HOST or the usual socket is used, and left running. ZKLOCK_ZK_IMAGE
names another image than the one made here, ZKLOCK_ZK1_PORT to ZKLOCK_ZK3_PORT the ports (free ones
are chosen), ZKLOCK_DEBIAN_MIRROR where the image's packages come from (default: where apt's do),
ZKLOCK_IMAGE_CACHE a directory to keep the image made here in, and to look for it first.

exit status: 0 done; status: 1 some serve, 3 none runs; 64 wrong call; 69 neither a daemon nor
what it takes to start one; 70 something did not start; 73 DIR is in use or is not ours.
EOF
}

# ---- the directory ----

# Held while it changes; on the directory itself, so nothing is left over.
claim_directory() {
    (umask 077 && mkdir -p "$Dir")
    # The default name can be guessed, and /tmp is everyone's.
    [[ -O $Dir ]] || fail "$EX_CANTCREAT" "$Dir belongs to somebody else"
    exec {Lock}<"$Dir"
    if ! flock -n "$Lock" || [[ ! /proc/self/fd/$Lock -ef $Dir ]]; then
        fail "$EX_CANTCREAT" "another docker.sh is at work in $Dir"
    fi
    [[ -e $Dir/$MARKER || ! $(ls -A "$Dir") ]] ||
        fail "$EX_CANTCREAT" "$Dir holds something else; give an empty or a new directory"
    : >"$Dir/$MARKER"
}

# What start has found out, one value a file; empty if it has not come to that.
recall() { # NAME
    [[ ! -e $Dir/$1 ]] || printf '%s\n' "$(<"$Dir/$1")"
}

remember() { # NAME VALUE
    printf '%s\n' "$2" >"$Dir/$1"
}

# ---- the ensemble ----

# One project for each directory, should several share a daemon.
compose() { "${Compose[@]}" -p "$(project)" -f "$ComposeFile" "$@"; }

project() { printf 'zklock%s\n' "$(cksum <<<"$Dir" | cut -d ' ' -f 1)"; }

container() { # N
    docker ps -aq --no-trunc -f "label=com.docker.compose.project=$(project)" \
        -f "label=com.docker.compose.service=zk$1"
}

# Empty if dockerd does not say; see pause.
state() { # N
    timeout "$ANSWER_LIMIT_S" docker inspect \
        -f '{{.State.Status}} {{if .State.Health}}{{.State.Health.Status}}{{end}}' \
        "$(container "$1")" 2>/dev/null || :
}

port() { # N
    local name=ZKLOCK_ZK$1_PORT
    printf '%s\n' "${!name-}"
}

mode_of() { # N
    four_letter '' 127.0.0.1 "$(port "$1")" srvr "$ANSWER_LIMIT_S" | sed -n 's/^Mode: //p' || :
}

choose_published() {
    local n name
    choose_ports ${#SERVERS[@]} "$Dir"
    for n in "${SERVERS[@]}"; do
        name=ZKLOCK_ZK${n}_PORT
        export "$name=${!name:-${Ports[n - 1]}}"
    done
    remember ports "$ZKLOCK_ZK1_PORT $ZKLOCK_ZK2_PORT $ZKLOCK_ZK3_PORT"
}

recall_published() {
    read -r ZKLOCK_ZK1_PORT ZKLOCK_ZK2_PORT ZKLOCK_ZK3_PORT <<<"$(recall ports)" || :
    export ZKLOCK_ZK1_PORT ZKLOCK_ZK2_PORT ZKLOCK_ZK3_PORT
}

# Clients are served at every published port.
ensemble_serves() {
    local n mode leaders=0
    for n in "${SERVERS[@]}"; do
        mode=$(mode_of "$n")
        [[ $mode ]] || return 1
        [[ $mode != leader ]] || leaders=$((leaders + 1))
    done
    ((leaders == 1))
}

# The containers' own checks agree. Each comes every 3 s.
ensemble_is_healthy() {
    local n
    for n in "${SERVERS[@]}"; do
        [[ $(state "$n") == 'running healthy' ]] || return 1
    done
}

await() { # CONDITION
    local deadline=$((SECONDS + SERVE_LIMIT_S))
    until "$1"; do
        if ((SECONDS >= deadline)); then
            compose logs --tail "$LOG_TAIL_LINES" >&2 || :
            fail "$EX_SOFTWARE" "$1: not within $SERVE_LIMIT_S s"
        fi
        sleep 0.05
    done
}

start_ensemble() {
    local begun=$EPOCHREALTIME
    choose_published
    # Kept images come with the containers of an ensemble whose daemon has crashed.
    [[ ! $(docker ps -aq -f "label=com.docker.compose.project=$(project)") ]] || end_ensemble
    in_group compose up -d 1>&2
    await ensemble_serves
    note "three servers serve after $(seconds_since "$begun") s"
    await ensemble_is_healthy
    note "three servers are healthy after $(seconds_since "$begun") s"
    note "image $ZKLOCK_ZK_IMAGE: $(image_mib "$ZKLOCK_ZK_IMAGE")"
}

end_ensemble() {
    local id
    while IFS= read -r id; do
        unpause "$id" || :
    done < <(docker ps -q --no-trunc -f "label=com.docker.compose.project=$(project)" \
        -f status=paused)
    timeout "$END_LIMIT_S" "${Compose[@]}" -p "$(project)" -f "$ComposeFile" \
        down -v -t 2 >"$Dir/down.log" 2>&1 || {
        cat "$Dir/down.log" >&2
        note "docker-compose down failed"
    }
}

# ---- the commands ----

# Ends all that start began, or that an earlier one left when it was killed. Containers end with a
# daemon of ours; if its data are kept, the next start removes what is left of them.
end_all() {
    local signal=TERM
    if daemon_runs; then
        [[ $Keep == yes ]] || signal=KILL
    elif [[ -e $Dir/ports ]] && daemon_answers; then
        find_compose
        end_ensemble
        [[ $Keep == yes || ! -e $Dir/built ]] ||
            docker image rm "$IMAGE" "$BASE_IMAGE" >/dev/null 2>&1 || :
    fi
    end_daemon "$signal"
    if [[ $Keep == yes && -d $Dir/data ]]; then
        find "$Dir" -mindepth 1 -maxdepth 1 ! -name data ! -name pool ! -name "$MARKER" \
            -exec rm -rf {} +
    else
        rm -rf "$Dir"
        release_ports
    fi
}

abandon() {
    local status=$?
    trap - EXIT
    trap '' INT TERM HUP
    end_job KILL
    [[ ! $ArchivePart ]] || rm -f "$ArchivePart"
    end_all
    exit "$status"
}

end_all_on_failure() {
    trap abandon EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

prepare() {
    claim_directory
    [[ ! -e $Dir/ports ]] ||
        fail "$EX_CANTCREAT" "$Dir has an ensemble, or what is left of one; stop it first"
    # An image that was kept before is kept also when this start fails.
    [[ ! -d $Dir/data ]] || Keep=yes
    end_all_on_failure
    find_daemon
    image_exists || : >"$Dir/built"
    find_image
}

start() {
    prepare
    start_ensemble
    # A caller that has gone away must not leave servers behind: let printf fail instead.
    trap '' PIPE
    [[ ! -S $Dir/docker.sock ]] || printf 'export DOCKER_HOST=%q\n' "$DOCKER_HOST"
    printf 'export ZKLOCK_HOSTS=127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d\n' \
        "$ZKLOCK_ZK1_PORT" "$ZKLOCK_ZK2_PORT" "$ZKLOCK_ZK3_PORT"
    trap - EXIT
}

# A daemon of ours ends with us; the images stay among its data, or in somebody else's daemon.
image() {
    prepare
    Keep=yes
    note "image $ZKLOCK_ZK_IMAGE: $(image_mib "$ZKLOCK_ZK_IMAGE")"
}

stop() {
    [[ -e $Dir ]] || return 0
    [[ -e $Dir/$MARKER ]] || fail "$EX_CANTCREAT" "$Dir was not made by docker.sh"
    claim_directory
    end_all
}

attach() {
    [[ -e $Dir/ports ]] || fail 3 "no ensemble was started in $Dir"
    ! daemon_runs || use_own_daemon
    recall_published
}

status() {
    local n mode running=0
    attach
    for n in "${SERVERS[@]}"; do
        mode=$(mode_of "$n")
        [[ ! $mode ]] || running=$((running + 1))
        printf 'zk%d 127.0.0.1:%d %s %s\n' "$n" "$(port "$n")" "$(state "$n")" "${mode:-silent}"
    done
    ((running > 0)) || return 3
    ((running == ${#SERVERS[@]})) || return 1
}

network() { docker network ls -q -f "label=com.docker.compose.project=$(project)"; }

is_cut() { # CONTAINER
    [[ $(docker inspect -f '{{len .NetworkSettings.Networks}}' "$1") == 0 ]]
}

# Answers also when inspect does not; see pause.
has_status() { # CONTAINER STATUS
    [[ $(docker ps -aq -f "id=$1" -f "status=$2") ]]
}

# When each of the last health checks has ended.
health_checks() { # CONTAINER
    docker inspect -f '{{with .State.Health}}{{range .Log}}{{.End}} {{end}}{{end}}' "$1"
}

# Returns when a health check has just ended: the next is 3 s away.
await_health_check() { # CONTAINER
    local seen deadline=$((SECONDS + CHECK_LIMIT_S))
    seen=$(health_checks "$1")
    while [[ $(health_checks "$1") == "$seen" ]] && ((SECONDS < deadline)); do
        sleep 0.02
    done
}

# A health check that begins while its container is being paused is frozen before it has begun
# (dockerd 20.10), and dockerd waits for it for ever: with "docker unpause", and with all that is
# asked about that container from then on.
pause() { # CONTAINER
    await_health_check "$1"
    docker pause "$1" >/dev/null
}

# Whether a command that docker was told to run in the container is about to begin there.
is_entered() { # CONTAINER
    local directory
    while IFS= read -r directory; do
        ! xargs -r -I '{}' cat '/proc/{}/comm' <"$directory/cgroup.procs" 2>/dev/null |
            grep -q '^runc' || return 0
    done < <(our_cgroups "$1")
    return 1
}

# One frozen as above may begin after all, where the daemon is ours. Then the container is not
# frozen as docker has it: that is put right, or docker would not unpause it.
unpause() { # CONTAINER
    local tries deadline
    for ((tries = 0; tries < UNPAUSE_TRIES; tries++)); do
        ! timeout "$UNPAUSE_LIMIT_S" docker unpause "$1" >/dev/null || return 0
        note "a health check was frozen as it began; letting it go on"
        thaw_cgroups "$1"
        deadline=$((SECONDS + CHECK_LIMIT_S))
        while is_entered "$1" && ((SECONDS < deadline)); do
            sleep 0.02
        done
        has_status "$1" paused || return 0
        freeze_cgroups "$1"
    done
    note "docker does not unpause $1"
    return "$EX_SOFTWARE"
}

fault() { # KIND N
    local id
    attach
    id=$(container "$2")
    case $1 in
    pause) pause "$id" ;;
    kill) docker kill "$id" ;;
    cut) docker network disconnect "$(network)" "$id" ;;
    esac >/dev/null
}

# The others find it by the name that compose gave it, which a new connection would not have.
heal() { # N
    local id
    attach
    id=$(container "$1")
    ! has_status "$id" paused || unpause "$id"
    ! is_cut "$id" || docker network connect --alias "zk$1" "$(network)" "$id"
    ! has_status "$id" exited || docker start "$id" >/dev/null
}

main() {
    local command=${1-}
    answer_help "$@"
    case $command in
    start | stop | image | status | fault | heal) shift ;;
    '') wrong_call "no command" ;;
    *) wrong_call "no such command: $command" ;;
    esac
    Dir=${TMPDIR:-/tmp}/zklock-docker-$EUID Keep=no
    while [[ ${1-} == -* ]]; do
        case $command:$1 in
        *:--dir)
            [[ ${2-} ]] || wrong_call "$1 takes a value"
            Dir=$2
            shift
            ;;
        stop:--keep) Keep=yes ;;
        *) wrong_call "$command has no option $1" ;;
        esac
        shift
    done
    case $command in
    fault)
        (($# == 2)) && [[ $1 =~ ^(pause|kill|cut)$ && $2 == [1-3] ]] ||
            wrong_call "fault takes pause, kill or cut, and a number"
        ;;
    heal) (($# == 1)) && [[ $1 == [1-3] ]] || wrong_call "heal takes a number" ;;
    *) (($# == 0)) || wrong_call "unexpected: $1" ;;
    esac
    Dir=$(realpath -m -- "$Dir")
    [[ $Dir =~ ^[-/A-Za-z0-9._+]{2,80}$ ]] || wrong_call "--dir: too unusual or long a name: $Dir"
    Sources=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../tests/docker/image")
    ComposeFile=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../docker-compose.yml")
    export PATH=$PATH:/usr/sbin:/sbin
    "$command" "$@"
}

main "$@"
