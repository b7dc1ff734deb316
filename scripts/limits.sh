#!/usr/bin/env bash
# Shows what the limits of a session protect the servers from: builds the library without them,
# fills a session beyond, and looks what becomes of three servers of its own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib.sh

readonly PATCH=tests/server/without-limits.patch
# 7 times what the limits allow; docs/testing.md says what fewer do.
readonly CONTENDERS=9000
# What the test has room for.
readonly CONTENDERS_MAX=20000

usage() {
    cat <<END
usage: scripts/limits.sh [COUNT]     with COUNT contenders in one session, at most
                             $CONTENDERS_MAX; default $CONTENDERS

exit status: 0 it did the harm that is expected: the session never comes back, and from 2 MiB of
paths on no server serves any more; 1 it did not; 64 wrong call; 69 a package is missing; 70 the
build failed.
END
}

wrong_call() {
    note "$@"
    usage >&2
    exit "$EX_USAGE"
}

build() { # SOURCE BUILD_DIR
    cmake -S "$1" -B "$2" -DZKLOCK_BUILD_TESTS=ON -DZKLOCK_BUILD_CLI=OFF &&
        cmake --build "$2" --target server_brim --parallel "$(nproc)"
}

main() {
    local count=${1:-$CONTENDERS}
    [[ ${1-} != -h && ${1-} != --help ]] || { usage && return; }
    (($# <= 1)) && [[ $count =~ ^[1-9][0-9]{0,4}$ ]] && ((count <= CONTENDERS_MAX)) ||
        wrong_call "COUNT is a number from 1 to $CONTENDERS_MAX"
    need_packages "${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}" "${SERVER_PACKAGES[@]}" patch
    own_tmpdir limits
    mkdir "$TMPDIR/code"
    cp -a CMakeLists.txt cmake include scripts src tests "$TMPDIR/code"
    if ! { in_group patch -d "$TMPDIR/code" -p1 -s --no-backup-if-mismatch -i "$PWD/$PATCH" &&
        in_group build "$TMPDIR/code" "$TMPDIR/build"; } >"$TMPDIR/log" 2>&1; then
        tail -n 20 "$TMPDIR/log" >&2
        fail "$EX_SOFTWARE" "the library without limits could not be built"
    fi
    in_group "$TMPDIR/build/tests/server_brim" --harm "$count"
}

main "$@"
