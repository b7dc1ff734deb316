#!/usr/bin/env bash
# What netns.h does to the network, as commands. Run by netns.c in the namespaces it has entered;
# anywhere else this would change the machine's own network.
#
#     netns.sh up                     the bridge, and three namespaces that hang on it
#     netns.sh isolate silent|told N  no packet passes between namespace zkN and the other two
#     netns.sh darken N               none passes between namespace zkN and anything
#     netns.sh heal N                 everything passes again
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin

# The servers are 10.0.0.N, their clients anything else in 10.0.0.0/16.
readonly SERVERS=10.0.0.0/24 CLIENTS=10.0.1.1/16

up() {
    local n
    ip link set lo up
    ip link add bridge type bridge
    ip addr add "$CLIENTS" dev bridge
    ip link set bridge up
    for n in 1 2 3; do
        ip netns add "zk$n"
        ip link add "port$n" type veth peer name eth0 netns "zk$n"
        ip link set "port$n" master bridge up
        ip -n "zk$n" link set lo up
        ip -n "zk$n" addr add "10.0.0.$n/16" dev eth0
        ip -n "zk$n" link set eth0 up
    done
    # A machine without iptables fails here, not in the middle of a test.
    set_rules 1
}

# All at one instant. A server reaches its own address through lo, which stays out of it.
set_rules() { # N RULE...
    local n=$1
    shift
    printf '%s\n' '*filter' "$@" COMMIT | ip netns exec "zk$n" iptables-restore
}

# Ends connections on one side: the other hears of it if packets pass.
end_connections() { # N TO
    ip netns exec "zk$1" ss -K -t dst "$2" >/dev/null
}

# silent: all wait until their patience ends.
# told: the other two lose their connections to it at once, and it does not notice. A kernel that
# cannot do that (INET_DIAG_DESTROY) leaves them as they are, and says nothing.
isolate() { # silent|told N
    local n
    set_rules "$2" "-A INPUT -i eth0 -s $SERVERS -j DROP" "-A OUTPUT -o eth0 -d $SERVERS -j DROP"
    [[ $1 == told ]] || return 0
    for n in 1 2 3; do
        ((n != $2)) || continue
        end_connections "$n" "10.0.0.$2"
        if [[ $(ip netns exec "zk$n" ss -Ht state established dst "10.0.0.$2") ]]; then
            echo "netns.sh: this kernel does not end connections for ss -K" >&2
            return 1
        fi
    done
}

darken() { # N
    set_rules "$1" "-A INPUT -i eth0 -j DROP" "-A OUTPUT -o eth0 -j DROP"
}

# Old connections would wake up only with the next retransmission, which by now is seconds away.
heal() { # N
    set_rules "$1"
    end_connections "$1" "$SERVERS"
}

"$@"
