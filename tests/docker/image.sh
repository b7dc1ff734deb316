# The image of a ZooKeeper server, for docker.sh: made out of Debian's packages, or taken from an
# archive of what was made before.
# Sourced, never run; the caller has set -euo pipefail, sourced common.sh, and has Dir and Sources,
# the directory that the image is made from.
# shellcheck shell=bash
# shellcheck disable=SC2154  # see above

readonly BASE_IMAGE=zklock-debian IMAGE=zklock-zookeeper

# Changes with what the image is made from.
sources_digest() {
    cat "$Sources"/* | sha256sum | cut -d ' ' -f 1
}

image_exists() {
    local label
    label=$(docker image inspect -f '{{index .Config.Labels "zklock.sources"}}' "$IMAGE" 2>&1) &&
        [[ $label == "$(sources_digest)" ]]
}

# In a namespace, so that what debootstrap mounts and starts ends with it.
make_base() {
    local tree=$Dir/base directory
    need_packages debootstrap
    rm -rf "$tree"
    quietly unshare --mount --pid --fork --kill-child --mount-proc \
        debootstrap --variant=minbase "$SUITE" "$tree" "$(mirror)"
    find "$tree/usr/share/doc" -type f ! -name copyright -delete
    for directory in usr/share/{locale,man,info} var/cache/apt var/lib/apt/lists var/log; do
        find "$tree/$directory" -mindepth 1 -type f -delete
    done
    tar -C "$tree" -c . | docker import - "$BASE_IMAGE" >/dev/null
    rm -rf "$tree"
}

quietly() { # COMMAND...
    in_group "$@" >"$Dir/build.log" 2>&1 || {
        tail -n "$LOG_TAIL_LINES" "$Dir/build.log" >&2
        fail "$EX_SOFTWARE" "failed: $*"
    }
}

image_mib() { # IMAGE
    docker image inspect -f '{{.Size}}' "$1" | awk '{ printf "%.0f MiB", $1 / 1048576 }'
}

build_image() {
    local begun=$EPOCHREALTIME proxy
    proxy=$(apt_proxy)
    [[ ! $proxy ]] || export http_proxy=$proxy
    if ! docker image inspect "$BASE_IMAGE" >/dev/null 2>&1; then
        note "making $BASE_IMAGE with debootstrap"
        make_base
        note "$BASE_IMAGE: $(seconds_since "$begun") s, $(image_mib "$BASE_IMAGE")"
    fi
    begun=$EPOCHREALTIME
    note "building $IMAGE"
    quietly docker build --network host ${proxy:+--build-arg "http_proxy=$proxy"} \
        --build-arg "BASE=$BASE_IMAGE" --label "zklock.sources=$(sources_digest)" \
        --tag "$IMAGE" "$Sources"
    note "$IMAGE: $(seconds_since "$begun") s, $(image_mib "$IMAGE")"
}

# An archive outlives the daemon and is none of its data, so that several may use it at a time.
archive() {
    [[ ! ${ZKLOCK_IMAGE_CACHE-} ]] ||
        printf '%s/%s.tar\n' "$(realpath -m -- "$ZKLOCK_IMAGE_CACHE")" "$IMAGE"
}

# One that is damaged, or made from other sources, is as good as none; its base may still do.
load_image() {
    local begun=$EPOCHREALTIME from
    from=$(archive)
    [[ $from && -e $from ]] || return 0
    if in_group docker load -qi "$from" >"$Dir/load.log" 2>&1; then
        note "images loaded from $from: $(seconds_since "$begun") s"
    else
        cat "$Dir/load.log" >&2
        note "$from cannot be loaded"
    fi
}

# Whole or not at all. ArchivePart is for the caller's traps.
ArchivePart=
keep_image() {
    local begun=$EPOCHREALTIME to
    to=$(archive)
    [[ $to ]] || return 0
    mkdir -p "${to%/*}"
    ArchivePart=$to.$$
    if in_group docker save "$IMAGE" "$BASE_IMAGE" >"$ArchivePart" && mv "$ArchivePart" "$to"; then
        note "images kept in $to: $(seconds_since "$begun") s"
    else
        note "images could not be kept in $to"
        rm -f "$ArchivePart"
    fi
    ArchivePart=
}

find_image() {
    [[ ${ZKLOCK_ZK_IMAGE:-$IMAGE} == "$IMAGE" ]] || return 0
    export ZKLOCK_ZK_IMAGE=$IMAGE
    image_exists || load_image
    if ! image_exists; then
        build_image
        keep_image
    fi
}
