# How much of src/ the tests reach, by gcov.
# Sourced, never run; the caller has set -euo pipefail, sourced common.sh, and has TMPDIR and
# note_failure.
# shellcheck shell=bash

readonly COVERED=(core 'base engine zk session' 'lock fence' cli)
# Branches taken, in per cent: of core by the unit tests alone, of the others by MEASURING_TIERS.
# shellcheck disable=SC2034  # for the caller
readonly CORE_BRANCHES_MIN=100 MEASURING_TIERS=(unit alloc server)
readonly -A BRANCHES_MIN=(['base engine zk session']=90 ['lock fence']=90)

# Reads gcov's annotated sources and prints lines and branches per file of these directories of
# src/, in all, and where a branch was never taken. The exit status says whether the minimum is
# reached.
summarize_coverage() { # "DIRECTORY..." MINIMUM FILE.gcov...
    local directories=$1 minimum=$2
    shift 2
    awk -F: -v directories="$directories" -v root="$PWD/" -v minimum="$minimum" '
        function is_below(path,    i) {
            for (i = 1; i <= count; i++)
                if (index(path, root "src/" names[i] "/") == 1) return 1
            return 0
        }
        BEGIN { count = split(directories, names, " ") }
        function percent(part, whole) { return whole ? 100 * part / whole : 100 }
        function row(name, l, lt, b, bt) {
            printf "%-28s lines %6.2f %% of %4d   branches %6.2f %% of %4d\n",
                name, percent(l, lt), lt, percent(b, bt), bt
        }
        function finish() {
            if (file == "") return
            row(file, lines, all_lines, branches, all_branches)
            sum_l += lines; sum_lt += all_lines; sum_b += branches; sum_bt += all_branches
        }
        FNR == 1 { finish(); file = ""; lines = all_lines = branches = all_branches = 0 }
        FNR == 1 && is_below($4) { file = substr($4, length(root) + 1) }
        file == "" { next }
        /^branch / {
            all_branches++
            if ($0 ~ / taken [1-9]/) branches++
            else if (missed[file] !~ (" " line "$")) missed[file] = missed[file] " " line
            next
        }
        NF >= 3 && $2 + 0 > 0 {
            line = $2 + 0
            if ($1 ~ /[0-9#=]/) { all_lines++; if ($1 ~ /[1-9]/) lines++ }
        }
        END {
            finish()
            if (sum_lt > 0)
                row("src: " directories, sum_l, sum_lt, sum_b, sum_bt)
            for (file in missed)
                if (minimum > 0) print "branches never taken in " file ", lines" missed[file]
            exit sum_lt == 0 || percent(sum_b, sum_bt) < minimum
        }
    ' "$@"
}

# Before the first test: what is counted then is what these tests reach.
forget_earlier_runs() { # BUILD_DIR
    find "$1" -name '*.gcda' -delete
}

# Leaves what gcov prints in $TMPDIR/gcov.
collect_coverage() { # BUILD_DIR
    local build
    build=$(realpath "$1")
    local -a notes
    mapfile -t notes < <(find "$build/CMakeFiles" -name '*.gcno')
    rm -rf "$TMPDIR/gcov"
    mkdir "$TMPDIR/gcov"
    # Starting from the .gcno files, so that a file no test entered counts as well.
    (cd "$TMPDIR/gcov" && gcov -b -c -p "${notes[@]}" >/dev/null 2>"$TMPDIR/gcov.log") || {
        cat "$TMPDIR/gcov.log" >&2
        fail "$EX_SOFTWARE" "gcov failed"
    }
}

# After the unit tests, and before any other.
check_core_coverage() { # BUILD_DIR
    printf '\n==== coverage of src/core by the unit tests ====\n'
    collect_coverage "$1"
    summarize_coverage core "$CORE_BRANCHES_MIN" "$TMPDIR"/gcov/*.gcov ||
        note_failure "branch coverage of src/core is below $CORE_BRANCHES_MIN %"
}

# Less than MEASURING_TIERS are no measure of the library.
check_coverage() { # BUILD_DIR TIER...
    local build=$1 directories minimum tier measures=yes
    shift
    for tier in "${MEASURING_TIERS[@]}"; do
        [[ " $* " == *" $tier "* ]] || measures=no
    done
    printf '\n==== coverage by the tiers %s ====\n' "$*"
    collect_coverage "$build"
    for directories in "${COVERED[@]}"; do
        minimum=${BRANCHES_MIN[$directories]-0}
        [[ $measures == yes ]] || minimum=0
        summarize_coverage "$directories" "$minimum" "$TMPDIR"/gcov/*.gcov ||
            note_failure "branch coverage of src: $directories is below $minimum %"
        ((minimum == 0)) || printf 'src: %s: at least %d %% of the branches\n\n' \
            "$directories" "$minimum"
    done
}
