#!/usr/bin/env bash
# The written rules that a machine can check: formatting, banned functions, sizes, switches on our
# enums, late declarations, remains of code in comments, figures that no record has. Prints
# FILE:LINE: WHAT; exits 1 if it printed anything.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib/common.sh

readonly FILE_LINES_MAX=600 FUNCTION_LINES_MAX=70 COLUMNS_MAX=100
# Where a variable is declared as it gets its value, if it can be.
DECLARED_WITH_VALUES='^(bench|examples|src|tests)/'

usage() { printf 'usage: scripts/check_style.sh\n'; }
answer_help "$@"
(($# == 0)) || wrong_call "unexpected: $1"
need_packages clang-format shellcheck

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mapfile -t c_files < <(
    find src include tests bench examples -regex '.*\.\(c\|h\|cc\|hpp\)' 2>/dev/null | sort
)
mapfile -t shell_files < <(
    find scripts tests bench completion .ci -type f \
        \( -name '*.sh' -o -name '*.bash' -o -path '.ci/run' \) | sort
)
mapfile -t driver_files < <(find bench -name '*.java' -o -name '*.py' | sort)
mapfile -t awk_files < <(find scripts -name '*.awk' | sort)
((${#c_files[@]})) || fail "$EX_SOFTWARE" "found no C"

# Copies a file to $work with the content of comments and literals blanked, line for line: the
# rules below are about code. Comments go to FILE.comments in the same way.
split() { # FILE
    mkdir -p "$work/${1%/*}"
    awk -v comments="$work/$1.comments" '
        {
            code = note = ""
            n = length($0)
            for (i = 1; i <= n; i++) {
                c = substr($0, i, 1)
                two = substr($0, i, 2)
                if (state == "comment") {
                    if (two == "*/") { state = ""; i++; code = code "  " }
                    else note = note c
                } else if (state == "\"" || state == "\047") {
                    if (c == "\\") { i++; code = code "  " }
                    else if (c == state) { state = ""; code = code c }
                    else code = code " "
                } else if (two == "/*") { state = "comment"; i++; code = code "  " }
                else if (two == "//") { note = note substr($0, i + 2); break }
                else if (c == "\"" || c == "\047") { state = c; code = code c }
                else code = code c
            }
            if (state == "\"" || state == "\047") state = ""
            print code
            print note > comments
        }
    ' "$1" >"$work/$1"
}

# Prints FILE:LINE: MESSAGE for each line of the files' code that matches.
ban() { # PATTERN MESSAGE FILE...
    local pattern=$1 message=$2
    shift 2
    (($#)) || return 0
    (cd "$work" && grep -nHE "$pattern" "$@") | sed -E "s|^([^:]*:[0-9]+):.*|\1: $message|" || :
}

in_directories() { # REGEX
    printf '%s\n' "${c_files[@]}" | grep -E "$1" || :
}

check_banned() {
    local -a sources tests
    mapfile -t sources < <(in_directories '^(src|include)/')
    # The fixture's clock polls on behalf of all tests; nothing else may wait for time to pass.
    mapfile -t tests < <(in_directories '^tests/' | grep -v '^tests/support/')
    local name
    for name in sprintf vsprintf strcpy strcat strtok atoi atol atof gets usleep alloca; do
        ban "\\b$name *\\(" "$name is banned" "${c_files[@]}"
    done
    for name in sleep nanosleep clock_nanosleep; do
        ban "\\b$name *\\(" "a test waits for a condition, not for time" "${tests[@]}"
        ban "\\b$name *\\(" "$name is banned" "${sources[@]}"
    done
    ban '\bvolatile\b' "volatile is not for threads" "${c_files[@]}"
    ban '^ *# *if +0' "code switched off" "${c_files[@]}"
}

check_comments() {
    local file code='^[ *]*(if|for|while|switch) \(.*[;{] *$|^[ *]*[}{] *$'
    code+='|^[ *]*(return\b.*|[A-Za-z_][A-Za-z0-9_>.-]* *[+-]?= .*|[a-z0-9_>.-]+\(.*\)); *$'
    for file in "${c_files[@]}"; do
        grep -nE '\b(TODO|FIXME|XXX)\b' "$work/$file.comments" |
            sed -E "s|^([0-9]+):.*|$file:\1: a note to ourselves|" || :
        # The public header shows examples in comments.
        [[ $file != include/* ]] || continue
        grep -nE "$code" "$work/$file.comments" |
            sed -E "s|^([0-9]+):.*|$file:\1: code in a comment|" || :
    done
    grep -nHE '\b(TODO|FIXME)\b' "${shell_files[@]}" "${driver_files[@]}" CMakeLists.txt \
        tests/CMakeLists.txt cmake/* | grep -v '^scripts/check_style.sh:' |
        sed -E 's|^([^:]*:[0-9]+):.*|\1: a note to ourselves|' || :
}

check_sizes() {
    local file
    for file in "${c_files[@]}" "${shell_files[@]}" "${awk_files[@]}" "${driver_files[@]}"; do
        awk -v file="$file" -v lines_max="$FILE_LINES_MAX" '
            END { if (NR > lines_max) print file ":" NR ": " NR " lines, more than " lines_max }
        ' "$file"
        LC_ALL=C.UTF-8 grep -nE "^.{$((COLUMNS_MAX + 1)),}" "$file" |
            sed -E "s|^([0-9]+):.*|$file:\1: more than $COLUMNS_MAX columns|" || :
        grep -nE '[[:space:]]+$' "$file" |
            sed -E "s|^([0-9]+):.*|$file:\1: space at the end of the line|" || :
    done
    # In formatted code a function is what begins in the first column and ends with a brace there.
    for file in "${c_files[@]}"; do
        awk -v file="$file" -v lines_max="$FUNCTION_LINES_MAX" '
            /^[A-Za-z_].*\(/ { begun = NR; in_body = 0 }
            begun && !in_body && /;[[:space:]]*$/ { begun = 0 }
            begun && /{[[:space:]]*$/ { in_body = 1 }
            /^}/ {
                lines = NR - begun + 1
                if (begun && lines > lines_max)
                    print file ":" begun ": a function of " lines " lines, more than " lines_max
                begun = 0
            }
        ' "$work/$file"
    done
}

# A switch over one of our enums names every value, so that the compiler finds those that a new
# value is missing from; default would silence it. In formatted code case stands below switch.
check_switches() {
    local file
    while IFS= read -r file; do
        awk -v file="$file" '
            { match($0, /^ */); indent = RLENGTH }
            /^ *switch \(/ { ours[indent] = by_default[indent] = 0 }
            /^ *case ZKLI?_[A-Z]/ { ours[indent] = 1 }
            /^ *default:/ { by_default[indent] = NR }
            /^ *}/ {
                if (ours[indent] && by_default[indent])
                    print file ":" by_default[indent] ": default in a switch on an enum of ours"
                ours[indent] = by_default[indent] = 0
            }
        ' "$work/$file"
    done < <(in_directories '^src/')
}

check_declarations() {
    local file
    while IFS= read -r file; do
        awk -v file="$file" -f scripts/lib/late_declarations.awk "$work/$file"
    done < <(in_directories "$DECLARED_WITH_VALUES")
}

check_format() {
    clang-format --dry-run -Werror "${c_files[@]}" 2>&1 |
        sed -nE 's/^([^:]+:[0-9]+):[0-9]+: error: code should be .*/\1: not formatted/p' || :
}

# The figures of the document come from records; scripts/measurements.sh says where they do not.
check_measurements() {
    ./scripts/measurements.sh check || :
}

check_shell() {
    shellcheck -x -S warning -f gcc "${shell_files[@]}" || :
}

for file in "${c_files[@]}"; do
    split "$file"
done
for check in format banned comments sizes switches declarations measurements shell; do
    check_$check
done | sort -t : -k 1,1 -k 2,2n -u >"$work/found"

if [[ -s $work/found ]]; then
    cat "$work/found"
    note "$(wc -l <"$work/found") places"
    exit 1
fi
printf 'style: nothing to say about %d files of C and C++ and %d scripts\n' \
    "${#c_files[@]}" "${#shell_files[@]}"
