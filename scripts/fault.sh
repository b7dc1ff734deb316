#!/usr/bin/env bash
# Plays each fault of the tier fault at each frame of each scenario, one kind of fault after the
# other, and prints the figures as scripts/measurements.sh reads them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib/common.sh
. scripts/lib/build.sh

usage() {
    cat <<END
usage: scripts/fault.sh    plays all faults and prints the cases of each, and the frames of each
                           scenario

exit status: 0 all cases went well; 1 some did not; 64 wrong call; 69 a package is missing; 70 the
build failed.
END
}

# Of a program that plays every frame: cases, those that failed, seconds.
sum_up_frames() { # NAME LOG
    awk -v name="fault.$1" '
        $2 == "cases" && $3 == "of" { printf "`%s` | %d | %d | %.0f\n", name, $1, failed, $6 }
        /^ +.* +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+ *$/ { failed += $NF }' "$2"
}

# Of the one that has all scenarios under way at once.
sum_up_middles() { # LOG SECONDS
    awk -v seconds="$2" '
        / to the (server|client); / { cases++; failed += !/: right( |$)/ }
        END { printf "`fault.server` | %d | %d | %d\n", cases, failed, seconds }' "$1"
}

list_frames() { # LOG
    awk '
        BEGIN { print "scenario | frames to the server | frames to the client" }
        $2 == "cases" && $3 == "of" { exit }
        /^ +.* +[0-9]+ +[0-9]+ +[0-9]+ +[0-9]+ *$/ {
            name = $1
            for (i = 2; i <= NF - 4; i++)
                name = name " " $i
            print name " | " $(NF - 3) " | " $(NF - 2)
        }' "$1"
}

play() { # NAME PROGRAM [CASES]
    in_group "${@:2}" >"$TMPDIR/$1.log" 2>&1 || {
        Status=1
        cat "$TMPDIR/$1.log" >&2
    }
}

main() {
    local name begun
    answer_help "$@"
    (($# == 0)) || wrong_call "there are no arguments"
    need_packages "${BUILD_PACKAGES[@]}" "${SERVER_PACKAGES[@]}" libcunit1-dev
    build_quietly . build "fault_matrix fault_server" -DZKLOCK_BUILD_TESTS=ON
    own_tmpdir fault
    Status=0
    printf 'program | cases | failed | seconds\n'
    for name in cut stall half_open blackout; do
        play "$name" build/tests/fault_matrix "$name:"
        sum_up_frames "$name" "$TMPDIR/$name.log"
    done
    begun=$SECONDS
    play server build/tests/fault_server
    sum_up_middles "$TMPDIR/server.log" $((SECONDS - begun))
    printf '\n'
    list_frames "$TMPDIR/cut.log"
    return "$Status"
}

main "$@"
