#!/usr/bin/env bash
# What holds cost that need no server, and a lingering node that is wanted: bench_local against a
# throw-away server, unless ZKLOCK_HOSTS names others.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib/common.sh
. scripts/lib/build.sh

usage() {
    cat <<END
usage: bench/local.sh [-n ROUNDS]

  -n ROUNDS  of each kind [500]

exit status: 0 all figures are within what was asked; 1 one is beyond.
END
}

main() {
    answer_help "$@"
    local -a packages=("${BUILD_PACKAGES[@]}")
    [[ ${ZKLOCK_HOSTS-} ]] || packages+=("${SERVER_PACKAGES[@]}")
    need_packages "${packages[@]}"

    own_tmpdir bench
    build_benchmarks
    [[ ${ZKLOCK_HOSTS-} ]] || ZKLOCK_HOSTS=$(scripts/zk.sh start --dir "$TMPDIR/zk")
    export ZKLOCK_HOSTS
    printf '%s cores; load average before %s\n\n' "$(nproc)" "$(cut -d ' ' -f 1 /proc/loadavg)"
    "$BenchBuild/bench/bench_local" "$@"
}

main "$@"
