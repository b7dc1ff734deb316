#!/usr/bin/env bash
# Builds the benchmarks and runs them against a throw-away server, unless ZKLOCK_HOSTS names others.
# Figures are worth something on a machine that does nothing else; its load is printed with them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib.sh

readonly BUILD=build/bench

usage() {
    cat <<END
usage: bench/run.sh [OPTION]...

Options are those of bench_floor:

  -n ROUNDS  of each kind [2000]
  -t MS      acquire and release with this timeout instead of none
  -r         the client library alone resolves names all the time, as it does by default

ZKLOCK_HOSTS=host:port[,...] uses those servers instead of starting one.
END
}

build() {
    cmake -S . -B "$BUILD" -DZKLOCK_BUILD_TESTS=OFF -DZKLOCK_BUILD_CLI=OFF \
        -DZKLOCK_BUILD_BENCH=ON &&
        cmake --build "$BUILD" --parallel "$(nproc)"
}

main() {
    if [[ ${1-} == -h || ${1-} == --help ]]; then
        usage
        return
    fi
    local -a packages=("${BUILD_PACKAGES[@]}")
    [[ ${ZKLOCK_HOSTS-} ]] || packages+=("${SERVER_PACKAGES[@]}")
    need_packages "${packages[@]}"

    own_tmpdir bench
    build >"$TMPDIR/build.log" 2>&1 || {
        cat "$TMPDIR/build.log" >&2
        fail "$EX_SOFTWARE" "the build in $BUILD failed"
    }
    [[ ${ZKLOCK_HOSTS-} ]] || ZKLOCK_HOSTS=$(scripts/zk.sh start --dir "$TMPDIR/zk")
    export ZKLOCK_HOSTS
    printf 'servers %s; %s cores; load average before %s\n\n' \
        "$ZKLOCK_HOSTS" "$(nproc)" "$(cut -d ' ' -f 1 /proc/loadavg)"
    "$BUILD/bench/bench_floor" "$@"
}

main "$@"
