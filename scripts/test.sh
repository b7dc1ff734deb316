#!/usr/bin/env bash
# Builds everything and runs the tests, tier by tier. Installs what a bare Debian lacks, and leaves
# nothing running. The tests' servers are throw-away ones, unless ZKLOCK_HOSTS names another.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib/common.sh
. scripts/lib/build.sh
. scripts/lib/results.sh
. scripts/lib/coverage.sh
. scripts/lib/servers.sh
. tests/docker/tier.sh

readonly TIERS=(unit alloc sim server fault cli register soak package)
# In this order: what fails early says most. Tiers in one row run beside each other, because their
# programs wait most of the time.
readonly WAITING="alloc server fault"
readonly ROWS=(unit "$WAITING" 'cli register soak' package)
# Computes all the time: beside a row that mostly waits.
readonly TIER_BESIDE=sim ROW_BESIDE=$WAITING
# Only when they are named.
readonly TIERS_ON_REQUEST=(containers)
# These print what they have done: one that has done nothing would pass as well.
readonly TELLING='^(alloc|sim|fault|register|soak)[.]'
# Their tests have what they need, unless ZKLOCK_HOSTS names a server that they may not stop.
readonly NEVER_SKIPPED='^(alloc|server|fault|register|soak)[.]'
# Two processors are enough for so many: each of those that wait has a server of its own. Sanitizers
# compute.
readonly TESTS_AT_ONCE=5 SANITIZED_TESTS_AT_ONCE=3
# Of one program, in bytes: CTest keeps 1 KiB otherwise.
readonly OUTPUT_MAX=10000000
# gcov is gcc's.
readonly COVERAGE_OPTIONS=(-DZKLOCK_BUILD_TESTS=ON -DZKLOCK_COVERAGE=ON -DCMAKE_C_COMPILER=gcc)
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
  --strict          build the benchmarks, too; a compiler's warning ends the build
  --no-coverage     do not measure what the unit tests reach of src/core
  --build-only      build, and run no test
  -h, --help        print this

What each program has printed is in DIR/junit, in a file for each tier, as JUnit's XML.

ZKLOCK_HOSTS=host:port[,...] makes the tests use those servers instead of starting some. A test that
stops or kills its server is skipped then, unless it starts one itself.

The tier containers starts servers with Docker, and dockerd too where none runs: as root. It keeps
the image it makes in ZKLOCK_IMAGE_CACHE (default: build/images), or a fresh one is made each time
if that is empty.

With the tier unit and without sanitizers, src/core's coverage by the unit tests is measured too.
Less than $CORE_BRANCHES_MIN % of its branches is a failure. With --coverage, so are less than
${BRANCHES_MIN[base engine zk session]} % of the branches of base, engine, zk and session together,
and of those of lock and fence.

Without libzookeeper_mt.a the tier alloc is left out. With CI set, that is a failure.

exit status: 0 passed; 1 a test failed, a test was skipped without need, too little is covered, the
containers did not start, or something was left running; 64 wrong call; 69 a package is missing; 70
the build failed.
END
}

# ---- one tier ----

Report=()
Failures=()
LeftOut=
note_failure() { Failures+=("$*"); }

chosen() { [[ " ${Chosen[*]} " == *" $1 "* ]]; } # TIER

chosen_any() { # TIER...
    local tier
    for tier; do
        ! chosen "$tier" || return 0
    done
    return 1
}

# Leaves in Command what runs the programs that ctest's options choose.
name_command() { # ROW CTEST_OPTION...
    local row=$1
    shift
    rm -f "$BuildDir/junit/$row.xml"
    Command=(env -C "$BuildDir" ctest "$@" --no-tests=error --output-on-failure
        -j "$TestsAtOnce" --output-junit "junit/$row.xml" --overwrite BuildName="$row"
        --test-output-size-passed "$OUTPUT_MAX" --test-output-size-failed "$OUTPUT_MAX")
}

# Of programs that have run. Leaves in Skipped how many tests were skipped, and in Results what
# read_results made of them.
take_results() { # ROW STATUS BEGUN
    local row=$1 status=$2 begun=$3
    local programs tests failed
    Results=$TMPDIR/$row.results
    read_results "$BuildDir/junit/$row.xml" "$Results"
    show_results figure "$Results" "$TELLING"
    show_results summary "$Results"
    read -r programs tests failed Skipped < <(show_totals "$Results")
    Report+=("$(printf "$REPORT_ROW" \
        "$row" "$programs" "$tests" "$failed" "$Skipped" "$(seconds_since "$begun") s")")
    Totals=$((Totals + tests)) TotalFailed=$((TotalFailed + failed))
    TotalSkipped=$((TotalSkipped + Skipped)) TotalPrograms=$((TotalPrograms + programs))
    ((status == 0)) || note_failure "tier $row:"$'\n'"$(show_results failure "$Results")"
}

run_programs() { # ROW CTEST_OPTION...
    local status=0 begun=$EPOCHREALTIME
    name_command "$@"
    in_group "${Command[@]}" || status=$?
    take_results "$1" "$status" "$begun"
}

start_beside() {
    BegunBeside=$EPOCHREALTIME
    name_command "$TIER_BESIDE" -L "^$TIER_BESIDE\$"
    export -f step_aside
    setsid bash -c 'step_aside; exec "$@"' step_aside "${Command[@]}" \
        </dev/null >"$TMPDIR/beside.log" 2>&1 &
    Beside=$!
}

finish_beside() {
    local status=0
    printf '\n==== %s, beside others ====\n' "$TIER_BESIDE"
    give_processors "$Beside"
    wait "$Beside" || status=$?
    cat "$TMPDIR/beside.log"
    take_results "$TIER_BESIDE" "$status" "$BegunBeside"
}

run_tiers() { # TIER...
    local labels row skips
    row=$(IFS=+ && printf '%s' "$*")
    labels=$(IFS='|' && printf '^(%s)$' "$*")
    printf '\n==== %s ====\n' "$*"
    run_programs "$row" -L "$labels"
    skips=$(show_skips "$Results" | grep -E "$NEVER_SKIPPED") || :
    if [[ $skips && ! ${ZKLOCK_HOSTS-} ]]; then
        note_failure "skipped without need:"$'\n'"$skips"
    fi
}

# That tier alone needs the client library's archive. Without it the build registers no such test.
leave_out_alloc() {
    local tier
    local -a others=()
    [[ $(ctest --test-dir "$BuildDir" -N -L '^alloc$') == *$'\nTotal Tests: 0' ]] || return 0
    for tier in "${Chosen[@]}"; do
        [[ $tier == alloc ]] || others+=("$tier")
    done
    Chosen=("${others[@]}")
    LeftOut="the tier alloc, for there is no libzookeeper_mt.a (Debian: libzookeeper-mt-dev)"
    note "leaving out $LeftOut"
    [[ ! ${CI-} ]] || note_failure "the tier alloc was left out"
}

# With --coverage the build at hand can say it. Otherwise another is built, and only for that: the
# ordinary one keeps its assertions.
core_coverage() {
    local dir=$BuildDir log=$TMPDIR/coverage.log
    if [[ $Coverage == OFF ]]; then
        dir+=/coverage
        build_quietly . "$dir" tests_unit "${COVERAGE_OPTIONS[@]}"
        forget_earlier_runs "$dir"
        if ! in_group env -C "$dir" ctest -L '^unit$' --no-tests=error --output-on-failure \
            -j "$TestsAtOnce" >"$log" 2>&1; then
            cat "$log"
            note_failure "the unit tests in the coverage build"
        fi
    fi
    check_core_coverage "$dir"
}

# ---- the command line ----

parse_arguments() {
    BuildDir='' Sanitize='' Coverage=OFF Compiler='' Strict=OFF BuildOnly=no Chosen=()
    MeasuresCore=yes
    answer_help "$@"
    while (($#)); do
        case $1 in
        --coverage) Coverage=ON ;;
        --strict) Strict=ON ;;
        --no-coverage) MeasuresCore=no ;;
        --build-only) BuildOnly=yes ;;
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
    [[ $Coverage == OFF ]] || variant+=-coverage
    variant+=${Compiler:+-${Compiler##*/}}
    : "${BuildDir:=build${variant:+/${variant#-}}}"
    CMakeOptions=(-DZKLOCK_BUILD_TESTS=ON "-DZKLOCK_SANITIZE=${Sanitize//,/;}"
        "-DZKLOCK_COVERAGE=$Coverage" "-DZKLOCK_WERROR=$Strict" "-DZKLOCK_BUILD_BENCH=$Strict")
    [[ $Coverage == OFF ]] || CMakeOptions+=("${COVERAGE_OPTIONS[@]}")
    [[ ! $Compiler ]] || CMakeOptions+=("-DCMAKE_C_COMPILER=$Compiler")
    TestsAtOnce=$TESTS_AT_ONCE Targets=all
    # Such a build takes long. What no chosen tier runs is left out of it.
    if [[ $Sanitize ]] && ((${#Chosen[@]})); then
        Targets=$(printf 'tests_%s ' "${Chosen[@]}")
    fi
    if [[ $Sanitize ]]; then
        TestsAtOnce=$SANITIZED_TESTS_AT_ONCE MeasuresCore=no
    fi
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
    [[ ! $LeftOut ]] || printf 'LEFT OUT: %s\n' "$LeftOut"
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
    ! chosen package || packages+=(abigail-tools)
    [[ ${Compiler##*/} != clang ]] || packages+=(clang)
    # Elsewhere than on Debian they come with clang.
    [[ ${Compiler##*/} != clang || ! $Sanitize ]] || ! is_debian ||
        packages+=(libclang-rt-dev llvm)
    need_packages "${packages[@]}"

    own_tmpdir test stop_containers
    export ZKLOCK_IMAGE_CACHE=${ZKLOCK_IMAGE_CACHE-build/images}

    mkdir -p "$BuildDir"
    build . "$BuildDir" "$Targets" "${CMakeOptions[@]}" ||
        fail "$EX_SOFTWARE" "the build in $BuildDir failed"
    [[ $BuildOnly == no ]] || return 0
    ! chosen alloc || leave_out_alloc
    [[ $Coverage == OFF ]] || forget_earlier_runs "$BuildDir"
    if [[ ! ${ZKLOCK_HOSTS-} ]] && chosen_any server fault cli register soak; then
        leave_out_server_threads
        archive_server_classes "$TMPDIR/zookeeper.jsa"
    fi
    Totals=0 TotalFailed=0 TotalSkipped=0 TotalPrograms=0
    local row tier runs_beside=no
    local -a tiers
    for row in "${ROWS[@]}"; do
        tiers=()
        for tier in $row; do
            ! chosen "$tier" || tiers+=("$tier")
        done
        if [[ $row == "$ROW_BESIDE" ]] && chosen "$TIER_BESIDE"; then
            if ((${#tiers[@]})); then runs_beside=yes; else tiers=("$TIER_BESIDE"); fi
            [[ $runs_beside == no ]] || start_beside
        fi
        ((${#tiers[@]} == 0)) || run_tiers "${tiers[@]}"
        [[ $row != unit || $MeasuresCore == no ]] || ! chosen unit || core_coverage
    done
    [[ $runs_beside == no ]] || finish_beside
    ! chosen containers || run_containers
    [[ $Coverage == OFF ]] || check_coverage "$BuildDir" "${Chosen[@]}"
    end_leftovers || note_failure "a test left something running"
    report
}

main "$@"
