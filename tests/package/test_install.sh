#!/usr/bin/env bash
# An installed copy, moved elsewhere, serves a program outside the tree: by pkg-config with the
# shared and with the static library, in C and in C++, and by CMake with both of its targets.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc=${CC:-cc}

claim() { printf '%s\n' "- $*"; }
fail() {
    printf 'FAILED: %s\n' "$*" >&2
    exit 1
}

# No server is needed to see that the library is linked, is the header's, and answers.
cat >"$work/consumer.c" <<'END'
#include <stdio.h>
#include <string.h>
#include <zklock.h>

int main(void) {
    char built[64];
    (void)snprintf(built, sizeof(built), "%d.%d.%d", ZKL_VERSION_MAJOR, ZKL_VERSION_MINOR,
                   ZKL_VERSION_PATCH);
    if (strcmp(zkl_version(), built) != 0)
        return 2;
    if (strcmp(zkl_errname(ZKL_TIMEOUT), "TIMEOUT") != 0 || zkl_strerror(ZKL_TIMEOUT)[0] == '\0')
        return 3;
    if (zkl_errclass(ZKL_TIMEOUT) != ZKL_CLASS_RETRY)
        return 4;
    zkl_session *session = NULL;
    if (zkl_session_open(&session, NULL, NULL) != ZKL_INVALID || session != NULL)
        return 5;
    if (zkl_session_close(NULL) != ZKL_OK)
        return 6;
    return puts(built) < 0;
}
END

run_consumer() { # PROGRAM
    local status=0
    "$1" >"$work/out" || status=$?
    ((status == 0)) || fail "${1##*/} returned $status"
    [[ $(<"$work/out") == "$version" ]] || fail "${1##*/} printed '$(<"$work/out")', not $version"
}

needs_our_library() { readelf -d "$1" | grep -q 'NEEDED.*libzklock'; }

claim "it installs into any prefix, with everything in place"
cmake --install "$ZKLOCK_BUILD_DIR" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/moved"
prefix=$work/moved
libdir=$(dirname "$(find "$prefix" -name libzklock.so)")
for file in "$libdir"/libzklock.{so,so.0,a} \
    "$libdir/pkgconfig/zklock.pc" "$prefix"/include/{zklock,zklock_fence,zklock_zookeeper}.h \
    "$prefix"/include/{zklock,zklock_base,zklock_error}.hpp \
    "$libdir"/cmake/zklock/{zklockConfig,zklockConfigVersion,zklockTargets,FindZooKeeper}.cmake \
    "$prefix/bin/zklock" "$prefix/share/bash-completion/completions/zklock" \
    "$prefix/share/zsh/site-functions/_zklock"; do
    [[ -e $file ]] || fail "$file is not installed"
done
[[ -n $(find "$prefix/share/doc" -name LICENSE) ]] || fail "LICENSE is not installed"
for page in "$ZKLOCK_SOURCE_DIR"/docs/man/*.[1-9] zkl_release.3; do
    [[ -s $prefix/share/man/man${page##*.}/${page##*/} ]] || fail "${page##*/} is not installed"
done
page=$(sed -n 's/^\.so //p' "$prefix/share/man/man3/zkl_release.3")
[[ -s $prefix/share/man/$page ]] || fail "zkl_release.3 does not lead to a page"
if grep -rlF "$ZKLOCK_SOURCE_DIR" "$libdir/pkgconfig" "$libdir/cmake" "$prefix/include"; then
    fail "these mention the source tree"
fi

version=$(sed -n 's/^#define ZKL_VERSION_[A-Z]* //p' "$prefix/include/zklock.h" | paste -sd.)
export PKG_CONFIG_PATH=$libdir/pkgconfig

claim "pkg-config: the shared library, without the ZooKeeper client in the program's own link"
[[ $(pkg-config --modversion zklock) == "$version" ]] || fail "zklock.pc has another version"
[[ $(pkg-config --libs zklock) != *zookeeper* ]] || fail "--libs names the ZooKeeper client"
read -ra flags < <(pkg-config --cflags --libs zklock)
"$cc" -Wall -Wextra -Werror -o "$work/by_pkgconfig" "$work/consumer.c" "${flags[@]}" \
    -Wl,-rpath,"$libdir"
needs_our_library "$work/by_pkgconfig" || fail "not linked with the shared library"
run_consumer "$work/by_pkgconfig"

claim "programs in C and C++ find all of the header in the library"
exported=$(nm -D --defined-only "$libdir/libzklock.so" | grep -c ' T zkl_')
run_api() { # COMPILER FILE
    "$1" -Wall -Wextra -Werror -o "$work/${2//./_}" "$ZKLOCK_SOURCE_DIR/tests/package/$2" \
        "${flags[@]}" -Wl,-rpath,"$libdir"
    local known
    known=$("$work/${2//./_}") || fail "$2: something is not as the header says"
    [[ $known == "$exported" ]] || fail "$2 knows $known functions, the library has $exported"
}
run_api "$cc" api.c
if command -v "${CXX:-g++}" >/dev/null; then
    run_api "${CXX:-g++}" api.cc
    printf '%s\n' '#include <zklock.hpp>' '#include <iostream>' 'int main() {' \
        '    std::error_code ec;' '    zkl::session none(nullptr, zkl::session_options(), ec);' \
        '    return !(std::cout << zkl_version() << std::endl) || ec != ZKL_INVALID;' '}' \
        >"$work/consumer.cc"
    "${CXX:-g++}" -std=c++17 -Wall -Wextra -Werror -o "$work/by_cplusplus" "$work/consumer.cc" \
        "${flags[@]}" -Wl,-rpath,"$libdir"
    run_consumer "$work/by_cplusplus"
else
    claim "(no C++ compiler here)"
fi

claim "the library's file has the release's number, its soname the ABI's, its symbols their version"
[[ -f $libdir/libzklock.so.$version && ! -L $libdir/libzklock.so.$version ]] ||
    fail "libzklock.so.$version is no file"
[[ $(readlink "$libdir/libzklock.so") == libzklock.so.0 ]] || fail "libzklock.so leads elsewhere"
[[ $(readlink "$libdir/libzklock.so.0") == "libzklock.so.$version" ]] ||
    fail "libzklock.so.0 leads elsewhere"
readelf -d "$libdir/libzklock.so" | grep -q 'SONAME.*\[libzklock\.so\.0\]' || fail "another soname"
grep -q "/libzklock\.so\.${version//./\\.}\"" "$libdir"/cmake/zklock/zklockTargets-*.cmake ||
    fail "the CMake package has another file"
grep -q '"libzklock\.so\.0"' "$libdir"/cmake/zklock/zklockTargets-*.cmake ||
    fail "the CMake package has another soname"
readelf --dyn-syms -W "$work/by_pkgconfig" | grep -q 'zkl_version@ZKLOCK_0\.1' ||
    fail "the program does not ask for ZKLOCK_0.1"

claim "CMake: zklock::zklock and zklock::zklock_static, at this version and no other"
mkdir "$work/project"
cp "$work/consumer.c" "$work/project/"
cat >"$work/project/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.18)
project(consumer C)
find_package(zklock ${wanted} REQUIRED)
foreach(library zklock zklock_static)
    add_executable(with_${library} consumer.c)
    target_link_libraries(with_${library} PRIVATE zklock::${library})
endforeach()
END
configure() { # BUILD_DIR VERSION
    cmake -S "$work/project" -B "$1" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
        -Dwanted="$2" >"$work/log" 2>&1
}
{ configure "$work/build" "$version" && cmake --build "$work/build" >"$work/log" 2>&1; } || {
    cat "$work/log" >&2
    fail "the CMake project does not build"
}
needs_our_library "$work/build/with_zklock" || fail "with_zklock is not linked with the library"
! needs_our_library "$work/build/with_zklock_static" || fail "with_zklock_static is not static"
run_consumer "$work/build/with_zklock"
run_consumer "$work/build/with_zklock_static"
! configure "$work/build2" 99.0 || fail "it took version 99.0 for granted"

claim "pkg-config --static: enough for a program where there is no shared library"
rm "$libdir"/libzklock.so*
read -ra flags < <(pkg-config --static --cflags --libs zklock)
"$cc" -Wall -Wextra -Werror -o "$work/by_static" "$work/consumer.c" "${flags[@]}"
! needs_our_library "$work/by_static" || fail "linked with a shared library"
run_consumer "$work/by_static"

claim "the installed command runs and says its version"
[[ $("$prefix/bin/zklock" --version) == *"$version"* ]] || fail "zklock --version lacks $version"
