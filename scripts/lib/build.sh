# How the scripts build.
# Sourced, never run; the caller has set -euo pipefail and sourced common.sh.
# shellcheck shell=bash

# The targets are separated by blanks.
build() { # SOURCE DIR TARGETS CMAKE_OPTION...
    local source=$1 dir=$2
    local -a targets
    read -ra targets <<<"$3"
    shift 3
    in_group cmake -S "$source" -B "$dir" "$@" &&
        in_group cmake --build "$dir" --target "${targets[@]}" --parallel "$(nproc)"
}

# Prints only what went wrong, and then exits.
build_quietly() { # SOURCE DIR TARGETS CMAKE_OPTION...
    mkdir -p "$2"
    build "$@" >"$2/build.log" 2>&1 || {
        cat "$2/build.log" >&2
        fail "$EX_SOFTWARE" "the build of $3 in $2 failed"
    }
}

# The benchmarks, and the command for those that need it. Leaves their directory in BenchBuild.
build_benchmarks() {
    BenchBuild=build/bench
    build_quietly . "$BenchBuild" all -DZKLOCK_BUILD_TESTS=OFF -DZKLOCK_BUILD_CLI=ON \
        -DZKLOCK_BUILD_BENCH=ON
}

# The same, and a server for them in TMPDIR, which is made, unless ZKLOCK_HOSTS names others.
begin_benchmarks() {
    local -a packages=("${BUILD_PACKAGES[@]}")
    [[ ${ZKLOCK_HOSTS-} ]] || packages+=("${SERVER_PACKAGES[@]}")
    need_packages "${packages[@]}"
    own_tmpdir bench
    build_benchmarks
    [[ ${ZKLOCK_HOSTS-} ]] || ZKLOCK_HOSTS=$(scripts/zk.sh start --dir "$TMPDIR/zk")
    export ZKLOCK_HOSTS
    printf 'servers %s; %s cores; load average before %s\n\n' \
        "$ZKLOCK_HOSTS" "$(nproc)" "$(cut -d ' ' -f 1 /proc/loadavg)"
}
