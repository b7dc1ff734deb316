# The Debian packages that the scripts need, and how a script gets them.
# Sourced by common.sh, never run.
# shellcheck shell=bash
# shellcheck disable=SC2034  # the names here are for the scripts that source this file

SERVER_PACKAGES=(libzookeeper-java default-jre-headless)
BUILD_PACKAGES=(gcc libc6-dev cmake make pkg-config libzookeeper-mt-dev)
TEST_PACKAGES=(libcunit1-dev iproute2 iptables libevent-dev libuv1-dev mandoc patch procps
    systemtap-sdt-dev)
DOCKER_PACKAGES=(docker.io docker-compose debootstrap iproute2 iptables procps)
CURATOR_PACKAGES=(libcurator-recipes-java libcurator-framework-java libcurator-client-java
    default-jdk-headless)
KAZOO_PACKAGES=(python3 python3-kazoo)
REDIS_PACKAGES=(redis-tools)
PLOT_PACKAGES=(gnuplot-nox)
CI_PACKAGES=(clang clang-format clang-tidy libclang-rt-dev llvm shellcheck)

readonly JAVA_MIN=11
# The Debian that packages and images are made for.
readonly SUITE=bookworm

# How to see that a package's content is there when it did not come from Debian: a JRE or a CMake
# unpacked by hand is as good, and other systems have no dpkg to ask.
declare -rA PACKAGE_PROBES=(
    [abigail-tools]=command:abidiff
    [clang-format]=command:clang-format
    [clang-tidy]=command:clang-tidy
    [clang]=command:clang
    [cmake]=command:cmake
    [debootstrap]=command:debootstrap
    [default-jdk-headless]=command:javac
    [default-jre-headless]=java:$JAVA_MIN
    [docker-compose]=command:docker-compose
    [docker.io]=command:dockerd
    [dpkg-dev]=command:dpkg-buildpackage
    [gcc]=command:gcc
    [gnuplot-nox]=command:gnuplot
    [iproute2]=command:ip
    [iptables]=command:iptables
    [libc6-dev]=header:stdio.h
    [libcunit1-dev]=header:CUnit/CUnit.h
    [libcurator-client-java]=file:/usr/share/java/curator-client.jar
    [libcurator-framework-java]=file:/usr/share/java/curator-framework.jar
    [libcurator-recipes-java]=file:/usr/share/java/curator-recipes.jar
    [libevent-dev]=header:event2/event.h
    [libuv1-dev]=header:uv.h
    [libzookeeper-java]=file:/usr/share/java/zookeeper.jar
    [libzookeeper-mt-dev]=header:zookeeper/zookeeper.h
    [llvm]=command:llvm-symbolizer
    [make]=command:make
    [mandoc]=command:mandoc
    [patch]=command:patch
    [pkg-config]=command:pkg-config
    [procps]=command:pgrep
    [redis-tools]=command:redis-check-rdb
    [shellcheck]=command:shellcheck
    [systemtap-sdt-dev]=header:sys/sdt.h
    [valgrind]=command:valgrind
)

# ip and iptables live in sbin, which an ordinary user's PATH lacks.
command_exists() { PATH=$PATH:/usr/sbin:/sbin command -v "$1" >/dev/null 2>&1; }

# Each JDK's own file says it sooner than java does.
java_is_recent() {
    local java release answer=''
    java=$(command -v java) || return 1
    release=$(dirname "$(realpath "$java")")/../release
    [[ ! -r $release ]] || answer=$(<"$release")
    [[ $answer =~ JAVA_VERSION=\"([0-9]+) ]] || answer=$(java -version 2>&1) || return 1
    [[ $answer =~ (JAVA_VERSION=|version\ )\"([0-9]+) ]] && ((BASH_REMATCH[2] >= $1))
}

# Asking the compiler finds headers in the places only it knows.
header_exists() {
    [[ -e /usr/include/$1 ]] ||
        printf '#include <%s>\n' "$1" | "${CC:-cc}" -E -x c - >/dev/null 2>&1
}

package_probe_succeeds() {
    local probe=${PACKAGE_PROBES[$1]-}
    local what=${probe#*:}
    case $probe in
    command:*) command_exists "$what" ;;
    file:*) [[ -e $what ]] ;;
    header:*) header_exists "$what" ;;
    java:*) java_is_recent "$what" ;;
    *) return 1 ;;
    esac
}

is_debian() { command_exists dpkg-query && command_exists apt-get; }

# Prints those of PKG... that are not there, one per line.
missing_packages() {
    local installed='' package
    if is_debian; then
        # Exits 1 when it does not know one of the names; the others are listed all the same.
        # shellcheck disable=SC2016  # the braces are dpkg's
        installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' "$@" 2>/dev/null) || :
    fi
    for package in "$@"; do
        [[ $'\n'$installed$'\n' == *$'\n'"installed $package"$'\n'* ]] ||
            package_probe_succeeds "$package" || printf '%s\n' "$package"
    done
}

report_missing() {
    local package probe
    note "missing, and not installable from here:"
    for package in "$@"; do
        probe=${PACKAGE_PROBES[$package]-}
        printf '    %s%s\n' "$package" "${probe:+  (looked for ${probe/:/ })}" >&2
    done
    note "these are Debian's names; install what they contain and try again"
    exit "$EX_UNAVAILABLE"
}

# Standard output belongs to the script that needs the packages, hence 1>&2.
apt_get() {
    local -a elevate=()
    ((EUID == 0)) || elevate=(sudo)
    # The lock timeout: two scripts of one build may find the same package missing.
    "${elevate[@]}" env DEBIAN_FRONTEND=noninteractive \
        apt-get -qq -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 "$@" </dev/null 1>&2
}

APT_LISTS_ARE_FRESH=no

# need_packages PKG...: returns once all are there, or exits with EX_UNAVAILABLE.
need_packages() {
    local -a missing
    mapfile -t missing < <(missing_packages "$@")
    ((${#missing[@]})) || return 0
    is_debian || report_missing "${missing[@]}"
    ((EUID == 0)) || command_exists sudo || report_missing "${missing[@]}"
    note "installing ${missing[*]}"
    if [[ $APT_LISTS_ARE_FRESH == no ]]; then
        # Lists that are merely old may still do, so the install is what decides.
        apt_get update || note "apt-get update failed; going on with the lists that are here"
        APT_LISTS_ARE_FRESH=yes
    fi
    apt_get install -y --no-install-recommends "${missing[@]}" ||
        fail "$EX_UNAVAILABLE" "could not install ${missing[*]}"
}

# Whatever apt gets Debian from is what can be reached from here.
mirror() {
    local found=''
    # shellcheck disable=SC2016  # expanded by apt
    found=$(apt-get indextargets --format '$(REPO_URI)' "Codename: $SUITE" 'Label: Debian' \
        2>/dev/null | head -n 1) || :
    printf '%s\n' "${ZKLOCK_DEBIAN_MIRROR:-${found:-http://deb.debian.org/debian}}"
}

apt_proxy() {
    local proxy=${http_proxy-}
    ! command_exists apt-config || eval "$(apt-config shell proxy Acquire::http::Proxy)"
    printf '%s\n' "$proxy"
}

# Compose 2 is a plugin of docker, compose 1 a command of its own; both resolve a file the same way.
# Leaves the command in Compose.
find_compose() {
    if docker compose version >/dev/null 2>&1; then
        Compose=(docker compose)
        return
    fi
    command_exists docker-compose || need_packages docker-compose
    Compose=(docker-compose)
}
