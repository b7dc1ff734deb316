# What the scripts of this tier share: a server, the command, claims and waiting. Sourced first.
# shellcheck shell=bash
# shellcheck disable=SC2016  # single quotes are for inner shells
# shellcheck disable=SC2034  # the names here are for the scripts that source this file
set -euo pipefail
export LC_ALL=C

readonly Zk=$ZKLOCK_SOURCE_DIR/scripts/zk.sh
readonly SOON_S=15 # for what takes milliseconds on a machine that is not busy
Work=$(mktemp -d)
readonly Root=/zklock-test-cli-$$-$RANDOM
Server=$Work/zk
Failures=0
PATH=$ZKLOCK_BUILD_DIR:$PATH

# An empty file of ours, so that one of this machine's does not count.
export XDG_CONFIG_HOME=$Work/config
mkdir "$XDG_CONFIG_HOME"
: >"$XDG_CONFIG_HOME/zklock.conf"

clean_up() {
    local job
    trap - EXIT
    for job in $(jobs -p); do
        kill -CONT "$job" 2>/dev/null || :
        kill -KILL "$job" 2>/dev/null || :
    done
    bash "$Zk" stop --dir "$Server" 2>/dev/null || :
    rm -rf "$Work"
}
trap clean_up EXIT

# What is left of this script when it was killed. A process of its own, in a session of its own.
start_guardian() {
    setsid bash -c '
        tail --pid="$1" -f /dev/null
        bash "$2" stop --dir "$3"
        rm -rf "$4"' guardian "$$" "$Zk" "$Server" "$Work" </dev/null >/dev/null 2>&1 &
    disown
}
start_guardian
trap 'exit 130' INT
trap 'exit 143' TERM

# For what a server somewhere else can serve as well.
use_any_server() {
    [[ ${ZKLOCK_HOSTS-} ]] || use_own_server
}

# For what freezes it, or wants that a lock's directory stays: it removes empty ones once an hour.
use_own_server() {
    ZKLOCK_HOSTS=$(bash "$Zk" start --dir "$Server" --prop znode.container.checkIntervalMs=3600000)
    export ZKLOCK_HOSTS
    ServerPid=$(bash "$Zk" status --dir "$Server" | cut -d' ' -f2)
}

freeze() {
    kill -STOP "$ServerPid"
    FrozenAt=$(now_ms)
}
thaw() { kill -CONT "$ServerPid"; }

now_ms() { printf '%s\n' "${EPOCHREALTIME/./}" | sed 's/...$//'; }

# The command, below a root that no other test uses. In the background "${Zkl[@]}", whose pid is
# that of the command; a function's is that of a shell around it.
Zkl=(zklock --root "$Root")
zkl() { "${Zkl[@]}" "$@"; }

# claim WORDS COMMAND...: the command must succeed.
claim() {
    local words=$1
    shift
    if "$@"; then
        printf -- '- %s\n' "$words"
    else
        printf 'FAILED: %s\n' "$words" >&2
        Failures=$((Failures + 1))
    fi
}

# status_is N COMMAND...; its output is in $Work/out and $Work/err, and printed if it was another.
status_is() {
    local expected=$1 status=0
    shift
    "$@" >"$Work/out" 2>"$Work/err" || status=$?
    is "$status" "$expected" || {
        cat "$Work/out" "$Work/err" >&2
        return 1
    }
}

# is ACTUAL EXPECTED; matches ACTUAL REGEX
is() {
    [[ $1 == "$2" ]] || {
        printf '    %q is not %q\n' "$1" "$2" >&2
        return 1
    }
}
matches() {
    [[ $1 =~ $2 ]] || {
        printf '    %q does not match %s\n' "$1" "$2" >&2
        return 1
    }
}
at_most() {
    (($1 <= $2)) || {
        printf '    %s is more than %s\n' "$1" "$2" >&2
        return 1
    }
}

# await COMMAND...: until it succeeds.
await() {
    local deadline=$((SECONDS + SOON_S))
    until "$@"; do
        ((SECONDS < deadline)) || {
            printf '    waited in vain for: %s\n' "$*" >&2
            return 1
        }
        sleep 0.02
    done
}

# Waits for a job's end, and makes one if it does not come; its status goes to $Status.
reap() { # PID
    Status=0
    await is_gone "$1" || kill -KILL "$1"
    wait "$1" || Status=$?
}

ends_with() { # PID STATUS
    reap "$1"
    is "$Status" "$2"
}

is_gone() { ! kill -0 "$1" 2>/dev/null; }

# hold NAME [OPTION]...: a holder in the background, $Holder, until let_go.
hold() {
    rm -f "$Work/held" "$Work/gate"
    mkfifo "$Work/gate"
    "${Zkl[@]}" run "$@" -- sh -c 'echo $$ >"$1/held"; read -r _ <"$1/gate"' sh "$Work" &
    Holder=$!
    await test -s "$Work/held"
}
let_go() {
    echo >"$Work/gate"
    wait "$Holder"
}

finish() {
    ((Failures == 0)) || {
        printf '%d claims do not hold\n' "$Failures" >&2
        exit 1
    }
}
