# The servers and the drivers of bench/peers.sh. A driver takes its server's address and reads lines
# "WORKLOAD MS HOLD_US"; it prints a figure for each, or "-" for a workload that it has not.
# Sourced, never run; the caller has set -euo pipefail and sourced common.sh and network.sh.
# shellcheck shell=bash
# shellcheck disable=SC2154  # names of the scripts that source this file, or of those

readonly JARS=/usr/share/java
readonly START_LIMIT_S=20

Started=() EtcdData=

run_zklock() { exec "$BenchBuild/bench/bench_peers" zklock "$ZKLOCK_HOSTS"; }
run_redis() { exec "$BenchBuild/bench/bench_peers" redis "$RedisAddress"; }
run_etcd() { exec "$BenchBuild/bench/bench_peers" etcd "$EtcdAddress"; }
run_kazoo() { exec /usr/bin/python3 bench/peers/kazoo_peer.py "$ZKLOCK_HOSTS"; }
run_curator() { exec java -cp "$TMPDIR/classes:$CuratorJars" Curator "$ZKLOCK_HOSTS"; }

begin_curator() {
    local jar
    CuratorJars=
    for jar in curator-recipes curator-framework curator-client zookeeper zookeeper-jute guava \
        slf4j-api slf4j-nop; do
        CuratorJars+=${CuratorJars:+:}$JARS/$jar.jar
    done
    mkdir "$TMPDIR/classes"
    javac -d "$TMPDIR/classes" -cp "$CuratorJars" bench/peers/Curator.java
}

# As ZooKeeper's servers here, which do not sync their log: nothing is kept on a disk.
# redis-server, the package, is no more than this link and a service.
begin_redis() {
    choose_ports 1 "$TMPDIR"
    RedisAddress=127.0.0.1:${Ports[0]}
    mkdir "$TMPDIR/redis"
    ln -s "$(command -v redis-check-rdb)" "$TMPDIR/redis/redis-server"
    "$TMPDIR/redis/redis-server" --bind 127.0.0.1 --port "${Ports[0]}" --save '' \
        --dir "$TMPDIR/redis" >"$TMPDIR/redis/log" &
    Started+=($!)
    await_port "$RedisAddress" "$TMPDIR/redis/log"
}

download_etcd() { # DIR
    (cd "$1" && apt-get -qq -o APT::Sandbox::User=root download etcd-server 1>&2)
}

# The package etcd-server would start a service, so it is unpacked only.
unpack_etcd() {
    local dir=build/etcd
    ! command_exists etcd || return 0
    if [[ ! -x $dir/usr/bin/etcd ]]; then
        is_debian || report_missing etcd-server
        mkdir -p "$dir"
        download_etcd "$dir" || { apt_get update && download_etcd "$dir"; } ||
            fail "$EX_UNAVAILABLE" "could not download etcd-server"
        dpkg-deb -x "$dir"/etcd-server_*.deb "$dir"
    fi
    PATH=$PATH:$PWD/$dir/usr/bin
}

# Its log is synced always; in memory that costs next to nothing.
begin_etcd() {
    local between
    unpack_etcd
    choose_ports 2 "$TMPDIR"
    EtcdAddress=127.0.0.1:${Ports[0]} between=http://127.0.0.1:${Ports[1]}
    EtcdData=$(mktemp -d /dev/shm/zklock-etcd.XXXXXX)
    etcd --data-dir "$EtcdData" --listen-client-urls "http://$EtcdAddress" \
        --advertise-client-urls "http://$EtcdAddress" --initial-cluster "default=$between" \
        --listen-peer-urls "$between" --initial-advertise-peer-urls "$between" \
        2>"$TMPDIR/etcd.log" &
    Started+=($!)
    await_port "$EtcdAddress" "$TMPDIR/etcd.log"
}

await_port() { # ADDRESS LOG
    local deadline=$((SECONDS + START_LIMIT_S))
    until (exec 3<>"/dev/tcp/${1%:*}/${1##*:}") 2>/dev/null; do
        ((SECONDS < deadline)) || {
            tail -n 20 "$2" >&2
            fail "$EX_SOFTWARE" "nothing serves on $1"
        }
        sleep 0.05
    done
}

# As the packages say, and where etcd is not a package, as it says.
versions() {
    local -a packages=(libzookeeper-java)
    ! wanted curator || packages+=(libcurator-recipes-java)
    ! wanted kazoo || packages+=(python3-kazoo)
    ! wanted redis || packages+=(redis-tools)
    printf '%s cores; load average before %s; ' "$(nproc)" "$(cut -d ' ' -f 1 /proc/loadavg)"
    # shellcheck disable=SC2016  # the braces are dpkg's
    dpkg-query -W -f '${Package} ${Version}, ' "${packages[@]}" 2>/dev/null || :
    ! wanted etcd || etcd --version | sed -n 's/^etcd Version: \(.*\)/etcd \1, /p' | tr -d '\n'
    printf '%s ms a turn\n\n' "$WindowMs"
}

wanted() { [[ " ${Peers[*]} " == *" $1 "* ]]; } # PEER

# The packages, servers and programs of the chosen peers.
begin_services() {
    local -a packages=("${BUILD_PACKAGES[@]}" "${SERVER_PACKAGES[@]}")
    ! wanted curator || packages+=("${CURATOR_PACKAGES[@]}")
    ! wanted kazoo || packages+=("${KAZOO_PACKAGES[@]}")
    ! wanted redis || packages+=("${REDIS_PACKAGES[@]}")
    need_packages "${packages[@]}"
    own_tmpdir peers end_services
    build_benchmarks
    ZKLOCK_HOSTS=$(scripts/zk.sh start --dir "$TMPDIR/zk" --servers "$Servers")
    ! wanted curator || begin_curator
    ! wanted redis || begin_redis
    ! wanted etcd || begin_etcd
}

end_services() {
    ((${#Started[@]} == 0)) || kill -KILL "${Started[@]}" 2>/dev/null || :
    wait 2>/dev/null
    [[ ! $EtcdData ]] || rm -rf "$EtcdData"
    release_ports
}
