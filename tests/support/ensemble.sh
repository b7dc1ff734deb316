#!/usr/bin/env bash
# Faults in the three servers that "zk.sh start" has put into the namespaces of support/netns.h, for
# breaker.h. Run by it, in these namespaces.
#
#     ensemble.sh fault --dir DIR KIND N    breaks server N, or all
#     ensemble.sh heal --dir DIR N          undoes whatever was done
#
# Cut off, and still reached by their clients:
#     isolate    no packet between it and the other two
#     mute       none of its packets reaches them
#     deaf       none of theirs reaches it
#     lag        theirs reach it late, again and again; over when the call returns
# Well, and not reached by its clients:
#     clients    no packet between it and them
#     replies    none of its packets reaches them, all of theirs reach it
# Not well:
#     kill, freeze
#     restart    it and the others end in good order, one by one, and the next when this one serves
#                again; over when the call returns
#     down       all are killed
set -euo pipefail
PATH=$PATH:/usr/sbin:/sbin
# shellcheck source-path=SCRIPTDIR source=../../scripts/lib/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/../../scripts/lib/common.sh"

readonly SERVERS=10.0.0.0/24 CLIENTS=10.0.1.1/32
# A pulse is over before the servers give each other up; its packets come when TCP tries again.
readonly LAG_PULSES=5 LAG_PULSE_S=0.5 LAG_PAUSE_S=0.5
readonly RESTART_LIMIT_S=30 END_LIMIT_S=20

network() { "$Here/netns.sh" "$@"; }
zk() { "$Here/../../scripts/zk.sh" "$@"; }

drop() { # N RULE...
    local n=$1 rule
    local -a rules=()
    shift
    for rule in "$@"; do
        rules+=("-A $rule -j DROP")
    done
    network set_rules "$n" "${rules[@]}"
}

# A fault that hit no packet was none. Of several counts one will do: a pulse may fall into silence.
expect_dropped() { # N COUNT...
    local n=$1
    shift
    (($(IFS=+ && printf '%s' "$*") > 0)) ||
        fail "$EX_SOFTWARE" "the rules in zk$n have dropped nothing"
}

packets_dropped() { # N
    ip netns exec "zk$1" iptables -nvxL | awk '$3 == "DROP" { sum += $1 } END { print sum + 0 }'
}

lag() { # N
    local pulse
    local -a packets=()
    for ((pulse = 0; pulse < LAG_PULSES; pulse++)); do
        drop "$1" "INPUT -i eth0 -s $SERVERS"
        sleep "$LAG_PULSE_S"
        packets+=("$(packets_dropped "$1")")
        drop "$1"
        sleep "$LAG_PAUSE_S"
    done
    expect_dropped "$1" "${packets[@]}"
}

signal() { # NAME N
    kill "-$1" "$(<"$Dir/$2/pid")"
}

# A zombie, which somebody has yet to wait for, has no command line.
await_end() { # N
    local _ deadline=$((SECONDS + END_LIMIT_S))
    while IFS= read -r -d '' _ 2>/dev/null <"/proc/$(<"$Dir/$1/pid")/cmdline"; do
        ((SECONDS < deadline)) || fail "$EX_SOFTWARE" "server $1 does not end"
        sleep 0.02
    done 2>/dev/null
}

restart() { # N
    local n deadline
    for n in "$1" $(($1 % 3 + 1)) $((($1 + 1) % 3 + 1)); do
        signal TERM "$n"
        await_end "$n"
        zk revive --dir "$Dir" "$n"
        deadline=$((SECONDS + RESTART_LIMIT_S))
        until zk status --dir "$Dir" >/dev/null; do
            ((SECONDS < deadline)) || fail "$EX_SOFTWARE" "server $n does not serve again"
            sleep 0.05
        done
    done
}

fault() { # KIND N
    local n
    case $1 in
    isolate) drop "$2" "INPUT -i eth0 -s $SERVERS" "OUTPUT -o eth0 -d $SERVERS" ;;
    mute) drop "$2" "OUTPUT -o eth0 -d $SERVERS" ;;
    deaf) drop "$2" "INPUT -i eth0 -s $SERVERS" ;;
    lag) lag "$2" ;;
    clients) drop "$2" "INPUT -i eth0 -s $CLIENTS" "OUTPUT -o eth0 -d $CLIENTS" ;;
    replies) drop "$2" "OUTPUT -o eth0 -d $CLIENTS" ;;
    kill) signal KILL "$2" ;;
    freeze) signal STOP "$2" ;;
    restart) restart "$2" ;;
    down)
        for n in 1 2 3; do
            signal KILL "$n"
        done
        ;;
    *) fail "$EX_USAGE" "no such fault: $1" ;;
    esac
}

# Old connections between servers would wake up only when TCP tries again, which by now may be
# seconds away.
heal() { # N
    local n rules packets
    rules=$(ip netns exec "zk$1" iptables -nL)
    packets=$(packets_dropped "$1")
    drop "$1"
    [[ $rules != *"$SERVERS"* ]] || network end_connections "$1" "$SERVERS"
    [[ $rules != *DROP* ]] || expect_dropped "$1" "$packets"
    for n in 1 2 3; do
        signal CONT "$n" 2>/dev/null || :
    done
    zk revive --dir "$Dir" 1 2 3
}

(($# >= 4)) && [[ $2 == --dir ]] || fail "$EX_USAGE" "ensemble.sh fault|heal --dir DIR ..."
Here=$(dirname "${BASH_SOURCE[0]}")
Dir=$3
"$1" "${@:4}"
