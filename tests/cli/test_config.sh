#!/usr/bin/env bash
# Settings come from the command line, then from the environment, then from one file; zklock config
# says which and from where. A file that is wrong ends with 78 and its line. No server is needed but
# for the last part.
# shellcheck source-path=SCRIPTDIR
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
File=$XDG_CONFIG_HOME/zklock.conf
Servers=${ZKLOCK_HOSTS-}
unset ZKLOCK_HOSTS

# The row of a setting, its columns by one blank.
row() { # SETTING [OPTION]...
    zklock config "${@:2}" 2>"$Work/err" | sed -n "s/^$1  *//p" | tr -s ' '
}

# refused WORDS LINE...: a file of these lines.
refused() {
    local words=$1
    shift
    printf '%s\n' "$@" >"$File"
    status_is 78 zklock config && is "$(wc -l <"$Work/err")" 1 && is "$(cat "$Work/out")" '' &&
        matches "$(cat "$Work/err")" "^zklock: $File:[0-9]+: $words"
}

: >"$File"
claim "nothing is set: the defaults" is "$(row root)|$(row timeout)|$(row hosts)|$(row auth-file)" \
    '/locks default|10 default|- -|- -'
claim "... and another subcommand asks for servers" status_is 64 zklock ls

printf '%s\n' '# where our servers are' '' 'hosts=zk1:2181,zk2/app' $'\troot = /other  ' \
    'timeout = 4.5' 'auth-file = /etc/a b' >"$File"
claim "a file: each with its line" is "$(row hosts)|$(row root)|$(row timeout)|$(row auth-file)" \
    "zk1:2181,zk2/app $File:3|/other $File:4|4.5 $File:5|/etc/a b $File:6"
claim "the environment is asked before the file" \
    is "$(ZKLOCK_HOSTS=env:1 row hosts)" 'env:1 ZKLOCK_HOSTS'
claim "the command line before both" \
    is "$(ZKLOCK_HOSTS=env:1 row hosts --hosts cmd:1)" 'cmd:1 --hosts'
claim "... also for the others" \
    is "$(row root --root /r)|$(row timeout --timeout 7)|$(row auth-file --auth-file f)" \
    '/r --root|7 --timeout|f --auth-file'

printf 'auth = digest:me:se=cr#et\n' >"$File"
chmod o-r "$File"
claim "credentials are not shown, but their scheme" is "$(row auth)" "digest:(hidden) $File:1"
claim "... and not where --auth-file is given" is "$(row auth)|$(row auth-file)" \
    "digest:(hidden) $File:1|"
chmod o+r "$File"
claim "credentials that every user can read are refused" status_is 78 zklock config
claim "... and the line is named" matches "$(cat "$Work/err")" "$File:1: every user can read"
chmod o-r "$File"
printf '%s\n' 'hosts = 127.0.0.1:1' 'auth = nocolon' >"$File"
claim "credentials without a scheme are refused when they are needed" status_is 78 zklock ls
claim "... with their line" matches "$(cat "$Work/err")" "$File:2: auth must be"
claim "... though they are not shown either" is "$(row auth | grep -c nocolon || :)" 0

wrong_line() { # WORDS LINE...: of what only a session finds out
    printf '%s\n' "${@:2}" >"$File"
    status_is 78 zklock ls && is "$(wc -l <"$Work/err")" 1 &&
        matches "$(cat "$Work/err")" "^zklock: $File:2: $1"
}
claim "a file of credentials that is not there: the line that names it" \
    wrong_line "auth-file '/none': No such file" 'hosts = 127.0.0.1:1' 'auth-file = /none'
claim "... or that is the credentials, which are not shown" \
    wrong_line "auth-file '.hidden.': this is no file: write" 'hosts = 127.0.0.1:1' \
    'auth-file = digest:db:secret'
claim "... by config neither" is "$(row auth-file)" "(hidden) $File:2"
(umask 077 && : >"$Work/empty")
claim "... or that is a directory" wrong_line "auth-file '$Work': Is a directory" \
    'hosts = 127.0.0.1:1' "auth-file = $Work"
claim "... or that is empty" wrong_line "auth-file '$Work/empty': its first line" \
    'hosts = 127.0.0.1:1' "auth-file = $Work/empty"
(umask 077 && printf 'digest:\r\n' >"$Work/crlf")
claim "... or whose credentials are the end of a line" \
    wrong_line "auth-file '$Work/crlf': its first line" \
    'hosts = 127.0.0.1:1' "auth-file = $Work/crlf"
claim "a list of servers that is none: its line" \
    wrong_line "hosts 'a:99999' is not a list" '' 'hosts = a:99999'
claim "... beside a root that may be the wrong one" \
    wrong_line "hosts 'a:99999' or the root '/a' is not valid" 'root = /a' 'hosts = a:99999'
printf 'hosts = a,,b\n' >"$File"
claim "... of doctor, too" status_is 78 zklock doctor
claim "... but of the environment the variable" matches \
    "$(ZKLOCK_HOSTS=, zklock ls 2>&1 || :)" "^zklock: ZKLOCK_HOSTS ',' is not a list"
claim "... and of the command line the option" status_is 64 zklock --hosts , ls
claim "... by name" matches "$(cat "$Work/err")" "^zklock: --hosts ',' is not a list"

claim "an unknown setting, and which is meant" \
    refused "1?.*unknown setting 'host': did you mean hosts" 'host = x'
claim "... none like it" refused "unknown setting 'frobnicate'\$" 'frobnicate = x'
printf '\n# c\nhosts\n' >"$File"
claim "... in the third line" matches "$(zklock config 2>&1 || :)" "$File:3: a line is SETTING ="
for line in 'auth digest:me:hush' 'auth: digest:me:hush=x' 'digest:me:hush=x' 'digest:me:hush'; do
    claim "'$line' is refused" refused 'a line is SETTING = VALUE' "$line"
    claim "... and is not shown" is "$(grep -c hush "$Work/err" || :)" 0
done
claim "a setting twice" refused "set a second time is 'root'" 'root = /a' 'root = /b'
claim "no value" refused "there is no value for 'hosts'" 'hosts ='
claim "tls is refused" refused 'tls is not supported yet' 'tls = cert.pem'
claim "auth in two ways" refused 'auth is set already' 'auth = a:b' 'auth-file = f'
for value in locks /a/ /a//b "/$(printf '%0255d' 0)"; do
    claim "a root of '${value:0:8}'" refused "root must be a path such as /locks, not '$value'" \
        "root = $value"
done
for value in x 0.01 3601 -1; do
    claim "a timeout of $value" refused "timeout must be from 0.1 to 3600 seconds, not '$value'" \
        "timeout = $value"
done
claim "a line of 5,000 bytes" refused 'the line is too long' "hosts = $(printf '%05000d' 0)"
printf 'ho\0sts = x\n' >"$File"
claim "a NUL" status_is 78 zklock config
claim "what the file holds does not reach the terminal as it is" refused \
    'unknown setting .\\x1B' $'\e[31m = x'

rm "$File"
mkdir "$File"
claim "a directory in its place is named" status_is 78 zklock config
claim "... with the reason" matches "$(cat "$Work/err")" "$File': Is a directory"
rmdir "$File"
mkfifo "$File"
claim "a FIFO is refused, not waited for" status_is 78 timeout "$SOON_S" zklock config
claim "... with the reason" matches "$(cat "$Work/err")" "$File': is a FIFO"
rm "$File"
ln -s /dev/null "$File"
claim "/dev/null is an empty file" status_is 0 zklock config
rm "$File"

mkdir "$Work/home" "$Work/home/.config"
printf 'hosts = of-home\n' >"$Work/home/.config/zklock.conf"
claim "without XDG_CONFIG_HOME it is ~/.config" matches \
    "$(HOME=$Work/home env -u XDG_CONFIG_HOME zklock config)" 'of-home .*/home/.config/zklock.*:1'
claim "... so it is where that is no absolute path" matches \
    "$(HOME=$Work/home XDG_CONFIG_HOME=. zklock config)" 'of-home'
claim "an empty environment is no error" matches "$(env -i "$(command -v zklock)" config 2>&1)" \
    'timeout .*10 '

# A /etc of our own, where namespaces may be made.
in_own_etc() { # COMMAND...
    unshare -rm bash -c 'mount --bind "$1" /etc && shift && "$@"' bash "$Work/etc" "$@"
}
mkdir "$Work/etc"
printf 'hosts = of-etc\n' >"$Work/etc/zklock.conf"
if in_own_etc true 2>/dev/null; then
    claim "no file of the user's: that of the machine" matches \
        "$(HOME=$Work in_own_etc zklock config)" 'of-etc .*/etc/zklock.conf:1'
    printf 'root = /mine\n' >"$File"
    claim "one file only: the user's counts, all of it" matches \
        "$(in_own_etc zklock config | tr -s ' \n' ' ')" 'hosts - - root /mine'
    rm "$File" "$Work/etc/zklock.conf"
    in_own_etc zklock config >"$Work/out" 2>"$Work/err"
    claim "no file at all: it says where it looked" matches "$(cat "$Work/err")" \
        "neither '$File' nor '/etc/zklock.conf'"
else
    printf '%s\n' '- (no namespaces here: /etc/zklock.conf is not tried)'
fi

# What is in the file serves a session.
[[ ! $Servers ]] || export ZKLOCK_HOSTS=$Servers
use_any_server
printf '%s\n' "hosts = $ZKLOCK_HOSTS" "root = $Root" 'auth = digest:me:secret' >"$File"
chmod o-r "$File"
unset ZKLOCK_HOSTS
claim "run goes by the file" status_is 0 zklock run of-file -- sh -c 'echo "$ZKLOCK_NODE"; env'
claim "... to its root" matches "$(head -1 "$Work/out")" "^$Root/of-file/"
claim "... and its command does not see the credentials" is "$(grep -c secret "$Work/out" || :)" 0

finish
