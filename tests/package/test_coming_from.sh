#!/usr/bin/env bash
# What docs/coming-from.md and docs/rationale.md name of ours is there: calls, constants, members of
# options, subcommands and their options, variables, traps and planted mistakes. The first column of
# a table is another system's and is not looked at.
# shellcheck disable=SC2016  # single quotes are for Markdown's backticks
set -euo pipefail
export LC_ALL=C.UTF-8
cd "$ZKLOCK_SOURCE_DIR"

documents=(docs/coming-from.md docs/rationale.md)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0

# Fails for each line of stdin that file IN does not have.
look_for() { # WHAT IN
    local name count=0
    while IFS= read -r name; do
        count=$((count + 1))
        grep -qxF -e "$name" "$2" && continue
        echo "FAILED: $document: no such $1: $name" >&2
        status=1
    done < <(sort -u)
    echo "- $document: looked for $count ${1}s"
    looked[$1]=$((${looked[$1]-0} + count))
}

# What grep prints, which may be nothing.
named() { grep "$@" || (($? == 1)); }

zklock_help() { "$ZKLOCK_BUILD_DIR/zklock" "$@" --help; }
options_of() { # SUBCOMMAND: those of each, and its own
    { zklock_help && zklock_help "$1"; } |
        grep -oE '^ +(-[a-zA-Z], )?--?[a-z-]+' | grep -oE -e '-[a-zA-Z-]+'
}

# ---- what there is ----

# Headers without comments. X(BUSY, ...) stands for ZKL_BUSY.
for header in include/*.h include/*.hpp; do
    "${CC:-cc}" -fpreprocessed -dD -E -P -x c "$header" 2>/dev/null
done >"$work/code"
{
    grep -oE '\<(zkl|ZKL)_[A-Za-z0-9_]+' "$work/code"
    grep -oE '\<X\([A-Z_]+,' "$work/code" | sed -E 's/X\((.*),/ZKL_\1/'
    # zklock.hpp: classes and functions of namespace zkl
    sed -nE 's/^(class|inline [a-z:_]+|.*\bauto) ([a-z_]+)\b.*/zkl::\2/p' "$work/code"
} | sort -u >"$work/names"
sed -nE 's/^.*[ *]([a-z_]+);$/.\1/p' "$work/code" | sort -u >"$work/members"
zklock_help | sed -nE 's/^  ([a-z]+) .*/\1/p' >"$work/subcommands"
while IFS= read -r subcommand; do
    options_of "$subcommand" | sed "s/^/$subcommand /"
done <"$work/subcommands" >"$work/options"
grep -ohE '\<ZKLOCK_[A-Z]+' src/cli/help.c | sort -u >"$work/variables"
sed -nE 's/^### (T[0-9]+):.*/\1/p' docs/traps.md >"$work/traps"
(cd tests/sim/mistakes && printf '%s\n' *.patch) | sed 's/\.patch$//' >"$work/mistakes"
for list in names members subcommands options variables traps mistakes; do
    [[ -s $work/$list ]] || { echo "found no $list" >&2; exit 1; }
done

# ---- what is named ----

declare -A looked
for document in "${documents[@]}"; do
    sed -E 's/^\| [^|]*\|/|/' "$document" >"$work/text"
    grep -oE '`[^`]+`' "$work/text" | tr -d '`' >"$work/spans"
    look_for name "$work/names" \
        < <(named -oE '\<(zkl_[a-z_]+|ZKL_[A-Z_]+|zkl::[a-z_]+)' "$work/text")
    look_for member "$work/members" < <(named -xE '\.[a-z_]+' "$work/spans")
    look_for variable "$work/variables" < <(named -oE '\<ZKLOCK_[A-Z]+' "$work/text")
    look_for subcommand "$work/subcommands" \
        < <(named -E '^zklock [a-z]' "$work/spans" | awk '{ print $2 }')
    # An option by itself is one of run's.
    look_for option "$work/options" \
        < <(named -E '^(zklock [a-z]|-)' "$work/spans" | sed 's/^-/zklock run -/' |
            awk '{ for (i = 3; i <= NF && $i != "--"; i++) if ($i ~ /^-/) print $2, $i }')
    look_for trap "$work/traps" < <(named -oE '\<T[0-9]+\>' "$work/text")
    look_for mistake "$work/mistakes" \
        < <(tr -s '\n' ' ' <"$work/text" | named -oE 'Mistakes?( +`[a-z-]+`,?)+' |
            named -oE '[a-z]+(-[a-z]+)+')
    # Links to files, and to headings in them by the names that GitHub gives these.
    while IFS= read -r link; do
        file=$document
        [[ $link == '#'* ]] || file=docs/${link%%#*}
        headings=
        [[ ! -e $file ]] || headings=$(sed -nE 's/^#+ //p' "$file" | tr '[:upper:]' '[:lower:]' |
            sed -E 's/[^a-z0-9 _-]//g; s/ /-/g')
        if [[ $link == *'#'* ]]; then
            grep -qxF -e "${link#*#}" <<<"$headings" && continue
        elif [[ -e $file ]]; then
            continue
        fi
        echo "FAILED: $document: there is no $link" >&2
        status=1
    done < <(grep -oE '\]\([^)]+\)' "$document" | sed 's/^](//; s/)$//' | named -v '^https://')
done
for what in name member variable subcommand option trap mistake; do
    ((looked[$what] > 0)) && continue
    echo "FAILED: no $what was found in the documents" >&2
    status=1
done
exit "$status"
