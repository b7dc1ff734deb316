#!/usr/bin/env bash
# The arrows between the parts point down, and the core is pure: it needs a handful of memory and
# string functions from the C library, and nothing else.
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

allowed=(memcpy memmove memset memcmp memchr strcmp strncmp strlen strnlen strchr strrchr strstr
    __stack_chk_fail __assert_fail abort _GLOBAL_OFFSET_TABLE_)
# By source file, since an object may have outlived its source.
objects=()
for source in src/core/*.c; do
    objects+=("$ZKLOCK_BUILD_DIR/CMakeFiles/zklock_core.dir/$source.o")
done
mapfile -t defined < <(nm --defined-only "${objects[@]}" | awk 'NF == 3 { print $3 }')
needed=$(nm -u "${objects[@]}" | awk '$1 == "U" { print $2 }' | sort -u)
forbid "src/core needs more than the C library's memory and string functions:" \
    "$(grep -vxF -e "$(printf '%s\n' "${allowed[@]}" "${defined[@]}")" <<<"$needed" || :)"
used=$(grep -xF -e "$(printf '%s\n' "${allowed[@]}")" <<<"$needed" || :)
echo "- src/core needs:" "${used//$'\n'/ }"

# Prints the #includes in FILE-OR-DIRECTORY... whose operand begins with the pattern.
includes() { # PATTERN DIRECTORY...
    local pattern=$1
    shift
    grep -rnE --include='*.[ch]' "^ *# *include *[<\"]$pattern" "$@" || :
}

# The public header is types and constants; a call into the library would show above.
pure='<(assert|limits|stdalign|stdbool|stddef|stdint|stdnoreturn|string)\.h>|"core/|"zklock\.h"'
forbid "src/core includes more than its own headers and pure ones of the C library:" \
    "$(includes . src/core | grep -vE "$pure" || :)"
forbid "src/session includes what is above it:" "$(includes '(lock|cli)/' src/session)"
forbid "src/lock includes what is above it:" "$(includes 'cli/' src/lock)"
forbid "src/cli reaches below the public header:" "$(includes '(core|session|lock)/' src/cli)"
forbid "only src/session/zk_client.c and zk_transaction.h may include ZooKeeper's headers:" \
    "$(includes '[a-z/]*(zookeeper|recordio|jute)' src include |
        grep -Ev '^src/session/zk_(client\.c|transaction\.h):' || :)"
forbid "only the two may include zk_transaction.h:" \
    "$(includes 'session/zk_transaction' src |
        grep -Ev '^src/session/zk_(client|transaction)\.c:' || :)"
echo "- the #includes point down"

exit "$status"
