#!/usr/bin/env bash
# The shells' completions offer the subcommands and options that zklock --help names, and nothing
# else. bash's also offers the locks in use, without evaluating a name and without waiting for
# servers that do not answer.
# shellcheck disable=SC2016  # single quotes are for names that a shell would expand
set -euo pipefail
export LC_ALL=C.UTF-8
unset ZKLOCK_HOSTS

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
directory=$ZKLOCK_SOURCE_DIR/completion
status=0

claim() { printf '%s\n' "- $*"; }
wrong() {
    printf 'FAILED: %s\n' "$*" >&2
    status=1
}

same_lists() { # WHAT EXPECTED GOT
    diff <(sort <<<"$2") <(sort <<<"$3") >"$work/diff" && return
    wrong "$1: --help (<) and the completion (>) differ:"
    cat "$work/diff" >&2
}

# ---- what the help names ----

zklock_help() { "$ZKLOCK_BUILD_DIR/zklock" ${1:+"$1"} --help; } # [SUBCOMMAND]

# One option a line, with " VALUE" behind each that takes one: those of every subcommand, and its
# own.
help_options() { # [SUBCOMMAND]
    { zklock_help '' && [[ ! ${1-} ]] || zklock_help "$1"; } |
        sed -nE 's/^ +((-[a-zA-Z], )?--[a-z-]+( [A-Z]+)?)( .*)?$/\1/p' |
        awk '{
            value = $NF ~ /^-/ ? "" : " VALUE"
            for (i = 1; i <= NF; i++)
                if ($i ~ /^-/) { sub(/,$/, "", $i); print $i value }
        }'
}

mapfile -t subcommands < <(zklock_help '' | sed -nE 's/^  ([a-z]+) .*/\1/p')
((${#subcommands[@]} >= 4)) || wrong "found too few subcommands in --help: ${subcommands[*]}"
[[ $(help_options run) == *'--hosts VALUE'*'--conflict-exit-code VALUE'*'--quiet'* ]] ||
    wrong "found too few options in run --help: $(help_options run)"

# ---- bash ----

# A user's shell has neither -e nor -u.
. "$directory/zklock.bash"

# What is offered at the end of LINE, one a line. Splits LINE where readline does.
offered() ( # LINE
    set +eu
    COMP_LINE=$1 COMP_POINT=${#1} COMP_WORDS=()
    rest=$1
    while [[ $rest =~ ^[[:blank:]]*([\'\"].*|[:=]+|([^[:blank:]:=\\]|\\.)+) ]]; do
        COMP_WORDS+=("${BASH_REMATCH[1]}")
        rest=${rest#"${BASH_REMATCH[0]}"}
    done
    [[ $1 != *[[:blank:]] || $rest == "$1" || $1 == *[\'\"]* ]] || COMP_WORDS+=('')
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _zklock "${COMP_WORDS[0]}" "${COMP_WORDS[-1]}"
    ((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}"
)

expect() { # LINE REPLY...
    local line=$1
    shift
    [[ $(offered "$line") == "$(printf '%s\n' "$@")" ]] ||
        wrong "'$line' offers '$(offered "$line")', not '$*'"
}

claim "bash: the subcommands and options of --help, and no others"
same_lists "subcommands" "$(printf '%s\n' "${subcommands[@]}")" "$(offered 'zklock ')"
same_lists "options" "$(help_options | sed 's/ VALUE//')" "$(offered 'zklock -')"
for subcommand in "${subcommands[@]}"; do
    same_lists "options of $subcommand" "$(help_options "$subcommand" | sed 's/ VALUE//')" \
        "$(offered "zklock $subcommand -")"
done

claim "bash: behind an option that takes a value comes the value, behind another something else"
for subcommand in '' "${subcommands[@]}"; do
    while read -r option value; do
        # Where a subcommand is due, only a value is in its way.
        if [[ $value && $(offered "zklock $option ") == *show* ]]; then
            wrong "$option takes a value"
        elif [[ ! $value && $(offered "zklock $option ") != *show* ]]; then
            wrong "$option takes no value"
        fi
    done < <(help_options ${subcommand:+"$subcommand"})
done
expect 'zklock --hosts=a:1,b:2 sh' show
expect 'zklock --hosts a:1,b:2 sh' show
expect 'zklock run --hosts=a:1 --wa' --wait
expect 'zklock run -nw 5 --wa' --wait
expect 'zklock run -n --wa' --wait
expect 'zklock bench --count 5 --js' --json
touch "$work/auth"
expect "zklock --auth-file $work/au" "$work/auth"
expect "zklock --auth-file=$work/au" "$work/auth"
expect 'zklock run --on-lost t' term
expect 'zklock run --on-lost=' kill term ignore

# In the place of the command: names as from ls --names, or no answer. It is given what was asked.
mkdir "$work/bin"
cat >"$work/bin/zklock" <<'TEXT'
#!/bin/sh
printf '%s\n' "$*" >"$WORK/asked"
echo 'zklock: what it has to say' >&2
[ ! -e "$WORK/hangs" ] || exec sleep 30
cat "$WORK/table"
TEXT
chmod +x "$work/bin/zklock"
export WORK=$work PATH=$work/bin:$PATH
cat >"$work/table" <<'TEXT'
-n
a$(touch owned)
it's
reports/night ly
tab\x09
x:y/z
TEXT

claim "bash: names of locks where a NAME is due, quoted for the shell"
cd "$work"
all=('a\$\(touch\ owned\)' "it\\'s" 'reports/night\ ly' 'x:y/z')
expect 'zklock show ' "${all[@]}"
[[ $(<asked) == 'ls --names' ]] || wrong "the names came from zklock $(<asked)"
expect 'zklock run -n ' "${all[@]}"
expect 'zklock run --all a ' "${all[@]}"
expect 'zklock show a' "${all[0]}"
expect 'zklock show x:' y/z
expect 'zklock show "a'
expect "zklock show 'a" 'a$(touch owned)'
expect 'zklock show a '
[[ ! -e owned ]] || wrong "a name was evaluated"
offered 'zklock --root /r run --hosts=h:1,i:2 --timeout 5 --auth-file f ' >/dev/null
[[ $(<asked) == 'ls --names --root=/r --hosts=h:1,i:2 --auth-file=f' ]] || wrong "asked: $(<asked)"

claim "bash: commands and files where run's or fence's CMD is due, and files where a FILE is"
[[ $'\n'$(offered 'zklock run a tim')$'\n' == *$'\ntimeout\n'* ]] || wrong "no command behind NAME"
[[ $'\n'$(offered 'zklock run --all a b -- tim')$'\n' == *$'\ntimeout\n'* ]] ||
    wrong "no command behind --"
expect 'zklock run a -- cat --json tab' table
expect 'zklock run a cat tab' table
expect 'zklock run -c true a tim'
expect 'zklock fence tab' table
expect 'zklock fence f cat tab' table
expect 'zklock fence f -- cat --json tab' table
expect 'zklock set /p tab' table
expect 'zklock set tab'
expect 'zklock get tab'

claim "bash: servers that do not answer cost a second, once"
: >hangs
begun=$EPOCHREALTIME
expect 'zklock show ' '' 2>said
[[ ! -s said ]] || wrong "bash said: $(<said)"
took=$(awk -v a="$begun" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }')
# A shell that waits for the answer is away for half a minute.
awk -v t="$took" 'BEGIN { exit !(t < 15) }' || wrong "it took $took s"

# ---- zsh ----

# The options of a list in _zklock, in the form of help_options.
zsh_options() { # LIST
    sed -n "/^_zklock_$1=(\$/,/^)\$/p" "$directory/_zklock" | sed '1d;$d' |
        sed -E "s/^ +('\([^)]*\)'?)?//" | awk '{
            value = /\]:[^:]*:[^:]*$/ ? " VALUE" : ""
            sub(/\[.*/, "")
            gsub(/[{}*\047]/, "")
            count = split($0, names, ",")
            for (i = 1; i <= count; i++) print names[i] value
        }'
}

claim "zsh: the subcommands and options of --help, and no others; with values where they take one"
same_lists "zsh, subcommands" "$(printf '%s\n' "${subcommands[@]}")" \
    "$(sed -nE "/subcommands=\(/,/\)$/s/^ +'([a-z]+):.*/\1/p" "$directory/_zklock")"
same_lists "zsh, common options" "$(help_options)" "$(zsh_options common)"
for subcommand in "${subcommands[@]}"; do
    same_lists "zsh, options of $subcommand" "$(help_options "$subcommand")" \
        "$(zsh_options common && zsh_options "$subcommand")"
done
if command -v zsh >/dev/null; then
    zsh -n "$directory/_zklock" || wrong "zsh does not accept _zklock"
else
    claim "(no zsh here)"
fi

exit "$status"
