#!/usr/bin/env bash
# The shared library has the probes that docs/operations.md lists, with as many arguments each, if
# <sys/sdt.h> was there when it was built.
set -euo pipefail
export LC_ALL=C

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

has_header=$(sed -n 's/^ZKLOCK_HAS_SDT:INTERNAL=//p' "$ZKLOCK_BUILD_DIR/CMakeCache.txt")

readelf -n "$ZKLOCK_BUILD_DIR/libzklock.so" | awk '
    $1 == "Provider:" { provider = $2 }
    $1 == "Name:" { name = $2 }
    $1 == "Arguments:" { print provider ":" name, NF - 1 }
' | sort -u >"$work/built"
awk -F ' *[|] *' '/^[|] `zklock:/ { gsub(/`/, "", $2); print $2, split($4, unused, ", ") }' \
    "$ZKLOCK_SOURCE_DIR/docs/operations.md" | sort >"$work/listed"

[[ -s $work/listed ]] || { echo "found no probe in docs/operations.md" >&2; exit 1; }
if [[ $has_header != 1 ]]; then
    [[ ! -s $work/built ]] || { echo "FAILED: probes without <sys/sdt.h>" >&2; exit 1; }
    echo "- built without <sys/sdt.h>: no probes"
elif ! diff "$work/listed" "$work/built" >"$work/diff"; then
    echo "FAILED: listed in docs/operations.md (<) and built (>) differ:" >&2
    cat "$work/diff" >&2
    exit 1
else
    echo "- the $(wc -l <"$work/listed") probes that are listed are there"
fi
