#!/usr/bin/env bash
# Builds everything and runs the tests, tier by tier. Installs what a bare Debian lacks, and leaves
# nothing running. The tests' servers are throw-away ones, unless ZKLOCK_HOSTS names another.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib.sh
. scripts/containers.sh

# In this order: what fails early says most.
readonly TIERS=(unit alloc sim server fault register soak cli package)
# Only when they are named.
readonly TIERS_ON_REQUEST=(containers)
# Branches taken, in per cent: of core by the unit tests alone, of all by the tiers of --coverage.
readonly CORE_BRANCHES_MIN=100
readonly COVERED=(core 'base engine zk session' 'lock fence' cli)
readonly -A BRANCHES_MIN=(
    [core]=$CORE_BRANCHES_MIN ['base engine zk session']=90 ['lock fence']=90 [cli]=0
)
# Less than these are no measure of the library.
readonly MEASURING_TIERS=(unit alloc server)
# These print what they have done: one that has done nothing would pass as well.
readonly TELLING_ROWS=(alloc sim fault register soak containers-register)
# Server tests spend their time waiting, and each has a server of its own.
readonly TESTS_AT_ONCE=3
readonly REPORT_ROW='%-20s %8s %6s %6s %7s %10s'

usage() {
    cat <<END
usage: scripts/test.sh [OPTION]... [TIER]...

Tiers: ${TIERS[*]} (default: all; package only in an ordinary build)
and, if named: ${TIERS_ON_REQUEST[*]}

  --build-dir DIR   build there (default: build; with the options below a directory in it)
  --sanitize LIST   build with sanitizers: address,undefined or thread
  --coverage        print line and branch coverage of each directory of src/ after the tests; with
                    the tiers ${MEASURING_TIERS[*]} among them, too little is a failure
  --cc COMPILER     build with this compiler
  -h, --help        print this

ZKLOCK_HOSTS=host:port[,...] makes the tests use those servers instead of starting some; what needs
servers of its own to stop or kill is skipped, unless it starts them itself.

The tier containers starts servers with Docker, and dockerd too where none runs: as root. It keeps
the image it makes in ZKLOCK_IMAGE_CACHE (default: build/images), or a fresh one is made each time
if that is empty.

With the tier unit in an ordinary build, src/core's coverage by the unit tests is measured too, and
less than $CORE_BRANCHES_MIN % of its branches is a failure. With --coverage, so are less than
${BRANCHES_MIN[base engine zk session]} % of the branches of base, engine, zk and session together,
and of those of lock and fence.

exit status: 0 passed; 1 a test failed, a test was skipped without need, too little is covered, the
containers did not start, or something was left running; 64 wrong call; 69 a package is missing; 70
the build failed.
END
}

wrong_call() {
    note "$@"
    usage >&2
    exit "$EX_USAGE"
}

# ---- building ----

configure_and_build() { # DIR TARGET CMAKE_OPTION...
    local dir=$1 target=$2 log=$TMPDIR/configure.log
    shift 2
    in_group cmake -S . -B "$dir" -DZKLOCK_BUILD_TESTS=ON "$@" >"$log" 2>&1 || {
        cat "$log" >&2
        fail "$EX_SOFTWARE" "cmake could not configure $dir"
    }
    in_group cmake --build "$dir" --target "$target" --parallel "$(nproc)" ||
        fail "$EX_SOFTWARE" "the build in $dir failed"
}

# ---- one tier ----

# Copies CUnit's own summary of each program out of CTest's log of everything they printed.
show_cunit_summaries() { # LOG
    awk '
        /^[0-9]+\/[0-9]+ Test: / { name = $NF }
        /^Run Summary:/ { print "---- " name; left = 4 }
        left > 0 { print; left-- }
    ' "$1"
}

# What the tests themselves have printed.
show_figures() { # LOG
    awk '
        /^[0-9]+\/[0-9]+ Test: / { name = "---- " $NF }
        /^Suite: / { is_output = 1 }
        /^Run Summary:/ { is_output = 0 }
        is_output && /^ +[^ ]/ && !/^  Test: / {
            if (name != "") print name
            name = ""
            print
        }
    ' "$1"
}

# Which programs failed, in which tests, and what CUnit said first of each.
show_failures() { # LOG
    awk '
        /^[0-9]+\/[0-9]+ Test: / { name = $NF; said = "" }
        /^  Test: / { test = $0; sub(/^  Test: /, "", test); sub(/ \.\.\..*/, "", test) }
        / FAILED$/ { said = said "\n  " test }
        /^    1\. / { said = said "\n  " $0 }
        /^Test Failed\.$/ { print name said }
    ' "$1"
}

# Prints "TESTS FAILED SKIPPED": CUnit's counts summed, a script counting as one test, and a
# program that did not get as far as its summary as one that failed.
count_tests() { # LOG
    awk '
        function finish() {
            if (name == "") return
            if (has_summary) { tests += t; failed += f; skipped += k }
            if (result == "Skipped") { skipped += !has_summary; tests += !has_summary }
            else if (!has_summary || (result != "Passed" && f == 0)) {
                tests += !has_summary
                failed += result != "Passed"
            }
        }
        /^[0-9]+\/[0-9]+ Test: / {
            finish()
            name = $NF
            result = ""
            has_summary = t = f = k = 0
        }
        /^ +tests +[0-9]+ +[0-9]+/ { has_summary = 1; t += $3; f += $5; k += $6 }
        /^[a-z0-9_]+: [0-9]+ tests, [0-9]+ failed, [0-9]+ skipped$/ { k += $6 }
        /^Test (Passed|Failed|Skipped)\.$/ { result = substr($2, 1, length($2) - 1) }
        END { finish(); print tests + 0, failed + 0, skipped + 0 }
    ' "$1"
}

Report=()
Failures=()
note_failure() { Failures+=("$*"); }

# Runs the programs that ctest's options choose. Leaves in Skipped how many tests were skipped.
run_programs() { # ROW CTEST_OPTION...
    local row=$1 log=$TMPDIR/$1.log status=0 begun=$EPOCHREALTIME
    local programs tests failed
    shift
    in_group env -C "$BuildDir" ctest "$@" --no-tests=error --output-on-failure \
        -j "$TESTS_AT_ONCE" --output-log "$log" || status=$?
    local seconds
    seconds=$(awk -v a="$begun" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }')
    programs=$(sed -n 's/^.* tests failed out of //p' "$log")
    local all=$BuildDir/Testing/Temporary/LastTest.log
    [[ " ${TELLING_ROWS[*]} " != *" $row "* ]] || show_figures "$all"
    show_cunit_summaries "$all"
    read -r tests failed Skipped < <(count_tests "$all")
    Report+=("$(printf "$REPORT_ROW" \
        "$row" "${programs:-0}" "$tests" "$failed" "$Skipped" "$seconds s")")
    Totals=$((Totals + tests)) TotalFailed=$((TotalFailed + failed))
    TotalSkipped=$((TotalSkipped + Skipped)) TotalPrograms=$((TotalPrograms + ${programs:-0}))
    ((status == 0)) || note_failure "tier $row: $(show_failures "$all")"
}

run_tier() { # TIER
    printf '\n==== %s ====\n' "$1"
    run_programs "$1" -L "^$1\$"
    # What stops or kills its server is skipped where that is somebody else's.
    if [[ " alloc server fault register soak " == *" $1 "* && ! ${ZKLOCK_HOSTS-} ]] &&
        ((Skipped > 0)); then
        note_failure "$Skipped tests of the tier $1 were skipped"
    fi
}

# ---- coverage ----

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

collect_coverage() { # BUILD_DIR; leaves *.gcov in $TMPDIR/gcov
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

forget_earlier_runs() { # BUILD_DIR
    find "$1" -name '*.gcda' -delete
}

core_coverage() {
    local dir=$BuildDir/coverage log=$TMPDIR/coverage.log
    printf '\n==== coverage of src/core by the unit tests ====\n'
    configure_and_build "$dir" tests_unit -DZKLOCK_COVERAGE=ON -DZKLOCK_BUILD_CLI=OFF \
        -DCMAKE_C_COMPILER=gcc >"$log" 2>&1 || {
        cat "$log" >&2
        exit "$EX_SOFTWARE"
    }
    forget_earlier_runs "$dir"
    if ! in_group env -C "$dir" ctest -L '^unit$' --no-tests=error --output-on-failure \
        -j "$TESTS_AT_ONCE" >"$log" 2>&1; then
        cat "$log"
        Failures+=("the unit tests in the coverage build")
    fi
    collect_coverage "$dir"
    summarize_coverage core "$CORE_BRANCHES_MIN" "$TMPDIR"/gcov/*.gcov ||
        Failures+=("branch coverage of src/core is below $CORE_BRANCHES_MIN %")
}

full_coverage() {
    local directories minimum tier measures=yes
    for tier in "${MEASURING_TIERS[@]}"; do
        [[ " ${Chosen[*]} " == *" $tier "* ]] || measures=no
    done
    printf '\n==== coverage by the tiers %s ====\n' "${Chosen[*]}"
    collect_coverage "$BuildDir"
    for directories in "${COVERED[@]}"; do
        minimum=${BRANCHES_MIN[$directories]}
        [[ $measures == yes ]] || minimum=0
        summarize_coverage "$directories" "$minimum" "$TMPDIR"/gcov/*.gcov ||
            Failures+=("branch coverage of src: $directories is below $minimum %")
        ((minimum == 0)) || printf 'src: %s: at least %d %% of the branches\n\n' \
            "$directories" "$minimum"
    done
}

# ---- the command line ----

parse_arguments() {
    BuildDir='' Sanitize='' Coverage=OFF Compiler='' Chosen=()
    while (($#)); do
        case $1 in
        -h | --help)
            usage
            exit 0
            ;;
        --coverage) Coverage=ON ;;
        --build-dir | --sanitize | --cc)
            [[ ${2-} ]] || wrong_call "$1 takes a value"
            case $1 in
            --build-dir) BuildDir=$2 ;;
            --sanitize) Sanitize=${2//;/,} ;;
            --cc) Compiler=$2 ;;
            esac
            shift
            ;;
        -*) wrong_call "no such option: $1" ;;
        *)
            [[ " ${TIERS[*]} ${TIERS_ON_REQUEST[*]} " == *" $1 "* ]] ||
                wrong_call "no such tier: $1"
            [[ " ${Chosen[*]-} " == *" $1 "* ]] || Chosen+=("$1")
            ;;
        esac
        shift
    done
}

choose_build() {
    local variant=${Sanitize:+-${Sanitize//,/-}}
    [[ $Coverage == OFF ]] || variant+=-coverage-all
    variant+=${Compiler:+-${Compiler##*/}}
    IsOrdinary=no
    [[ $variant ]] || IsOrdinary=yes
    : "${BuildDir:=build${variant:+/${variant#-}}}"
    CMakeOptions=(
        "-DZKLOCK_SANITIZE=${Sanitize//,/;}"
        "-DZKLOCK_COVERAGE=$Coverage"
        ${Compiler:+"-DCMAKE_C_COMPILER=$Compiler"}
    )
    if ((${#Chosen[@]} == 0)); then
        local tier
        for tier in "${TIERS[@]}"; do
            # What is installed from an instrumented build is of no use to an ordinary consumer.
            [[ $tier == package && ($Sanitize || $Coverage == ON) ]] || Chosen+=("$tier")
        done
    fi
}

report() {
    printf "\n$REPORT_ROW\n" tier programs tests failed skipped time
    ((${#Report[@]} == 0)) || printf '%s\n' "${Report[@]}"
    printf "$REPORT_ROW\n" total \
        "$TotalPrograms" "$Totals" "$TotalFailed" "$TotalSkipped" "$SECONDS s"
    if ((${#Failures[@]})); then
        printf 'FAILED: %s\n' "${Failures[@]}"
        return 1
    fi
    printf 'all passed\n'
}

main() {
    parse_arguments "$@"
    choose_build
    local -a packages=("${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}" "${SERVER_PACKAGES[@]}")
    # The header is compiled as C++ too.
    command_exists g++ || packages+=(g++)
    [[ " ${Chosen[*]} " != *" package "* ]] || packages+=(abigail-tools)
    [[ ${Compiler##*/} != clang ]] || packages+=(clang)
    # Elsewhere than on Debian they come with clang.
    [[ ${Compiler##*/} != clang || ! $Sanitize ]] || ! is_debian ||
        packages+=(libclang-rt-dev llvm)
    need_packages "${packages[@]}"

    own_tmpdir test stop_containers
    export ZKLOCK_IMAGE_CACHE=${ZKLOCK_IMAGE_CACHE-build/images}

    configure_and_build "$BuildDir" all "${CMakeOptions[@]}"
    [[ $Coverage == OFF ]] || forget_earlier_runs "$BuildDir"
    Totals=0 TotalFailed=0 TotalSkipped=0 TotalPrograms=0
    local tier
    for tier in "${TIERS[@]}"; do
        [[ " ${Chosen[*]} " != *" $tier "* ]] || run_tier "$tier"
    done
    [[ " ${Chosen[*]} " != *" containers "* ]] || run_containers
    if [[ $IsOrdinary == yes && " ${Chosen[*]} " == *" unit "* ]]; then
        core_coverage
    fi
    [[ $Coverage == OFF ]] || full_coverage
    end_leftovers || Failures+=("a test left something running")
    report
}

main "$@"
