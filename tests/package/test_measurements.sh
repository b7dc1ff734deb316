#!/usr/bin/env bash
# docs/measurements.md is what its records give; scripts/measurements.sh keeps a run as a record and
# shows the newest one.
set -euo pipefail

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

claim() { printf '%s\n' "- $*"; }
fail() {
    printf 'FAILED: %s\n' "$*" >&2
    exit 1
}

mkdir -p "$work/docs" "$work/tests/sim" "$work/tests/register"
cp -r "$ZKLOCK_SOURCE_DIR/scripts" "$work"
cp -r "$ZKLOCK_SOURCE_DIR"/docs/measurements{,.md} "$work/docs"
cp "$ZKLOCK_SOURCE_DIR/tests/sim/campaign.txt" "$work/tests/sim"
cp "$ZKLOCK_SOURCE_DIR/tests/register/campaign.txt" "$work/tests/register"
cd "$work"
document=docs/measurements.md

claim "the document is what the records give"
scripts/measurements.sh check || fail "$document is not what the records give"

claim "a figure that was changed by hand is found, and its line is said"
line=$(grep -n '^| all of .ci/run | [0-9]' $document | cut -d : -f 1)
sed -i "${line}s/| \([0-9,]*\) s |/| 9\1 s |/" $document
said=$(scripts/measurements.sh check) && fail "the figure of line $line was not found"
[[ $said == "$document:$line: "* ]] || fail "it said '$said', not line $line"

claim "a campaign that goes on changes the document"
printf '2026-11-30 0123456789ab 8700001 50000 0 30\n' >>tests/sim/campaign.txt
scripts/measurements.sh
grep -q '^| 0123456789ab | 2026-11-30 | 50,000 | 0 | 30 | - |$' $document ||
    fail "the campaign's new row is not there"

command -v git >/dev/null || { echo "no git here" && exit 77; }

before=$(sed -n 's/^commit: //p' docs/measurements/tiers/2*.txt | tail -n 1)
claim "what a command prints becomes a record with its commit, and its figures a table"
git init -q . && git add . && git -c user.name=a -c user.email=a@example.org commit -qm all
commit=$(git rev-parse --short=12 HEAD)
scripts/measurements.sh record tiers HEAD -- printf 'tier | seconds\nunit | 1234567\n\nall: 7 s\n' \
    2>"$work/said" || fail "record: $(<"$work/said")"
record=$(find docs/measurements/tiers -name "*-$commit.txt")
[[ -e $record ]] || fail "there is no record of $commit"
grep -qx "commit: $commit" "$record" || fail "the record has another commit"
grep -qx 'status: 0' "$record" || fail "the record has no status"
for row in '| tier | seconds |' '| unit | 1,234,567 |' '| all | 7 s |'; do
    grep -qxF "$row" $document || fail "the document has no row $row"
done
grep -q "An earlier run, at $before" $document || fail "the earlier run is not mentioned"
scripts/measurements.sh check || fail "the document is not up to date after a record"

claim "a run that fails is kept as one that failed, and a commit with other code is marked"
echo >>scripts/lib/common.sh
! scripts/measurements.sh record tiers HEAD -- sh -c 'echo "no | table"; exit 3' 2>"$work/said" ||
    fail "record did not say that the command failed"
record=$(find docs/measurements/tiers -name "*-$commit+.txt")
[[ -e $record ]] || fail "there is no record of $commit+"
grep -qx 'status: 3' "$record" || fail "the record does not say status 3"

claim "a measurement without a description, and a commit that git does not know, are refused"
for wrong in "nothing HEAD" "simulation HEAD" "tiers nothing"; do
    status=0
    # shellcheck disable=SC2086  # two words
    scripts/measurements.sh record $wrong -- true 2>"$work/said" || status=$?
    ((status == 64)) || fail "record $wrong ended with status $status"
done
