#!/usr/bin/env bash
# The commands of README.md and docs/operations.md, run as they stand there, do what is said about
# them. What follows them in a document is not there: servers, jobs, directories. Those are ours.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2016  # single quotes are for later evaluation and inner shells
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
use_own_server
printf 'root = %s\n' "$Root" >"$XDG_CONFIG_HOME/zklock.conf"
Zkl=(zklock)

# Leaves in $Work/block the lines of the block of code that has TEXT in it.
block() { # DOCUMENT TEXT
    awk -v text="$2" '
        /^```/ {
            if (inside && found) { printf "%s", lines; status = 0; exit }
            inside = !inside
            found = 0
            lines = ""
            next
        }
        inside { lines = lines $0 "\n"; if (index($0, text)) found = 1 }
        BEGIN { status = 1 }
        END { exit status }
    ' "$ZKLOCK_SOURCE_DIR/$1" >"$Work/block"
}

# As a shell would take it, that ends at the first failure; in $Work.
run_block() { # [SED_SCRIPT]
    sed "${1-}" "$Work/block" >"$Work/block.sh"
    env -C "$Work" bash -euo pipefail "$Work/block.sh" </dev/null
}
prints() { is "$("${@:2}")" "$1"; } # OUTPUT COMMAND...

# ---- README.md ----

for job in report deploy job transfer; do
    printf '#!/bin/sh\necho %s $ZKLOCK_NAME\n' "$job" >"$Work/$job"
    chmod +x "$Work/$job"
done
claim "README begins with commands" block README.md 'zklock run --all'
claim "... that do what their comments say" prints 'report reports/nightly
report reports/nightly
deploy web/deploy
job reports/render
transfer users/7 users/9' run_block '/^export ZKLOCK_HOSTS=/d'

hold web/deploy
grep -e '^zklock run -w' "$Work/block" | sed 's/-w 60/-w 0.2/' >"$Work/waits"
claim "... status 200 if that is too short" status_is 200 env -C "$Work" bash "$Work/waits"
let_go

claim "README has three terminals" block README.md 'sleep 60'
in_terminal() { sed -n "s/^\(zklock .*\)  *# terminal $1: .*/exec \1/p" "$Work/block"; }
bash -c "$(in_terminal 1)" &
holder=$!
await zkl held reports/nightly
bash -c "$(in_terminal 2)" >"$Work/second" 2>/dev/null &
waiter=$!
shows_both() { [[ $(bash -c "$(in_terminal 3)" 2>/dev/null) == *holds*waits* ]]; }
claim "... the third shows the holder and the waiter" await shows_both
claim "... the second waits" is "$(<"$Work/second")" ''
kill "$holder"
claim "... until the first has ended" ends_with "$holder" 143
claim "... and ends itself" ends_with "$waiter" 0
claim "... with the date" grep -q "$(date +%Y)" "$Work/second"

# ---- docs/operations.md ----

# ZooKeeper's zkCli.sh, which takes commands from stdin. Debian has the class, not the script.
zk_cli() {
    local jars
    jars=$(printf '/usr/share/java/%s.jar:' zookeeper zookeeper-jute slf4j-api slf4j-simple)
    java -cp "${ZKLOCK_ZK_CLASSPATH:-$jars}:/usr/share/java/commons-cli.jar" \
        -Dorg.slf4j.simpleLogger.logFile="$Work/zkcli.log" \
        org.apache.zookeeper.ZooKeeperMain -server "$ZKLOCK_HOSTS" 2>&1
}
data_of() { zkl get "$1" 2>&1; } # PATH

claim "operations: permits are changed" block docs/operations.md 'set -v 7 /locks/reports/render'
zkl run --permits 3 render -- true
sed "s|/locks/reports/|$Root/|; s| -v 7 | -v 0 |" "$Work/block" | zk_cli >"$Work/out"
claim "... get -s prints the version" grep -q 'dataVersion = 0' "$Work/out"
claim "... and set takes it" prints 'permits=4 max=5' data_of "$Root/render"
claim "... which holds from the next acquire on" status_is 64 \
    zkl run --permits 3 render -- true
claim "... for all" status_is 0 zkl run --permits 4 render -- true

claim "operations: a lock is closed" block docs/operations.md 'create /closed x auth::cdrwa'
sed "s|/closed|$Root-closed|" "$Work/block" | zk_cli >"$Work/out"
(umask 077 && echo digest:ann:secret >"$Work/auth")
claim "... to others" status_is 77 zkl --root "$Root-closed" run job -- true
claim "... not to who knows the word" status_is 0 \
    zkl --root "$Root-closed" --auth-file "$Work/auth" run job -- true

claim "operations: the servers' states" block docs/operations.md 'for server in zk1 zk2 zk3'
# Debian's nc asks the throw-away server by zk.sh.
nc() { bash "$Zk" cmd "$3:$4" "$(cat)"; }
export -f nc
export Zk
claim "... the loop prints them" prints "127.0.0.1: zk_server_state	standalone" \
    run_block "s/zk1 zk2 zk3/127.0.0.1/; s/2181/${ZKLOCK_HOSTS##*:}/"

claim "operations: the queues for Prometheus" block docs/operations.md 'ls --prometheus'
hold reports/nightly
mkdir "$Work/collector"
claim "... are printed" run_block "s|/var/lib/prometheus/node-exporter|$Work/collector|"
let_go
claim "... one file" is "$(ls "$Work/collector")" zklock.prom
claim "... that tells of the lock" grep -q '"reports/nightly"' "$Work/collector/zklock.prom"

claim "operations: a run's figures" block docs/operations.md 'run --metrics-file'
node_exporter() { printf '%s\n' "$@" >"$Work/exporter"; }
export -f node_exporter
export Work
claim "... the job runs" prints 'report reports/nightly' \
    run_block "s|/var/lib/node_exporter|$Work/collector|"
claim "... node_exporter looks where the run writes" \
    is "$(<"$Work/exporter")" "--collector.textfile.directory=$Work/collector"
claim "... the file" is "$(ls "$Work/collector")" $'nightly.prom\nzklock.prom'
claim "operations: a rule" block docs/operations.md 'alert: NightlyReportMissed'
metric=$(grep -oE 'zklock_[a-z_]+[{][^}]*[}]' "$Work/block")
claim "... of a metric that is there" grep -qF "$metric " "$Work/collector/nightly.prom"
finish
