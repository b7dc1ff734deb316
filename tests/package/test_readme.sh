#!/usr/bin/env bash
# The README's code is code: each ```c block compiles against the public header, and each ```sh
# block is what bash accepts.
set -euo pipefail

readme=$ZKLOCK_SOURCE_DIR/README.md
if [[ ! -e $readme ]]; then
    echo "no README.md"
    exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A block goes to BLOCKS/<line it begins on>.<language>; console prompts are not part of a command.
awk -v dir="$work" '
    !inside && /^ *```(c|sh|bash|console)[[:space:]]*$/ {
        language = $0
        gsub(/[`[:space:]]/, "", language)
        if (language == "bash" || language == "console") language = "sh"
        inside = NR
        file = dir "/" NR "." language
        printf "" > file
        next
    }
    inside && /^ *```[[:space:]]*$/ { inside = 0; close(file); next }
    !inside && /^ *```/ { other = !other }
    inside { sub(/^\$ /, ""); print > file }
    END { exit inside != 0 }
' "$readme" || { echo "README.md: a code block does not end" >&2; exit 1; }

compile() {
    "${CC:-cc}" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -Wno-unused -fsyntax-only \
        -I"$ZKLOCK_SOURCE_DIR/include" -x c "$1"
}

# What a program around an excerpt would have, and what a reader is to fill in himself.
print_context() {
    printf '%s\n' '#include <inttypes.h>' '#include <stdbool.h>' '#include <stdint.h>' \
        '#include <stdio.h>' '#include <stdlib.h>' '#include <string.h>' '#include <zklock.h>' \
        'extern bool work_is_left(void);' 'extern void do_a_little_work(void);'
}

# Statements, which stand inside a function; their #includes go before it.
print_as_function() { # FILE
    print_context
    grep -E '^ *#' "$1" || :
    printf '%s\n' 'int readme(void);' 'int readme(void) {'
    grep -vE '^ *#' "$1" || :
    printf '%s\n' 'return 0;' '}'
}

status=0 seen=0
for block in "$work"/*.c; do
    [[ -e $block ]] || continue
    seen=$((seen + 1))
    line=${block##*/}
    print_as_function "$block" >"$work/function"
    { print_context && cat "$block"; } >"$work/excerpt"
    # With a main it is a program, which has to compile as it is.
    if grep -qE '\bmain *\(' "$block"; then
        compile "$block" 2>"$work/err" && continue
    else
        compile "$work/excerpt" 2>/dev/null && continue
        compile "$work/function" 2>"$work/err" && continue
    fi
    echo "FAILED: README.md:${line%.c}: this C does not compile" >&2
    cat "$work/err" >&2
    status=1
done
((seen > 0)) || { echo "FAILED: README.md shows no C" >&2; status=1; }
echo "- $seen blocks of C"

seen=0
for block in "$work"/*.sh; do
    [[ -e $block ]] || continue
    seen=$((seen + 1))
    line=${block##*/}
    if ! bash -n "$block" 2>"$work/err"; then
        echo "FAILED: README.md:${line%.sh}: bash does not accept this" >&2
        cat "$work/err" >&2
        status=1
    fi
    # ./scripts/x of this repository must be there.
    while IFS= read -r script; do
        if [[ ! -x $ZKLOCK_SOURCE_DIR/$script ]]; then
            echo "FAILED: README.md:${line%.sh}: there is no $script" >&2
            status=1
        fi
    done < <(grep -oE '(^|[[:space:]])\./(scripts|\.ci)/[A-Za-z0-9_.-]+' "$block" |
        tr -d '[:blank:]')
done
((seen > 0)) || { echo "FAILED: README.md shows no command" >&2; status=1; }
echo "- $seen blocks of shell"
exit "$status"
