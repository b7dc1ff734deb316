#!/usr/bin/env bash
# Each public header compiles alone: as C99 and C11 without extensions, and as C++. None needs
# ZooKeeper's. What they declare can be used, with the types that api.h says.
set -euo pipefail

include=$ZKLOCK_SOURCE_DIR/include
headers=("$include"/*.h)
api=$ZKLOCK_SOURCE_DIR/tests/package/api
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
strict=(-Wall -Wextra -Wconversion -Wshadow -pedantic-errors -Werror -fsyntax-only)

# The macros are the part that compiling the header alone does not look at.
cat >"$work/use.c" <<'END'
#include "zklock_zookeeper.h"
#include "zklock.h"
#include "zklock_zookeeper.h"

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
    case ZKL_CLASS_UNSURE:
        break;
    }
    struct zoo_op *ops = NULL;
    struct zoo_op_result *results = NULL;
    err = zkl_guarded_multi(lock, ZKL_GUARDED_OPS_MAX, ops, results);
    return zkl_lock_close(lock) == err;
}
END

for standard in c99 c11; do
    for header in "${headers[@]}"; do
        "${CC:-cc}" -std=$standard "${strict[@]}" -x c "$header"
    done
    "${CC:-cc}" -std=$standard "${strict[@]}" -I"$include" "$work/use.c"
    "${CC:-cc}" -std=$standard "${strict[@]}" -I"$include" "$api.c"
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
cat >"$work/use.cc" <<'END'
#include "zklock_zookeeper.h"
zkl_err use(zkl_lock *l) { return zkl_acquire(l, ZKL_FOREVER); }
zkl_err write(zkl_lock *l, const zoo_op *op) { return zkl_guarded_multi(l, 1, op, NULL); }
END
for standard in c++11 c++17; do
    "$cxx" -std=$standard "${strict[@]}" -I"$include" "$work/use.cc"
    "$cxx" -std=$standard "${strict[@]}" -I"$include" "$api.cc"
    echo "- compiles as $standard"
done
