#!/usr/bin/env bash
# run --cgroup: a child that has made a session of its own ends with the hold, too. Where no cgroup
# can be made, the script tries only the refusals, and counts as skipped.
#
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2016  # single quotes are for the inner shells
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
use_own_server

refused() { # WORDS COMMAND...
    status_is 70 "${@:2}" && is "$(wc -l <"$Work/err")" 1 && matches "$(cat "$Work/err")" "$1"
}

# ---- where there is none ----
# changed COMMAND-FOR-A-MOUNT COMMAND...: with all mounts of cgroup2 changed so
changed() {
    unshare --mount bash -c 'awk "/ - cgroup2 / { print \$5 }" /proc/self/mountinfo |
        xargs -rn 1 $1 && exec "${@:2}"' bash "$@"
}
if ((EUID == 0)) && changed 'umount --lazy' true 2>"$Work/err"; then
    claim "70 where no cgroups are mounted" refused '--cgroup: .* none that is mounted' \
        changed 'umount --lazy' "${Zkl[@]}" run --cgroup a -- touch "$Work/ran"
    ! grep -q ' - cgroup2 ' /proc/self/mountinfo ||
        claim "70 where none can be made, with what to do" refused 'systemd-run .*, or as root' \
            changed 'mount -o remount,bind,ro' "${Zkl[@]}" run --cgroup a -- touch "$Work/ran"
    claim "... before CMD runs" test ! -e "$Work/ran"
fi
zkl run --cgroup a -- true 2>"$Work/err" || {
    cat "$Work/err" >&2
    ((Failures > 0)) || exit 77
    finish
}

# ---- where there is one ----
# CMD writes its cgroup's directory into $Work/NAME.cgroup. Its child, which has left its group and
# its session, writes its pid into $Work/NAME.pid. Both are deaf. $1.done ends CMD.
cat >"$Work/command" <<'END_OF_COMMAND'
trap '' TERM HUP
mount=$(awk '/ - cgroup2 / { print $5; exit }' /proc/self/mountinfo)
printf '%s%s\n' "$mount" "$(sed -n 's/^0:://p' /proc/self/cgroup)" >"$1.cgroup"
setsid bash -c 'trap "" TERM; echo $$ >"$1.new"; mv "$1.new" "$1.pid"
    exec {never}<> <(:); while test -e "$1.pid"; do read -rt 0.1 -u "$never"; done' escaped "$1" &
exec {never}<> <(:)
until test -e "$1.done" || ! test -e "$1.cgroup"; do read -rt 0.02 -u "$never" || :; done
exit 5
END_OF_COMMAND

declare -A Runners
start() { # NAME TIMEOUT OPTION...
    "${Zkl[@]}" --timeout "$2" run --cgroup "${@:3}" "$1" -- bash "$Work/command" "$Work/$1" \
        2>"$Work/$1.err" &
    Runners[$1]=$!
    await test -s "$Work/$1.pid"
    Cgroup=$(cat "$Work/$1.cgroup")
    Escaped=$(cat "$Work/$1.pid")
}
runs() { grep -qs '^State:.[^ZX]' "/proc/$1/status"; }
not() { ! "$@"; }

start silent 2
pkill -KILL -P "${Runners[silent]}" -x zklock-guardian # the runner is to do it alone
claim "the cgroup is named for the lock" matches "$Cgroup" "/zklock-silent-${Runners[silent]}\$"
freeze
claim "75 when the hold cannot be kept" ends_with "${Runners[silent]}" 75
thaw
claim "... and CMD's child in a session of its own is gone" not runs "$Escaped"
claim "... and the cgroup" test ! -e "$Cgroup"

start stopped 2
kill -STOP "${Runners[stopped]}"
claim "the guardian of a runner that is stopped kills all of the cgroup" await not runs "$Escaped"
kill -CONT "${Runners[stopped]}"
claim "... 75" ends_with "${Runners[stopped]}" 75
claim "... and the runner removes it" test ! -e "$Cgroup"

start killed 10
kill -KILL "${Runners[killed]}"
claim "the next holder of a killed runner's lock follows when all of its cgroup is gone" \
    status_is 1 zkl run -w 5 -E 9 killed -- grep -qs '^State:.[^ZX]' "/proc/$Escaped/status"
claim "... and the cgroup" await test ! -e "$Cgroup"

# Its first child is there as soon as that is more than a directory.
"${Zkl[@]}" run --cgroup early -- sleep 60 2>"$Work/early.err" &
runner=$!
await pgrep -P "$runner" >"$Work/out"
kill -KILL "$runner"
claim "a run that is killed while it starts leaves no cgroup" \
    await test ! -e "${Cgroup%/*}/zklock-early-$runner"

start patient 10 --on-lost term
kill -KILL "${Runners[patient]}"
: >"$Work/patient.done"
await not pgrep -f "$Work/command $Work/patient\$" >"$Work/out"
claim "with --on-lost=term the session is not ended while a process is in the cgroup" \
    status_is 1 zkl run -n patient -- true
rm "$Work/patient.pid"
claim "... and is when none is" status_is 0 zkl run -w 5 patient -- true

start left 10
: >"$Work/left.done"
claim "CMD's status when it ends by itself" ends_with "${Runners[left]}" 5
claim "... what it leaves behind runs on" runs "$Escaped"
claim "... which is told" grep -Fq "processes that bash has left run on in the cgroup '$Cgroup'" \
    "$Work/left.err"
rm "$Work/left.pid"
await not runs "$Escaped"
await rmdir "$Cgroup"

hold busy
before=$(find "${Cgroup%/*}" -maxdepth 1 -name 'zklock-busy-*')
claim "a run that does not get the lock" status_is 1 zkl run -n --cgroup busy -- true
claim "... leaves no cgroup" is "$(find "${Cgroup%/*}" -maxdepth 1 -name 'zklock-busy-*')" "$before"
let_go

hold removed
cgroup=${Cgroup%/*}/zklock-removed-
"${Zkl[@]}" run --cgroup removed -- touch "$Work/ran" 2>"$Work/err" &
waiter=$!
await eval '[[ $(zkl ls --json removed) == *\"contenders\":2,* ]]'
rmdir "$cgroup$waiter"
let_go
claim "70 where somebody has removed the cgroup during the wait" ends_with "$waiter" 70
claim "... which is told" is "$(grep -v 'held by' "$Work/err")" \
    "zklock: --cgroup: touch cannot enter '$cgroup$waiter': No such file or directory"
claim "... and CMD does not run" test ! -e "$Work/ran"

# A child that goes on so late that another holds must not become CMD, whoever else was stopped.
hold late
cgroup=${Cgroup%/*}/zklock-late-
"${Zkl[@]}" --timeout 2 run --cgroup late -- touch "$Work/ran" 2>"$Work/err" &
runner=$!
cgroup+=$runner
await eval '[[ $(zkl ls --json late) == *\"contenders\":2,* ]]'
guardian=$(pgrep -P "$runner" -x zklock-guardian)
echo 1 >"$cgroup/cgroup.freeze"
let_go
await grep -q . "$cgroup/cgroup.procs" # it has come in, and stands still
kill -STOP "$runner" "$guardian"
claim "the hold of a run that is stopped as it starts CMD goes to the next" \
    status_is 0 zkl run -w "$SOON_S" late -- true
child=$(cat "$cgroup/cgroup.procs")
echo 0 >"$cgroup/cgroup.freeze"
claim "... and its child ends" await not runs "$child"
claim "... without having begun CMD" test ! -e "$Work/ran"
kill -CONT "$guardian" "$runner"
claim "... 75" ends_with "$runner" 75
claim "... and the cgroup is gone" test ! -e "$cgroup"

finish
