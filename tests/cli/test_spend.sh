#!/usr/bin/env bash
# What a command spends its hold on: zklock set writes a node while the run around it holds, and
# zklock fence lets no later holder's command in beside its own. zklock get reads.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2016  # single quotes are for inner shells
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
use_any_server
Node=$Root-node
Fence=$Work/fence
unset ZKLOCK_NAME ZKLOCK_TOKEN ZKLOCK_NODE

says() { matches "$(cat "$Work/err")" "$1"; }
holds() { is "$(zkl get "$Node")" "$1"; } # DATA
set_to() { zkl set "$@" "$Node" <<<"$Data"; }
under() { zkl run -q "$@"; }
# What CMD of a run finds, when that run has ended.
stale() { # COMMAND...
    under stale -- env | grep '^ZKLOCK_[TN][OA]' >"$Work/environment"
    under stale -- sh -c 'printf %s "$ZKLOCK_NODE"' >"$Work/node"
    env ZKLOCK_NAME=stale "ZKLOCK_NODE=$(cat "$Work/node")" \
        "$(grep '^ZKLOCK_TOKEN=' "$Work/environment")" "$@"
}
# As CMD of a run with that token, without servers.
as_holder() { # TOKEN COMMAND...
    env -u ZKLOCK_HOSTS ZKLOCK_NAME=a "ZKLOCK_TOKEN=$1" "${@:2}"
}

# ---- set and get ----

Data=one
claim "outside of a run set is refused" status_is 64 set_to
claim "... and says what is missing" says "not inside a 'zklock run'.*--unguarded"
claim "--unguarded writes all the same, where there is a node" status_is 1 set_to --unguarded
claim "... which --create makes" says '\(--create makes it\)$'
claim "... and it is there" status_is 0 set_to --unguarded --create
claim "get prints the data" holds one
claim "get --print-version prints the version" is "$(zkl get --print-version "$Node")" 0
claim "what is missing has no data" status_is 1 zkl get "$Node-none"
claim "... and this is said" says "^zklock: $Node-none: there is no such node\$"

printf 'a\0b\033[31m\n\n' >"$Work/data"
claim "in a run set writes a file" status_is 0 under a -- zklock set "$Node" "$Work/data"
zkl get "$Node" >"$Work/got"
claim "... and get prints it byte for byte" cmp "$Work/data" "$Work/got"
claim "... and standard input" status_is 0 under a -- sh -c \
    'printf two | zklock -v set "$1"' . "$Node"
claim "... and -v says the version" says "$Node: written, version 2\$"
claim "..." holds two
claim "'-' is standard input" status_is 0 under a -- sh -c ': | zklock set "$1" -' . "$Node"
claim "... of no bytes, too" holds ''

claim "in a run set creates only if told" status_is 1 under a -- zklock set "$Node-new" "$Work/data"
claim "..." status_is 0 under a -- zklock set --create "$Node-new" "$Work/data"
claim "... once" status_is 0 under a -- zklock set --create "$Node-new" "$Work/data"
claim "... with one version more" is "$(zkl get --print-version "$Node-new")" 1
claim "... and no node above it" status_is 1 under a -- zklock set --create "$Node/x/y" "$Work/data"
claim "... which it says" says 'the node above it does not exist$'

claim "a version that is right" status_is 0 under a -- \
    zklock set --if-version 3 "$Node" "$Work/data"
claim "... is right once" status_is 1 under a -- zklock set --if-version 3 "$Node" /dev/null
claim "... and it is said" says 'not written: it has another version than 3$'
claim "... and nothing is written" cmp "$Work/data" <(zkl get "$Node")
claim "it does not go with --create" status_is 64 zkl set --if-version 0 --create "$Node"
claim "it is a number" status_is 64 zkl set --if-version -1 "$Node"

Data=late
claim "after the run set is refused" status_is 75 stale zklock set "$Node" /dev/null
claim "... and says whose hold is over" says "$Node: not written: the hold of stale is over\$"
claim "... and nothing is written" cmp "$Work/data" <(zkl get "$Node")
claim "of several locks all guard" status_is 0 under --all a b -- zklock set "$Node" /dev/null
claim "..." status_is 75 under --all a b -- sh -c '
    ZKLOCK_NODE="$ZKLOCK_NODE
$2" zklock set "$1" /dev/null' . "$Node" "$(cat "$Work/node")"
claim "another token is another hold" status_is 75 under a -- env ZKLOCK_TOKEN=1 \
    zklock set "$Node" /dev/null
claim "... whose lock need not be named" status_is 75 under a -- env -u ZKLOCK_NAME ZKLOCK_TOKEN=1 \
    zklock set "$Node" /dev/null
claim "..." says 'not written: the hold of the run around it is over$'
claim "what is no token is refused" status_is 64 under a -- env ZKLOCK_TOKEN=1x \
    zklock set "$Node" /dev/null
claim "... and what is no contender's node" status_is 64 under a -- env "ZKLOCK_NODE=$Node" \
    zklock set "$Node" /dev/null
claim "... and an empty one, which guards nothing" status_is 64 under a -- env ZKLOCK_NODE= \
    zklock set "$Node" /dev/null
claim "... and more nodes than a run has" status_is 64 under a -- env \
    "ZKLOCK_NODE=$(yes "$(cat "$Work/node")" | head -n 65 || :)" zklock set "$Node" /dev/null
claim "... which is said" says '^zklock: ZKLOCK_NODE has more than 64 lines$'

head -c 1000001 /dev/zero >"$Work/large"
claim "too large a file is refused" status_is 64 under a -- zklock set "$Node" "$Work/large"
claim "... and the limit is said" says "$Work/large: too large for a node: at most 1000000 bytes\$"
truncate -s 1000000 "$Work/large"
claim "... and not one that is as large" status_is 0 under a -- zklock set "$Node" "$Work/large"
zkl get "$Node" >"$Work/got"
claim "... which is read whole" cmp "$Work/large" "$Work/got"
claim "a file that is not there" status_is 64 under a -- zklock set "$Node" "$Work/none"
claim "a path that is not absolute" status_is 64 zkl get "${Node#/}"
claim "a path with what a terminal acts on" status_is 64 zkl get $'/x\e[31m'
claim "... which does not get it" says "'/x\\\\x1B\[31m'"
get_in_vain() { zkl get "$Node" >/dev/full; }
claim "output that does not arrive" status_is 70 get_in_vain

# ---- fence ----

fence() { as_holder "$1" zklock fence "$Fence" "${@:2}"; } # TOKEN [CMD...]

claim "outside of a run there is no token" status_is 64 zklock fence "$Fence"
claim "... which is said" says "no ZKLOCK_TOKEN: this is for a command that 'zklock run'"
claim "a command is run" is "$(fence 5 echo x)" x
claim "... with its status" status_is 9 fence 5 -- sh -c 'exit 9'
claim "... and its signal" status_is 143 fence 5 -- sh -c 'kill $$'
claim "a later holder's, too" status_is 0 fence 6 -- true
claim "an earlier one's is not" is "$(fence 5 echo x 2>"$Work/err" || echo $?)" 75
claim "... and it is said" says 'a later holder of a has been here: the token 5 is stale$'
claim "without a command the token is checked" status_is 0 fence 6
claim "..." status_is 75 fence 5
claim "a command that is not there" status_is 127 fence 7 -- "$Work/none"
claim "... or is none" status_is 126 fence 7 -- "$Work/data"
claim "... shows no token" status_is 0 fence 6
claim "'--' asks for one" status_is 64 fence 7 --
claim "what is no fence" status_is 70 as_holder 7 zklock fence "$Work/data"
for name in '' / "$Work/" "$Work/fence.new"; do
    claim "'$name' is no name of one" status_is 64 as_holder 7 zklock fence "$name"
    claim "... and says so" matches "$(cat "$Work/err")" \
        "^zklock: '$name' cannot be .* ends in \.new\$"
done
printf 'no settings\n' >"$XDG_CONFIG_HOME/zklock.conf"
claim "no configuration is read" status_is 0 fence 6 -- true
: >"$XDG_CONFIG_HOME/zklock.conf"
claim "in a run" status_is 0 under c -- zklock fence "$Fence.run" true
claim "... and after it" status_is 0 under c -- zklock fence "$Fence.run" true
claim "... but not with its token" status_is 75 env ZKLOCK_NAME=c ZKLOCK_TOKEN=1 \
    zklock fence "$Fence.run" true
claim "of several locks one is named" status_is 64 under --all d e -- zklock fence "$Fence.run" true
claim "... by --name" says 'has several locks: --name says'
claim "..." status_is 0 under --all d e -- zklock fence --name e "$Fence.run" true
claim "... and is one of them" status_is 64 under --all d e -- zklock fence --name f "$Fence.run"

# Waits for the fence's flock. (/proc/locks says nothing of it in a PID namespace where whoever took
# the lock has died.)
is_blocked() { [[ $(cat "/proc/$1/wchan") == *lock_inode* ]]; } # PID

# A first command, $First, inside the fence until the gate is opened, and a second one before it.
two() { # TOKEN PREFIX...
    rm -f "$Work/pid" "$Work/order" "$Work/gate"
    mkfifo "$Work/gate"
    ZKLOCK_NAME=a ZKLOCK_TOKEN=$1 zklock fence "$Fence" "${@:2}" sh -c '
        trap "echo told >>$1/order" TERM
        echo $$ >"$1/pid"
        until read -r _ <"$1/gate"; do :; done
        echo first >>"$1/order"' sh "$Work" 2>"$Work/first" &
    First=$!
    await test -s "$Work/pid"
    ZKLOCK_NAME=a ZKLOCK_TOKEN=$(($1 + 1)) zklock fence "$Fence" sh -c \
        'echo second >>"$1/order"' sh "$Work" &
    Second=$!
    await is_blocked "$Second"
}
order_is() { is "$(tr '\n' ' ' <"$Work/order")" "$1"; }

two 10 env
echo >"$Work/gate"
claim "a later holder's command waits for the first one's end" ends_with "$Second" 0
claim "..." order_is 'first second '
wait "$First"

two 20 env
kill -TERM "$First"
claim "SIGTERM is passed on" await test -s "$Work/order"
claim "SIGTERM is the command's affair, and the fence stays closed" is_blocked "$Second"
echo >"$Work/gate"
claim "..." ends_with "$First" 0
claim "... until it has ended" ends_with "$Second" 0
claim "..." order_is 'told first second '

two 30 env
kill -KILL "$First"
claim "a command dies with its fence" await is_gone "$(cat "$Work/pid")"
claim "... which is open then" ends_with "$Second" 0
claim "..." order_is 'second '
wait "$First" || :

# It has taken back that it dies, as if it took long.
two 40 setpriv --pdeathsig clear
kill -KILL "$First"
wait "$First" || :
claim "one that is not dead yet keeps the fence closed" is_blocked "$Second"
echo >"$Work/gate"
claim "..." ends_with "$Second" 0
claim "..." order_is 'first second '

# The same, when all of the process group is killed: this command has left it.
set -m
two 50 setsid setpriv --pdeathsig clear
set +m
kill -KILL -- "-$First"
wait "$First" || :
claim "... also when the process group of the fence is killed" is_blocked "$Second"
echo >"$Work/gate"
claim "..." ends_with "$Second" 0
claim "..." order_is 'first second '

two 60 env
kill -STOP "$(pgrep -P "$First" -x zklock-keeper)"
echo >"$Work/gate"
claim "a third process that is stopped delays no end" ends_with "$First" 0
claim "..." ends_with "$Second" 0
finish
