#!/usr/bin/env bash
# Wrong calls end with 64 and one line that names the argument; none of it needs a server.
# shellcheck source-path=SCRIPTDIR
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
unset ZKLOCK_HOSTS

# refused WORDS-IN-THE-MESSAGE ARGUMENT...
refused() {
    local words=$1
    shift
    status_is 64 zklock "$@" && is "$(wc -l <"$Work/err")" 1 && is "$(cat "$Work/out")" '' &&
        matches "$(cat "$Work/err")" '^zklock: ' && matches "$(cat "$Work/err")" "$words" &&
        matches "$(cat "$Work/err")" "see 'zklock.* --help'"
}

prints() { # REGEX ARGUMENT...
    local words=$1
    shift
    status_is 0 zklock "$@" && matches "$(cat "$Work/out")" "$words" && is "$(cat "$Work/err")" ''
}

claim "a subcommand is needed" refused 'subcommand is missing'
claim "an unknown subcommand is named" refused "'frob'" frob
claim "an unknown long option is named" refused "'--frob'" --hosts x ls --frob
claim "... with the one that is meant" refused "'--shard': did you mean --shared\?" \
    --hosts x run --shard a b
claim "... of those of the subcommand" refused "'--jsn': did you mean --json\?" --hosts x ls --jsn
claim "... without its value" refused "'--lable=x': did you mean --label\?" --hosts x ls --lable=x
claim "a mistyped subcommand: which is meant" refused "'shwo': did you mean show\?" shwo
claim "... none, if none is like it" refused "subcommand 'frobnicate' \(see" frobnicate
claim "an unknown short option is named" refused "'-Z'" ls -vZ
claim "an option without its value is named" refused "'--hosts'" ls --hosts
claim "a value for an option that takes none is named" refused "'--json=1'" ls --json=1
claim "an argument too many is named" refused "'b'" --hosts x show a b
claim "show needs a name" refused 'NAME is missing' --hosts x show
claim "run needs a name" refused 'NAME is missing' --hosts x run -- true
claim "run needs a command" refused "'--'" --hosts x run name
claim "... after '--', too" refused "'--'" --hosts x run name --
claim "-c takes the place of a command" refused "already: .*'true'" --hosts x run -c : name true
claim "... before '--', too" refused "already: .*'true'" --hosts x run name -c : -- true
claim "-c needs a text" refused "'-c'" --hosts x run name -c
claim "--all needs '--'" refused "with --all" --hosts x run --all name true
claim "... if -c comes behind the NAMEs, too" refused "with --all" --hosts x run --all a sh -c :
claim "options end with the command" refused "'-Z'" --hosts x run name -Z true -n
claim "no servers: says how to name them" refused 'ZKLOCK_HOSTS' ls
claim "an empty ZKLOCK_HOSTS is none" status_is 64 env ZKLOCK_HOSTS= zklock ls
for value in x -1 1e3 ' 1' 1s . '' inf 99999999999; do
    claim "-w '$value' is refused" refused '-w' --hosts x run -w "$value" name -- true
    claim "--timeout '$value' is refused" refused 'timeout' --hosts x --timeout "$value" ls
    claim "--grace '$value' is refused" refused 'grace' --hosts x run --grace "$value" name -- true
done
for value in x '' KILL; do
    claim "--on-lost '$value' is refused with the words that are possible" \
        refused "kill, term or ignore, not" --hosts x run --on-lost "$value" name -- true
done
claim "--grace does not go with --on-lost=ignore" refused '--grace.*--on-lost=ignore' \
    --hosts x run --grace 1 --on-lost ignore name -- true
for value in 256 -1 x '' 1.5; do
    claim "-E '$value' is refused" refused '-E' --hosts x run -E "$value" name -- true
done
for value in 0 -1 x '' 1.5 ' 1' +1 1k 2147483648; do
    claim "--permits '$value' is refused" refused '--permits' --hosts x run --permits "$value" \
        name -- true
done
claim "--permits does not go with -s" refused '--permits' --hosts x run --permits 2 -s name -- true
claim "-s does not go with --permits" refused '--shared' --hosts x run -s --permits 2 name -- true
claim "... nor with -x, which holds it alone" refused "--permits.*'--exclusive'" \
    --hosts x run --permits 2 -x name -- true
claim "a wait has a limit, which is named" refused "-w takes seconds, up to 1000000000, not" \
    --hosts x run -w 1000000001 name -- true
claim "... and so has a root" refused "255 bytes at most" \
    --hosts x --root "/$(printf '%0255d' 0)" run name -- true
claim "a second NAME needs --all" refused "more than one NAME before -- needs --all: .*'b'" \
    --hosts x run a b -- true
claim "--all needs a NAME" refused 'NAME is missing' --hosts x run --all -- true
claim "--all takes no NAME twice" refused "NAME once.*'a'" --hosts x run --all a b a -- true
mapfile -t names < <(seq 65)
claim "--all takes at most 64 NAMEs" refused 'at most 64 NAMEs, not 65' \
    --hosts x run --all "${names[@]}" -- true
claim "--all takes no value" refused "'--all=2'" --hosts x run --all=2 name -- true
claim "--permits does not go with -s" refused '--permits' --hosts x run --all --permits 2 -s a b \
    -- true
for subcommand in ls show; do
    claim "--all belongs to run: not to $subcommand" refused 'all' \
        --hosts x "$subcommand" --all name
done
claim "--all belongs to run: not before it" refused '--all' --hosts x --all run a b -- true
for subcommand in ls show; do
    claim "--permits belongs to run: not to $subcommand" refused 'permits' --hosts x \
        "$subcommand" --permits 2 name
done
claim "--permits belongs to run: not before it" refused 'permits' --hosts x --permits 2 run \
    name -- true
claim "a session timeout below 0.1 s is refused" refused "'0.09'" --hosts x --timeout 0.09 ls
claim "a session timeout above an hour is refused" refused "'3600.1'" --hosts x --timeout 3600.1 ls
claim "-n belongs to run: not before it" refused 'nonblock' -n ls
claim "-n belongs to run: not to ls" refused 'nonblock' --hosts x ls -n
claim "run prints no JSON" refused 'json' --json --hosts x run name -- true
claim "a root that is none is named" refused "^zklock: --root 'locks' is not" \
    --hosts x --root locks ls
claim "an empty --hosts is none" refused 'is empty' --hosts '' ls

claim "--help prints an overview" prints 'usage: zklock .*run NAME.*ls .*show ' --help
fits_a_terminal() {
    is "$(awk 'length > 80' "$Work/out")" '' && matches "$(wc -l <"$Work/out")" '^(1?[0-9]|2[0-4])$'
}
claim "... which fits a terminal of 24 lines" fits_a_terminal
mapfile -t subcommands < <(zklock --help | sed -nE 's/^  ([a-z]+) .*/\1/p')
claim "... of all subcommands" matches "${subcommands[*]}" '^run ls show .*config'
for subcommand in "${subcommands[@]}"; do
    claim "$subcommand --help" prints "usage: zklock $subcommand " "$subcommand" --help
    claim "... which fits a terminal" fits_a_terminal
done
claim "--help wins over what is missing" prints 'usage: zklock run' run -h
claim "--version" prints '^zklock [0-9]+\.[0-9]+\.[0-9]+$' --version
claim "-V after a subcommand" prints '^zklock [0-9]' ls -V

claim "a file of credentials that is not there" status_is 64 \
    zklock --hosts x --auth-file "$Work/none" ls
claim "... is named" matches "$(cat "$Work/err")" "$Work/none"
claim "credentials in its place are not shown" status_is 64 \
    zklock --hosts x --auth digest:db:secret ls
claim "... and what to do is" is "$(cat "$Work/err")" "zklock: --auth-file '(hidden)': this is \
no file: write the credentials into one, and name that"
printf 'no colon\n' >"$Work/auth"
claim "a file without a scheme is refused" status_is 64 zklock --hosts x --auth-file "$Work/auth" ls
claim "... and says what it wants" matches "$(cat "$Work/err")" 'SCHEME:CREDENTIALS'
claim "what an argument holds does not reach the terminal as it is" \
    status_is 64 zklock $'\e[31m'
claim "... but escaped" matches "$(cat -v "$Work/err")" '\\x1B\[31m'

finish
