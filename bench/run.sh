#!/usr/bin/env bash
# Builds the benchmarks and runs them against a throw-away server, unless ZKLOCK_HOSTS names others.
# Figures are worth something on a machine that does nothing else; its load is printed with them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib/common.sh
. scripts/lib/build.sh

usage() {
    cat <<END
usage: bench/run.sh [OPTION]...

Options are those of bench_floor:

  -n ROUNDS  of each kind [2000]
  -t MS      acquire and release with this timeout instead of none
  -k KIND    mutex, read, which is woken by a writer, write, or semaphore, of one
             permit: the waiters of these two list once more than the floor [mutex]
  -r         the client library alone resolves names all the time, as it does by default

ZKLOCK_HOSTS=host:port[,...] uses those servers instead of starting one.

bench/peers.sh measures other lock services beside this library.
END
}

main() {
    answer_help "$@"
    begin_benchmarks
    "$BenchBuild/bench/bench_floor" "$@"
}

main "$@"
