#!/usr/bin/env bash
# The arrows between the layers point down, as CMakeLists.txt draws them (layers.txt of the build),
# and so do those between the files of a layer. The core is pure. The engine has neither threads,
# nor a clock, nor input or output.
set -euo pipefail
export LC_ALL=C
cd "$ZKLOCK_SOURCE_DIR"

status=0
# forbid WHAT LINES: LINES, if there are any, are what breaks the rule.
forbid() {
    [[ $2 ]] || return 0
    printf 'FAILED: %s\n' "$1" >&2
    printf '%s\n' "$2" >&2
    status=1
}

# Prints the #includes in FILE-OR-DIRECTORY... whose operand begins with the pattern.
includes() { # PATTERN DIRECTORY...
    local pattern=$1
    shift
    grep -rnE --include='*.[ch]' "^ *# *include *[<\"]$pattern" "$@" || :
}

declare -A Uses Objects
while IFS='|' read -r layer uses objects; do
    Uses[$layer]=${uses//;/ }
    Objects[$layer]=${objects//;/ }
done <"$ZKLOCK_BUILD_DIR/layers.txt"
layers=("${!Uses[@]}")
((${#layers[@]} >= 8)) || forbid "layers.txt names too few layers:" "${layers[*]}"
for directory in src/*/; do
    directory=${directory%/}
    [[ -v "Uses[${directory#src/}]" ]] || forbid "a directory that is no layer:" "$directory"
done

# ---- what is included ----

for layer in "${layers[@]}"; do
    may=$layer
    for lower in ${Uses[$layer]}; do
        may+="|$lower"
    done
    others=$(printf '%s\n' "${layers[@]}" | grep -vxE "$may" | paste -sd '|')
    forbid "src/$layer includes what it does not use, by CMakeLists.txt:" \
        "$(includes "($others)/" "src/$layer")"
done
# Headers that are one directory's own.
while IFS= read -r header; do
    header=${header#src/}
    forbid "only src/${header%/*} may include $header:" \
        "$(includes "$header" src | grep -v "^src/${header%/*}/" || :)"
done < <(find src -name '*_internal.h')
pure='<(assert|limits|stdalign|stdbool|stddef|stdint|stdnoreturn|string)\.h>|"core/|"zklock\.h"'
forbid "src/core includes more than its own headers and pure ones of the C library:" \
    "$(includes . src/core | grep -vE "$pure" || :)"
forbid "of the engine src/zk needs the port only:" \
    "$(includes 'engine/' src/zk | grep -v '"engine/zk_port\.h"' || :)"
forbid "of the core src/fence needs the names only:" \
    "$(includes 'core/' src/fence | grep -v '"core/node_name\.h"' || :)"
forbid "of the core src/cli needs the names only, in doctor_locks.c:" \
    "$(includes 'core/' src/cli |
        grep -Ev '^src/cli/doctor_locks\.c:.*"core/node_name\.h"' || :)"
forbid "only zk_client_internal.h, zk_{end,ops}.c, zk_transaction.h and the command's znodes.c
include ZooKeeper's headers:" \
    "$(includes '[a-z/]*(zookeeper|recordio|jute)' src include |
        grep -Ev '^src/(zk/zk_(client_internal\.h|end\.c|ops\.c|transaction\.h)|cli/znodes\.c):' ||
        :)"
forbid "only zk_client_internal.h and zk_transaction.c may include zk_transaction.h:" \
    "$(includes 'zk/zk_transaction' src |
        grep -Ev '^src/zk/zk_(client_internal\.h|transaction\.c):' || :)"
forbid "above src/zk guard_multi.c and attach.c alone pass on what is the client library's, and the
command's znodes.c uses it:" \
    "$(grep -rnE '\<zoo_op|zklock_zookeeper\.h' --include='*.[ch]' src |
        grep -Ev '^src/(zk/|lock/guard_multi\.c:|session/attach\.c:|cli/znodes\.c:)' || :)"
echo "- the #includes of ${#layers[@]} layers point down"

# ---- what is called ----

# The symbols that a layer's objects need from outside of these layers.
needs() { # LAYER...
    local layer
    local -a objects=()
    for layer; do
        read -ra more <<<"${Objects[$layer]}"
        objects+=("${more[@]}")
    done
    read -ra own <<<"${Objects[$1]}"
    nm --defined-only "${objects[@]}" | awk 'NF == 3 { print $3 }' | sort -u >"$TMPDIR/defined"
    nm -u "${own[@]}" | awk '$1 == "U" { print $2 }' | sort -u | comm -23 - "$TMPDIR/defined"
}

TMPDIR=$(mktemp -d)
trap 'rm -rf "$TMPDIR"' EXIT
strings='memcpy|memmove|memset|memcmp|memchr|str(n?cmp|n?len|r?chr|str)'
always='__stack_chk_fail|__assert_fail|abort|_GLOBAL_OFFSET_TABLE_'
used=$(needs core)
forbid "src/core needs more than the C library's memory and string functions:" \
    "$(grep -vxE "$strings|$always" <<<"$used" || :)"
echo "- src/core needs:" "${used//$'\n'/ }"
used=$(needs engine core base)
forbid "src/engine needs more than memory and text:" \
    "$(grep -vxE "$strings|$always|malloc|calloc|realloc|free|(__)?vsnprintf(_chk)?" \
        <<<"$used" || :)"
echo "- src/engine needs:" "${used//$'\n'/ }"

# ---- who calls whom within a layer ----

# Prints "CALLER CALLEE" for the files of a layer, by the symbols of its objects.
calls_within() { # LAYER
    local -a objects
    read -ra objects <<<"${Objects[$1]}"
    nm -A "${objects[@]}" | awk '
        { file = $1; sub(/:[^:]*$/, "", file); sub(/.*\//, "", file); sub(/\.o$/, "", file) }
        NF == 3 && $2 != "U" && $2 ~ /[A-Z]/ { home[$3] = file }
        $(NF - 1) == "U" { wanted[file, $NF] }
        END {
            for (pair in wanted) {
                split(pair, part, SUBSEP)
                if (part[2] in home) print part[1], home[part[2]]
            }
        }' | sort
}

for layer in "${layers[@]}"; do
    calls=$(calls_within "$layer")
    # tsort names the files of each cycle on standard error.
    forbid "files of src/$layer call each other in a cycle:" \
        "$(tsort <<<"$calls" 2>&1 >/dev/null || :)"
done
calls=$(calls_within engine)
[[ $calls == *"engine.c members.c"* ]] || forbid "no calls were found in src/engine:" "$calls"
echo "- the files of a layer call each other downwards only"

exit "$status"
