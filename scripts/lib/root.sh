# A clean Debian in a directory of its own, for the scripts that try something there.
# Sourced, never run; the caller has set -euo pipefail, sourced common.sh, and has Root, the
# directory, in TMPDIR, and ROOT_CACHE, the archive that it is kept in, or nothing.
# shellcheck shell=bash
# shellcheck disable=SC2154  # see above

# A compiler is there. What else a package needs, the package has to say.
readonly ROOT_PACKAGES=gcc,libc6-dev,pkg-config

# In namespaces, so that what COMMAND mounts and starts ends with it.
apart() { # COMMAND...
    unshare --mount --pid --fork --kill-child --mount-proc "$@"
}

# It has the network of this machine, and nothing of the caller's environment. The root is a mount,
# as a machine's is, and there are terminals.
in_root() { # COMMAND...
    # shellcheck disable=SC2016  # the inner shell expands it
    apart bash -c 'mount --bind "$1" "$1" && mount -t proc proc "$1/proc" &&
            mount -t sysfs -o ro sysfs "$1/sys" &&
            mount -t devpts -o newinstance,ptmxmode=0666 devpts "$1/dev/pts" &&
            exec chroot "$@"' in_root \
        "$Root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
        DEBIAN_FRONTEND=noninteractive ${http_proxy:+"http_proxy=$http_proxy"} \
        ${ZKLOCK_HOSTS:+"ZKLOCK_HOSTS=$ZKLOCK_HOSTS"} "$@" </dev/null
}

make_root() {
    local begun=$EPOCHREALTIME proxy
    proxy=$(apt_proxy)
    [[ ! $proxy ]] || export http_proxy=$proxy
    mkdir "$Root"
    if [[ $ROOT_CACHE && -e $ROOT_CACHE ]] && in_group tar -xf "$ROOT_CACHE" -C "$Root" &&
        in_root dpkg-query -W ${ROOT_PACKAGES//,/ } >/dev/null 2>&1; then
        note "the clean Debian is that in $ROOT_CACHE: $(seconds_since "$begun") s"
    else
        rm -rf "$Root"
        in_group apart debootstrap --variant=minbase --include="$ROOT_PACKAGES" "$SUITE" "$Root" \
            "$(mirror)" >"$TMPDIR/log" 2>&1 || {
            tail -n 20 "$TMPDIR/log" >&2
            fail "$EX_SOFTWARE" "debootstrap failed"
        }
        rm -f "$Root"/var/cache/apt/archives/*.deb
        note "the clean Debian is made by debootstrap: $(seconds_since "$begun") s"
        keep_root
    fi
    cp -L /etc/resolv.conf "$Root/etc/resolv.conf"
    in_group in_root sh -c 'apt-get -qq update && apt-get -qq upgrade -y' >"$TMPDIR/log" 2>&1 || {
        tail -n 20 "$TMPDIR/log" >&2
        fail "$EX_UNAVAILABLE" "apt reaches no packages from the clean Debian"
    }
}

# Whole or not at all.
keep_root() {
    [[ $ROOT_CACHE ]] || return 0
    mkdir -p "$(dirname "$ROOT_CACHE")"
    in_group tar -C "$Root" --one-file-system -cf "$TMPDIR/root.tar" .
    mv "$TMPDIR/root.tar" "$ROOT_CACHE"
}

# Prints all files but those in which apt and dpkg write down what they do.
files_of_root() {
    (cd "$Root" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev/pts -o \
        -path ./tmp -o -path ./var/cache -o -path ./var/log -o -path ./var/lib/apt -o \
        -path './var/lib/dpkg/*-old' \) -prune -o -print | sort)
}
