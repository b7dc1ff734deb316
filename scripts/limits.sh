#!/usr/bin/env bash
# Shows what the limits of a session protect from: builds the library without them, goes beyond, and
# looks what becomes of three servers of its own, or of the holds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib/common.sh
. scripts/lib/build.sh

readonly PATCH=tests/server/without-limits.patch
readonly DATA_PATCH=tests/server/without-data-bound.patch
# 7 times what the limits allow; docs/measurements.md says what fewer do.
readonly CONTENDERS=9000
# What the test has room for.
readonly CONTENDERS_MAX=20000

usage() {
    cat <<END
usage: scripts/limits.sh [COUNT]          fill a session with COUNT contenders, at most
                                  $CONTENDERS_MAX; default $CONTENDERS
       scripts/limits.sh data [ROUNDS]    forty writers of a megabyte in one session, with the bound
                                  on data in flight and without it in turns; default 1

exit status: 0 it did the harm that is expected: the session never comes back, and from 2 MiB of
paths on no server serves any more; or holds are lost, and with the bound none. 1 it did not; 64
wrong call; 69 a package is missing; 70 the build failed.
END
}

build_without() { # PATCH TARGET
    mkdir "$TMPDIR/code"
    cp -a CMakeLists.txt cmake include scripts src tests "$TMPDIR/code"
    patch -d "$TMPDIR/code" -p1 -s --no-backup-if-mismatch -i "$PWD/$1" ||
        fail "$EX_SOFTWARE" "$1 does not apply"
    build_quietly "$TMPDIR/code" "$TMPDIR/build" "$2" -DZKLOCK_BUILD_TESTS=ON \
        -DZKLOCK_BUILD_CLI=OFF
}

fill() { # COUNT
    [[ $1 =~ ^[1-9][0-9]{0,4}$ ]] && (($1 <= CONTENDERS_MAX)) ||
        wrong_call "COUNT is a number from 1 to $CONTENDERS_MAX"
    build_without "$PATCH" server_brim
    in_group "$TMPDIR/build/tests/server_brim" --harm "$1"
}

flood() { # ROUNDS
    local round status=0
    [[ $1 =~ ^[1-9][0-9]?$ ]] || wrong_call "ROUNDS is a number from 1 to 99"
    build_without "$DATA_PATCH" server_flood
    build_quietly . build server_flood -DZKLOCK_BUILD_TESTS=ON
    for ((round = 1; round <= $1; round++)); do
        echo "== with the bound"
        in_group build/tests/server_flood || status=1
        echo "== without it"
        in_group "$TMPDIR/build/tests/server_flood" --harm || status=1
    done
    return "$status"
}

main() {
    answer_help "$@"
    need_packages "${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}" "${SERVER_PACKAGES[@]}" patch
    own_tmpdir limits
    if [[ ${1-} == data ]]; then
        (($# <= 2)) || wrong_call "data takes ROUNDS"
        flood "${2:-1}"
    else
        (($# <= 1)) || wrong_call "one COUNT"
        fill "${1:-$CONTENDERS}"
    fi
}

main "$@"
