#!/usr/bin/env bash
# As a part of another project the library changes nothing of that project's, and keeps its own
# assertions unless it is told not to.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

claim() { printf '%s\n' "- $*"; }
fail() {
    printf 'FAILED: %s\n' "$*" >&2
    exit 1
}

mkdir "$work/project"
cat >"$work/project/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.18)
project(parent LANGUAGES C)
set(before "\${CMAKE_BUILD_TYPE}|\${CMAKE_C_FLAGS}|\${CMAKE_C_FLAGS_RELWITHDEBINFO}")
add_subdirectory("$ZKLOCK_SOURCE_DIR" zklock)
set(after "\${CMAKE_BUILD_TYPE}|\${CMAKE_C_FLAGS}|\${CMAKE_C_FLAGS_RELWITHDEBINFO}")
if(NOT before STREQUAL after)
    message(FATAL_ERROR "\${before} became \${after}")
endif()
add_executable(parent main.c)
target_link_libraries(parent PRIVATE zklock::zklock_static)
END
cat >"$work/project/main.c" <<'END'
#include <assert.h>
#include <zklock.h>

int main(void) {
    assert(zkl_errclass(ZKL_OK) != ZKL_CLASS_OK && "reached, unless this build has no assertions");
    return 0;
}
END

build() { # NAME CMAKE_OPTION...
    local name=$1
    shift
    local -a options=(-DCMAKE_C_COMPILER="${CC:-cc}" -DZKLOCK_BUILD_CLI=OFF "$@")
    cmake -S "$work/project" -B "$work/$name" "${options[@]}" >"$work/log" 2>&1 &&
        cmake --build "$work/$name" --parallel 2 >"$work/log" 2>&1 || {
        tail -n 20 "$work/log" >&2
        fail "the project with $* does not build"
    }
}

# Whether the engine can stop at a broken invariant.
asserts() { # NAME
    nm -u "$work/$1"/zklock/CMakeFiles/zklock_engine.dir/src/engine/engine.c.o |
        grep -q __assert_fail
}

claim "without a kind of build there is none afterwards, and the parent's assertions stay"
build plain
if ("$work/plain/parent") >/dev/null 2>&1; then fail "the parent has lost its assertions"; fi
asserts plain || fail "the library has no assertions"

claim "in a release the library keeps its assertions, and the parent's are off"
build release -DCMAKE_BUILD_TYPE=Release
"$work/release/parent" || fail "the parent has assertions in a release"
asserts release || fail "the library has lost its assertions"

claim "with ZKLOCK_ASSERTS=OFF it has none"
build without -DCMAKE_BUILD_TYPE=Release -DZKLOCK_ASSERTS=OFF
if asserts without; then fail "the library has assertions"; fi
