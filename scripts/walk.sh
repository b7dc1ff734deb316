#!/usr/bin/env bash
# The way of somebody who has heard of zklock today: in a Debian that has nothing but itself, from
# the README's commands to a held lock, and to passed tests. Prints what each step took and what
# was installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib/common.sh
. scripts/lib/root.sh

ROOT_CACHE=${ZKLOCK_ROOT_CACHE-build/debian-$SUITE.tar}

usage() {
    cat <<END
usage: scripts/walk.sh [--lock]     as root: copy what git has into a clean Debian; there run the
                                    commands of "In 60 seconds" in README.md, hold a lock and look
                                    at its queue; then run scripts/demo.sh and scripts/test.sh
       --lock                       end with the lock

ZKLOCK_ROOT_CACHE and ZKLOCK_DEBIAN_MIRROR are those of scripts/package.sh.

exit status: 0 every step did what README.md says; 1 one did not; 64 wrong call; 69 the caller is
not root, or a package is missing; 70 the clean Debian could not be made.
END
}

# The first block of commands in that section.
first_commands() {
    awk '/^## In 60 seconds/ { here = 1 }
        here && /^```$/ && inside { exit }
        inside { print }
        here && /^```sh$/ { inside = 1 }' README.md
}

# What runs in the clean Debian, as its user would type it. The first commands run in this shell.
# shellcheck disable=SC2016  # that shell expands it
walk() {
    printf '%s\n' 'set -euo pipefail' 'cd /root/zklock' \
        'export PATH=/usr/local/sbin:/usr/local/bin:$PATH' \
        'step() { printf "%4d s  %s\n" "$SECONDS" "$*"; }' \
        'step "the commands of the README"' \
        'set -v'
    first_commands | sed 's|^\./scripts/zk.sh start.*|ZKLOCK_HOSTS=$(./scripts/zk.sh start)|'
    printf '%s\n' 'set +v' 'export ZKLOCK_HOSTS' \
        'step "two who want a lock"' \
        'zklock run reports/nightly -- sleep 60 & first=$!' \
        'until zklock held reports/nightly; do kill -0 "$first"; done' \
        'zklock run reports/nightly -- date & second=$!' \
        'until [[ $(zklock show reports/nightly) == *waits* ]]; do kill -0 "$second"; done' \
        'zklock show reports/nightly' \
        'step "the holder is killed"' \
        'kill -KILL "$first"' \
        'wait "$second"' \
        'step "the other had it and has let go"' \
        './scripts/zk.sh stop' \
        'unset ZKLOCK_HOSTS'
    [[ $Mode == lock ]] || printf '%s\n' 'step "the demo"' './scripts/demo.sh' \
        'step "the tests"' './scripts/test.sh'
    printf '%s\n' 'step "done"'
}

# Packages, and the size of what they unpack, in MB.
installed() {
    # shellcheck disable=SC2016  # the fields are dpkg's
    in_root dpkg-query -W -f '${Installed-Size} ${Package}\n' | LC_ALL=C sort
}

# Its user is root, and has no sudo; who has one is asked by apt before it installs.
furnish() {
    printf '#!/bin/sh\nexec "$@"\n' >"$Root/usr/local/bin/sudo"
    chmod +x "$Root/usr/local/bin/sudo"
    printf '%s\n' 'APT::Get::Assume-Yes "true";' 'quiet "2";' >"$Root/etc/apt/apt.conf.d/90yes"
    mkdir "$Root/root/zklock"
    git archive HEAD | tar -x -C "$Root/root/zklock"
}

Mode=all
answer_help "$@"
while (($#)); do
    [[ $1 == --lock ]] || wrong_call "unexpected: $1"
    Mode=lock
    shift
done
((EUID == 0)) || fail "$EX_UNAVAILABLE" "only root can make a clean Debian"
need_packages debootstrap
own_tmpdir walk
Root=$TMPDIR/root
make_root
furnish
installed >"$TMPDIR/before"
walk >"$Root/root/walk.sh"
status=0
in_group in_root bash /root/walk.sh || status=$?
installed >"$TMPDIR/after"
LC_ALL=C comm -13 "$TMPDIR/before" "$TMPDIR/after" |
    awk '{ size += $1; names = names " " $2 } END {
        printf "installed: %d packages, %d MB:%s\n", NR, size / 1024, names }' | fold -sw 100
((status == 0)) || note "a step failed with status $status"
((status == 0)) || exit 1
