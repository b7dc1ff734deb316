#!/usr/bin/env bash
# The manual pages: mandoc has nothing to say, each prototype is the header's, each function is on
# exactly one page, what the pages name exists, and their examples compile.
set -euo pipefail
export LC_ALL=C
cd "$ZKLOCK_SOURCE_DIR"

if ! command -v mandoc >/dev/null; then
    echo "no mandoc here (Debian: mandoc)"
    exit 77
fi

# Pages with code have to fit a terminal.
readonly COLUMNS_MAX=80
pages=(docs/man/*.[1-9])
calls=(docs/man/*.3)
library=("${calls[@]}" docs/man/*.7)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

status=0
# forbid WHAT LINES: LINES, if there are any, are what breaks the rule.
forbid() {
    [[ $2 ]] || return 0
    printf 'FAILED: %s\n' "$1" >&2
    printf '%s\n' "$2" >&2
    status=1
}

compile() { # FILE
    "${CC:-cc}" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -fsyntax-only -Iinclude -x c "$1" 2>&1
}

# ---- how they look ----

forbid "mandoc warns:" "$(mandoc -Tlint -W warning "${pages[@]}" 2>&1 || :)"
for page in "${library[@]}"; do
    forbid "$page has lines of more than $COLUMNS_MAX columns on a terminal:" \
        "$(mandoc -Tascii "$page" | col -bx | grep -E "^.{$((COLUMNS_MAX + 1))}" || :)"
done
for page in "${calls[@]}"; do
    for section in NAME SYNOPSIS DESCRIPTION 'RETURN VALUES' THREADS EXAMPLES 'SEE ALSO'; do
        grep -qxF ".Sh $section" "$page" || forbid "$page lacks a section:" "$section"
    done
done
echo "- mandoc has no warning for ${#pages[@]} pages"

# ---- prototypes ----

# Prints the prototypes of a page, each on a line.
synopsis() { # PAGE
    awk '
        /^\.Sh / { inside = $2 == "SYNOPSIS" }
        !inside { next }
        /^\.Ft / { type = substr($0, 5); gsub(/"/, "", type) }
        /^\.Fo / { name = $2; parameters = "" }
        /^\.Fa / {
            parameter = substr($0, 5)
            gsub(/"/, "", parameter)
            parameters = parameters (parameters == "" ? "" : ", ") parameter
        }
        /^\.Fc/ { print type " " name "(" parameters ")" }
    ' "$1"
}

functions() { synopsis "$1" | grep -oE 'zkl_[a-z0-9_]+\(' | tr -d '('; } # PAGE

squeeze() { sed -E 's/[[:space:]]+/ /g; s/ ?([*(),]) ?/\1/g; s/^ //; s/ $//' | sort; }

printf '#include "%s"\n' include/*.h >"$work/headers.c"
"${CC:-cc}" -I. -D'__attribute__(x)=' -E -P "$work/headers.c" |
    sed 's/\b_Bool\b/bool/g' >"$work/headers.i"
tr '\n' ' ' <"$work/headers.i" | tr ';' '\n' | grep -v typedef |
    grep -E '^[^{}]*\bzkl_[a-z0-9_]+ *\(' | squeeze >"$work/declared"
[[ $(wc -l <"$work/declared") -eq $(wc -l < <(grep -oE '\bzkl_[a-z0-9_]+' src/zklock.map)) ]] ||
    forbid "not every function of src/zklock.map was found in include:" "$(<"$work/declared")"
for page in "${calls[@]}"; do
    synopsis "$page"
done | squeeze >"$work/shown"
forbid "prototypes of include (<) and of the pages (>) differ, or are on two pages:" \
    "$(diff "$work/declared" "$work/shown" || :)"

# The headers that the page names declare its functions, and each prototype says the same again.
for page in "${calls[@]}"; do
    {
        sed -nE '/^\.Sh SYNOPSIS/,/^\.Sh D/s/^\.In (.*)/#include <\1>/p' "$page"
        functions "$page" | sed 's/.*/void use_&(void) { (void)&; }/'
        synopsis "$page" | sed 's/$/;/'
    } >"$work/synopsis.c"
    forbid "$page: the SYNOPSIS is not the header's:" "$(compile "$work/synopsis.c" || :)"
done
echo "- ${#calls[@]} pages have $(wc -l <"$work/shown") functions, each once, as the headers say"

# ---- names ----

# Prints the names in the NAME of a page.
names() { # PAGE
    sed -nE '/^\.Sh NAME/,/^\.Sh S/s/^\.Nm ([A-Za-z0-9_]+).*/\1/p' "$1"
}

for page in "${calls[@]}"; do
    name=${page##*/}
    name=${name%.*}
    forbid "$page: NAME (<) and SYNOPSIS (>) differ:" \
        "$(diff <(names "$page" | grep -vxF zkl_session | sort) \
            <(functions "$page" | sort) || :)"
    names "$page" | grep -qxF "$name" || forbid "$page does not name itself:" "$name"
    names "$page" | sed 's/$/ 3/'
    # What CMake makes of it.
    while IFS= read -r other; do
        [[ $other == "$name" ]] ||
            grep -qsxF ".so man3/$name.3" "$ZKLOCK_BUILD_DIR/man3/$other.3" ||
            forbid "no link in the build leads to $page:" "$other"
    done < <(names "$page")
done >"$work/pages"
for page in docs/man/*.[!3]; do
    printf '%s %s\n' "$(basename "${page%.*}")" "${page##*.}"
done >>"$work/pages"

forbid "references to pages that do not exist:" \
    "$(grep -nE '^\.Xr zkl' "${pages[@]}" | while read -r place name section _; do
        grep -qxF "$name $section" "$work/pages" || echo "$place $name $section"
    done)"
grep -ohE '\b(zkl|ZKL)_[A-Za-z0-9_]*[A-Za-z0-9]\b' include/*.h "$work/headers.i" |
    sort -u >"$work/known"
for page in "${library[@]}"; do
    forbid "$page has names that no header has:" "$(sed '/^\.Dt /d' "$page" |
        grep -oE '\b(zkl|ZKL)_[A-Za-z0-9_]*[A-Za-z0-9]\b' | sort -u | comm -23 - "$work/known")"
done
# What a program reads, sets or compares by name.
{
    awk '/^typedef struct zkl_.* \{/ { inside = 1; next } /^}/ { inside = 0 } inside' \
        "$work/headers.i" | sed -E 's/(\[.*\])?;.*//; s/.*[ *]//'
    grep -oE '\bZKL_[A-Z0-9_]*[A-Z0-9]\b' "$work/headers.i"
} | sort -u >"$work/members"
forbid "members and constants that no page names:" "$(
    grep -ohE '\b[A-Za-z0-9_]+\b' "${library[@]}" | sort -u | comm -23 "$work/members" -)"
forbid "errors that zklock(7) does not list:" \
    "$(grep -oE '^    X\([A-Z_]+' include/zklock.h | sed 's/.*(/ZKL_/' | while read -r name; do
        grep -qxF ".It Dv $name" docs/man/zklock.7 || echo "$name"
    done)"
echo "- what the pages name exists, and all members and errors are named"

# ---- the command's synopsis ----

forbid "docs/man/zklock.1: in the SYNOPSIS a subcommand does not begin a line of its own:" \
    "$(awk '/^\.Sh / { inside = $2 == "SYNOPSIS" }
        inside && /^\.Cm / && (two != ".Nm" || one != ".Op Ar options") { print NR ": " $0 }
        { two = one; one = $0 }' docs/man/zklock.1)"
echo "- each subcommand has a line of its own in the synopsis"

# ---- examples ----

# A block that includes a header is C, and stands by itself: $work/<page>:<line>.c
for page in "${library[@]}"; do
    awk -v stem="$work/${page##*/}" '
        /^\.Sh / { inside = $2 == "EXAMPLES" }
        inside && /^\.Bd / { file = stem ":" NR ".c"; text = ""; next }
        /^\.Ed/ && file {
            if (text ~ /^#include/) printf "%s", text > file
            close(file)
            file = ""
        }
        file { gsub(/\\e/, "\\"); sub(/^\\&/, ""); text = text $0 "\n" }
    ' "$page"
    compgen -G "$work/${page##*/}:*.c" >/dev/null || forbid "a page without an example:" "$page"
done
count=0
for example in "$work"/*:*.c; do
    count=$((count + 1))
    forbid "${example##*/}: this example does not compile:" "$(compile "$example" || :)"
done
echo "- $count examples compile"
exit "$status"
