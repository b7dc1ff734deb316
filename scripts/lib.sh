# What the scripts share: messages, exit codes, and the Debian packages they need.
# Sourced, never run; the caller has set -euo pipefail.
# shellcheck shell=bash
# shellcheck disable=SC2034  # the names here are for the scripts that source this file

# From sysexits.h, so that a caller can tell a wrong call from a machine that lacks something.
readonly EX_USAGE=64 EX_UNAVAILABLE=69 EX_SOFTWARE=70 EX_CANTCREAT=73

SERVER_PACKAGES=(libzookeeper-java default-jre-headless)
BUILD_PACKAGES=(gcc libc6-dev cmake make pkg-config libzookeeper-mt-dev)
TEST_PACKAGES=(libcunit1-dev iproute2 iptables patch procps)
DOCKER_PACKAGES=(docker.io docker-compose debootstrap iproute2 iptables procps)
CI_PACKAGES=(clang clang-format clang-tidy libclang-rt-dev llvm shellcheck)

readonly JAVA_MIN=11

# How to see that a package's content is there when it did not come from Debian: a JRE or a CMake
# unpacked by hand is as good, and other systems have no dpkg to ask.
declare -rA PACKAGE_PROBES=(
    [abigail-tools]=command:abidiff
    [clang-format]=command:clang-format
    [clang-tidy]=command:clang-tidy
    [clang]=command:clang
    [cmake]=command:cmake
    [debootstrap]=command:debootstrap
    [default-jre-headless]=java:$JAVA_MIN
    [docker-compose]=command:docker-compose
    [docker.io]=command:dockerd
    [gcc]=command:gcc
    [iproute2]=command:ip
    [iptables]=command:iptables
    [libc6-dev]=header:stdio.h
    [libcunit1-dev]=header:CUnit/CUnit.h
    [libzookeeper-java]=file:/usr/share/java/zookeeper.jar
    [libzookeeper-mt-dev]=header:zookeeper/zookeeper.h
    [llvm]=command:llvm-symbolizer
    [make]=command:make
    [patch]=command:patch
    [pkg-config]=command:pkg-config
    [procps]=command:pgrep
    [shellcheck]=command:shellcheck
    [valgrind]=command:valgrind
)

note() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

# fail CODE MESSAGE...
fail() {
    local code=$1
    shift
    note "$@"
    exit "$code"
}

# ip and iptables live in sbin, which an ordinary user's PATH lacks.
command_exists() { PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null 2>&1; }

java_is_recent() {
    local answer
    answer=$(java -version 2>&1) || return 1
    [[ $answer =~ version\ \"([0-9]+) ]] && ((BASH_REMATCH[1] >= $1))
}

# Asking the compiler finds headers in the places only it knows.
header_exists() {
    [[ -e /usr/include/$1 ]] ||
        printf '#include <%s>\n' "$1" | "${CC:-cc}" -E -x c - >/dev/null 2>&1
}

package_probe_succeeds() {
    local probe=${PACKAGE_PROBES[$1]-}
    local what=${probe#*:}
    case $probe in
    command:*) command_exists "$what" ;;
    file:*) [[ -e $what ]] ;;
    header:*) header_exists "$what" ;;
    java:*) java_is_recent "$what" ;;
    *) return 1 ;;
    esac
}

is_debian() { command_exists dpkg-query && command_exists apt-get; }

# Prints those of PKG... that are not there, one per line.
missing_packages() {
    local installed='' package
    if is_debian; then
        # Exits 1 when it does not know one of the names; the others are listed all the same.
        # shellcheck disable=SC2016  # the braces are dpkg's
        installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null) || :
    fi
    for package in "$@"; do
        [[ $'\n'$installed$'\n' == *$'\n'"installed $package"$'\n'* ]] ||
            package_probe_succeeds "$package" || printf '%s\n' "$package"
    done
}

report_missing() {
    local package probe
    note "missing, and not installable from here:"
    for package in "$@"; do
        probe=${PACKAGE_PROBES[$package]-}
        printf '    %s%s\n' "$package" "${probe:+  (looked for ${probe/:/ })}" >&2
    done
    note "these are Debian's names; install what they contain and try again"
    exit "$EX_UNAVAILABLE"
}

# Standard output belongs to the script that needs the packages, hence 1>&2.
apt_get() {
    local -a elevate=()
    ((EUID == 0)) || elevate=(sudo)
    # The lock timeout: two scripts of one build may find the same package missing.
    "${elevate[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get -qq -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 "$@" </dev/null 1>&2
}

APT_LISTS_ARE_FRESH=no

# need_packages PKG...: returns once all are there, or exits with EX_UNAVAILABLE.
need_packages() {
    local -a missing
    mapfile -t missing < <(missing_packages "$@")
    ((${#missing[@]})) || return 0
    is_debian || report_missing "${missing[@]}"
    ((EUID == 0)) || command_exists sudo || report_missing "${missing[@]}"
    note "installing ${missing[*]}"
    if [[ $APT_LISTS_ARE_FRESH == no ]]; then
        # Lists that are merely old may still do, so the install is what decides.
        apt_get update || note "apt-get update failed; going on with the lists that are here"
        APT_LISTS_ARE_FRESH=yes
    fi
    apt_get install -y --no-install-recommends "${missing[@]}" ||
        fail "$EX_UNAVAILABLE" "could not install ${missing[*]}"
}

# in_group COMMAND...: runs it so that a signal ends it at once, in a process group of its own: bash
# would otherwise leave SIGINT ignored in it, and hold back our traps until it ends. Job is its pid
# while it runs, for the caller's traps.
Job=
in_group() {
    local status=0
    set -m
    "$@" </dev/null &
    Job=$!
    set +m
    wait "$Job" || status=$?
    Job=
    return "$status"
}

# What is measured: prints the commit, with + behind it if the code in PATH... is not the commit's.
# RECORD, which the caller writes to, is not code.
commit_name() { # RECORD PATH...
    local record=$1 commit
    shift
    commit=$(git rev-parse --short=12 HEAD 2>/dev/null) || commit=unknown
    [[ -z $(git status --porcelain -- "$@" 2>/dev/null | grep -vF "$record" || :) ]] || commit+=+
    printf '%s\n' "$commit"
}

# Compose 2 is a plugin of docker, compose 1 a command of its own; both resolve a file the same way.
# Leaves the command in Compose.
find_compose() {
    if docker compose version >/dev/null 2>&1; then
        Compose=(docker compose)
        return
    fi
    command_exists docker-compose || need_packages docker-compose
    Compose=(docker-compose)
}

# How the machine forwards packets: prints "POLICY IP_FORWARD". Where there is no iptables, nobody
# has set a policy with it.
forwarding() {
    local policy
    policy=$(iptables -S FORWARD 2>/dev/null | sed -n 's/^-P FORWARD //p') || :
    printf '%s %s\n' "${policy:-ACCEPT}" "$(</proc/sys/net/ipv4/ip_forward)"
}

# A descriptor left open would keep the caller's pipes from ever closing.
close_inherited() {
    local fd
    for fd in "/proc/$BASHPID/fd/"*; do
        fd=${fd##*/}
        ((fd <= 2)) || exec {fd}>&-
    done
}

# ---- ports ----

# Below the kernel's usual ephemeral range, so that no client's socket sits on a port just chosen.
readonly PORT_FIRST=20000 PORT_COUNT=12000

# Any socket counts, not only listeners, of either family: Java's IPv4 listeners are in tcp6.
port_in_use() {
    local hex
    printf -v hex %04X "$1"
    grep -Eqs "^ *[0-9]+: [0-9A-F]+:$hex " /proc/net/tcp /proc/net/tcp6
}

# Fills Ports with COUNT free ones. Nothing holds them until the servers bind.
choose_ports() { # COUNT
    local port
    Ports=()
    while ((${#Ports[@]} < $1)); do
        port=$((PORT_FIRST + SRANDOM % PORT_COUNT))
        [[ " ${Ports[*]} " == *" $port "* ]] || port_in_use "$port" || Ports+=("$port")
    done
}

# ---- servers ----

# four_letter NETNS HOST PORT WORD SECONDS; an empty NETNS means this one.
# /dev/tcp needs no tool that a small machine may lack, and works through ip netns exec.
four_letter() {
    local -a enter=()
    [[ -z $1 ]] || enter=(ip netns exec "$1")
    # shellcheck disable=SC2016  # expanded by the inner shell
    "${enter[@]}" timeout "$5" bash -c \
        'exec 3<>"/dev/tcp/$1/$2" && printf %s "$3" >&3 && cat <&3' \
        four_letter "$2" "$3" "$4" 2>/dev/null
}

# ---- a run's own directory, and what the run leaves ----

# own_tmpdir NAME [COMMAND]: from here on TMPDIR is a new directory, exported. However the script
# ends, what runs in_group is told to, then COMMAND is called, then whatever was started and still
# runs is ended, and TMPDIR goes.
own_tmpdir() {
    TMPDIR=$(mktemp -d "/tmp/zklock-$1.XXXXXX")
    export TMPDIR
    AtExit=${2-:}
    trap leave EXIT
    trap 'exit 129' HUP
    trap 'exit 130' INT
    trap 'exit 143' TERM
}

leave() {
    local status=$?
    trap - EXIT
    trap '' INT TERM HUP
    # Something is left only when a signal or an error has cut the run short.
    if [[ $Job ]]; then
        kill -TERM -- "-$Job" 2>/dev/null || :
        # A script ends what it was starting.
        wait "$Job" 2>/dev/null || :
    fi
    "$AtExit" || :
    end_leftovers 2>/dev/null || :
    rm -rf "$TMPDIR"
    exit "$status"
}

# Every process that the run started has its TMPDIR in its environment.
left_running() {
    local environment pid
    for environment in /proc/[0-9]*/environ; do
        pid=${environment#/proc/}
        pid=${pid%/environ}
        if [[ $pid != "$$" ]] && grep -qzxF "TMPDIR=$TMPDIR" "$environment" 2>/dev/null; then
            printf '%s\n' "$pid"
        fi
    done
}

stop_servers() {
    local marker
    while IFS= read -r marker; do
        "$(dirname "${BASH_SOURCE[0]}")/zk.sh" stop --dir "${marker%/*}" || :
    done < <(find "$TMPDIR" -name .zklock-zk 2>/dev/null)
}

# Ends what is left. Fails, and says what it was, if that was anything.
end_leftovers() {
    local tries status=0
    local -a pids
    mapfile -t pids < <(left_running)
    if ((${#pids[@]})); then
        note "these were left running (ended now):"
        ps -o pid,args -p "${pids[*]}" >&2 || :
        status=1
    fi
    stop_servers
    # What was just being started comes up late, and a killed server takes a moment to end.
    for ((tries = 50; tries > 0; tries--)); do
        mapfile -t pids < <(left_running)
        ((${#pids[@]})) || break
        kill -KILL "${pids[@]}" 2>/dev/null || :
        sleep 0.1
    done
    return "$status"
}
