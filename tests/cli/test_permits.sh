#!/usr/bin/env bash
# run --permits: as many together as there are permits, in the queue's order; how show prints it.
# shellcheck source-path=SCRIPTDIR
# shellcheck disable=SC2016  # single quotes are for the inner shells
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
use_own_server

# Both are there at once, or neither ends. Then each waits for its own gate.
meet='touch "$1/$2"; until [[ -e $1/$3 ]]; do sleep 0.02; done; read -r _ <"$1/gate-$2"'
mkfifo "$Work/gate-one" "$Work/gate-two"
"${Zkl[@]}" run --permits 2 batch -- bash -c "$meet" sh "$Work" one two &
first=$!
await test -e "$Work/one"
"${Zkl[@]}" run --permits=2 batch -- bash -c "$meet" sh "$Work" two one &
second=$!
claim "two of two run together" await test -e "$Work/two"
claim "1 at once for a third with -n" status_is 1 zkl run -n --permits 2 batch -- true
claim "... and says why" matches "$(cat "$Work/err")" \
    '^zklock: batch: no permit is free, held by [^,]*, and by others$'
claim "1 after -w" status_is 1 zkl run -w 0.2 --permits 2 batch -- true
claim "1 for a mutex" status_is 1 zkl run -n batch -- true
claim "1 for a reader" status_is 1 zkl run -ns batch -- true

"${Zkl[@]}" run --permits 2 batch -- touch "$Work/third" &
third=$!
await eval '[[ $(zkl show --json batch) == *\"position\":3,\"holder\":false,* ]]'
"${Zkl[@]}" run -s batch -- touch "$Work/reader" &
reader=$!
await eval '[[ $(zkl show --json batch) == *\"position\":4,\"holder\":false,* ]]'
"${Zkl[@]}" run -s batch -- true &
another=$!
await eval '[[ $(zkl show --json batch) == *\"position\":5,\"holder\":false,* ]]'
"${Zkl[@]}" run --permits 2 batch -- touch "$Work/last" &
last=$!
await eval '[[ $(zkl show --json batch) == *\"position\":6,\"holder\":false,* ]]'

zkl show --json batch >"$Work/json"
claim "JSON: the number" matches "$(cat "$Work/json")" \
    '^\{"name":"batch","permits":2,"contenders":\[\{"position":1,"holder":true,"kind":"permit",'
claim "JSON: two holders" is "$(grep -o '"holder":true' "$Work/json" | wc -l)" 2
mapfile -t nodes < <(grep -oE '"node":"[^"]*"' "$Work/json" | cut -d'"' -f4)
mapfile -t waits < <(grep -oE '"waits_on":("[^"]*"|null)' "$Work/json" | cut -d: -f2)
claim "JSON: holders, and who waits for either of them, wait on no node" \
    is "${waits[*]:0:3}" 'null null null'
claim "JSON: readers wait on the nearest that is none" \
    is "${waits[3]} ${waits[4]}" "\"${nodes[2]}\" \"${nodes[2]}\""
claim "JSON: behind readers one waits on the nearest" is "${waits[5]}" "\"${nodes[4]}\""

zkl show batch >"$Work/show"
mapfile -t lines <"$Work/show"
claim "show prints the number above the titles" is "${lines[0]}" 'permits: 2'
claim "..." matches "${lines[1]}" '^POS '
claim "the second holds" matches "${lines[3]}" ' holds$'
claim "the third waits for any" matches "${lines[4]}" ' waits for any$'
claim "the reader waits on that one" matches "${lines[5]}" ' waits on 3$'
claim "the last waits on the nearest reader" matches "${lines[7]}" ' waits on 5$'
zkl show --long batch >"$Work/long"
mapfile -t lines <"$Work/long"
claim "--long: likewise" matches "${lines[4]}" ' waits for any$'
claim "... and which node one waits on" matches "${lines[7]}" " waits on ${nodes[4]}\$"

echo >"$Work/gate-two"
claim "whichever ends" ends_with "$second" 0
claim "the third runs" ends_with "$third" 0
claim "... and no other" test ! -e "$Work/reader" -a ! -e "$Work/last"
echo >"$Work/gate-one"
claim "when all have ended" ends_with "$first" 0
claim "the reader runs" ends_with "$reader" 0
claim "... and the other" ends_with "$another" 0
claim "then the last" ends_with "$last" 0

claim "64 for another number, though nobody is there" \
    status_is 64 zkl run --permits 3 batch -- touch "$Work/ran"
claim "... and says which it is" is "$(cat "$Work/err")" \
    'zklock: batch: the number of permits is 2, not 3'
claim "... with -n, too" status_is 64 zkl run -n --permits 1 batch -- touch "$Work/ran"
claim "CMD was not run" test ! -e "$Work/ran"
claim "JSON of a semaphore that nobody uses" is "$(zkl show --json batch)" \
    '{"name":"batch","permits":2,"contenders":[]}'

hold batch
claim "a mutex keeps all out" status_is 1 zkl run -n --permits 2 batch -- true
let_go
claim "the greatest number" status_is 0 zkl run --permits 2147483647 many -- true
finish
