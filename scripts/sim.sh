#!/usr/bin/env bash
# Runs the simulation: one seed with its trace, many, a campaign that goes on where the last one
# ended, or with a mistake in the library that it has to catch.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib/common.sh
. scripts/lib/build.sh

readonly CAMPAIGN=tests/sim/campaign.txt MISTAKES=tests/sim/mistakes
# A mistake has to be found within the seeds from 1 to this; a campaign goes beyond.
readonly TESTED=75000
readonly CHUNK=50000
# Of each campaign so many run under valgrind as well.
readonly VALGRIND_COUNT=500

usage() {
    cat <<END
usage: scripts/sim.sh seed SEED           prints what happens in one schedule
       scripts/sim.sh run FIRST COUNT     runs schedules, prints figures and what failed
       scripts/sim.sh campaign COUNT      runs COUNT new schedules, the last $VALGRIND_COUNT
                                          under valgrind, too; what was done is kept in
                                          $CAMPAIGN, and docs/measurements.md
                                          is written anew
       scripts/sim.sh report              sums up that file
       scripts/sim.sh valgrind COUNT      runs schedules under valgrind
       scripts/sim.sh mistakes [NAME]...  with each mistake of $MISTAKES (default: all): which
                                          checker finds it, and after how many of the schedules that
                                          the tests run

exit status: 0 all as it should be; 1 something failed, or a mistake was not found by its checker;
64 wrong call; 69 a package is missing; 70 the build failed.
END
}

is_number() { [[ $1 =~ ^[0-9]+$ ]]; }

# A campaign runs for hours: optimized across files.
readonly BUILD_OPTIONS=(-DZKLOCK_BUILD_TESTS=ON -DZKLOCK_BUILD_CLI=OFF
    -DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON)

build_here() {
    build_quietly . build/sim simulate "${BUILD_OPTIONS[@]}"
    Simulate=build/sim/tests/simulate
}

under_valgrind() { # FIRST COUNT
    valgrind -q --error-exitcode=1 --leak-check=full --trace-children=yes "$Simulate" "$1" "$2"
}

# Rows and figures as scripts/measurements.sh reads them, then what was written below a failure.
report() {
    awk '
        function row(commit, day, schedules, failed, seconds, checked) {
            printf "%-13s | %-10s | %9s | %6s | %7s | %s\n", commit, day, schedules, failed, \
                seconds, checked
        }
        /^# [0-9-]+ [0-9a-f+]+ [0-9]+ [0-9]+ under valgrind: / {
            result = $0
            sub(/.* under valgrind: /, "", result)
            sub(/, [0-9]+ s$/, "", result)
            checked[$3] = $5 ", " result
            next
        }
        /^#/ {
            if (NR > 1) remarks = remarks substr($0, 3) "\n"
            next
        }
        !($2 in n) { order[++commits] = $2; day[$2] = $1 }
        { n[$2] += $4; failed[$2] += $5; seconds[$2] += $6; all += $4; all_failed += $5 }
        END {
            row("commit", "from", "schedules", "failed", "seconds", "under valgrind as well")
            for (i = 1; i <= commits; i++) {
                c = order[i]
                row(c, day[c], n[c], failed[c], seconds[c], c in checked ? checked[c] : "-")
            }
            printf "\nschedules in all: %d\nof these failed: %d\n", all, all_failed
            if (remarks) printf "\n%s", remarks
        }' "$CAMPAIGN"
}

campaign() { # COUNT
    local left=$1 next=$((TESTED + 1)) count result failed status=0 begun commit
    commit=$(commit_name "$CAMPAIGN" src include tests/sim)
    if [[ -e $CAMPAIGN ]]; then
        next=$(awk -v next_seed="$next" '!/^#/ && $3 + $4 > next_seed { next_seed = $3 + $4 }
            END { print next_seed }' "$CAMPAIGN")
    else
        printf '# date commit first-seed schedules failed seconds\n' >"$CAMPAIGN"
    fi
    while ((left > 0)); do
        count=$((left < CHUNK ? left : CHUNK))
        begun=$SECONDS
        result=$("$Simulate" "$next" "$count") || status=1
        grep '^seed ' <<<"$result" || :
        failed=""
        read -r _ _ failed _ <<<"${result##*$'\n'}" || :
        [[ $failed =~ ^[0-9]+$ ]] || failed=1 # it crashed
        printf '%s %s %d %d %d %d\n' "$(date -u +%Y-%m-%d)" "$commit" "$next" "$count" "$failed" \
            $((SECONDS - begun)) | tee -a "$CAMPAIGN"
        next=$((next + count)) left=$((left - count))
    done
    count=$(($1 < VALGRIND_COUNT ? $1 : VALGRIND_COUNT))
    begun=$SECONDS result="nothing found"
    under_valgrind $((next - count)) "$count" >/dev/null || status=1 result="FAILED"
    printf '# %s %s %d %d under valgrind: %s, %d s\n' "$(date -u +%Y-%m-%d)" "$commit" \
        $((next - count)) "$count" "$result" $((SECONDS - begun)) | tee -a "$CAMPAIGN"
    scripts/measurements.sh
    report
    return "$status"
}

mistake_row() { # NAME SCHEDULES FOUND_BY MEANT_FOR WHAT
    printf '%-31s | %9s | %-9s | %-20s | %s\n' "$@"
}

# One mistake: a copy of the code with the patch, built and run until a seed fails. Prints a row;
# what went wrong goes to standard error.
try_mistake() { # NAME
    local patch=$MISTAKES/$1.patch what wanted meant result count found
    what=$(sed '/^$/,$d' "$patch" | paste -sd ' ')
    wanted=$(sed -n 's/^Checker: //p' "$patch")
    meant=${wanted// /, }
    rm -rf "$TMPDIR/code"
    cp -r "$TMPDIR/original" "$TMPDIR/code" # with new times: all of it is built again
    patch -d "$TMPDIR/code" -p1 -s --no-backup-if-mismatch <"$patch" >"$TMPDIR/log" 2>&1 &&
        build "$TMPDIR/code" "$TMPDIR/build" simulate "${BUILD_OPTIONS[@]}" \
            >"$TMPDIR/log" 2>&1 || {
        tail -n 20 "$TMPDIR/log" >&2
        mistake_row "$1" 0 "NOT BUILT" "$meant" "$what"
        return 1
    }
    # shellcheck disable=SC2086  # several words
    result=$("$TMPDIR/build/tests/simulate" 1 "$TESTED" $wanted 2>"$TMPDIR/log") || :
    read -r _ count _ <<<"${result##*$'\n'}"
    found=$(sed -nE "s/^seed [0-9]+: (${wanted// /|}): .*/\1/p" <<<"$result" | head -n 1)
    mistake_row "$1" "${count:-0}" "${found:-NOT FOUND}" "$meant" "$what"
    if [[ -z $found ]]; then
        grep '^seed' <<<"$result" >&2 || tail -n 3 "$TMPDIR/log" >&2
        return 1
    fi
    note "$1: scripts/sim.sh seed $(sed -nE \
        "s/^seed ([0-9]+): (${wanted// /|}): .*/\1/p" <<<"$result" | head -n 1)"
}

mistakes() { # NAME...
    local name status=0
    local -a names=("$@")
    if ((${#names[@]} == 0)); then
        mapfile -t names < <(cd "$MISTAKES" && printf '%s\n' *.patch | sed 's/\.patch$//')
    fi
    for name in "${names[@]}"; do
        [[ -e $MISTAKES/$name.patch ]] || wrong_call "no such mistake: $name"
    done
    mkdir "$TMPDIR/original"
    cp -a CMakeLists.txt cmake include src tests "$TMPDIR/original"
    mistake_row mistake schedules "found by" "meant for it" "what is wrong"
    for name in "${names[@]}"; do
        try_mistake "$name" || status=1
    done
    printf '\n%d mistakes, %s\n' "${#names[@]}" \
        "$( ((status == 0)) && echo 'each found by a checker meant for it' || echo 'NOT all found')"
    return "$status"
}

main() {
    local command=${1-}
    answer_help "$@"
    shift || :
    case $command in
    seed) (($# == 1)) && is_number "$1" || wrong_call "seed takes a number" ;;
    run) (($# == 2)) && is_number "$1" && is_number "$2" || wrong_call "run takes two numbers" ;;
    campaign) (($# == 1)) && is_number "$1" || wrong_call "campaign takes a number" ;;
    report) [[ -e $CAMPAIGN ]] || fail "$EX_USAGE" "there is no $CAMPAIGN yet" ;;
    valgrind) (($# == 1)) && is_number "$1" || wrong_call "valgrind takes a number" ;;
    mistakes) ;;
    *) wrong_call "no such command: ${command:-none}" ;;
    esac
    if [[ $command != report ]]; then
        need_packages "${BUILD_PACKAGES[@]}" libcunit1-dev patch
        own_tmpdir sim
    fi
    case $command in
    report) report ;;
    seed | run)
        build_here
        "$Simulate" "$@"
        ;;
    campaign)
        need_packages valgrind
        build_here
        campaign "$1"
        ;;
    valgrind)
        need_packages valgrind
        build_here
        under_valgrind 1 "$1"
        ;;
    mistakes) mistakes "$@" ;;
    esac
}

main "$@"
