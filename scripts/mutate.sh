#!/usr/bin/env bash
# Changes src/core and src/engine in one place at a time, and runs the unit tests and the simulation
# against each change. What no test finds is printed, unless tests/mutants/equivalent.txt says why
# no test can find it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib/common.sh
. scripts/lib/build.sh

readonly BUILD=build/mutants
# Debian's, which knows Debian's python3-clang.
readonly MUTANTS=(/usr/bin/python3 -B tests/mutants/run.py)

usage() {
    cat <<END
usage: scripts/mutate.sh [OPTION]... [core|engine]...

Changes operators, conditions, numbers and statements, each by itself, in all files of these layers
(default: both). All changes are built at once, in $BUILD, and chosen by a variable when a
test runs.

  --file FILE   only this file; may be repeated
  --jobs N      so many tests at once (default: $(nproc))
  --again       only what survived the last run; what was found then counts as found
  --unit        without the simulation
  --list        prints the changes, and runs nothing
  -h, --help    print this

exit status: 0 each change is found, or listed in tests/mutants/equivalent.txt; 1 some survived, or
that list is wrong; 64 wrong call; 69 a package is missing; 70 the build failed.
END
}

# Fills Files with those of the layers.
choose_files() { # LAYER...
    local layer
    for layer in "$@"; do
        [[ $layer == core || $layer == engine ]] || wrong_call "no such layer: $layer"
        Files+=("src/$layer/"*.c)
    done
}

build_mutants() { # DIR TARGETS C_FLAGS CMAKE_OPTION...
    local name=$1 wanted=$2 flags=$3
    shift 3
    note "building $BUILD/$name"
    build_quietly "$BUILD/code" "$BUILD/$name" "$wanted" -DZKLOCK_BUILD_TESTS=ON \
        -DZKLOCK_BUILD_CLI=OFF -DZKLOCK_ASSERTS=ON -DCMAKE_BUILD_TYPE=None \
        -DCMAKE_C_FLAGS="$flags -w" \
        -DCMAKE_EXE_LINKER_FLAGS=-Wl,--wrap=CU_assertImplementation "$@"
}

main() {
    local jobs again=no unit=no list=no
    local -a layers=()
    jobs=$(nproc)
    Files=()
    while (($#)); do
        case $1 in
        -h | --help)
            usage
            return
            ;;
        --file)
            [[ -e ${2-} && $2 =~ ^src/(core|engine)/[a-z_]+\.c$ ]] ||
                wrong_call "--file takes a .c file of src/core or src/engine"
            Files+=("$2")
            shift
            ;;
        --jobs)
            [[ ${2-} =~ ^[1-9][0-9]*$ ]] || wrong_call "--jobs takes a number"
            jobs=$2
            shift
            ;;
        --again) again=yes ;;
        --unit) unit=yes ;;
        --list) list=yes ;;
        -*) wrong_call "no such option: $1" ;;
        *) layers+=("$1") ;;
        esac
        shift
    done
    ((${#layers[@]} + ${#Files[@]})) || layers=(core engine)
    choose_files "${layers[@]}"
    need_packages "${BUILD_PACKAGES[@]}" libcunit1-dev python3 python3-clang
    if [[ $list == yes ]]; then
        "${MUTANTS[@]}" list "$BUILD" "${Files[@]}"
        return
    fi
    own_tmpdir mutate
    mkdir -p "$BUILD"
    "${MUTANTS[@]}" write "$BUILD"
    build_mutants plain "simulate tests_unit" -O1
    build_mutants checked tests_unit -O1 -DZKLOCK_SANITIZE="address;undefined"
    in_group "${MUTANTS[@]}" run "$BUILD" "$jobs" "$again" "$unit" "${Files[@]}"
}

main "$@"
