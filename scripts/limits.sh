#!/usr/bin/env bash
# Shows what the limits of a session protect the servers from: builds the library without them,
# fills a session beyond, and looks what becomes of three servers of its own.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib.sh

readonly PATCH=tests/server/without-limits.patch
# 7 times what the limits allow; docs/testing.md says what fewer do.
readonly CONTENDERS=9000

usage() {
    cat <<END
usage: scripts/limits.sh [COUNT]     with COUNT contenders in one session, default $CONTENDERS

exit status: 0 the servers were harmed, as they are expected to be; 1 they were not; 64 wrong call;
69 a package is missing; 70 the build failed.
END
}

wrong_call() {
    note "$@"
    usage >&2
    exit "$EX_USAGE"
}

build() { # SOURCE BUILD_DIR LOG
    cmake -S "$1" -B "$2" -DZKLOCK_BUILD_TESTS=ON -DZKLOCK_BUILD_CLI=OFF >"$3" 2>&1 &&
        cmake --build "$2" --target server_brim --parallel "$(nproc)" >>"$3" 2>&1
}

main() {
    local count=${1:-$CONTENDERS}
    [[ ${1-} != -h && ${1-} != --help ]] || { usage && return; }
    (($# <= 1)) && [[ $count =~ ^[1-9][0-9]{0,4}$ ]] || wrong_call "COUNT is a number below 20000"
    need_packages "${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}" "${SERVER_PACKAGES[@]}" patch
    Scratch=$(mktemp -d /tmp/zklock-limits.XXXXXX)
    trap 'rm -rf "$Scratch"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    mkdir "$Scratch/code"
    cp -a CMakeLists.txt cmake include scripts src tests "$Scratch/code"
    patch -d "$Scratch/code" -p1 -s --no-backup-if-mismatch <"$PATCH" &&
        in_group build "$Scratch/code" "$Scratch/build" "$Scratch/log" || {
        tail -n 20 "$Scratch/log" >&2
        fail "$EX_SOFTWARE" "the library without limits could not be built"
    }
    "$Scratch/build/tests/server_brim" --harm "$count"
}

main "$@"
