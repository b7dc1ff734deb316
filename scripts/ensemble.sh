#!/usr/bin/env bash
# Runs the register test on three servers that are broken again and again, for as long as asked;
# what was done is kept in a file, and the next campaign goes on from there.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib.sh

readonly CAMPAIGN=tests/register/campaign.txt
# A piece has servers of its own, and its end is looked at before the next one.
readonly PIECE_S=300

usage() {
    cat <<END
usage: scripts/ensemble.sh run SECONDS [SEED]   one run; prints figures
       scripts/ensemble.sh campaign SECONDS     runs of $PIECE_S s with new seeds, until so much was
                                                done at this commit; what was done is kept in
                                                $CAMPAIGN
       scripts/ensemble.sh report               sums up that file; fails as a campaign would

Needs root, for network namespaces.

exit status: 0 nothing was lost and no two held; 1 something was wrong; 64 wrong call; 69 a package
or the right is missing; 70 the build failed.
END
}

wrong_call() {
    note "$@"
    usage >&2
    exit "$EX_USAGE"
}

is_number() { [[ $1 =~ ^[0-9]{1,9}$ ]]; }

build() {
    local log=build/ensemble.log
    mkdir -p build
    { in_group cmake -S . -B build -DZKLOCK_BUILD_TESTS=ON &&
        in_group cmake --build build --target register_ensemble --parallel "$(nproc)"; } \
        >"$log" 2>&1 || {
        cat "$log" >&2
        fail "$EX_SOFTWARE" "the test could not be built"
    }
}

run() { # SECONDS SEED
    in_group build/tests/register_ensemble --seconds "$1" --seed "$2"
}

# What runs: the commit, and whether the code differs from it.
commit_name() {
    local commit
    commit=$(git rev-parse --short=12 HEAD 2>/dev/null) || commit=unknown
    [[ -z $(git status --porcelain -- src include tests scripts 2>/dev/null |
        grep -v "$CAMPAIGN" || :) ]] || commit+=+
    printf '%s\n' "$commit"
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

report() { # COMMIT; fails if a run at it has failed, or any has found two holders
    awk -v commit="$1" '
        $1 == "run" {
            seconds[$3] += $5; failed[$3] += $6 != 0
            for (i = 7; i <= NF; i++) sum[i] += $i
        }
        $1 == "fault" {
            times = $2; ms = $3; of_one = $4 + 0
            sub(/^fault [0-9 ]+/, "")
            count[$0] += times
            if (ms > longest[$0]) longest[$0] = ms
            if (of_one > longest_of_one[$0]) longest_of_one[$0] = of_one
        }
        END {
            for (name in count) {
                # Older runs have not written this down.
                rest = longest_of_one[name] ? sprintf("; of one register for %5d ms at most", \
                    longest_of_one[name]) : ""
                printf "%-42s %4d times; no write for %5d ms at most%s\n", name, count[name],
                    longest[name], rest | "sort"
            }
            close("sort")
            for (name in seconds)
                printf "%d s at %s, %d runs failed\n", seconds[name], name, failed[name]
            printf "%d faults of servers, %d grants, %d hand-offs, %d writes, %d losses of a " \
                "hold told; registers with two holders at a time: %d; updates lost behind " \
                "fence and guard: %d\n", sum[7], sum[8], sum[9], sum[10], sum[11], sum[12], sum[13]
            exit failed[commit] > 0 || sum[12] + sum[13] > 0
        }
    ' "$CAMPAIGN"
}

# A run that failed, however, is written down and ends it.
campaign() { # SECONDS
    local commit seed begun result=0 log=build/ensemble.log
    commit=$(commit_name)
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
    report "$commit"
}

main() {
    local command=${1-}
    shift || :
    case $command in
    -h | --help)
        usage
        return
        ;;
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
        build
    fi
    case $command in
    run) run "$1" "${2:-$SRANDOM}" ;;
    campaign) campaign "$1" ;;
    report) report "$(commit_name)" ;;
    esac
}

main "$@"
