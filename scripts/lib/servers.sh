# What makes the tests' servers start faster, and compute less.
# Sourced, never run; the caller has set -euo pipefail and sourced common.sh.
# shellcheck shell=bash

# A server spends most of its start in loading classes. The JVM can keep those in an archive; with
# that a start takes two thirds of the processor's time. Exports the option to use it. A JVM older
# than 13 knows no such archive: its servers start as ever.
archive_server_classes() { # FILE
    local dir=$TMPDIR/archive pid deadline=$((SECONDS + 20))
    scripts/zk.sh start --dir "$dir" --jvm -XX:+IgnoreUnrecognizedVMOptions \
        --jvm "-XX:ArchiveClassesAtExit=$1" >/dev/null
    pid=$(<"$dir/1/pid")
    kill -TERM "$pid" # it writes the archive at its end
    while kill -0 "$pid" 2>/dev/null && ((SECONDS < deadline)); do
        sleep 0.05
    done
    scripts/zk.sh stop --dir "$dir"
    [[ ! -s $1 ]] || export JDK_JAVA_OPTIONS="${JDK_JAVA_OPTIONS-} -XX:SharedArchiveFile=$1"
}

# Two of the kinds of threads that a client's request passes in a server only help on more
# processors than the tests have. Without those a server computes less. The servers in containers
# have all.
leave_out_server_threads() {
    export JDK_JAVA_OPTIONS="${JDK_JAVA_OPTIONS-} -Dzookeeper.nio.numWorkerThreads=0 \
-Dzookeeper.commitProcessor.numWorkerThreads=0"
}
