# Completion of zklock for bash: subcommands, options, and the names of locks in use. Needs nothing
# else; where the package bash-completion is loaded, it completes the command that run runs.
# A name comes from the servers, so any client has chosen it: nothing here evaluates one.
# shellcheck shell=bash
# shellcheck disable=SC2154  # words, starts, before, cur and subcommand are locals of _zklock

# What readline has split at a ':' or '=' is put together again, up to the cursor. Leaves the words
# in words, where each one starts in COMP_WORDS in starts, and in before the part of the last one
# that readline keeps: a reply must leave that out.
_zklock_words() {
    local line=${COMP_LINE:0:COMP_POINT} gap piece i
    words=() starts=() before=
    for ((i = 0; i <= COMP_CWORD; i++)); do
        gap=${line%%[![:blank:]]*}
        line=${line#"$gap"}
        piece=${COMP_WORDS[i]:0:${#line}}
        line=${line#"$piece"}
        if [[ $gap ]] || ((i == 0)); then
            words+=("$piece") starts+=("$i") before=
        else
            before=${words[-1]}
            words[-1]+=$piece
        fi
    done
    [[ $piece != [:=]* ]] || before=${words[-1]}
}

# Leaves what may stand before or after SUBCOMMAND in options.
_zklock_options() { # SUBCOMMAND
    options=(--hosts --root --timeout --auth-file --label -v --verbose -h --help -V --version)
    case $1 in
    run)
        options+=(-n --nonblock -w --wait -s --shared -x --exclusive --permits --all
            -E --conflict-exit-code --grace --on-lost --cgroup --ticket --metrics-file
            -c --command --show-command -q --quiet)
        ;;
    bench) options+=(--count --json) ;;
    ls) options+=(--sort --watch --interval --names --json --prometheus) ;;
    deadlocks | doctor) options+=(--json) ;;
    show) options+=(--watch --interval -l --long --json) ;;
    break) options+=(-y --yes -w --wait) ;;
    set) options+=(--if-version --create --unguarded) ;;
    get) options+=(--print-version) ;;
    fence) options+=(--name) ;;
    esac
}

_zklock_takes_value() { # WORD
    case $1 in
    --hosts | --root | --timeout | --auth-file | --label | --ticket | --metrics-file) ;;
    --if-version | --name | --count | --sort | --interval) ;;
    --wait | --permits | --conflict-exit-code | --grace | --on-lost | --command) ;;
    --*) return 1 ;;
    *) [[ $1 =~ ^-[^-wEc]*[wEc]$ ]] ;;
    esac
}

_zklock_reply() { # WORD...
    local word
    for word; do
        [[ $word != "$cur"* ]] || COMPREPLY+=("${word#"$before"}")
    done
}

_zklock_reply_values() { # WORD...: with the option's name before them, if that is in the same word
    local name=
    [[ $cur != --*=* ]] || name=${cur%%=*}=
    _zklock_reply "${@/#/"$name"}"
}

_zklock_reply_files() { # VALUE: the end of what is typed
    local -a files
    local i
    mapfile -t files < <(compgen -f -- "$1")
    for i in "${!files[@]}"; do
        files[i]=${cur%"$1"}${files[i]}
    done
    compopt -o filenames 2>/dev/null
    _zklock_reply "${files[@]}"
}

# The locks in use, if the servers answer within a second. An escape in a name stands for what can
# hardly be typed, and a name with a '-' in front would be an option: both are left out.
_zklock_reply_names() { # ZKLOCK OPTION...
    local -a names
    local name quoted
    mapfile -t names < <({ timeout -s KILL 1 "$1" ls --names "${@:2}" </dev/null |
        sed -n '/^[^\\-][^\\]*$/p'; } 2>/dev/null)
    for name in "${names[@]}"; do
        # After an open quote readline inserts the reply as it is.
        case $cur in
        \'*) [[ $name == *\'* || \'$name != "$cur"* ]] || COMPREPLY+=("$name") ;;
        \"*) [[ $name == *[\"\$\`!]* || \"$name != "$cur"* ]] || COMPREPLY+=("$name") ;;
        *)
            printf -v quoted %q "$name"
            _zklock_reply "$quoted"
            ;;
        esac
    done
}

# The command of run or fence, from words[$1] on.
_zklock_reply_command() { # INDEX
    if declare -F _command_offset >/dev/null; then
        _command_offset "${starts[$1]}"
    elif (($1 == ${#words[@]} - 1)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$cur")
    else
        _zklock_reply_files "$cur"
    fi
}

# Goes through the words before the cursor as zklock does. Leaves in subcommand, operands (their
# number), command_at (where the command of run begins), has (the options of run that matter here),
# option (the one whose value comes next) and asked (the options that ls needs, too).
_zklock_read_words() {
    local i word
    subcommand='' operands=0 command_at='' has='' option='' asked=()
    for ((i = 1; i < ${#words[@]} - 1; i++)); do
        word=${words[i]}
        if [[ $option ]]; then
            [[ $option != @(--hosts|--root|--auth-file) ]] || asked+=("$option=$word")
            option=
        elif [[ $word == -- ]]; then
            [[ $subcommand != @(run|fence) ]] || command_at=$((i + 1))
            return
        elif _zklock_takes_value "$word"; then
            option=$word
            [[ $word != --command && $word != -*c ]] || has+=' command'
        elif [[ $word == --*=* ]]; then
            [[ $word != --@(hosts|root|auth-file)=* ]] || asked+=("$word")
            [[ $word != --command=* ]] || has+=' command'
        elif [[ $word == -* ]]; then
            [[ $word != --all ]] || has+=' all'
        elif [[ ! $subcommand ]]; then
            subcommand=$word
        elif [[ $subcommand == @(run|fence) && $operands == 1 && $has != *all* ]]; then
            command_at=$i
            return
        else
            operands=$((operands + 1))
        fi
    done
}

_zklock() {
    local subcommand operands command_at has option before cur
    local -a words starts options asked
    COMPREPLY=()
    _zklock_words
    cur=${words[-1]}
    _zklock_read_words
    if [[ $command_at ]]; then
        _zklock_reply_command "$command_at"
    elif [[ $option || $cur == --*=* ]]; then
        case ${option:-$cur} in
        --sort | --sort=*) _zklock_reply_values name depth wait ;;
        --auth-file | --ticket | --metrics-file) _zklock_reply_files "$cur" ;;
        --auth-file=* | --ticket=* | --metrics-file=*) _zklock_reply_files "${cur#*=}" ;;
        --on-lost | --on-lost=*) _zklock_reply_values kill term ignore ;;
        esac
    elif [[ $cur == -* ]]; then
        _zklock_options "$subcommand"
        _zklock_reply "${options[@]}"
    elif [[ ! $subcommand ]]; then
        _zklock_reply run ls show held ask break end deadlocks config set get fence doctor bench
    elif [[ $subcommand == end || $subcommand$operands == @(fence0|set1) ]]; then
        _zklock_reply_files "$cur"
    elif [[ $subcommand == @(set|get) ]]; then
        : # paths are not asked of the servers
    elif [[ $operands == 0 || $has == *all* ]]; then
        _zklock_reply_names "$1" "${asked[@]}"
    elif [[ $subcommand == @(run|fence) && $has != *command* ]]; then
        _zklock_reply_command $((${#words[@]} - 1))
    fi
}

complete -F _zklock zklock
