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
    begin_benchmarks
    "$BenchBuild/bench/bench_local" "$@"
}

main "$@"
