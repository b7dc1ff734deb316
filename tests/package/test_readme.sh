#!/usr/bin/env bash
# The code in the README and in the documents is code: each ```c and ```cpp block compiles against
# the public header. Each ```sh block is what bash accepts, and what it calls is there: a script, a
# test's program, an option of zklock.
set -euo pipefail

cd "$ZKLOCK_SOURCE_DIR"
documents=(README.md docs/*.md tests/*/README.md)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# A block goes to $work/<document>:<line it begins on>.<language>, with the document's / as a %;
# console prompts are not part of a command.
for document in "${documents[@]}"; do
    awk -v stem="$work/${document//\//%}" '
        !inside && /^ *```(c|cpp|sh|bash|console)[[:space:]]*$/ {
            language = $0
            gsub(/[`[:space:]]/, "", language)
            if (language == "bash" || language == "console") language = "sh"
            inside = NR
            file = stem ":" NR "." language
            printf "" > file
            next
        }
        inside && /^ *```[[:space:]]*$/ { inside = 0; close(file); next }
        inside { sub(/^\$ /, ""); print > file }
        END { exit inside != 0 }
    ' "$document" || { echo "$document: a code block does not end" >&2; exit 1; }
done

place_of() { # BLOCK: prints DOCUMENT:LINE
    local place=${1##*/}
    place=${place%.*}
    printf '%s\n' "${place//%//}"
}

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
    print_as_function "$block" >"$work/function"
    { print_context && cat "$block"; } >"$work/excerpt"
    # With a main it is a program, which has to compile as it is.
    if grep -qE '\bmain *\(' "$block"; then
        compile "$block" 2>"$work/err" && continue
    else
        compile "$work/excerpt" 2>/dev/null && continue
        compile "$work/function" 2>"$work/err" && continue
    fi
    echo "FAILED: $(place_of "$block"): this C does not compile" >&2
    cat "$work/err" >&2
    status=1
done
compgen -G "$work/README.md:*.c" >/dev/null || {
    echo "FAILED: README.md shows no C" >&2
    status=1
}
echo "- $seen blocks of C"

seen=0
for block in "$work"/*.cpp; do
    [[ -e $block ]] || continue
    if ! command -v "${CXX:-g++}" >/dev/null; then
        echo "- (no C++ compiler here)"
        break
    fi
    seen=$((seen + 1))
    { printf '%s\n' '#include <zklock.hpp>' 'bool work_is_left();' 'void do_a_little_work();' &&
        cat "$block"; } >"$work/excerpt"
    if ! "${CXX:-g++}" -std=c++17 -Wall -Wextra -Werror -fsyntax-only -Iinclude -x c++ \
        "$work/excerpt" 2>"$work/err"; then
        echo "FAILED: $(place_of "$block"): this C++ does not compile" >&2
        cat "$work/err" >&2
        status=1
    fi
done
echo "- $seen blocks of C++"

missing() { # WHAT
    echo "FAILED: $(place_of "$block"): there is no $1" >&2
    status=1
}
seen=0
for block in "$work"/*.sh; do
    [[ -e $block ]] || continue
    seen=$((seen + 1))
    if ! bash -n "$block" 2>"$work/err"; then
        echo "FAILED: $(place_of "$block"): bash does not accept this" >&2
        cat "$work/err" >&2
        status=1
    fi
    while IFS= read -r script; do
        [[ -x $script ]] || missing "$script"
    done < <(grep -oE '(^|[[:space:]])\./(scripts|bench|\.ci)/[A-Za-z0-9_.-]+' "$block" |
        tr -d '[:blank:]')
    while IFS=_ read -r tier name; do
        [[ $tier == simulate || -e tests/$tier/test_$name.c ]] || missing "tests/$tier/test_$name.c"
    done < <(grep -oE '\./build/tests/[a-z0-9_]*[a-z0-9]([^a-z0-9_*]|$)' "$block" |
        sed 's|.*/||; s/[^a-z0-9_]*$//')
    while IFS= read -r option; do
        grep -qE "Fl Fl ${option#--}( |\$)" docs/man/zklock.1 || missing "zklock $option"
    done < <(grep -E '^([A-Z_]+=[^ ]+ )*(\./build/)?zklock ' "$block" | sed 's/ -- .*//; s/#.*//' |
        grep -oE -- '--[a-z][a-z-]+' || :)
done
compgen -G "$work/README.md:*.sh" >/dev/null || {
    echo "FAILED: README.md shows no command" >&2
    status=1
}
echo "- $seen blocks of shell"
exit "$status"
