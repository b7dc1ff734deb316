#!/usr/bin/env bash
# The library's binary interface: writes it down, and compares a library with what is written down.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/scripts/lib/common.sh"
. "$root/scripts/lib/build.sh"

readonly DUMP=$root/tests/package/libzklock.abi

usage() {
    cat <<END
usage: scripts/abi.sh dump
       scripts/abi.sh check [--dump FILE] LIBRARY

  dump    builds the library with gcc in build/abi and writes its interface to
          tests/package/libzklock.abi. Commit that after an addition, and with a change that breaks
          programs on purpose. Such a change also raises ZKLOCK_SOVERSION in CMakeLists.txt, unless
          no release has had the old interface.
  check   compares LIBRARY with that file or with FILE. New functions, new values of enums and new
          members at the end of a struct that begins with its size are compatible. Every other
          change is not.

exit status: 0 done, or compatible; 1 not compatible; 64 wrong call; 69 a package is missing, or
LIBRARY is for another machine than the file or has no debug information; 70 the build failed.
END
}

# The same interface gives the same text, wherever the library was built: no path but src/..., no
# line numbers. A struct that the public headers only declare is opaque.
print_interface() { # LIBRARY
    abidw --headers-dir "$root/include" --drop-private-types --drop-undefined-syms \
        --exported-interfaces-only --no-corpus-path --no-comp-dir-path --no-show-locs \
        --no-elf-needed --type-id-style hash "$1" |
        sed -E "s|^( *<abi-instr .*path=')[^']*/(src/[^']*')|\1\2|"
}

# Prints NEW without the members that its structs have beyond the end of the same struct in OLD, if
# that begins with its size. abidiff itself can be told to ignore members at the end
# (has_data_member_inserted_at), but version 2.2 then ignores all other changes of the struct too.
without_growth() { # OLD NEW
    awk -v q="'" '
        function attribute(name) {
            if (!match($0, " " name "=" q "[^" q "]*")) return ""
            return substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3)
        }
        /<class-decl / {
            struct = attribute("name")
            bits = attribute("size-in-bits") + 0
        }
        /<data-member / { at = attribute("layout-offset-in-bits") + 0 }
        FNR == NR {
            if (/<var-decl / && struct != "" && at == 0 && attribute("name") == "size")
                old[struct] = bits
        }
        /<\/class-decl>/ || /<class-decl .*\/>/ { struct = "" }
        FNR == NR { next }
        struct in old && bits > old[struct] {
            if (/<class-decl /)
                sub("size-in-bits=" q bits q, "size-in-bits=" q old[struct] q)
            if (/<data-member / && at >= old[struct]) skips = 1
        }
        !skips { print }
        /<\/data-member>/ { skips = 0 }
    ' "$1" "$2"
}

architecture_of() { sed -n "s/^<abi-corpus .*architecture='\([^']*\)'.*/\1/p" "$1"; }

dump() {
    need_packages "${BUILD_PACKAGES[@]}" abigail-tools
    build_quietly "$root" "$root/build/abi" zklock -DCMAKE_C_COMPILER=gcc \
        -DCMAKE_BUILD_TYPE=RelWithDebInfo -DZKLOCK_BUILD_TESTS=OFF -DZKLOCK_BUILD_CLI=OFF
    print_interface "$root/build/abi/libzklock.so" >"$TMPDIR/new"
    cat "$TMPDIR/new" >"$DUMP"
}

check() { # LIBRARY DUMP
    need_packages abigail-tools
    print_interface "$1" >"$TMPDIR/new"
    grep -q '<function-decl ' "$TMPDIR/new" ||
        fail "$EX_UNAVAILABLE" "$1 has no debug information"
    [[ $(architecture_of "$TMPDIR/new") == "$(architecture_of "$2")" ]] ||
        fail "$EX_UNAVAILABLE" "$1 is for another machine than $2"
    without_growth "$2" "$TMPDIR/new" >"$TMPDIR/comparable"
    abidiff --no-added-syms "$2" "$TMPDIR/comparable" >"$TMPDIR/changes" || {
        cat "$TMPDIR/changes"
        note "$1 is not compatible with $2"
        exit 1
    }
    if ! abidiff --harmless "$2" "$TMPDIR/new" >"$TMPDIR/changes"; then
        cat "$TMPDIR/changes"
        note "compatible; scripts/abi.sh dump writes down what is new"
    fi
}

answer_help "$@"
command=${1-}
(($# == 0)) || shift
own_tmpdir abi
case $command in
dump)
    (($# == 0)) || wrong_call "dump takes no argument"
    dump
    ;;
check)
    file=$DUMP
    if [[ ${1-} == --dump ]]; then
        [[ ${2-} ]] || wrong_call "--dump takes a value"
        file=$2
        shift 2
    fi
    (($# == 1)) || wrong_call "check takes one library"
    [[ -e $1 ]] || wrong_call "there is no $1"
    [[ -e $file ]] || wrong_call "there is no $file"
    check "$1" "$file"
    ;;
*) wrong_call "it is dump or check" ;;
esac
