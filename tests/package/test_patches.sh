#!/usr/bin/env bash
# Each mistake that a test has to find, and each limit that is taken away to show what it is for, is
# a patch that still applies.
set -euo pipefail
cd "$ZKLOCK_SOURCE_DIR"

status=0 count=0
while IFS= read -r patch; do
    count=$((count + 1))
    patch -p1 -s --dry-run -i "$patch" || {
        printf 'FAILED: %s does not apply\n' "$patch" >&2
        status=1
    }
done < <(find tests -name '*.patch' | sort)
((count > 0)) || status=1
echo "- $count patches"
exit "$status"
