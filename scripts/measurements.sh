#!/usr/bin/env bash
# Writes docs/measurements.md, all of whose figures come from the records below docs/measurements;
# keeps what a command prints as a new record; checks that the document is what the records give.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/lib/common.sh

readonly DOCUMENT=docs/measurements.md RECORDS=docs/measurements
# What is measured: a record's commit is marked if these differ from it.
readonly CODE=(CMakeLists.txt cmake bench include scripts src tests)

usage() {
    cat <<END
usage: scripts/measurements.sh              writes $DOCUMENT
       scripts/measurements.sh check        fails if that file is not what the records give
       scripts/measurements.sh record NAME COMMIT -- COMMAND...
                                            runs COMMAND, keeps what it printed on standard output
                                            as a new record of $RECORDS/NAME, and writes
                                            the document

Each measurement is a directory $RECORDS/NAME. Its about.txt has lines "key: value", an empty line,
and what the figures mean, in Markdown. Keys: title; and report, for figures that a script sums up
from a file of its own ("report: scripts/sim.sh report").

Each other file there is a record of one run: lines "key: value", an empty line, and what was
printed. Keys: command, commit, date, machine, seconds, status, origin, note (each may have more
lines, which begin with a space; note may come again). The last one by name is the newest. Of what
was printed, lines between two empty ones become a table if each of them has " | " (the first is
its head) or is "name: number unit"; all others stay as they are.

exit status: 0 done; 1 the document is not what the records give, or COMMAND failed (the record is
kept, with its status); 64 wrong call.
END
}

# ---- reading ----

# The values of KEY, one a line; those of more lines with the lines as they are.
field() { # KEY FILE
    awk -v key="$1: " '
        /^$/ { exit }
        /^ / { if (inside) { sub(/^ +/, ""); print }; next }
        { inside = index($0, key) == 1 }
        inside { if (found++ && key == "note: ") print ""; print substr($0, length(key) + 1) }
    ' "$2"
}

body() { # FILE
    awk 'begun { print } /^$/ { begun = 1 }' "$1"
}

# The records of NAME, the newest first.
runs_of() { # NAME
    printf '%s\n' "$RECORDS/$1"/*.txt | grep -v '/about\.txt$' | sort -r || :
}

# ---- writing ----

# Rows and figures become tables, with commas in numbers; the rest is shown as it is.
tables() {
    awk '
        function with_commas(digits,   rest) {
            for (; length(digits) > 3; digits = substr(digits, 1, length(digits) - 3))
                rest = "," substr(digits, length(digits) - 2) rest
            return digits rest
        }
        function cell(text,   digits) {
            gsub(/^ +| +$/, "", text)
            if (text ~ /^[0-9]+( |$)/) {
                digits = text
                sub(/ .*/, "", digits)
                text = with_commas(digits) substr(text, length(digits) + 1)
            }
            return text
        }
        function table_row(line,   cells, count, i, text) {
            count = split(line, cells, / +[|] */)
            for (i = 1; i <= count; i++) text = text "| " cell(cells[i]) " "
            print text "|"
            return count
        }
        function rule(count,   text) {
            while (count-- > 0) text = text "|---"
            print text "|"
        }
        function end_block(   i, colon) {
            if (lines == 0) return
            if (rows == lines) {
                rule(table_row(line[1]))
                for (i = 2; i <= lines; i++) table_row(line[i])
            } else if (figures == lines) {
                print "| figure | |"
                rule(2)
                for (i = 1; i <= lines; i++) {
                    colon = match(line[i], /: [0-9][0-9.,]*( [^|]*)?$/)
                    print "| " substr(line[i], 1, colon - 1) " | " \
                        cell(substr(line[i], colon + 2)) " |"
                }
            } else {
                print "```text"
                for (i = 1; i <= lines; i++) print line[i]
                print "```"
            }
            print ""
            lines = rows = figures = 0
        }
        /^[ \t]*$/ { end_block(); next }
        { line[++lines] = $0 }
        / [|] / { rows++ }
        /^[^|:]+: [0-9][0-9.,]*( [^|]*)?$/ { figures++ }
        END { end_block() }
    '
}

# One line for each thing that is known of a run.
provenance() { # FILE
    awk '
        function item(name, value,   words, count, i, line) {
            if (value == "") return
            count = split("- " name ": " value, words, " ")
            line = words[1]
            for (i = 2; i <= count; i++) {
                if (length(line " " words[i]) > 98) { print line; line = " " }
                line = line " " words[i]
            }
            print line
        }
        /^$/ { exit }
        /^ / { sub(/^ +/, ""); value[key] = value[key] " " $0; next }
        { key = $0; sub(/: .*/, "", key); value[key] = substr($0, length(key) + 3) }
        END {
            if (value["command"] !~ /^not written down/)
                value["command"] = "`" value["command"] "`"
            item("command", value["command"])
            item("commit", value["commit"])
            item("date", value["date"])
            item("machine", value["machine"])
            item("seconds", value["seconds"])
            item("exit status", value["status"])
            item("origin", value["origin"])
        }
    ' "$1"
    printf -- '- record: [%s](%s)\n\n' "${1##*/}" "${1#docs/}"
}

section() { # NAME
    local about=$RECORDS/$1/about.txt report run newest=
    report=$(field report "$about")
    printf '## %s\n\n' "$(field title "$about")"
    body "$about"
    printf '\n'
    if [[ $report ]]; then
        [[ $report =~ ^scripts/[a-z_]+\.sh\ report$ ]] ||
            fail "$EX_USAGE" "$about: report is not 'scripts/NAME.sh report'"
        printf -- '- command: `./%s`\n\n' "$report"
        # Its status speaks of the library, not of the figures.
        { bash -c "./$report" || :; } | tables
    fi
    while IFS= read -r run; do
        if [[ -z $newest ]]; then
            newest=$run
            provenance "$run"
            field note "$run"
            printf '\n'
            body "$run" | tables
        else
            printf 'An earlier run, at %s: [%s](%s)\n\n' "$(field commit "$run")" "${run##*/}" \
                "${run#docs/}"
            field note "$run"
            printf '\n\n'
        fi
    done < <(runs_of "$1")
}

heading() {
    cat <<'END'
# Measurements

<!-- Written by scripts/measurements.sh from the records in docs/measurements. Do not edit. -->

The figures that the tests, the simulation and the campaigns have printed, each with its command
and its commit. A script writes this page, so no figure on it is kept up to date by hand. The
figures are in plain files below `docs/measurements`: one directory for each section, one file for
each run. A section shows its newest run and links to the earlier ones.

- **Recorded runs** were kept by `scripts/measurements.sh record`. It ran the command and wrote down
  the output, the commit, the date and the machine. A `+` behind the commit means that the code
  differed from the commit.
- **Campaigns** add to files of their own: `tests/sim/campaign.txt` and
  `tests/register/campaign.txt`. Their sections are the sums of those files.
- **Transcribed runs** are older than the records. They stood in other documents, were typed in
  there by hand, and have been copied from there as they were. Their line "origin" names the
  document. Their date is the day on which that document got them: the run was on that day or
  before.

Take the order of a figure, not its digits. Servers and clients shared one small machine, and the
servers did not sync their log (`forceSync=no`).

```sh
./scripts/measurements.sh                                     # write this page
./scripts/measurements.sh check                               # is it what the records give?
./scripts/measurements.sh record soak HEAD -- ./build/tests/soak_soak --seconds 1800 --rest 55
```

END
}

generate() (
    export LC_ALL=C
    local about name title anchor
    heading
    for about in "$RECORDS"/*/about.txt; do
        title=$(field title "$about")
        anchor=$(tr 'A-Z ' 'a-z-' <<<"$title" | tr -cd 'a-z0-9-')
        printf -- '- [%s](#%s)\n' "$title" "$anchor"
    done
    printf '\n'
    for about in "$RECORDS"/*/about.txt; do
        name=${about%/about.txt}
        section "${name##*/}"
    done
)

# Empty lines that come together become one, and none is left at the end.
write_document() { # FILE
    generate | awk '/^$/ { gap = 1; next } { if (gap) print ""; gap = 0; print }' >"$1"
}

# Says which line differs, as FILE:LINE: WHAT.
check() {
    local line
    write_document "$Work/document"
    cmp -s "$DOCUMENT" "$Work/document" && return
    line=$(diff "$DOCUMENT" "$Work/document" 2>/dev/null | sed -nE '1s/^([0-9]+).*/\1/p') || :
    printf '%s:%s: not what the records give; scripts/measurements.sh writes it\n' \
        "$DOCUMENT" "${line:-1}"
    return 1
}

# ---- recording ----

machine() {
    local model memory
    model=$(sed -n '/^model name/{s/^[^:]*: *//p;q}' /proc/cpuinfo)
    memory=$(awk '/^MemTotal:/ { printf "%.0f", $2 / 1048576 }' /proc/meminfo)
    printf '%s cores, %s, %s GiB of memory, Linux %s\n' "$(nproc)" "${model:-$(uname -m)}" \
        "$memory" "$(uname -r)"
}

# COMMIT by its name, with + if the code here differs from it.
commit_of() { # COMMIT
    local commit
    commit=$(git rev-parse --verify --quiet --short=12 "$1^{commit}") || return 1
    git diff --quiet "$commit" -- "${CODE[@]}" || commit+=+
    printf '%s\n' "$commit"
}

record() { # NAME COMMIT COMMAND...
    local name=$1 commit begun file status=0
    local about=$RECORDS/$name/about.txt
    [[ $name =~ ^[a-z][a-z0-9-]*$ && -e $about ]] ||
        wrong_call "there is no $about: write it first"
    [[ -z $(field report "$about") ]] ||
        wrong_call "$name is summed up by $(field report "$about")"
    commit=$(commit_of "$2") || wrong_call "git knows no commit $2"
    shift 2
    begun=$SECONDS
    in_group "$@" >"$Work/printed" || status=$?
    file=$RECORDS/$name/$(date -u +%Y-%m-%dT%H%M%S)-$commit.txt
    {
        printf 'command: %s\n' "$*"
        printf 'commit: %s\n' "$commit"
        printf 'date: %s\n' "$(date -u +%Y-%m-%d)"
        printf 'machine: %s\n' "$(machine)"
        printf 'seconds: %d\n' $((SECONDS - begun))
        printf 'status: %d\n' "$status"
        printf 'origin: recorded by scripts/measurements.sh\n\n'
        cat "$Work/printed"
    } >"$file"
    note "$file"
    write_document "$DOCUMENT"
    if ((status != 0)); then
        note "the command ended with status $status, and the record says so"
        return 1
    fi
}

main() {
    answer_help "$@"
    case ${1-} in
    '' | check) (($# <= 1)) || wrong_call "$1 takes nothing more" ;;
    record) (($# >= 5)) && [[ $4 == -- ]] || wrong_call "record takes NAME COMMIT -- COMMAND..." ;;
    *) wrong_call "no such command: $1" ;;
    esac
    if [[ ${1-} == record ]]; then
        own_tmpdir measurements # a command may start something
        Work=$TMPDIR
        record "$2" "$3" "${@:5}"
        return
    fi
    Work=$(mktemp -d)
    trap 'rm -rf "$Work"' EXIT
    if [[ ${1-} == check ]]; then check; else write_document "$DOCUMENT"; fi
}

main "$@"
