#!/usr/bin/env bash
# The library's binary interface is the one in libzklock.abi, or has grown since in a way that old
# programs do not notice. Where that is intended to change: scripts/abi.sh dump.
set -euo pipefail

abi=$ZKLOCK_SOURCE_DIR/scripts/abi.sh
dump=$ZKLOCK_SOURCE_DIR/tests/package/libzklock.abi
library=$ZKLOCK_BUILD_DIR/libzklock.so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if ! command -v abidiff >/dev/null; then
    echo "no abidiff here (Debian: abigail-tools)"
    exit 77
fi

fail() {
    printf 'FAILED: %s\n' "$*" >&2
    exit 1
}

status=0
"$abi" check "$library" || status=$?
# 69: no debug information, or another machine than the dump's.
((status != 69)) || exit 77
((status == 0)) || fail "old programs do not work with this library (if that is meant: \
scripts/abi.sh dump, and ZKLOCK_SOVERSION)"
echo "- the library is compatible with libzklock.abi"

if grep -nE "='/|zkli_|name='zkl_(session|lock|queue|fence)' size" "$dump"; then
    fail "libzklock.abi has a path of some machine, or something that is not public"
fi

# ---- whether the comparison can fail ----

# Each of these compares the library with a dump in which something was different once.
expect() { # STATUS WHAT; the dump on standard input
    local status=0
    cat >"$work/once.abi"
    ! cmp -s "$work/once.abi" "$dump" || fail "the dump was not changed: $2"
    "$abi" check --dump "$work/once.abi" "$library" >"$work/out" 2>&1 || status=$?
    ((status == $1)) || {
        cat "$work/out" >&2
        fail "$2: status $status, not $1"
    }
}

# Prints the dump as it was before the last member of a struct was added, when there was one more,
# or when the last two stood in the other order.
print_once() { # STRUCT added|lost|swapped
    awk -v q="'" -v struct="$1" -v change="$2" '
        function attribute(line, name) {
            match(line, " " name "=" q "[^" q "]*")
            return substr(line, RSTART + length(name) + 3, RLENGTH - length(name) - 3)
        }
        function rename(i, from, to) { sub("name=" q from q, "name=" q to q, lines[i]) }
        function resize(to) { sub("size-in-bits=" q bits q, "size-in-bits=" q to q, lines[1]) }
        function print_struct(   i, last, before) {
            bits = attribute(lines[1], "size-in-bits")
            at = attribute(lines[n - 3], "layout-offset-in-bits")
            last = attribute(lines[n - 2], "name")
            before = attribute(lines[n - 5], "name")
            if (change == "swapped") {
                rename(n - 2, last, before)
                rename(n - 5, before, last)
            }
            resize(change == "added" ? at : change == "lost" ? bits + 64 : bits)
            for (i = 1; i < n; i++)
                if (change != "added" || i < n - 3) print lines[i]
            if (change == "lost") {
                rename(n - 2, last, "gone")
                sub("in-bits=" q at q, "in-bits=" q bits q, lines[n - 3])
                for (i = n - 3; i < n; i++) print lines[i]
            }
            print lines[n]
        }
        index($0, "<class-decl name=" q struct q) && !/\/>/ { n = 0; is_inside = 1 }
        !is_inside { print; next }
        { lines[++n] = $0 }
        /<\/class-decl>/ { print_struct(); is_inside = 0 }
    ' "$dump"
}

sed "s/zkl_version/zkl_gone/g" "$dump" | expect 1 "a function has gone"
sed "s/\(zkl_version@@\|'zkl_version' version='\)ZKLOCK_0.1/\1ZKLOCK_0.0/" "$dump" |
    expect 1 "a function has another version"
sed "/<function-decl name='zkl_version'/,/<\/function-decl>/d; /<elf-symbol name='zkl_version'/d" \
    "$dump" | expect 0 "a function is new"
sed "/ZKL_EVENT_WANTED/d" "$dump" | expect 0 "an enumerator is new"
sed "s/\(ZKL_EVENT_WANTED' value=\)'6'/\1'60'/" "$dump" |
    expect 1 "an enumerator has another value"
sed "s/soname='libzklock.so.0'/soname='libzklock.so.77'/" "$dump" |
    expect 1 "the library has another soname"
for struct in zkl_{session,lock,fence}_options zkl_event zkl_contender; do
    print_once $struct added | expect 0 "$struct has a new member at its end"
    print_once $struct lost | expect 1 "$struct has lost a member"
    print_once $struct swapped | expect 1 "$struct has its members in another order"
done
echo "- the comparison passes what is new, and fails what has changed or gone"
