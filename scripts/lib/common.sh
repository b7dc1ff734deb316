# What all scripts share: messages, exit codes, wrong calls, what a run starts and leaves; and
# packages.sh.
# Sourced, never run; the caller has set -euo pipefail.
# shellcheck shell=bash
# shellcheck disable=SC2034  # the names here are for the scripts that source this file

# From sysexits.h, so that a caller can tell a wrong call from a machine that lacks something.
readonly EX_USAGE=64 EX_UNAVAILABLE=69 EX_SOFTWARE=70 EX_CANTCREAT=73

# shellcheck source=scripts/lib/packages.sh
. "$(dirname "${BASH_SOURCE[0]}")/packages.sh"

note() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

# fail CODE MESSAGE...
fail() {
    local code=$1
    shift
    note "$@"
    exit "$code"
}

# This and answer_help print what the script's own function usage prints.
wrong_call() { # MESSAGE...
    note "$@"
    usage >&2
    exit "$EX_USAGE"
}

answer_help() { # ARGUMENT...
    [[ ${1-} == -h || ${1-} == --help ]] || return 0
    usage
    exit 0
}

seconds_since() { # EPOCHREALTIME
    awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }'
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

# What runs in_group gets this signal, and is waited for: a script ends what it was starting.
end_job() { # SIGNAL
    [[ $Job ]] || return 0
    kill "-$1" -- "-$Job" 2>/dev/null || :
    wait "$Job" 2>/dev/null || :
}

# ---- what computes beside others ----

# The caller and what it starts run on one processor, and only while nothing else wants that. The
# caller is a session of its own: Linux shares the processors out among sessions first, and what a
# process is within its own does not count for servers, which have sessions, too.
step_aside() {
    taskset -pc 0 "$BASHPID" >/dev/null || :
    chrt --idle -p 0 "$BASHPID" || :
    { echo 19 >/proc/self/autogroup; } 2>/dev/null || :
}

# That session may run on each processor that the caller may run on.
give_processors() { # SESSION
    local pid processors
    processors=$(taskset -pc "$BASHPID")
    while read -r pid; do
        taskset -apc "${processors##* }" "$pid" >/dev/null 2>&1 || : # it has ended, perhaps
    done < <(pgrep -s "$1")
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

# A descriptor left open would keep the caller's pipes from ever closing.
close_inherited() {
    local fd
    for fd in "/proc/$BASHPID/fd/"*; do
        fd=${fd##*/}
        ((fd <= 2)) || exec {fd}>&-
    done
}

# ---- a run's own directory, and what the run leaves ----

# own_tmpdir NAME [COMMAND]: from here on TMPDIR is a new directory, exported. However the script
# ends, it first ends what runs in_group. Then it calls COMMAND, ends each process that it started
# and that still runs, and removes TMPDIR.
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
    end_job TERM
    "$AtExit" || :
    end_leftovers 2>/dev/null || :
    rm -rf "$TMPDIR"
    exit "$status"
}

# Every process that the run started has its TMPDIR in its environment.
left_running() {
    local -a environments=(/proc/[0-9]*/environ)
    grep -lzxF "TMPDIR=$TMPDIR" "${environments[@]}" 2>/dev/null | cut -d / -f 3 | grep -vx $$ || :
}

stop_servers() {
    local marker
    while IFS= read -r marker; do
        "$(dirname "${BASH_SOURCE[0]}")/../zk.sh" stop --dir "${marker%/*}" || :
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
