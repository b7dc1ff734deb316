#!/usr/bin/env bash
# The public header compiles alone: as C99 and C11 without extensions, and as C++.
set -euo pipefail

header=$ZKLOCK_SOURCE_DIR/include/zklock.h
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
strict=(-Wall -Wextra -Wconversion -Wshadow -pedantic-errors -Werror -fsyntax-only)

# The macros are the part that compiling the header alone does not look at.
cat >"$work/use.c" <<'END'
#include "zklock.h"
#include "zklock.h"

int use(zkl_session *session);
int use(zkl_session *session) {
    zkl_lock *lock = NULL;
    zkl_err err = zkl_lock_open(&lock, session, "a", &ZKL_LOCK_OPTIONS(.recursive = true));
    if (err == ZKL_OK)
        err = zkl_acquire(lock, ZKL_FOREVER);
    switch (zkl_errclass(err)) {
    case ZKL_CLASS_OK:
    case ZKL_CLASS_RETRY:
    case ZKL_CLASS_LOST:
    case ZKL_CLASS_USAGE:
    case ZKL_CLASS_DENIED:
    case ZKL_CLASS_LOCAL:
        break;
    }
    return zkl_lock_close(lock) == ZKL_OK;
}
END

for standard in c99 c11; do
    "${CC:-cc}" -std=$standard "${strict[@]}" -x c "$header"
    "${CC:-cc}" -std=$standard "${strict[@]}" -I"${header%/*}" "$work/use.c"
    echo "- compiles as $standard"
done

cxx=
for candidate in "${CXX:-g++}" c++ clang++; do
    if [[ -z $cxx ]] && command -v "$candidate" >/dev/null; then
        cxx=$candidate
    fi
done
if [[ -z $cxx ]]; then
    echo "no C++ compiler here"
    exit 77
fi
printf '#include "zklock.h"\nzkl_err use(zkl_lock *l) { return zkl_acquire(l, ZKL_FOREVER); }\n' \
    >"$work/use.cc"
for standard in c++11 c++17; do
    "$cxx" -std=$standard "${strict[@]}" -I"${header%/*}" "$work/use.cc"
    echo "- compiles as $standard"
done
