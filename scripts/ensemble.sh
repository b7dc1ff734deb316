#!/usr/bin/env bash
# Runs the register test on three servers that are broken again and again, for as long as asked;
# what was done is kept in a file, and the next campaign goes on from there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib/common.sh
. scripts/lib/build.sh

readonly CAMPAIGN=tests/register/campaign.txt
# A piece has servers of its own, and its end is looked at before the next one.
readonly PIECE_S=300

usage() {
    cat <<END
usage: scripts/ensemble.sh run SECONDS [SEED]   one run; prints figures
       scripts/ensemble.sh campaign SECONDS     runs of $PIECE_S s with new seeds, until so much was
                                                done at this commit; what was done is kept in
                                                $CAMPAIGN, and
                                                docs/measurements.md is written anew
       scripts/ensemble.sh report               sums up that file; fails as a campaign would

Needs root, for network namespaces.

exit status: 0 nothing was lost and no two held; 1 something was wrong; 64 wrong call; 69 a package
or the right is missing; 70 the build failed.
END
}

is_number() { [[ $1 =~ ^[0-9]{1,9}$ ]]; }

run() { # SECONDS SEED
    in_group build/tests/register_ensemble --seconds "$1" --seed "$2"
}

# Out of what a run has printed: lines "fault TIMES LONGEST-MS OF-ONE-MS NAME", one line "run ...".
summarize() { # COMMIT SEED SECONDS STATUS
    awk -v head="run $(date -u +%Y-%m-%d) $1 $2 $3 $4" '
        / times; no write for / {
            line = $0
            sub(/^ +/, "", line)
            match(line, / +[0-9]+ times; no write for +[0-9]+ ms/)
            split(substr(line, RSTART, RLENGTH), words)
            name = substr(line, 1, RSTART - 1)
            match(line, /of one register for +[0-9]+/)
            of_one = substr(line, RSTART + 20, RLENGTH - 20)
            print "fault", words[1], words[6], of_one + 0, name
            faults += words[1]
        }
        /^ +in all: / {
            gsub(/[^0-9 ]/, "")
            gsub(/ +/, " ")
            sub(/^ /, "")
            figures = $0
        }
        END { print head, faults + 0, figures }
    '
}

done_at() { # COMMIT
    [[ ! -e $CAMPAIGN ]] || awk -v commit="$1" '
        $1 == "run" && $3 == commit { seconds += $5 }
        END { print seconds + 0 }' "$CAMPAIGN"
}

# Rows and figures as scripts/measurements.sh reads them. Fails if a run at COMMIT has failed, or if
# any run has found two holders or a lost update.
report() { # COMMIT
    awk -v commit="$1" '
        function of_fault(name, times, ms, ms_of_one) {
            printf "%-42s | %5s | %27s | %s\n", name, times, ms, ms_of_one
        }
        function of_commit(name, day, runs, seconds, failed) {
            printf "%-13s | %-10s | %4s | %7s | %s\n", name, day, runs, seconds, failed
        }
        # The fault lines of a run stand above its own.
        $1 == "run" {
            if (!($3 in runs)) { order[++commits] = $3; day[$3] = $2 }
            runs[$3]++
            seconds[$3] += $5
            failed[$3] += $6 != 0
            for (i = 5; i <= NF; i++) sum[i] += $i
            if (has_ms) { ms_seconds += $5; ms_faults += $7 }
            if (has_of_one) { of_one_seconds += $5; of_one_faults += $7 }
            has_ms = has_of_one = 0
        }
        $1 == "fault" {
            times = $2; ms = $3; of_one = $4 + 0
            sub(/^fault [0-9 ]+/, "")
            if (!($0 in count)) fault[++faults] = $0
            count[$0] += times
            if (ms > longest[$0]) longest[$0] = ms
            if (of_one > longest_of_one[$0]) longest_of_one[$0] = of_one
            if (ms > 0) has_ms = 1
            if (of_one > 0) has_of_one = 1
        }
        END {
            of_fault("fault", "times", "longest without a write, ms", \
                "without one to one register, ms")
            for (i = 1; i <= faults; i++) {
                least = i
                for (j = i + 1; j <= faults; j++) if (fault[j] < fault[least]) least = j
                name = fault[least]
                fault[least] = fault[i]
                of_fault(name, count[name], longest[name] ? longest[name] : "-", \
                    longest_of_one[name] ? longest_of_one[name] : "-")
            }
            print ""
            of_commit("commit", "from", "runs", "seconds", "runs that failed")
            for (i = 1; i <= commits; i++) {
                c = order[i]
                of_commit(c, day[c], runs[c], seconds[c], failed[c])
            }
            print ""
            print "seconds in all: " sum[5]
            print "faults of servers: " sum[7]
            print "grants: " sum[8]
            print "hand-offs: " sum[9]
            print "writes: " sum[10]
            print "losses of a hold told: " sum[11]
            print "registers with two holders at a time: " sum[12]
            print "updates lost behind fence and guard: " sum[13]
            print "longest without a write, seconds of the runs that measured it: " ms_seconds + 0
            print "longest without a write, faults in them: " ms_faults + 0
            print "without one to one register, seconds of the runs that measured it: " \
                of_one_seconds + 0
            print "without one to one register, faults in them: " of_one_faults + 0
            exit failed[commit] > 0 || sum[12] + sum[13] > 0
        }
    ' "$CAMPAIGN"
}

# A run that failed, however, is written down and ends it.
campaign() { # SECONDS
    local commit seed begun result=0 log=build/ensemble.log
    commit=$(commit_name "$CAMPAIGN" src include tests scripts)
    [[ -e $CAMPAIGN ]] || cat <<'END' >"$CAMPAIGN"
# run: date commit seed seconds status faults grants hand-offs writes losses-told
#      registers-with-two-holders updates-lost
# fault: times longest-ms-without-a-write longest-of-one-register name; of the run below
END
    while ((result == 0 && $(done_at "$commit") < $1)); do
        seed=$(($(grep -c '^run' "$CAMPAIGN" || :) + 1))
        begun=$SECONDS
        run "$PIECE_S" "$seed" >"$log" 2>&1 || result=$?
        summarize "$commit" "$seed" $((SECONDS - begun)) "$result" <"$log" >>"$CAMPAIGN"
        tail -n 1 "$CAMPAIGN"
        ((result == 0)) || cat "$log"
    done
    scripts/measurements.sh
    report "$commit"
}

main() {
    local command=${1-}
    answer_help "$@"
    shift || :
    case $command in
    run)
        (($# == 1 || $# == 2)) && is_number "$1" && is_number "${2:-1}" ||
            wrong_call "run takes a number of seconds, and perhaps a seed"
        ;;
    campaign) (($# == 1)) && is_number "$1" || wrong_call "campaign takes a number of seconds" ;;
    report) [[ -e $CAMPAIGN ]] || fail "$EX_USAGE" "there is no $CAMPAIGN yet" ;;
    *) wrong_call "no such command: ${command:-none}" ;;
    esac
    if [[ $command != report ]]; then
        need_packages "${BUILD_PACKAGES[@]}" "${TEST_PACKAGES[@]}" "${SERVER_PACKAGES[@]}"
        ((EUID == 0)) || fail "$EX_UNAVAILABLE" "only root can make network namespaces"
        own_tmpdir ensemble
        build_quietly . build register_ensemble -DZKLOCK_BUILD_TESTS=ON
    fi
    case $command in
    run) run "$1" "${2:-$SRANDOM}" ;;
    campaign) campaign "$1" ;;
    report) report "$(commit_name "$CAMPAIGN" src include tests scripts)" ;;
    esac
}

main "$@"
