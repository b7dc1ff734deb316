#!/usr/bin/env bash
# What scripts/test.sh says of a tier, from the file that CTest writes: the counts, and which claims
# failed or were skipped.
set -euo pipefail
cd "$ZKLOCK_SOURCE_DIR"
. scripts/lib/results.sh

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# claim WORDS ACTUAL EXPECTED
claim() {
    printf '%s\n' "- $1"
    [[ $2 == "$3" ]] || {
        printf 'FAILED: %s\nis:\n%s\nnot:\n%s\n' "$1" "$2" "$3" >&2
        exit 1
    }
}

# program NAME STATUS ELEMENT <OUTPUT: as CTest writes a program.
program() {
    printf '\t<testcase name="%s" classname="%s" time="1" status="%s">\n' "$1" "$1" "$2"
    [[ ! $3 ]] || printf '\t\t<%s message=""/>\n' "$3"
    printf '\t\t<system-out>'
    sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g'
    printf '</system-out>\n\t</testcase>\n'
}

{
    program unit.fine run '' <<'END'
Suite: fine
  Test: a <claim> & its figure ...
      12 of them [0.02 s] passed

Run Summary:    Type  Total    Ran Passed Failed Inactive
              suites      1      1    n/a      0        0
               tests      2      2      2      0        0
             asserts     20     20     20      0      n/a
fine: 2 tests, 0 failed, 0 skipped
END
    program server.red fail failure <<'END'
Suite: red
  Test: the first holds ...[0.02 s] passed
  Test: the second does not ...
      red.c:12: is 3, not 4 [0.02 s] FAILED
    1. red.c:12  - CU_ASSERT(a == b)
    2. red.c:13  - CU_ASSERT(c == d)
  Test: the third needs root ...skipped (it is not) [0.00 s] passed
  Test: nor does the fourth ...[0.02 s] FAILED
    1. red.c:20  - CU_FAIL

Run Summary:    Type  Total    Ran Passed Failed Inactive
              suites      1      1    n/a      0        0
               tests      4      4      2      2        0
             asserts     20     20     18      2      n/a
red: 4 tests, 2 failed, 1 skipped
END
    program server.crash fail failure <<'END'
Suite: crash
  Test: the last claim of all ...
END
    program cli.script fail failure <<'END'
- one claim
FAILED: another
END
    program cli.skipped notrun skipped <<<'no git here'
} >"$work/junit.xml"
read_results "$work/junit.xml" "$work/results"

claim "a program without a summary counts as one test" "$(show_totals "$work/results")" "5 9 4 2"
claim "a failure has its claim and its first assertion, or the place it came to" \
    "$(show_results failure "$work/results")" "---- server.red
the second does not
        1. red.c:12  - CU_ASSERT(a == b)
nor does the fourth
        1. red.c:20  - CU_FAIL
---- server.crash
it ended in: the last claim of all
---- cli.script
FAILED: another"
claim "a skip has its claim" "$(show_skips "$work/results")" "server.red: the third needs root
cli.skipped: all"
claim "a figure is what a test has printed" \
    "$(show_results figure "$work/results" | head -n 2)" "---- unit.fine
      12 of them [0.02 s] passed"
claim "a figure is shown of the programs that are meant" \
    "$(show_results figure "$work/results" '^unit[.]' | grep '^----')" "---- unit.fine"
claim "a summary is CUnit's" "$(show_results summary "$work/results" |
    grep -c '^ *\(Run Summary:\|suites\|tests\|asserts\)')" 8
read_results "$work/none.xml" "$work/results"
claim "without a file nothing has run" "$(show_totals "$work/results")" "0 0 0 0"
