#!/usr/bin/env bash
# Throw-away ZooKeeper servers for tests, run from Debian's jars: one alone or an ensemble of
# three, on free loopback ports or in network namespaces that the caller has made. Speed comes
# before durability here; not a way to run a ZooKeeper whose data matters.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"
# shellcheck source-path=SCRIPTDIR source=lib/network.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/network.sh"

# A start takes about a second; the rest is for a loaded machine.
readonly START_LIMIT_S=30
readonly STATUS_LIMIT_S=2
readonly ANSWER_LIMIT_S=5
# A server that is just starting may take a connection and never answer.
readonly LOOK_LIMIT_S=1
readonly KILL_LIMIT_S=5
# Two starts that draw the same port are rare; five times in a row means something else is wrong.
readonly ATTEMPTS_MAX=5
readonly LOG_TAIL_LINES=30
# What a directory of ours holds; without it nothing is ever removed.
readonly MARKER=.zklock-zk

usage() {
    cat <<'END'
usage: zk.sh start [OPTION]...         start servers, print the connect string once they serve
       zk.sh stop [--dir DIR]          end them and remove DIR
       zk.sh revive [--dir DIR] N...   start these servers again, if they have ended, on their
                                       ports and data; does not wait until they serve
       zk.sh status [--dir DIR]        print "ADDRESS PID MODE" per server
       zk.sh cmd [--netns NS] HOST:PORT WORD
                                       print the answer to a four-letter word (srvr, wchs, mntr)

  --dir DIR          state, data and logs (DIR/N/log); default ${TMPDIR:-/tmp}/zklock-zk-UID
  --servers 1|3      one server (default) or an ensemble of three
  --tick MS          tickTime, default 500
  --min-session MS   shortest session timeout granted, default 1000
  --max-session MS   longest session timeout granted, default 60000
  --prop KEY=VALUE   one more line of zoo.cfg; may be repeated, wins over the lines made here
  --jvm OPTION       one more JVM option, as it is (-Dname=value, -Xmx512m); may be repeated
  --netns A,B,C      run each of three servers in this network namespace, with --addr:
  --addr X,Y,Z       the address each binds: clients on 2181, the ensemble on 2888 and 3888

ZKLOCK_ZK_CLASSPATH names another ZooKeeper's jars instead of Debian's ("/opt/zk/lib/*").

exit status: 0 done; status: 1 some serve, 3 none runs; 64 wrong call; 69 no answer, or a package
is missing; 70 the servers did not start; 73 DIR is in use or is not ours.
END
}

# ---- the state directory: DIR/N/{zoo.cfg,command,data,log,pid,address,netns} ----

server_homes() {
    local home
    for home in "$Dir"/[1-9]; do
        [[ ! -e $home/pid ]] || printf '%s\n' "$home"
    done
}

# The pid may have been given to another process since; our configuration's path in its command
# line says that it has not. A zombie's command line is empty, so a zombie counts as ended.
is_running() {
    local pid argument
    pid=$(<"$1/pid")
    [[ $pid ]] || return 1
    while IFS= read -r -d '' argument; do
        [[ $argument != "$1/zoo.cfg" ]] || return 0
    done 2>/dev/null <"/proc/$pid/cmdline"
    return 1
}

any_running() {
    local home
    while IFS= read -r home; do
        ! is_running "$home" || return 0
    done < <(server_homes)
    return 1
}

# Leaves what the server said in Answer.
ask() { # HOME WORD SECONDS
    local address namespace
    address=$(<"$1/address") namespace=$(<"$1/netns")
    if [[ $namespace ]]; then
        Answer=$(four_letter "$namespace" "${address%:*}" "${address##*:}" "$2" "$3")
    else
        ask_here "${address%:*}" "${address##*:}" "$2" "$3"
    fi
}

# Leaves leader, follower or standalone in Mode; nothing while the server does not serve.
find_mode() { # HOME SECONDS
    Mode=''
    ! ask "$1" srvr "$2" || [[ ! $Answer =~ Mode:\ ([a-z]+) ]] || Mode=${BASH_REMATCH[1]}
}

# Held while the directory changes. The lock is on the directory itself, so nothing is left over;
# it may have been removed before we had the lock, hence the comparison.
lock_directory() { # SECONDS
    exec {Lock}<"$Dir"
    flock -w "$1" "$Lock" && [[ /proc/self/fd/$Lock -ef $Dir ]]
}

lock_directory_or_fail() {
    lock_directory 0 || fail "$EX_CANTCREAT" "another zk.sh is at work in $Dir"
}

claim_directory() {
    (umask 077 && mkdir -p "$Dir")
    # The default name can be guessed, and /tmp is everyone's.
    [[ -O $Dir ]] || fail "$EX_CANTCREAT" "$Dir belongs to somebody else"
    lock_directory_or_fail
    if [[ -e $Dir/$MARKER ]]; then
        ! any_running || fail "$EX_CANTCREAT" "servers are running in $Dir; stop them first"
    elif [[ $(ls -A "$Dir") ]]; then
        fail "$EX_CANTCREAT" "$Dir holds something else; give an empty or a new directory"
    fi
    : >"$Dir/$MARKER"
}

# ---- starting ----

class_path() {
    local jars='' jar
    if [[ ${ZKLOCK_ZK_CLASSPATH-} ]]; then
        printf '%s\n' "$ZKLOCK_ZK_CLASSPATH"
        return
    fi
    # The netty jars are for serverCnxnFactory=NettyServerCnxnFactory, which TLS needs; the
    # class path in Debian's manifest lacks two of them, and netty-all.jar is empty.
    for jar in zookeeper zookeeper-jute slf4j-api slf4j-simple metrics-core snappy-java \
        netty-common netty-buffer netty-transport netty-handler netty-codec netty-resolver \
        netty-transport-native-unix-common netty-transport-native-epoll; do
        jars+=:/usr/share/java/$jar.jar
    done
    printf '%s\n' "${jars#:}"
}

# ADDRESS:PORT of each server into Clients, its server.N value into Peers.
choose_addresses() {
    local n quorum
    Clients=() Peers=()
    if ((${#Namespaces[@]})); then
        for n in 0 1 2; do
            Clients+=("${Addresses[n]}:2181")
            Peers+=("${Addresses[n]}:2888:3888")
        done
        return
    fi
    choose_ports $((Servers * 3)) "$Dir"
    # An ensemble that draws another one's election port would talk to strangers with its own
    # server numbers. A loopback address of its own rules that out.
    quorum=127.$((64 + SRANDOM % 64)).$((SRANDOM % 256)).$((1 + SRANDOM % 254))
    for ((n = 0; n < Servers; n++)); do
        Clients+=("127.0.0.1:${Ports[n * 3]}")
        Peers+=("$quorum:${Ports[n * 3 + 1]}:${Ports[n * 3 + 2]}")
    done
}

write_config() { # N
    local home=$Dir/$1 client=${Clients[$1 - 1]} n
    mkdir -p "$home/data"
    printf '%s\n' "$client" >"$home/address"
    printf '%s\n' "${Namespaces[$1 - 1]-}" >"$home/netns"
    {
        cat <<END
tickTime=$Tick
initLimit=20
syncLimit=5
dataDir=$home/data
clientPortAddress=${client%:*}
clientPort=${client##*:}
minSessionTimeout=$MinSession
maxSessionTimeout=$MaxSession
maxClientCnxns=0
4lw.commands.whitelist=*
admin.enableServer=false
forceSync=no
END
        if ((Servers > 1)); then
            printf '%s\n' "$1" >"$home/data/myid"
            for ((n = 1; n <= Servers; n++)); do
                printf 'server.%d=%s\n' "$n" "${Peers[n - 1]}"
            done
        fi
        # Last, because of two lines with one key the server takes the later.
        ((${#Props[@]} == 0)) || printf '%s\n' "${Props[@]}"
    } >"$home/zoo.cfg"
}

write_command() { # N
    local home=$Dir/$1
    local -a line=()
    [[ -z ${Namespaces[$1 - 1]-} ]] || line+=(ip netns exec "${Namespaces[$1 - 1]}")
    # LC_ALL: "Address already in use" is looked for in the log, and comes from strerror.
    line+=(env LC_ALL=C.UTF-8 java -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto -Xmx128m
        -XX:-UsePerfData -Dorg.slf4j.simpleLogger.showDateTime=true
        "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS" "${Jvm[@]}"
        -cp "$ClassPath" org.apache.zookeeper.server.quorum.QuorumPeerMain "$home/zoo.cfg")
    printf '%s\0' "${line[@]}" >"$home/command"
}

# ip netns exec and env end in an exec, so the subshell's pid becomes java's. In a process group of
# its own, so that a terminal's Ctrl-C does not reach it; in our session, because the kernel shares
# the processors out by session: beside a busy one, a server in another has stood still for seconds.
launch() { # N
    local home=$Dir/$1
    local -a line
    mapfile -d '' -t line <"$home/command"
    set -m
    (
        cd "$home"
        exec </dev/null >>log 2>&1
        close_inherited
        printf '%s\n' "$BASHPID" >pid
        exec "${line[@]}"
    ) &
    Children+=($!)
    set +m
}

# That the answer is from our own server and not from another that was quicker on the same port
# shows in the data directory it names.
answers_as_ours() { # HOME
    ask "$1" conf "$LOOK_LIMIT_S" && [[ $Answer == *"dataDir=$1/data/"* ]]
}

ensemble_serves() {
    local n leaders=0
    for ((n = 1; n <= Servers; n++)); do
        find_mode "$Dir/$n" "$LOOK_LIMIT_S"
        [[ $Mode ]] && answers_as_ours "$Dir/$n" || return 1
        [[ $Mode == follower ]] || leaders=$((leaders + 1))
    done
    ((leaders == 1))
}

ports_collided() { grep -Fqs 'Address already in use' "$Dir"/[1-9]/log; }

all_children_live() {
    local pid
    for pid in "${Children[@]}"; do
        kill -0 "$pid" 2>/dev/null || return 1
    done
}

# 0 they serve, 1 they failed, 2 a port was taken meanwhile.
await_service() {
    local deadline=$((SECONDS + START_LIMIT_S)) live=yes
    sleep 0.2 # no server was ever seen to answer before this
    until ensemble_serves; do
        all_children_live || live=no
        ! ports_collided || return 2
        [[ $live == yes ]] && ((SECONDS < deadline)) || return 1
        sleep 0.02
    done
}

# Only for children not waited for yet, whose pids nobody else can have.
kill_children() {
    ((${#Children[@]})) || return 0
    kill -KILL "${Children[@]}" 2>/dev/null || :
    wait "${Children[@]}" 2>/dev/null || :
    Children=()
}

launch_all() {
    local n
    rm -rf "$Dir"/[1-9]
    choose_addresses
    for ((n = 1; n <= Servers; n++)); do
        write_config "$n"
        write_command "$n"
    done
    for ((n = 1; n <= Servers; n++)); do
        launch "$n"
    done
}

# Between the choice of a port and its bind another process may take it; the server then says so
# and the whole start is done again. Fixed ports stay taken, so there it is a failure.
start_servers() {
    local attempt result
    for ((attempt = 1; attempt <= ATTEMPTS_MAX; attempt++)); do
        launch_all
        result=0
        await_service || result=$?
        ((result != 0)) || return 0
        ((result == 2 && ${#Namespaces[@]} == 0)) || return 1
        kill_children
    done
    return 1
}

show_logs() {
    local n
    for ((n = 1; n <= Servers; n++)); do
        printf '%s\n' "---- server $n (${Clients[n - 1]}), end of its log" >&2
        tail -n "$LOG_TAIL_LINES" "$Dir/$n/log" >&2 || :
    done
}

abandon_start() {
    kill_children
    rm -rf "$Dir"
    release_ports
}

# A server asks its own address whether it serves, which goes through its namespace's lo.
check_namespaces() {
    local ns
    for ns in "${Namespaces[@]}"; do
        ip netns exec "$ns" true 2>/dev/null || fail "$EX_USAGE" "cannot enter namespace $ns"
        [[ $(ip -n "$ns" link show lo up) ]] ||
            fail "$EX_USAGE" "lo is down in namespace $ns: ip -n $ns link set lo up"
    done
}

check_requirements() {
    local -a packages=("${SERVER_PACKAGES[@]}")
    [[ -z ${ZKLOCK_ZK_CLASSPATH-} ]] || packages=(default-jre-headless)
    ((${#Namespaces[@]} == 0)) || packages+=(iproute2)
    need_packages "${packages[@]}"
    ((${#Namespaces[@]} == 0)) || check_namespaces
}

start() {
    check_requirements
    ClassPath=$(class_path)
    claim_directory
    trap abandon_start EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
    if ! start_servers; then
        show_logs
        fail "$EX_SOFTWARE" "the servers did not start"
    fi
    # A caller that has gone away must not leave servers behind: let printf fail instead.
    trap '' PIPE
    (
        IFS=,
        printf '%s\n' "${Clients[*]}"
    )
    trap - EXIT
}

# ---- the other commands ----

# Until java runs, no stop would find it.
revive() { # N...
    local n deadline=$((SECONDS + START_LIMIT_S))
    for n in "$@"; do
        [[ $n == [1-9] && -e $Dir/$n/command ]] || wrong_call "there is no server $n in $Dir"
    done
    lock_directory_or_fail
    for n in "$@"; do
        is_running "$Dir/$n" || launch "$n"
    done
    for n in "$@"; do
        until is_running "$Dir/$n"; do
            ((SECONDS < deadline)) || fail "$EX_SOFTWARE" "server $n did not start"
            sleep 0.01
        done
    done
}

status() {
    local home running=0 silent=0
    while IFS= read -r home; do
        Mode=dead
        if is_running "$home"; then
            running=$((running + 1))
            find_mode "$home" "$STATUS_LIMIT_S"
        fi
        [[ $Mode && $Mode != dead ]] || silent=$((silent + 1))
        printf '%s %s %s\n' "$(<"$home/address")" "$(<"$home/pid")" "${Mode:-silent}"
    done < <(server_homes)
    if ((running == 0)); then
        note "no server is running in $Dir"
        return 3
    fi
    ((silent == 0)) || return 1
}

await_end() { # SECONDS
    local deadline=$((SECONDS + $1 + 1))
    while any_running; do
        ((SECONDS < deadline)) || return 1
        sleep 0.02
    done
}

kill_servers() {
    local home
    while IFS= read -r home; do
        ! is_running "$home" || kill -KILL "$(<"$home/pid")" 2>/dev/null || :
    done < <(server_homes)
}

# What is just starting again would be missed.
stop() {
    [[ -e $Dir ]] || return 0
    [[ -e $Dir/$MARKER ]] || fail "$EX_CANTCREAT" "$Dir was not made by zk.sh"
    if ! lock_directory "$START_LIMIT_S"; then
        [[ -e $Dir ]] || return 0 # somebody else has stopped it
        fail "$EX_CANTCREAT" "another zk.sh is at work in $Dir"
    fi
    kill_servers # nothing that they would write at their end is needed
    await_end "$KILL_LIMIT_S" || fail "$EX_SOFTWARE" "a server in $Dir survived SIGKILL"
    rm -rf "$Dir"
    release_ports
}

four_letter_command() { # HOST:PORT WORD
    local host=${1%:*} port=${1##*:} answer
    [[ $1 == ?*:* && $port =~ ^[0-9]+$ ]] || wrong_call "not HOST:PORT: $1"
    [[ $2 =~ ^[a-z]{4}$ ]] || wrong_call "not a four-letter word: $2"
    host=${host#[} host=${host%]}
    answer=$(four_letter "$Netns" "$host" "$port" "$2" "$ANSWER_LIMIT_S") || :
    [[ $answer ]] || fail "$EX_UNAVAILABLE" "no answer from $1"
    printf '%s\n' "$answer"
}

# ---- the command line ----

require_number() { # OPTION VALUE
    [[ $2 =~ ^[1-9][0-9]{0,8}$ ]] || wrong_call "$1 takes a positive number, not '$2'"
}

# These two are system properties without the "zookeeper." that a key of zoo.cfg would be given,
# so as lines of zoo.cfg they would silently do nothing.
add_property() {
    case $1 in
    znode.container.*=*) Jvm+=("-D$1") ;;
    ?*=*) Props+=("$1") ;;
    *) wrong_call "--prop takes KEY=VALUE, not '$1'" ;;
    esac
}

take_option() { # COMMAND OPTION VALUE
    case $1:$2 in
    start:--dir | stop:--dir | status:--dir | revive:--dir) Dir=$3 ;;
    start:--servers) Servers=$3 ;;
    start:--tick) require_number "$2" "$3" && Tick=$3 ;;
    start:--min-session) require_number "$2" "$3" && MinSession=$3 ;;
    start:--max-session) require_number "$2" "$3" && MaxSession=$3 ;;
    start:--prop) add_property "$3" ;;
    start:--jvm) Jvm+=("$3") ;;
    start:--netns) IFS=, read -ra Namespaces <<<"$3" ;;
    start:--addr) IFS=, read -ra Addresses <<<"$3" ;;
    cmd:--netns) Netns=$3 ;;
    *) wrong_call "$1 has no option $2" ;;
    esac
}

check_start_options() {
    if ((${#Namespaces[@]} || ${#Addresses[@]})); then
        ((${#Namespaces[@]} == 3 && ${#Addresses[@]} == 3)) ||
            wrong_call "--netns and --addr go together and take three names each"
        [[ ${Servers:=3} == 3 ]] || wrong_call "--netns is for three servers"
    fi
    [[ ${Servers:=1} == [13] ]] || wrong_call "--servers takes 1 or 3, not '$Servers'"
    ((MinSession <= MaxSession)) || wrong_call "--min-session is above --max-session"
}

main() {
    local command=${1-}
    answer_help "$@"
    case $command in
    start | stop | status | revive | cmd) shift ;;
    "") wrong_call "no command" ;;
    *) wrong_call "no such command: $command" ;;
    esac
    Dir=${TMPDIR:-/tmp}/zklock-zk-$EUID
    Servers='' Tick=500 MinSession=1000 MaxSession=60000 Netns=''
    Namespaces=() Addresses=() Props=() Jvm=() Children=()
    while [[ ${1-} == -* ]]; do
        [[ ${2-} ]] || wrong_call "$1 takes a value"
        take_option "$command" "$1" "$2"
        shift 2
    done
    if [[ $command == cmd ]]; then
        (($# == 2)) || wrong_call "cmd takes HOST:PORT and a word"
        four_letter_command "$@"
        return
    fi
    if [[ $command == revive ]]; then
        (($# > 0)) || wrong_call "revive takes the numbers of servers"
    else
        (($# == 0)) || wrong_call "unexpected: $1"
    fi
    Dir=$(realpath -m -- "$Dir")
    # zoo.cfg is a Java property file: Latin-1, with backslash as the escape.
    [[ $Dir =~ ^[-/A-Za-z0-9._+,=@~\ ]+$ ]] || wrong_call "--dir: too unusual a name: $Dir"
    [[ $command != start ]] || check_start_options
    "$command" "$@"
}

main "$@"
