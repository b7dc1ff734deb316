# What the tests of a tier have done, from the file that ctest --output-junit wrote of them.
# Sourced, never run; the caller has set -euo pipefail.
# shellcheck shell=bash

# Without a file no program has run.
read_results() { # JUNIT_FILE RESULTS
    local junit=$1
    [[ -e $junit ]] || junit=/dev/null
    awk -f scripts/lib/results.awk "$junit" >"$2"
}

# The records of one kind, each program's below its name: of all programs, or of those whose names
# fit.
show_results() { # KIND RESULTS [REGEX]
    awk -F '\t' -v kind="$1" -v programs="${3-}" '
        $1 != kind || $2 !~ programs { next }
        $2 != program { program = $2; print "---- " program }
        { print $3 }
    ' "$2"
}

# Prints "PROGRAM: CLAIM" for each claim that was skipped.
show_skips() { # RESULTS
    awk -F '\t' '$1 == "skip" { print $2 ": " $3 }' "$1"
}

# Prints "PROGRAMS TESTS FAILED SKIPPED".
show_totals() { # RESULTS
    awk -F '\t' '$1 == "total" { print $2, $3, $4, $5 }' "$1"
}
