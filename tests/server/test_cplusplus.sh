#!/usr/bin/env bash
# The C++ header and its example against a real server. They are compiled here, because the
# project's own build needs no C++ compiler.
# shellcheck source-path=SCRIPTDIR
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../cli/common.sh"

Cxx=
for candidate in "${CXX:-g++}" clang++; do
    [[ $Cxx ]] || ! command -v "$candidate" >/dev/null || Cxx=$candidate
done
[[ $Cxx ]] || {
    echo "no C++ compiler here"
    exit 77
}

compile() { # SOURCE PROGRAM
    "$Cxx" -std=c++17 -Wall -Wextra -Wpedantic -Werror -I"$ZKLOCK_SOURCE_DIR/include" -o "$2" \
        "$ZKLOCK_SOURCE_DIR/$1" -L"$ZKLOCK_BUILD_DIR" -lzklock \
        "-Wl,-rpath,$ZKLOCK_BUILD_DIR" -pthread
}

use_any_server
claim "the test compiles" compile tests/server/cplusplus.cc "$Work/cplusplus"
claim "all that it claims is so" env ROOT="$Root" "$Work/cplusplus"

claim "the example compiles" compile examples/handover.cc "$Work/handover"
claim "... and runs" status_is 0 "$Work/handover" "${Root#/}" 2
claim "... in a thread that was handed the hold" matches "$(tr '\n' ' ' <"$Work/out")" \
    '^step 1 by token [1-9][0-9]* step 2 by token [1-9][0-9]* 2 steps done $'
claim "it says how it is used" status_is 1 "$Work/handover"
claim "it refuses a name that is none" status_is 1 "$Work/handover" .. 2
claim "... and says why" is "$(<"$Work/err")" "handover: zklock: invalid argument"
finish
