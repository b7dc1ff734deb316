#!/usr/bin/env bash
# The commands of docs/recipes.md do what that page says. Paths are those of this test.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2016  # single quotes are for later evaluation and inner shells
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
use_any_server

page=$ZKLOCK_SOURCE_DIR/docs/recipes.md
block() { sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$page" | sed '1d;$d'; } # LANGUAGE

# Leaves what follows PREFIX in the block of that language in line, with paths of ours.
recipe() { # LANGUAGE PREFIX
    line=$(block "$1" | sed -nE "s|^$2||p")
    line=${line//\/usr\/bin\/zklock/zklock}
    line=${line//\/usr\/local\/bin\//$Work\/}
    line=${line//\/run\/indexer\//$Work\/}
    line=${line/zklock /zklock --root $Root }
    [[ $line ]]
}

for program in nightly-report indexer; do
    printf '#!/bin/sh\necho "$0" >>"%s/ran"\n[ ! -e "%s/pipe" ] || read -r _ <"%s/pipe"\n' \
        "$Work" "$Work" "$Work" >"$Work/$program"
    chmod +x "$Work/$program"
done

claim "cron has a line" recipe crontab '7 3 [*] [*] [*] '
claim "cron: the job runs" status_is 0 sh -c "$line"
claim "... once" is "$(wc -l <"$Work/ran")" 1
hold reports/nightly
claim "cron: a taken lock is no error" status_is 0 sh -c "$line"
claim "... and nothing is run" is "$(wc -l <"$Work/ran")" 1
let_go

rm "$Work/ran"
mkfifo "$Work/pipe"
claim "systemd has an ExecStart" recipe ini ExecStart=
start=$line
claim "systemd has an ExecStopPost" recipe ini ExecStopPost=
stop=$line
# shellcheck disable=SC2086  # systemd splits it at blanks, too
$start 2>/dev/null &
unit=$!
await test -s "$Work/ran"
claim "systemd: the service works" status_is 0 zkl held indexer
pkill -KILL -P "$unit" -x zklock-guardian
pkill -KILL -f "^/bin/sh $Work/indexer" || :
kill -KILL "$unit"
wait "$unit" 2>/dev/null || :
claim "systemd: ExecStopPost frees the lock of a killed service" status_is 0 sh -c "$stop"
claim "... at once" status_is 1 zkl held indexer
claim "systemd: after a good end it has nothing to do" status_is 0 sh -c "$stop"

claim "kubernetes has a command" recipe yaml ' *command: '
words=$(tr -d '[],"' <<<"$line")
words=${words/zklock /zklock --root $Root }
claim "kubernetes: the options are right" status_is 127 sh -c "$words"

{
    printf '#!/bin/sh\n'
    block sh | sed "s/zklock \(run\|held\)/zklock --root ${Root//\//\\/} \1/"
    printf 'echo "$1 $ZKLOCK_TOKEN"\n'
} >"$Work/deploy"
chmod +x "$Work/deploy"
claim "a script that locks itself" status_is 0 "$Work/deploy" word
claim "... runs under the lock, with its arguments" matches "$(cat "$Work/out")" '^word [0-9]+$'
claim "... also with a '--' among them" status_is 0 "$Work/deploy" word -- -n
finish
