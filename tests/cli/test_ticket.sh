#!/usr/bin/env bash
# zklock run --ticket and zklock end: a session whose run, guardian and command were all killed.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2016  # single quotes are for later evaluation and inner shells
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
use_any_server

ticket=$Work/ticket
says() { is "$(cat "$Work/out" "$Work/err")" "$1"; }

claim "end without the file has nothing to do" status_is 0 zkl end "$ticket"
claim "... and says nothing" says ''
claim "... but with -v" status_is 0 zkl -v end "$ticket"
claim "... why" says "zklock: $ticket: no ticket, so there is nothing to end"
echo nonsense >"$Work/nonsense"
claim "end of what is no ticket is 64" status_is 64 zkl end "$Work/nonsense"
claim "... and says so" matches "$(cat "$Work/err")" "'$Work/nonsense' has no ticket"
claim "end of a directory is 64" status_is 64 zkl end "$Work"
claim "end without a file's name is 64" status_is 64 zkl end
claim "... and says so" matches "$(cat "$Work/err")" "the ticket's FILE is missing"
claim "a ticket that cannot be written is 64, and nothing is run" status_is 64 \
    zkl run --ticket "$Work/none/ticket" job -- touch "$Work/ran"
claim "... and says why" says "zklock: --ticket '$Work/none/ticket': No such file or directory"
claim "... nothing" eval '[[ ! -e $Work/ran ]]'
mkdir "$Work/directory"
claim "a directory is no place for one" status_is 64 \
    zkl run --ticket "$Work/directory" job -- touch "$Work/ran"
claim "... and no ticket is left beside it" is "$(compgen -G "$Work/directory.*")" ''
mkfifo "$Work/fifo"
claim "a FIFO, or a device, is no place for a ticket" status_is 64 \
    zkl run --ticket "$Work/fifo" job -- touch "$Work/ran"
claim "... and says so" says "zklock: --ticket '$Work/fifo': Operation not supported"
claim "... and stays" test -p "$Work/fifo"
claim "... and nothing is run" eval '[[ ! -e $Work/ran ]]'
claim "under run the ticket is there, for its user alone" \
    is "$(umask 022 && zkl run --ticket "$ticket" job -- stat -c %a "$ticket")" 600
claim "a run that ends in good order removes it" eval '[[ ! -e $ticket ]]'

: >"$ticket.new"
hold job --ticket "$ticket"
kept=$(cat "$ticket")
claim "another run with the same file is 64 while the first lives" status_is 64 \
    zkl run -n --ticket "$ticket" other -- touch "$Work/ran"
claim "... and says so" says \
    "zklock: --ticket '$ticket': another run has its ticket there, and lives: take another file"
claim "... runs nothing" eval '[[ ! -e $Work/ran ]]'
claim "... and leaves the first one's" is "$(cat "$ticket")" "$kept"
let_go
claim "which removes it" eval '[[ ! -e $ticket ]]'
claim "a file that the user has with a longer name stays" test -e "$ticket.new"
rm "$ticket.new"
hold job --ticket "$ticket"
echo mine >"$Work/mine"
mv "$Work/mine" "$ticket"
let_go
claim "a file that the user has put in its place is not removed" is "$(cat "$ticket")" mine
claim "... but replaced by the next run, which removes its own" status_is 0 \
    zkl run --ticket "$ticket" job -- grep -qv mine "$ticket"
claim "... and leaves nothing" is "$(compgen -G "$ticket*")" ''

# As a service manager does: all at once. The timeout is far away.
"${Zkl[@]}" --timeout 60 run --ticket "$ticket" job -- \
    bash -c 'echo $$ >"$0"; exec sleep 1000' "$Work/cmd" 2>/dev/null &
runner=$!
await test -s "$Work/cmd"
guardian=$(pgrep -P "$runner" -x zklock-guardian)
kill -STOP "$runner"
kill -KILL "$guardian" "$(<"$Work/cmd")" "$runner"
wait "$runner" 2>/dev/null || :
claim "the lock is still taken" status_is 0 zkl held job
claim "the ticket is left" test -s "$ticket"
cp -p "$ticket" "$Work/left"
claim "a dead run's ticket is in nobody's way" status_is 0 \
    zkl run --ticket "$ticket" other -- test -s "$ticket"
mv "$Work/left" "$ticket"
claim "end ends the session" status_is 0 zkl -v end "$ticket"
claim "... and says so" says 'zklock: the session has been ended'
claim "the lock is free" status_is 1 zkl held job
claim "the ticket is gone" eval '[[ ! -e $ticket ]]'
claim "--ticket is only of run" status_is 64 zkl ls --ticket "$ticket"
finish
