#!/usr/bin/env bash
# Checks docker-compose.yml, or the file given, without a Docker daemon: that it parses, and what
# the tests and a careful neighbour rely on: three servers, each with a health check, and no port
# reachable from another machine.
set -euo pipefail
# shellcheck source-path=SCRIPTDIR source=lib/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/common.sh"

readonly SERVICES_EXPECTED="zk1 zk2 zk3"

usage() { printf 'usage: scripts/check_compose.sh [FILE]   (default: docker-compose.yml)\n'; }

# Reads a resolved file, in which every mapping is in block form. The two versions print a port as
# "- 127.0.0.1:21811:2181/tcp" or as a block with a host_ip line, and indent lists differently.
# Prints what is wrong, one line each.
find_faults() {
    awk -v expected="$SERVICES_EXPECTED" '
        function end_port() {
            if (port != "" && !local_only)
                print service ": not bound to 127.0.0.1: " port
            port = ""
        }
        /^[^ #]/ { end_port(); in_services = ($0 ~ /^services:/); next }
        !in_services { next }
        /^  [^ -]/ {
            end_port()
            service = $1; sub(/:$/, "", service); gsub(/["\047]/, "", service)
            seen[service] = 1; key = ""
            next
        }
        /^    [^ -]/ {
            end_port()
            key = $1
            if (key == "healthcheck:") checked[service] = 1
            next
        }
        key == "healthcheck:" && /disable: true|test:.*NONE|- NONE/ { checked[service] = 0 }
        key == "ports:" && /^ +- / {
            end_port()
            port = $0; sub(/^ +- /, "", port); ports[service]++
            local_only = (port ~ /^["\047]?127\.0\.0\.1:/)
        }
        key == "ports:" && /host_ip: ["\047]?127\.0\.0\.1["\047]?$/ { local_only = 1 }
        END {
            end_port()
            count = split(expected, names, " ")
            for (i = 1; i <= count; i++) {
                name = names[i]; wanted[name] = 1
                if (!seen[name]) print name ": no such service"
                else if (!checked[name]) print name ": no health check"
                if (seen[name] && !ports[name]) print name ": publishes no port"
            }
            for (name in seen) if (!wanted[name]) print name ": not expected"
        }'
}

main() {
    answer_help "$@"
    local file=${1-"$(dirname "${BASH_SOURCE[0]}")/../docker-compose.yml"} resolved faults
    (($# <= 1)) || wrong_call "one FILE"
    [[ -r $file ]] || wrong_call "cannot read $file"
    find_compose
    "${Compose[@]}" -f "$file" config -q || fail 1 "$file: not a valid compose file"
    resolved=$("${Compose[@]}" -f "$file" config)
    faults=$(find_faults <<<"$resolved")
    [[ ! $faults ]] || fail 1 "$file:"$'\n'"$faults"
}

main "$@"
