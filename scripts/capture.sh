#!/usr/bin/env bash
# What README.md shows of the command on a terminal is what a terminal showed: tmux has it. Writes
# these blocks of README.md anew, or checks that they still have the same shape.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib/common.sh
. scripts/lib/build.sh

readonly BUILD=build/demo SOON_S=20 NAME=reports/nightly

usage() {
    cat <<END
usage: scripts/capture.sh           write what README.md shows of a waiting run, of "zklock show
                                    --watch" and of the demo, as it looks now
       scripts/capture.sh --check   only compare: numbers, names of hosts and widths of columns may
                                    differ, and nothing else

In README.md each is the block behind a line <!-- capture: WHAT -->.

exit status: 0 done, or the same; 1 they differ, or a screen did not come; 64 wrong call; 69 a
package is missing; 70 the build or the server failed.
END
}

# A terminal by itself, of 80 columns, without a status line; its server is ours.
tm() { tmux -S "$TMPDIR/tmux" -f /dev/null "$@"; }

# Without the empty lines below.
screen() { # WINDOW
    tm capture-pane -p -t "$1" | sed 's/ *$//' |
        awk 'NF { for (; empty > 0; empty--) print ""; print; next } { empty++ }'
}

await_screen() { # WINDOW REGEX
    local deadline=$((SECONDS + SOON_S))
    until [[ $(screen "$1") =~ $2 ]]; do
        ((SECONDS < deadline)) || {
            screen "$1" >&2
            fail 1 "the screen '$1' does not show: $2"
        }
        sleep 0.1
    done
}

open_window() { # WINDOW COMMAND
    tm new-window -d -c "$TMPDIR/here" -n "$1" "env PS1='$ ' bash --norc --noprofile"
    await_screen "$1" '\$'
    tm send-keys -t "$1" "$2" Enter
}

capture_screens() {
    ZKLOCK_HOSTS=$(scripts/zk.sh start --dir "$TMPDIR/zk")
    export ZKLOCK_HOSTS PATH=$PWD/$BUILD/zklock:$PATH LC_ALL=C.UTF-8
    unset TMUX ZKLOCK_NAME ZKLOCK_NODE ZKLOCK_TOKEN
    mkdir "$TMPDIR/here"
    ln -s "$(command -v date)" "$TMPDIR/here/report"
    tm new-session -d -x 80 -y 14 -c "$TMPDIR/here" -n holder "env PS1='$ ' bash --norc --noprofile"
    tm send-keys -t holder "zklock run --label pg_dump $NAME -- sleep 600" Enter
    until zklock held "$NAME"; do :; done
    open_window wait "zklock run $NAME -- ./report"
    await_screen wait '[2-9]s; 1 before us'
    screen wait >"$TMPDIR/wait"
    open_window other "zklock run -w 600 $NAME -- date"
    await_screen other '2 before us'
    open_window watch "zklock show --watch $NAME"
    await_screen watch '[2-9]s .* holds.*waits on 1.*[2-9]s .*waits on 2'
    screen watch >"$TMPDIR/watch"
    tm kill-server
    scripts/zk.sh stop --dir "$TMPDIR/zk"
    unset ZKLOCK_HOSTS
}

# Without the queues that it prints, and what comes before the demo itself.
capture_demo() {
    scripts/demo.sh 2>/dev/null | sed -n '/^---- /,$p' |
        awk '/^ / { if (!cut) print "..."; cut = 1; next } { cut = 0; print }' >"$TMPDIR/demo"
}

# The block behind the line of that capture.
block() { # WHAT
    awk -v what="<!-- capture: $1 -->" '
        inside && /^```$/ { exit }
        inside { print }
        found && /^```$/ { inside = 1 }
        $0 == what { found = 1 }' README.md
}

# As it is compared.
shape() {
    sed -E "s/$(uname -n)/vm/g; s/vm-[A-Za-z0-9]+/vm-X/; s/[0-9]+/0/g; s/(0[smhd])+/0s/g; s/  +/ /g"
}

replace() { # WHAT
    awk -v what="<!-- capture: $1 -->" -v file="$TMPDIR/$1" '
        inside && /^```$/ { inside = 0 }
        !inside { print }
        found && /^```$/ {
            while ((getline line <file) > 0) print line
            inside = 1
            found = 0
        }
        $0 == what { found = 1 }' README.md >"$TMPDIR/README.md"
    cp "$TMPDIR/README.md" README.md
}

stop_all() {
    tm kill-server 2>/dev/null || :
    [[ ! -e $TMPDIR/zk ]] || scripts/zk.sh stop --dir "$TMPDIR/zk"
}

Check=no
answer_help "$@"
while (($#)); do
    [[ $1 == --check ]] || wrong_call "unexpected: $1"
    Check=yes
    shift
done
need_packages "${BUILD_PACKAGES[@]}" "${SERVER_PACKAGES[@]}" tmux
own_tmpdir capture stop_all
build_quietly examples "$BUILD" all
capture_screens
capture_demo
status=0
for what in wait watch demo; do
    [[ -s $TMPDIR/$what ]] || fail 1 "the terminal shows no $what"
    if [[ $Check == no ]]; then
        replace "$what"
    elif ! diff <(block "$what" | shape) <(shape <"$TMPDIR/$what") >"$TMPDIR/diff"; then
        note "README.md (<) shows another '$what' than a terminal (>):"
        cat "$TMPDIR/diff" >&2
        status=1
    fi
done
exit "$status"
