# Finds ZooKeeper's multi-threaded C client, which brings no package file of its own.
# Defines the target ZooKeeper::zookeeper_mt, ZooKeeper_FOUND and ZooKeeper_VERSION.
# Hints: ZooKeeper_ROOT, or ZooKeeper_INCLUDE_DIR and ZooKeeper_LIBRARY.

find_path(ZooKeeper_INCLUDE_DIR zookeeper/zookeeper.h)
find_library(ZooKeeper_LIBRARY zookeeper_mt)

set(_zookeeper_version_file "${ZooKeeper_INCLUDE_DIR}/zookeeper/zookeeper_version.h")
if(EXISTS "${_zookeeper_version_file}")
    # One string since 3.7; three numbers before.
    file(STRINGS "${_zookeeper_version_file}" _zookeeper_line REGEX "^#define ZOO_VERSION ")
    if(_zookeeper_line MATCHES "\"([0-9]+[.][0-9]+[.][0-9]+)")
        set(ZooKeeper_VERSION "${CMAKE_MATCH_1}")
    else()
        set(_zookeeper_numbers)
        foreach(_zookeeper_part MAJOR MINOR PATCH)
            file(STRINGS "${_zookeeper_version_file}" _zookeeper_line
                REGEX "^#define ZOO_${_zookeeper_part}_VERSION ")
            string(REGEX REPLACE "^.* " "" _zookeeper_line "${_zookeeper_line}")
            list(APPEND _zookeeper_numbers "${_zookeeper_line}")
        endforeach()
        string(REPLACE ";" "." ZooKeeper_VERSION "${_zookeeper_numbers}")
    endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ZooKeeper
    REQUIRED_VARS ZooKeeper_LIBRARY ZooKeeper_INCLUDE_DIR
    VERSION_VAR ZooKeeper_VERSION
    REASON_FAILURE_MESSAGE "on Debian: apt-get install libzookeeper-mt-dev")
mark_as_advanced(ZooKeeper_INCLUDE_DIR ZooKeeper_LIBRARY)

if(ZooKeeper_FOUND AND NOT TARGET ZooKeeper::zookeeper_mt)
    add_library(ZooKeeper::zookeeper_mt UNKNOWN IMPORTED)
    # Without THREADED the header hides what only this library has.
    set_target_properties(ZooKeeper::zookeeper_mt PROPERTIES
        IMPORTED_LOCATION "${ZooKeeper_LIBRARY}"
        INTERFACE_INCLUDE_DIRECTORIES "${ZooKeeper_INCLUDE_DIR}"
        INTERFACE_COMPILE_DEFINITIONS THREADED)
endif()
