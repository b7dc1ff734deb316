#!/usr/bin/env bash
# zklock run --metrics-file: the text is what Prometheus takes, and says what became of the run.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2016  # single quotes are for the inner shells
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
use_own_server

Directory=$Work/metrics
mkdir "$Directory"
file=$Directory/job.prom

# The format, and what promtool's lint would say of names and histograms.
is_exposition() { # FILE
    awk '
        function wrong(what) { print "    line " NR ": " what ": " $0; bad = 1 }
        function base_of(name) {
            if (type == "histogram") sub(/_(bucket|sum|count)$/, "", name)
            return name
        }
        /^# HELP [a-z_]+ [^ ]/ {
            if (want_type) wrong("no TYPE before it")
            if (seen[$3]++) wrong("a second time")
            metric = $3; type = ""; want_type = 1
            next
        }
        /^# TYPE [a-z_]+ (counter|gauge|histogram)$/ {
            if (!want_type || $3 != metric) wrong("no HELP before it")
            type = $4; want_type = 0
            if ((type == "counter") != (metric ~ /_total$/)) wrong("_total is for counters")
            next
        }
        /^[a-z_]+[{]([a-z]+="([^"\\]|\\[\\n"])*",?)+[}] ([0-9]+|[0-9]+[.][0-9]+)$/ {
            name = $0; sub(/[{].*/, "", name)
            series = $0; sub(/ [^ ]*$/, "", series)
            value = $NF
            if (base_of(name) != metric || want_type) wrong("not of " metric)
            if (series in values) wrong("twice")
            values[series] = value
            samples++
            if (name ~ /_bucket$/) {
                if (value + 0 < last) wrong("less than the bucket before")
                last = value + 0
                if (series ~ /le="[+]Inf"/) { all = value; last = 0 }
            } else if (type == "histogram" && name ~ /_count$/ && value != all) {
                wrong("not that of all buckets")
            }
            next
        }
        { wrong("neither comment nor sample") }
        END { exit bad || !samples }' "$1" && is "$(tail -c 1 "$1")" ''
}

# says 'SAMPLE VALUE' [FILE], without the label run. But for its value: value_of SAMPLE.
line_of() { # SAMPLE [FILE]
    sed '/^#/d; s/{run="[^"]*",\{0,1\}/{/; s/{}//' "${2-$file}" | grep -F -- "$1 "
}
says() { is "$(line_of "${1% *}" "${2-$file}")" "$1"; }
value_of() { line_of "$1" | sed 's/.* //'; }
is_between() { # VALUE LEAST MOST, in seconds
    awk -v v="$1" -v a="$2" -v b="$3" 'BEGIN { exit !(v >= a && v <= b) }' || {
        printf '    %s is not from %s to %s\n' "$1" "$2" "$3" >&2
        return 1
    }
}
outcome() { says "zklock_acquires_total{name=\"$1\",result=\"$2\"} ${3-1}"; }
nothing_else_is_there() { is "$(ls -A "$Directory")" "${*-job.prom}"; }
now() { printf '%s\n' "${EPOCHREALTIME/,/.}"; }

# ---- acquired at once ----
begun=$(now)
(umask 077 && zkl run --metrics-file "$file" 'a/"b' -- cp "$file" "$Work/before")
claim "a run that ends leaves metrics as Prometheus takes them" is_exposition "$file"
claim "... for all to read" is "$(stat -c %a "$file")" 644
claim "... and no other file" nothing_else_is_there
claim "the run is over" says 'zklock_run_active 0'
claim "... with its exit status" says 'zklock_run_last_exit_status 0'
claim "... just now" is_between "$(value_of zklock_run_last_end_timestamp_seconds)" \
    "$(value_of zklock_run_start_timestamp_seconds)" "$(now)"
claim "... and was started before" is_between "$(value_of zklock_run_start_timestamp_seconds)" \
    "${begun%???}" "$(now)"
claim "one acquire, with its name escaped" outcome 'a/\"b' OK
claim "... waited less than $SOON_S s" \
    is_between "$(value_of 'zklock_wait_seconds_sum{name="a/\"b"}')" 0.000001 "$SOON_S"
claim "one hold is over" says 'zklock_hold_seconds_count{name="a/\"b"} 1'
claim "nothing is held" says 'zklock_held{name="a/\"b"} 0'
claim "one session" says 'zklock_sessions_total 1'
claim "all is labeled with the file's name" \
    is "$(grep -v '^#' "$file" | grep -vc '{run="job"[,}]' || :)" 0
claim "before, they were there, too" is_exposition "$Work/before"
claim "... of a run that is not over" says 'zklock_run_active 1' "$Work/before"
claim "... and of no earlier one" eval '! grep -q run_last "$Work/before"'

# ---- while it waits and runs ----
hold queue --metrics-file "$file"
await eval "says 'zklock_held{name=\"queue\"} 1' 2>/dev/null"
claim "while the command runs, the lock is held" says 'zklock_held{name="queue"} 1'
claim "... by a node" says 'zklock_nodes_holding 1'
claim "... and the last run was the one before" says 'zklock_run_last_exit_status 0'
status_is 1 zkl run -n --metrics-file "$Directory/try.prom" queue -- true || :
claim "-n: not acquired" \
    says 'zklock_acquires_total{name="queue",result="BUSY"} 1' "$Directory/try.prom"
claim "... with the exit status" says 'zklock_run_last_exit_status 1' "$Directory/try.prom"
claim "... not held" says 'zklock_held{name="queue"} 0' "$Directory/try.prom"
claim "... never successful" eval '! grep -q run_last_success "$Directory/try.prom"'
claim "... in the right form" is_exposition "$Directory/try.prom"
rm "$Directory/try.prom"
"${Zkl[@]}" run -w 60 --metrics-file "$Directory/next.prom" queue -- true 2>/dev/null &
waiter=$!
await eval '[[ $(zkl ls --json queue) == *\"contenders\":2,* ]]'
waiting_since=$(now)
claim "a run that waits says so" says 'zklock_run_active 1' "$Directory/next.prom"
await eval "(( \$(now_ms) > $(now_ms) + 300 ))"
waited=$(awk -v a="$waiting_since" -v b="$(now)" 'BEGIN { print b - a }')
let_go
wait "$waiter"
file=$Directory/next.prom
claim "how long it waited is counted" \
    is_between "$(value_of 'zklock_wait_seconds_sum{name="queue"}')" "$waited" 60
claim "... in the buckets, too" says 'zklock_wait_seconds_bucket{name="queue",le="0.262144"} 0'
claim "... as acquired" outcome queue OK
rm "$file"
file=$Directory/job.prom
claim "a hold's time is counted" \
    is_between "$(value_of 'zklock_hold_seconds_sum{name="queue"}')" "$waited" 60

# ---- other outcomes ----
successful=$(value_of zklock_run_last_success_timestamp_seconds)
claim "a command that fails" status_is 3 zkl run --metrics-file "$file" job -- sh -c 'exit 3'
claim "... leaves its exit status" says 'zklock_run_last_exit_status 3'
claim "... and when one was successful last" \
    is "$(value_of zklock_run_last_success_timestamp_seconds)" "$successful"
claim "a command that does not exist" status_is 127 zkl run --metrics-file "$file" job -- "$Work/no"
claim "... leaves its exit status" says 'zklock_run_last_exit_status 127'
claim "... in the right form" is_exposition "$file"
claim "several locks" zkl run --all --metrics-file "$file" job x/1 x/2 -- cp "$file" "$Work/before"
claim "... each with its name" eval 'outcome job OK && outcome x/1 OK && outcome x/2 OK'
claim "... each hold is over" eval 'says "zklock_hold_seconds_count{name=\"x/2\"} 1"'
claim "... in the right form" is_exposition "$file"

"${Zkl[@]}" run --metrics-file "$file" job -- sleep 1000 2>/dev/null &
runner=$!
await eval "says 'zklock_held{name=\"job\"} 1' 2>/dev/null"
zkl break --yes job
claim "a lost hold" ends_with "$runner" 75
claim "... is counted" says 'zklock_losses_total{name="job",reason="BROKEN"} 1'
claim "... with the exit status" says 'zklock_run_last_exit_status 75'
claim "... and is not held" says 'zklock_held{name="job"} 0'

claim "no server answers" status_is 69 zklock --hosts 127.0.0.1:1 run -w 0.1 \
    --metrics-file "$file" job -- true
claim "... leaves the exit status" says 'zklock_run_last_exit_status 69'
claim "... in the right form" is_exposition "$file"

zklock --hosts 127.0.0.1:1 run --metrics-file "$file" job -- true &
runner=$!
await eval "says 'zklock_run_active 1' 2>/dev/null"
kill -TERM "$runner"
claim "a signal while no server answers" ends_with "$runner" 143
claim "... ends the run" says 'zklock_run_active 0'
claim "... with its exit status" says 'zklock_run_last_exit_status 143'
status_is 69 zklock --hosts 127.0.0.1:1 run -w 0.1 --metrics-file "$file" job -- true || :

# ---- a file that cannot be written ----
refused() { # FILE WHY
    rm -f "$Work/ran"
    status_is 64 zkl run --metrics-file "$1" job -- touch "$Work/ran" &&
        is "$(cat "$Work/err")" "zklock: --metrics-file '$1': $2" && [[ ! -e $Work/ran ]]
}
claim "a file without a directory is 64, and nothing is run" \
    refused "$Work/none/a.prom" 'No such file or directory'
claim "a directory is" refused "$Directory" 'Is a directory'
claim "... and nothing is left beside it" is "$(ls -d "$Directory".* 2>/dev/null || :)" ''
mkfifo "$Work/fifo"
claim "a pipe is, and is not waited for" refused "$Work/fifo" 'Operation not supported'
claim "... and stays" test -p "$Work/fifo"
claim "a device is, and is not read to its end" refused /dev/zero 'Operation not supported'

# The directory goes while the command runs, so that the metrics can be written no more.
mkdir "$Work/gone"
claim "a file that cannot be written later costs nothing" \
    status_is 7 zkl run --metrics-file "$Work/gone/a.prom" job -- sh -c 'rm -r "$1"; exit 7' sh \
    "$Work/gone"
claim "... but one line" is "$(cat "$Work/err")" \
    "zklock: --metrics-file '$Work/gone/a.prom': No such file or directory"
# ---- a disk that is stuck ----
"${CC:-cc}" -shared -fPIC -o "$Work/stuck.so" "$ZKLOCK_SOURCE_DIR/tests/cli/stuck_disk.c"
export STUCK=$Work/stuck
: >"$STUCK"
# AddressSanitizer wants to be the first that is loaded, and need not be.
ASAN_OPTIONS=${ASAN_OPTIONS-}:verify_asan_link_order=0 LD_PRELOAD=$Work/stuck.so \
    "${Zkl[@]}" run --metrics-file "$file" job -- \
    env -u LD_PRELOAD sh -c 'echo >"$1"; exec sleep 1000' sh "$Work/runs" 2>"$Work/err" &
runner=$!
await test -s "$Work/runs"
"${Zkl[@]}" run job -- cp "$STUCK" "$Work/next" 2>/dev/null &
waiter=$!
await eval '[[ $(zkl ls --json job) == *\"contenders\":2,* ]]'
kill -TERM "$runner"
await test -e "$Work/next"
claim "a disk that is stuck does not keep the next one from the lock" ends_with "$waiter" 0
claim "... nor the run from its end" ends_with "$runner" 143
claim "... of which one line tells" \
    is "$(cat "$Work/err")" "zklock: --metrics-file '$file': not written within a second"
claim "... and the file is the one before" says 'zklock_run_last_exit_status 69'
rm "$file".*
claim "the metrics' file is only of run" status_is 64 zkl ls --metrics-file "$file"
claim "nothing is left of the files that were written anew" nothing_else_is_there
finish
