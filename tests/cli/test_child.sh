#!/usr/bin/env bash
# What CMD gets from zklock run: variables, descriptors, signals; and who dies with whom.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2016  # single quotes are for the inner shells
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
use_any_server

# ---- variables ----
zkl run dir/name -- sh -c 'echo "$ZKLOCK_NAME $ZKLOCK_TOKEN $ZKLOCK_NODE"' >"$Work/first"
ZKLOCK_TOKEN=old zkl run dir/name -- sh -c 'echo "$ZKLOCK_TOKEN"; env' >"$Work/second"
read -r name token node <"$Work/first"
claim "CMD finds the lock's name" is "$name" dir/name
claim "CMD finds a token" matches "$token" '^[1-9][0-9]*$'
claim "CMD finds its node's path" matches "$node" "^$Root/dir/name/_c_.*-lock-[0-9]{10}\$"
claim "the next holder's token is greater" test "$(head -n 1 "$Work/second")" -gt "$token"
claim "there is one ZKLOCK_TOKEN" is "$(grep -c '^ZKLOCK_TOKEN=' "$Work/second")" 1
claim "the rest of the environment is passed on" grep -q "^PATH=" "$Work/second"

# ---- descriptors ----
exec 7</etc/hostname
ls /proc/self/fd >"$Work/without"
zkl run a -- ls /proc/self/fd >"$Work/with"
claim "CMD has the caller's descriptors and none of ours" diff "$Work/without" "$Work/with"
claim "... 7 among them" grep -qx 7 "$Work/with"
exec 7<&-
zkl -v run a -- sh -c 'ls -l /proc/self/fd' <&- >"$Work/closed" 2>"$Work/err"
claim "a closed standard input stays closed for CMD" \
    matches "$(cat "$Work/closed")" '0 -> /proc/[0-9]*/fd'
zkl -v run a -- sh -c 'readlink "/proc/$PPID/fd/2"' >"$Work/null" 2>&-
claim "a connection never becomes our standard error" is "$(cat "$Work/null")" /dev/null
claim "input and output pass through" is "$(echo text | zkl run a -- cat)" text

# ---- signals ----
for how in --default-signal --ignore-signal=HUP,INT,USR1,CHLD,PIPE,TSTP --block-signal=TERM,USR2; do
    env "$how" grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status >"$Work/without"
    env "$how" "${Zkl[@]}" run a -- grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status \
        >"$Work/with"
    claim "CMD has the caller's mask and dispositions: $how" diff "$Work/without" "$Work/with"
done

for signal in HUP INT QUIT TERM USR1 USR2; do
    rm -f "$Work/ready"
    env --default-signal "${Zkl[@]}" run a -- bash -c '
        trap "echo got $1; exit 3" "$1"
        exec 9<> <(:)
        : >"$2/ready"
        while :; do read -rt 0.01 -u 9 || :; done' bash "$signal" "$Work" >"$Work/out" &
    runner=$!
    await test -e "$Work/ready"
    kill "-$signal" "$runner"
    claim "$signal is forwarded, CMD decides" ends_with "$runner" 3
    claim "... and got it" is "$(cat "$Work/out")" "got $signal"
done

rm -f "$Work/pid"
env --ignore-signal=HUP "${Zkl[@]}" run a -- sh -c 'echo $$ >"$1/pid"; exec sleep 1000' \
    sh "$Work" &
runner=$!
await test -s "$Work/pid"
kill -HUP "$runner"
kill -TERM "$runner"
claim "what the caller ignores is not forwarded" ends_with "$runner" 143

# ---- the process group ----
rm -f "$Work/pid"
zkl run a -- sh -c 'sleep 1000 & echo "$! $$ $(cut -d" " -f5 /proc/$$/stat)" >"$1/pid"' sh "$Work"
read -r background leader group <"$Work/pid"
claim "CMD leads a process group of its own" is "$leader" "$group"
claim "what CMD leaves in the background lives on" kill -0 "$background"
kill "$background"

rm -f "$Work/pid"
"${Zkl[@]}" run dies -- \
    sh -c 'echo $$ >"$1/pid"; trap "" HUP TERM; while :; do :; done' sh "$Work" &
runner=$!
await test -s "$Work/pid"
kill -KILL "$runner"
reap "$runner"
claim "CMD dies with a runner that is killed" await is_gone "$(cat "$Work/pid")"
kill -KILL "$(cat "$Work/pid")" 2>/dev/null || : # if it did not

# ---- while nobody reads what we say ----
mkfifo "$Work/pipe"
exec 8<>"$Work/pipe"
rm -f "$Work/pid"
# The pipe is full before the first message.
dd if=/dev/zero of="$Work/pipe" bs=4096 count=64 oflag=nonblock 2>/dev/null || :
"${Zkl[@]}" -v run a -- true 2>"$Work/pipe" 8<&- &
claim "a standard error that nobody reads holds nothing up" ends_with "$!" 0
exec 8<&-

finish
