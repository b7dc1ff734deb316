#!/usr/bin/env bash
# Runs clang-tidy (.clang-tidy says which checks) over src/; any warning is a failure.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib/common.sh

usage() { printf 'usage: scripts/check_tidy.sh [FILE.c]...   (default: all of src/)\n'; }
answer_help "$@"
[[ ${1-} != -* ]] || wrong_call "no such option: $1"

need_packages "${BUILD_PACKAGES[@]}" clang clang-tidy

# clang-tidy needs to know how each file is compiled, and by a compiler whose options it has too.
readonly DIR=build/tidy
log=$(mktemp)
trap 'rm -f "$log"' EXIT
cmake -S . -B "$DIR" -DCMAKE_C_COMPILER=clang -DZKLOCK_BUILD_TESTS=OFF >"$log" 2>&1 || {
    cat "$log" >&2
    fail "$EX_SOFTWARE" "cmake could not configure $DIR"
}

files=("$@")
(($#)) || mapfile -t files < <(find src -name '*.c' | sort)
printf '%s\0' "${files[@]}" |
    xargs -0 -n 1 -P "$(nproc)" clang-tidy -p "$DIR" --quiet --warnings-as-errors='*' \
        >"$log" 2>/dev/null || {
    cat "$log" >&2
    note "clang-tidy has something to say"
    exit 1
}
printf 'clang-tidy: nothing to say about %d files\n' "${#files[@]}"
