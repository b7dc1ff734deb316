#!/usr/bin/env bash
# The shared library exports the functions that the public headers declare, and nothing else; the
# static one defines no global name that could collide with a program's own.
set -euo pipefail
export LC_ALL=C

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# After the preprocessor a declaration of ours is what carries the visibility attribute.
printf '#include "%s"\n' "$ZKLOCK_SOURCE_DIR"/include/*.h | "${CC:-cc}" -E -P -x c - |
    tr '\n' ' ' | tr ';' '\n' |
    grep -F 'visibility' | grep -oE '\bzkl_[a-z0-9_]+ *\(' | tr -d ' (' | sort >"$work/declared"
nm -D --defined-only "$ZKLOCK_BUILD_DIR/libzklock.so" | awk '$2 != "A" { print $3 }' |
    sed 's/@.*//' | sort >"$work/exported"

[[ -s $work/declared ]] || { echo "found no declaration in the headers" >&2; exit 1; }
if ! diff "$work/declared" "$work/exported" >"$work/diff"; then
    echo "FAILED: declared in include (<) and exported by libzklock.so (>) differ:" >&2
    cat "$work/diff" >&2
    exit 1
fi
echo "- exactly the $(wc -l <"$work/declared") declared functions are exported"

# ThreadSanitizer and gcov are not involved here: this tier is for ordinary builds.
# Probes share one hidden name, of a section that the linker merges with every other program's.
if nm -g --defined-only "$ZKLOCK_BUILD_DIR/libzklock.a" 2>/dev/null |
    awk 'NF == 3 && $3 !~ /^zkli?_|^_[.]stapsdt[.]base$/ { print "    " $3; bad = 1 }
        END { exit !bad }'; then
    echo "FAILED: libzklock.a defines these, which are not zkl_ or zkli_" >&2
    exit 1
fi
echo "- every global name in the static library begins with zkl_ or zkli_"

map=$ZKLOCK_SOURCE_DIR/src/zklock.map
if grep -oE '\bzkl_[a-z0-9_]+' "$map" | sort | diff "$work/declared" - >"$work/diff"; then
    echo "- the version map lists the same functions"
else
    echo "FAILED: declared in include (<) and listed in zklock.map (>) differ:" >&2
    cat "$work/diff" >&2
    exit 1
fi
