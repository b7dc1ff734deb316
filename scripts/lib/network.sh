# Ports, questions to servers, and how the machine forwards packets.
# Sourced, never run; the caller has set -euo pipefail.
# shellcheck shell=bash
# shellcheck disable=SC2034  # the names here are for the scripts that source this file

# Below the kernel's usual ephemeral range, so that no client's socket sits on a port just chosen.
readonly PORT_FIRST=20000 PORT_COUNT=12000
readonly RESERVED=${TMPDIR:-/tmp}/zklock-ports-$UID

# Any socket counts, not only listeners, of either family: Java's IPv4 listeners are in tcp6.
port_in_use() {
    local hex
    printf -v hex %04X "$1"
    grep -Eqs "^ *[0-9]+: [0-9A-F]+:$hex " /proc/net/tcp /proc/net/tcp6
}

# A port is its owner's until that directory is gone, also while no server sits on it: one that a
# test has killed comes back to it. False: it is another's.
reserve_port() { # PORT OWNER
    local file=$RESERVED/$1
    mkdir -p "$RESERVED"
    if (set -C && printf '%s\n' "$2" >"$file") 2>/dev/null; then
        return 0
    fi
    [[ ! -d $(<"$file") ]] && printf '%s\n' "$2" >"$file"
} 2>/dev/null # released at this moment: then another is drawn

# When the owner is gone. Those of others that are gone go, too.
release_ports() {
    local file
    for file in "$RESERVED"/*; do
        [[ ! -e $file || -d $(<"$file") ]] || rm -f "$file"
    done
    rmdir "$RESERVED" 2>/dev/null || :
}

# Fills Ports with COUNT free ones for the servers whose directory is OWNER. Other programs may
# take them until the servers bind.
choose_ports() { # COUNT OWNER
    local port
    Ports=()
    while ((${#Ports[@]} < $1)); do
        port=$((PORT_FIRST + SRANDOM % PORT_COUNT))
        if ! port_in_use "$port" && reserve_port "$port" "$2"; then
            Ports+=("$port")
        fi
    done
}

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

# The same for a server of this machine, in this namespace: without a process, and without a wait
# for a connection. Leaves what the server said in Answer.
ask_here() { # HOST PORT WORD SECONDS
    local connection
    Answer=''
    { exec {connection}<>"/dev/tcp/$1/$2"; } 2>/dev/null || return 1
    # The server may have ended the connection, which SIGPIPE would say.
    (trap '' PIPE && printf %s "$3" >&"$connection") 2>/dev/null || :
    IFS= read -r -d '' -t "$4" -u "$connection" Answer || :
    exec {connection}>&-
    [[ $Answer ]]
}

# How the machine forwards packets: prints "POLICY IP_FORWARD". Without iptables there is no policy
# but the kernel's, which accepts.
forwarding() {
    local policy
    policy=$(iptables -S FORWARD 2>/dev/null | sed -n 's/^-P FORWARD //p') || :
    printf '%s %s\n' "${policy:-ACCEPT}" "$(</proc/sys/net/ipv4/ip_forward)"
}
