#!/usr/bin/env bash
# run --shared: readers together, and apart from those that are not.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2016  # single quotes are for the inner shells
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
use_any_server

hold files
claim "a reader does not share with a holder that is none" status_is 1 zkl run -ns files -- true
zkl run --shared files -- true &
reader=$!
await eval '[[ $(zkl show --json files) == *\"position\":2,\"holder\":false,\"kind\":\"read\"* ]]'
let_go
claim "it runs after that one" ends_with "$reader" 0

# Both are there at once, or neither ends.
meet='touch "$1/$2"; until [[ -e $1/$3 ]]; do sleep 0.02; done'
zkl run -s files -- bash -c "$meet" sh "$Work" one two &
first=$!
zkl run -s files -- bash -c "$meet" sh "$Work" two one &
second=$!
claim "readers hold together" ends_with "$first" 0
claim "both of them" ends_with "$second" 0

hold files -s
claim "who is no reader does not share with one" status_is 1 zkl run -n files -- true
claim "... with -x behind -s neither" status_is 1 zkl run -n -s -x files -- true
claim "... but with -s behind -x" status_is 0 zkl run -n -x -s files -- true
zkl run files -- true &
other=$!
await eval '[[ $(zkl show --json files) == *\"position\":2,\"holder\":false,\"kind\":\"mutex\"* ]]'
claim "a reader that comes behind such a one waits" status_is 1 zkl run -ns files -- true
zkl run -s files -- true &
last=$!
await eval '[[ $(zkl show --json files) == *\"position\":3,* ]]'
nodes=$(zkl show --json files | grep -oE '"(node|waits_on)":"[^"]*"' | cut -d'"' -f4)
claim "it waits on that one" is "$(sed -n 5p <<<"$nodes")" "$(sed -n 2p <<<"$nodes")"
let_go
claim "each in its turn" ends_with "$other" 0
claim "then the last" ends_with "$last" 0

claim "-s belongs to run" status_is 64 zkl ls -s
finish
