#!/usr/bin/env bash
# The exit statuses of the page, each produced once; 75 is in test_hold.sh.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2016  # single quotes are for later evaluation and inner shells
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
use_any_server

claim "CMD's status 0" status_is 0 zkl run a -- true
claim "CMD's status 7" status_is 7 zkl run a -- sh -c 'exit 7'
claim "CMD's status 255" status_is 255 zkl run a -- sh -c 'exit 255'
claim "without '--' options end with CMD" status_is 7 zkl run -n a -w 1 sh -c 'exit 7'
claim "... or with a '--' behind the NAME" status_is 7 zkl run a -n -- sh -c 'exit 7'
claim "-c is a shell's command" status_is 8 zkl run a -c 'true && exit 8'
claim "... also before the NAME" status_is 8 zkl run -c 'true && exit 8' a
claim "... and with --all" status_is 8 zkl run -c 'exit 8' --all a b --
claim "... without '--', if it comes first" status_is 8 zkl run --all -c 'exit 8' a -n b
claim "128 + signal for a CMD that a signal ended" status_is 137 zkl run a -- sh -c 'kill -9 $$'
claim "127 for a CMD that is not there" status_is 127 zkl run a -- zklock-no-such-command
claim "... and says so" matches "$(cat "$Work/err")" 'zklock-no-such-command: command not found'
claim "127 for a path that is not there" status_is 127 zkl run a -- "$Work/none"
claim "127 for an empty CMD" status_is 127 zkl run a -- ''
claim "126 for a CMD that is not executable" status_is 126 zkl run a -- /etc/passwd
claim "126 for a directory" status_is 126 zkl run a -- /tmp
printf 'exit 9\n' >"$Work/script"
claim "126 for a script without the right to execute it" status_is 126 zkl run a -- "$Work/script"
chmod +x "$Work/script"
claim "a script without #! is run by sh" status_is 9 zkl run a -- "$Work/script"
printf '#!%s\n' "$Work/none" >"$Work/script"
claim "127 for a script without its interpreter" status_is 127 zkl run a -- "$Work/script"
printf '#!/tmp\n' >"$Work/script"
claim "126 for a script with an interpreter that is not executable" \
    status_is 126 zkl run a -- "$Work/script"
claim "... and says so" matches "$(cat "$Work/err")" 'cannot be executed: Permission denied'

mkdir "$Work/first" "$Work/second" "$Work/third" "$Work/first/dir"
printf 'exit 6\n' >"$Work/second/file"
printf 'exit 8\n' >"$Work/third/file"
chmod +x "$Work/third/file"
run_with() { # PATH CMD
    env PATH="$1" "$ZKLOCK_BUILD_DIR/zklock" --root "$Root" run a -- "$2"
}
for path in none:$Work/first:$Work/second script ''; do
    claim "a file that can be executed is found after '${path//$Work/}' in PATH" \
        status_is 8 run_with "${path:+$Work/}$path:$Work/third" file
done
claim "126 for a file in PATH that cannot be" status_is 126 \
    run_with "$Work/second:$Work/none" file
claim "126 for a directory in PATH" status_is 126 run_with "$Work/first" dir

hold busy
claim "1 at once with -n" status_is 1 zkl run -n busy -- touch "$Work/ran"
claim "... and says why" matches "$(cat "$Work/err")" \
    '^zklock: busy: another client holds the lock, held by [^,]*$'
claim "-w 0 is -n" status_is 1 zkl run -w 0 busy -- touch "$Work/ran"
began=$(now_ms)
claim "1 after -w" status_is 1 zkl run -w 0.4 busy -- touch "$Work/ran"
claim "... not before" at_most 400 $(($(now_ms) - began))
claim "... and says for how long" matches "$(cat "$Work/err")" 'not acquired within 0.4 s'
claim "-E replaces the 1" status_is 42 zkl run -n -E 42 busy -- touch "$Work/ran"
claim "-E 0 too" status_is 0 zkl run -w 0.1 -E 0 busy -- touch "$Work/ran"
claim "CMD was not run" test ! -e "$Work/ran"
for command in zklock-no-such-command:127 "$Work/none:127" /etc/passwd:126 /tmp:126; do
    claim "${command#*:} without a wait for the lock: ${command%:*}" \
        status_is "${command#*:}" timeout "$SOON_S" "${Zkl[@]}" run busy -- "${command%:*}"
done
claim "127 without a wait for a server" \
    status_is 127 zklock --hosts 127.0.0.1:1 run a -- zklock-no-such-command

for signal in HUP:129 INT:130 QUIT:131 USR1:138 USR2:140 TERM:143; do
    env --default-signal "${Zkl[@]}" run busy -- touch "$Work/ran" 2>/dev/null &
    waiter=$!
    await eval '[[ $(zkl show --json busy) == *waits_on\":\"* ]]'
    kill "-${signal%:*}" "$waiter"
    claim "${signal%:*} while waiting: ${signal#*:}" ends_with "$waiter" "${signal#*:}"
    claim "... and the place is given up" await eval \
        '[[ $(zkl ls --json busy) == *\"contenders\":1,* ]]'
done
claim "CMD was not run" test ! -e "$Work/ran"
let_go

claim "64 for a name that cannot be" status_is 64 zkl run a//b -- true
claim "... which it shows" matches "$(cat "$Work/err")" "'a//b' is not a valid lock name"
for command in ls show; do
    claim "64 for a name that cannot be: $command" status_is 64 zkl "$command" a//b
    claim "... which it shows" matches "$(cat "$Work/err")" "'a//b' is not a valid lock name"
done
claim "64 for a root that cannot be" status_is 64 zklock --root x ls
claim "... which it shows" matches "$(cat "$Work/err")" "--root 'x'"
claim "64 for a grace that does not fit" status_is 64 zkl --timeout 4 run --grace 3 a -- true
claim "... saying what would" matches "$(cat "$Work/err")" 'at most 1\.44'
claim "a grace that fits" status_is 0 zkl --timeout 4 run --grace 1.44 a -- true

claim "69 when no server answers" status_is 69 zklock --hosts 127.0.0.1:1 run -w 1 a -- true
claim "... and says where, and how long it tried" matches "$(cat "$Work/err")" \
    '^zklock: no session at 127.0.0.1:1 within 1 s: the servers refuse connections$'
claim "69 for a server that has no name" status_is 69 zklock --hosts no-such-host.invalid \
    run -w 1 a -- true
claim "... and says so" matches "$(cat "$Work/err")" \
    "within 1 s: the servers' names cannot be looked up\$"
claim "70 for output that cannot be written" status_is 70 bash -c "
    zklock --root $Root ls --json >/dev/full"
printf 'nosuchscheme:secret\n' >"$Work/auth"
chmod 600 "$Work/auth"
claim "77 for credentials that the server rejects" status_is 77 zkl --auth-file "$Work/auth" \
    run -w 5 a -- true
printf 'digest:user:password\n' >"$Work/auth"
claim "0 for others" status_is 0 zkl --auth-file "$Work/auth" run a -- true
claim "... without a word" is "$(cat "$Work/err")" ''
chmod 644 "$Work/auth"
claim "a warning when every user can read them" status_is 0 zkl --auth-file "$Work/auth" ls
claim "... that does not show them" matches "$(cat "$Work/err")" \
    '^zklock: warning: every user can read [^:]*$'

finish
