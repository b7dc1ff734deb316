#!/usr/bin/env bash
# Runs in the container of tests/docker/image/Dockerfile: writes zoo.cfg and myid from the
# environment, and becomes the server. The variables, their defaults and what is left alone are
# those of the official image: a zoo.cfg or a myid that is there already is used as it is. With
# arguments it runs these instead of the server.
set -euo pipefail

readonly JARS=/usr/share/java
readonly USER_NAME=zookeeper

: "${ZOO_CONF_DIR:=/conf}" "${ZOO_DATA_DIR:=/data}" "${ZOO_DATA_LOG_DIR:=/datalog}"
: "${ZOO_LOG_DIR:=/logs}" "${ZK_SERVER_HEAP:=1000}"

readonly DIRECTORIES=("$ZOO_CONF_DIR" "$ZOO_DATA_DIR" "$ZOO_DATA_LOG_DIR" "$ZOO_LOG_DIR")

# Volumes may belong to anybody; who has chosen a user with --user has seen to that himself.
become_user() {
    ((EUID == 0)) || return 0
    chown -R "$USER_NAME:$USER_NAME" "${DIRECTORIES[@]}"
    exec setpriv --reuid "$USER_NAME" --regid "$USER_NAME" --init-groups -- "$0"
}

# words ARRAY TEXT: what blanks and ends of lines separate.
words() { read -ra "$1" <<<"${2//$'\n'/ }"; }

# Of two lines with one key the server takes the later, so what is given as extra comes last.
configuration() {
    local -a servers extra
    words servers "${ZOO_SERVERS:-server.1=localhost:2888:3888;2181}"
    words extra "${ZOO_CFG_EXTRA-}"
    cat <<END_OF_CONFIGURATION
dataDir=$ZOO_DATA_DIR
dataLogDir=$ZOO_DATA_LOG_DIR
tickTime=${ZOO_TICK_TIME:-2000}
initLimit=${ZOO_INIT_LIMIT:-5}
syncLimit=${ZOO_SYNC_LIMIT:-2}
autopurge.snapRetainCount=${ZOO_AUTOPURGE_SNAPRETAINCOUNT:-3}
autopurge.purgeInterval=${ZOO_AUTOPURGE_PURGEINTERVAL:-0}
maxClientCnxns=${ZOO_MAX_CLIENT_CNXNS:-60}
standaloneEnabled=${ZOO_STANDALONE_ENABLED:-true}
admin.enableServer=${ZOO_ADMINSERVER_ENABLED:-true}
END_OF_CONFIGURATION
    [[ ! ${ZOO_4LW_COMMANDS_WHITELIST-} ]] ||
        printf '4lw.commands.whitelist=%s\n' "$ZOO_4LW_COMMANDS_WHITELIST"
    printf '%s\n' "${servers[@]}"
    ((${#extra[@]} == 0)) || printf '%s\n' "${extra[@]}"
}

# Debian's, as scripts/zk.sh has them, and those of the admin server.
class_path() {
    local jars='' jar
    for jar in zookeeper zookeeper-jute slf4j-api slf4j-simple metrics-core snappy-java \
        netty-common netty-buffer netty-transport netty-handler netty-codec netty-resolver \
        netty-transport-native-unix-common netty-transport-native-epoll commons-cli \
        jackson-core jackson-databind jackson-annotations \
        jetty9-server jetty9-servlet jetty9-util jetty9-util-ajax jetty9-http jetty9-io \
        jetty9-security servlet-api; do
        [[ ! -e $JARS/$jar.jar ]] || jars+=:$JARS/$jar.jar
    done
    printf '%s\n' "$ZOO_CONF_DIR$jars"
}

# exec, so that the signals of "docker stop" and "docker kill" reach java.
run_server() {
    local -a options
    [[ -e $ZOO_CONF_DIR/zoo.cfg ]] || configuration >"$ZOO_CONF_DIR/zoo.cfg"
    [[ -e $ZOO_DATA_DIR/myid ]] || printf '%s\n' "${ZOO_MY_ID:-1}" >"$ZOO_DATA_DIR/myid"
    words options "${SERVER_JVMFLAGS-} ${JVMFLAGS-}"
    exec java "-Dzookeeper.log.dir=$ZOO_LOG_DIR" -Dorg.slf4j.simpleLogger.showDateTime=true \
        "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS" "-Xmx${ZK_SERVER_HEAP}m" \
        "${options[@]}" -cp "$(class_path)" \
        org.apache.zookeeper.server.quorum.QuorumPeerMain "$ZOO_CONF_DIR/zoo.cfg"
}

# The first process of a container is spared by signals it does not handle.
trap 'exit 143' TERM
# What the official image's command is called; its arguments are of no use here.
[[ ${1-} != zkServer.sh ]] || set --
(($# == 0)) || exec "$@"
mkdir -p "${DIRECTORIES[@]}"
become_user
run_server
