# Reads the file that ctest --output-junit writes, and prints a record a line, with tabs between:
#
#   summary PROGRAM LINE     CUnit's own summary of the program
#   figure PROGRAM LINE      what its tests have printed
#   skip PROGRAM CLAIM       a claim that was skipped; "all" if the program was, as a whole
#   failure PROGRAM LINE     of a program that failed: the claims that failed, each with what CUnit
#                            said first of it, or the claim in which the program ended
#   total PROGRAMS TESTS FAILED SKIPPED
#
# CUnit's counts come from what it printed, because for CTest a program is one test. A script
# counts as one test, and so does a program that has not come to its summary.

function print_record(kind, line) {
    gsub(/\t/, " ", line)
    print kind "\t" program "\t" line
}

function plain(line) {
    gsub(/&lt;/, "<", line)
    gsub(/&gt;/, ">", line)
    gsub(/&quot;/, "\"", line)
    gsub(/&apos;/, "\047", line)
    gsub(/&amp;/, "\\&", line)
    return line
}

function begin_program(line) {
    match(line, / name="[^"]*"/)
    program = substr(line, RSTART + 7, RLENGTH - 8)
    outcome = "passed"
    claim = last_line = ""
    is_in_tests = summary_lines = has_summary = count = failed = skipped = skips = failures = 0
}

# One line of what the program has printed.
function take(line) {
    if (line ~ /[^ ]/) last_line = line
    if (line ~ /^Suite: /) is_in_tests = 1
    if (line ~ /^Run Summary:/) {
        is_in_tests = 0
        has_summary = 1
        summary_lines = 4
    }
    if (summary_lines-- > 0) print_record("summary", line)
    if (line ~ /^ +tests +[0-9]+ +[0-9]+/) {
        split(line, words)
        count += words[3]
        failed += words[5]
    }
    if (line ~ /^[a-z0-9_]+: [0-9]+ tests, [0-9]+ failed, [0-9]+ skipped$/) {
        split(line, words)
        skipped += words[6]
    }
    if (line ~ /^  Test: /) {
        claim = line
        sub(/^  Test: /, "", claim)
        sub(/ \.\.\..*/, "", claim)
        if (line ~ / \.\.\.skipped \(/) skip_claims[++skips] = claim
    } else if (is_in_tests && line ~ /^ +[^ ]/) {
        print_record("figure", line)
    }
    if (line ~ / FAILED$/ || line ~ /^FAILED: /) {
        failure_lines[++failures] = line ~ /^FAILED: / ? line : claim
        claim = ""
    } else if (line ~ / passed$/) {
        claim = ""
    }
    if (line ~ /^    1\. /) failure_lines[++failures] = "    " line
}

function end_program(    i) {
    for (i = 1; i <= skips; i++) print_record("skip", skip_claims[i])
    if (outcome == "skipped" && !skips) print_record("skip", "all")
    if (outcome == "failed") {
        if (!has_summary && claim != "") failure_lines[++failures] = "it ended in: " claim
        if (!failures) failure_lines[++failures] = "its last line: " last_line
        for (i = 1; i <= failures; i++) print_record("failure", failure_lines[i])
    }
    if (!has_summary) {
        count = 1
        failed = outcome == "failed"
        skipped = outcome == "skipped"
    } else if (outcome == "failed" && failed == 0) {
        failed = 1 # as a sanitizer ends it behind its summary
    }
    programs++
    tests += count
    all_failed += failed
    all_skipped += skipped
}

/^\t<testcase / { begin_program($0); next }
/^\t\t<failure / { outcome = "failed" }
/^\t\t<skipped / { outcome = "skipped" }
/^\t<\/testcase>/ { end_program(); next }
sub(/^\t\t<system-out>/, "") { is_output = 1 }
is_output {
    is_output = !sub(/<\/system-out>$/, "")
    take(plain($0))
}
END { printf "total\t%d\t%d\t%d\t%d\n", programs, tests, all_failed, all_skipped }
