#!/usr/bin/env bash
# Makes what users install: the Debian packages, and the tarball for other distributions. Tries them
# in a Debian of their own, with "check".
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib/common.sh
. scripts/lib/root.sh

readonly MADE=build/packages
ROOT_CACHE=${ZKLOCK_ROOT_CACHE-build/debian-$SUITE.tar}

usage() {
    cat <<END
usage: scripts/package.sh         make zklock-VERSION.tar.gz, the source for other distributions,
                                  and from it the packages zklock, libzklock0 and libzklock-dev;
                                  print their sizes and names
       scripts/package.sh check   as root: make them, run lintian, and use them in a clean Debian
                                  from installing to purging, with a throw-away server

They are in $MADE. ZKLOCK_ROOT_CACHE names the archive that the clean Debian is kept in,
by default build/debian-$SUITE.tar; empty: none. ZKLOCK_DEBIAN_MIRROR says where it comes from,
by default where apt's packages do.

exit status: 0 done; 1 the packages are not as they should be; 64 wrong call; 69 a package is
missing, or the caller is not root; 70 something could not be made.
END
}

# Prints only what went wrong, and then exits.
quietly() { # WHAT COMMAND...
    in_group "${@:2}" >"$TMPDIR/log" 2>&1 || {
        tail -n 40 "$TMPDIR/log" >&2
        fail "$EX_SOFTWARE" "$1 failed"
    }
}

# ---- making ----

# The packages are made from the tarball's content. So the checkout stays as it is, and the tarball
# has all that a build needs.
make_packages() {
    local tarball tree
    quietly cmake cmake -S . -B "$TMPDIR/cmake" -DZKLOCK_BUILD_TESTS=OFF
    quietly cpack cpack --config "$TMPDIR/cmake/CPackSourceConfig.cmake" -B "$TMPDIR/cpack"
    tarball=$(echo "$TMPDIR"/cpack/*.tar.gz)
    Version=${tarball##*/zklock-}
    Version=${Version%.tar.gz}
    [[ $(dpkg-parsechangelog -S Version) =~ ^"$Version"(~dev)?$ ]] ||
        fail "$EX_SOFTWARE" "debian/changelog is not about $Version, the header's version"
    mkdir "$TMPDIR/made"
    tar -xf "$tarball" -C "$TMPDIR/made"
    tree=$TMPDIR/made/zklock-$Version
    quietly dpkg-buildpackage env -C "$tree" dpkg-buildpackage -us -uc -b
    rm -rf "$tree" "$MADE"
    mkdir -p "$MADE"
    cp "$tarball" "$TMPDIR"/made/* "$MADE"
}

print_made() {
    local file
    for file in "$MADE"/*; do
        printf '%8d  %s\n' "$(stat -c %s "$file")" "$file"
    done
}

# ---- checking ----

Failures=0
claim() { printf '%3d s  %s\n' "$SECONDS" "$*"; }
wrong() {
    printf 'FAILED: %s\n' "$*" >&2
    Failures=$((Failures + 1))
}
same() { # WHAT EXPECTED GOT
    [[ $2 == "$3" ]] || wrong "$1: '$3', not '$2'"
}
holds() { # WHAT COMMAND...
    in_group "${@:2}" >"$TMPDIR/log" 2>&1 || {
        wrong "$1"
        tail -n 20 "$TMPDIR/log" >&2
    }
}
# Prints what COMMAND prints, and its exit status unless that is 0.
outcome() { # COMMAND...
    local status=0
    "$@" 2>&1 || status=$?
    ((status == 0)) || printf '(%d)' "$status"
}

check_tarball() {
    claim "the tarball has what git has"
    # A tree without git is that of a tarball.
    git rev-parse --git-dir >/dev/null 2>&1 || return 0
    git ls-files -co --exclude-standard | sort >"$TMPDIR/in-git"
    tar -tf "$MADE/zklock-$Version.tar.gz" | sed 's|^[^/]*/||' | grep -v '/$' | grep . |
        sort >"$TMPDIR/in-tar"
    holds "git's files (<) and the tarball's (>) differ" diff "$TMPDIR/in-git" "$TMPDIR/in-tar"
}

check_lintian() {
    claim "lintian says nothing"
    holds "lintian has something to say" \
        lintian --no-cfg --allow-root --fail-on error,warning "$MADE"/zklock_*.changes
}

# apt gets what the packages depend on; nothing else is there that could help.
install_in_root() { # PACKAGE...
    local -a files=()
    local file
    for file in "${@/%/_*.deb}"; do
        file=$(cd "$MADE" && compgen -G "$file")
        cp "$MADE/$file" "$Root/tmp"
        files+=("/tmp/$file")
    done
    holds "apt does not install $*" \
        in_root apt-get -qq install -y --no-install-recommends "${files[@]}"
}

check_command() {
    local file
    claim "the command by itself: apt finds what it needs; it has its manual and completions"
    install_in_root zklock
    same "zklock --version" "zklock $Version" "$(outcome in_root zklock --version)"
    holds "zklock --help" in_root zklock --help
    for file in man/man1/zklock.1.gz bash-completion/completions/zklock \
        zsh/vendor-completions/_zklock doc/zklock/{copyright,README.md,docs/operations.md}; do
        [[ -s $Root/usr/share/$file ]] || wrong "there is no /usr/share/$file"
    done
    [[ $(man -l "$Root/usr/share/man/man1/zklock.1.gz" 2>/dev/null) == *deadlocks* ]] ||
        wrong "man cannot read the manual page"
}

check_lock() {
    claim "the command holds a lock on a server"
    ZKLOCK_HOSTS=$(scripts/zk.sh start --dir "$TMPDIR/zk")
    export ZKLOCK_HOSTS
    holds "zklock run x true" in_root zklock run x true
    # shellcheck disable=SC2016  # the command's shell expands it
    same "zklock run -c" 'x(3)' \
        "$(outcome in_root zklock run x -c 'printf %s "$ZKLOCK_NAME"; exit 3')"
    same "zklock ls in zklock run" x "$(outcome in_root zklock run x zklock ls --names)"
    scripts/zk.sh stop --dir "$TMPDIR/zk"
    unset ZKLOCK_HOSTS
}

# By pkg-config in the clean Debian. CMake is too large for it, and looks into it from outside.
check_development() {
    local functions target consumer=$TMPDIR/consumer
    claim "programs build with libzklock-dev, by pkg-config and by CMake"
    install_in_root libzklock0 libzklock-dev
    functions=$(grep -c '^ *zkl_' src/zklock.map)
    cp tests/package/api.[ch] "$Root/tmp"
    # shellcheck disable=SC2016  # the clean Debian's shell expands it
    holds "pkg-config: the program does not build" in_root sh -c \
        'cc -Wall -Werror -o /tmp/api /tmp/api.c $(pkg-config --cflags --libs zklock)'
    # shellcheck disable=SC2016  # the same
    holds "pkg-config --static: the program does not build" in_root sh -c \
        'cc -o /tmp/static /tmp/api.c $(pkg-config --static --cflags --libs zklock)'
    same "functions in pkg-config's program" "$functions" "$(outcome in_root /tmp/api)"
    mkdir "$consumer"
    cat >"$consumer/CMakeLists.txt" <<END
cmake_minimum_required(VERSION 3.18)
project(consumer C)
find_package(zklock $Version REQUIRED NO_DEFAULT_PATH
    PATHS "$Root/usr/lib/\${CMAKE_LIBRARY_ARCHITECTURE}/cmake/zklock")
foreach(library zklock zklock_static)
    add_executable(with_\${library} "$PWD/tests/package/api.c")
    target_link_libraries(with_\${library} PRIVATE zklock::\${library})
endforeach()
END
    holds "CMake does not find the package" cmake -S "$consumer" -B "$consumer/build"
    holds "CMake: the programs do not build" cmake --build "$consumer/build"
    for target in with_zklock with_zklock_static; do
        same "functions in CMake's $target" "$functions" "$(outcome "$consumer/build/$target")"
    done
}

check_purge() {
    claim "nothing is left when they are purged"
    holds "apt does not purge them" \
        in_root apt-get -qq purge -y --autoremove zklock libzklock0 libzklock-dev
    files_of_root >"$TMPDIR/after"
    holds "the files before (<) and after (>) differ" diff "$TMPDIR/before" "$TMPDIR/after"
    # shellcheck disable=SC2016  # the field is dpkg's
    same "what dpkg knows" '' "$(in_root dpkg-query -W -f '${Package} ' '*zklock*' 2>/dev/null)"
}

check() {
    check_tarball
    check_lintian
    claim "a clean Debian"
    Root=$TMPDIR/root
    make_root
    files_of_root >"$TMPDIR/before"
    check_command
    check_lock
    check_development
    check_purge
    printf '%3d s  in all\n' "$SECONDS"
    ((Failures == 0))
}

main() {
    local -a packages=("${BUILD_PACKAGES[@]}" dpkg-dev debhelper systemtap-sdt-dev)
    answer_help "$@"
    if (($#)); then
        [[ $* == check ]] || wrong_call "unexpected: $*"
        ((EUID == 0)) || fail "$EX_UNAVAILABLE" "only root can make a clean Debian"
        packages+=("${SERVER_PACKAGES[@]}" debootstrap lintian man-db)
    fi
    need_packages "${packages[@]}"
    own_tmpdir package
    make_packages
    print_made
    (($# == 0)) || check
}

main "$@"
