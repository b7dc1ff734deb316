#!/usr/bin/env bash
# Each C++ header compiles alone, by each compiler that is here. Libraries of one program agree on
# what an error is, also if they hide their names.
set -euo pipefail

include=$ZKLOCK_SOURCE_DIR/include
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
strict=(-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror)

compilers=()
for candidate in "${CXX:-g++}" clang++; do
    ! command -v "$candidate" >/dev/null || compilers+=("$candidate")
done
((${#compilers[@]})) || {
    echo "no C++ compiler here"
    exit 77
}

for compiler in "${compilers[@]}"; do
    for standard in c++17 c++20; do
        for header in "$include"/*.hpp; do
            printf '#include "%s"\n#include "%s"\n' "$header" "$header" >"$work/alone.cc"
            "$compiler" -std=$standard "${strict[@]}" -fsyntax-only "$work/alone.cc"
        done
        echo "- each header compiles alone: $compiler, $standard"
    done
done

cat >"$work/library.cc" <<'END'
#include "zklock.hpp"
__attribute__((visibility("default"))) std::error_code NAME() { return ZKL_LOST; }
END
cat >"$work/main.cc" <<'END'
#include "zklock.hpp"
std::error_code one();
std::error_code two();
int main() {
    return one() == two() && one() == ZKL_LOST && two() == ZKL_CLASS_LOST ? 0 : 1;
}
END
flags=(-std=c++17 -fvisibility=hidden -fvisibility-inlines-hidden -I"$include"
    -L"$ZKLOCK_BUILD_DIR" "-Wl,-rpath,$ZKLOCK_BUILD_DIR:$work")
for name in one two; do
    "${compilers[0]}" "${flags[@]}" -DNAME=$name -shared -fPIC -o "$work/lib$name.so" \
        "$work/library.cc" -lzklock
done
"${compilers[0]}" "${flags[@]}" -o "$work/main" "$work/main.cc" -L"$work" -lone -ltwo -lzklock
"$work/main" || {
    echo "FAILED: libraries that hide their names differ in what an error is" >&2
    exit 1
}
echo "- libraries that hide their names agree on what an error is"
