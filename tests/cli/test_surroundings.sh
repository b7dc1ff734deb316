#!/usr/bin/env bash
# Where the command is put: full disks, closed descriptors, pipes that nobody reads, cron's
# environment, narrow and wide terminals, a locale without UTF-8.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2016  # single quotes are for later evaluation and inner shells
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
use_any_server

readonly Program=$ZKLOCK_BUILD_DIR/zklock
readonly Label='läuft 中文字'
hold größe --label "$Label"
"$Program" --root "$Root" run zero -- true

readonly Printing=(ls 'ls --json' 'ls --prometheus' 'show größe' 'show --json größe' doctor config
    'bench --count 1' --help 'run --help' --version)
in_shell() { # COMMAND WITH REDIRECTIONS
    bash -c "$1" 2>"$Work/err"
}
full_is_said() { # WORDS
    local status=0
    in_shell "'$Program' --root '$Root' $1 >/dev/full" || status=$?
    is "$status" 70 && is "$(cat "$Work/err")" \
        'zklock: cannot write to standard output: No space left on device'
}
closed_is_said() { # WORDS
    local status=0
    in_shell "'$Program' --root '$Root' $1 >&-" || status=$?
    is "$status" 70 && is "$(cat "$Work/err")" \
        'zklock: cannot write to standard output: Bad file descriptor'
}
# The reader has gone before anything is written.
pipe_ends_it() { # TRAP WORDS
    rm -f "$Work/pipe"
    mkfifo "$Work/pipe"
    is "$(in_shell "$1; : <'$Work/pipe' & exec 3>'$Work/pipe'; wait; status=0
        '$Program' --root '$Root' $2 >&3 3>&- || status=\$?; echo \$status")" 141 &&
        is "$(cat "$Work/err")" ''
}
for words in "${Printing[@]}"; do
    claim "$words: a full disk is said" full_is_said "$words"
    claim "$words: a closed standard output is said" closed_is_said "$words"
    claim "$words: SIGPIPE ends it" pipe_ends_it : "$words"
    claim "$words: ... also where that is ignored" pipe_ends_it 'trap "" PIPE' "$words"
done
claim "CMD's status counts, whatever became of our output" status_is 3 \
    bash -c "'$Program' --root '$Root' run x -- sh -c 'exit 3' >&- 2>&- <&-"
claim "CMD has no more descriptors than we had" is "$(bash -c \
    "'$Program' --root '$Root' run x -- sh -c 'readlink /proc/\$\$/fd/[0-2]' <&- 2>&-" | wc -l)" 1
claim "what cannot be read is not written as nothing" status_is 64 \
    bash -c "'$Program' --root '$Root' run x -- '$Program' set '$Root/x' <&-"

# cron has neither HOME nor a terminal.
bare() { env -i ZKLOCK_HOSTS="$ZKLOCK_HOSTS" "$Program" --root "$Root" "$@" </dev/null; }
claim "in an empty environment: run" status_is 5 bare run x -- /bin/sh -c 'exit 5'
claim "... ls" status_is 0 bare ls
claim "... show" status_is 0 bare show größe
claim "... held" status_is 0 bare held größe
claim "... doctor" status_is 0 bare doctor
claim "... config" status_is 0 bare config
claim "a HOME that is not there" status_is 0 env -u XDG_CONFIG_HOME HOME="$Work/none" \
    "$Program" --root "$Root" ls
claim "a HOME that is empty" status_is 0 env -u XDG_CONFIG_HOME HOME= "$Program" --root "$Root" ls

# Leaves in $Work/screen what a terminal of so many columns was sent.
on_terminal() { # COLUMNS LOCALE WORDS
    LC_ALL=$2 script -qec "stty cols $1 rows 24; '$Program' --root '$Root' $3" /dev/null |
        tr -d '\r' >"$Work/screen"
}
fits() { # COLUMNS
    local line
    local -x LC_ALL=C.UTF-8
    while read -r line; do
        at_most ${#line} "$1" || return 1
    done <"$Work/screen"
    test -s "$Work/screen"
}
for columns in 40 80 200; do
    for words in ls 'show größe'; do
        on_terminal $columns C.UTF-8 "$words"
        claim "$words fits $columns columns" fits $columns
    done
done
claim "a wide terminal shows all of it" grep -qF "$Label" "$Work/screen"
on_terminal 200 C 'show größe'
claim "without UTF-8 other bytes are escaped" \
    grep -qF 'l\xC3\xA4uft \xE4\xB8\xAD\xE6\x96\x87\xE5\xAD\x97' "$Work/screen"
claim "... all of them" is "$(LC_ALL=C tr -d '\n -~' <"$Work/screen")" ''
LC_ALL=C.UTF-8 zkl show größe >"$Work/out"
claim "with UTF-8 they are shown" grep -qF "$Label" "$Work/out"
let_go
finish
