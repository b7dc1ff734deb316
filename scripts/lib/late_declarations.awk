# Finds local variables that are declared without a value, and whose first use, in the same block
# and as deep, is an assignment: they can be declared there. Reads formatted C without comments and
# literals, and prints FILE:LINE: MESSAGE; file is the name to print.
#
# Not found, and right: a variable that is first used in a condition, in an inner block, by its
# address, or behind a label, which a declaration must not follow.

BEGIN { Word = "[A-Za-z_][A-Za-z0-9_]*" }

function depth_of(line) {
    match(line, /^ */)
    return RLENGTH
}

# Splits "const struct x *a, b" into Names; returns how many, 0 if that is no declaration of plain
# variables.
function names_in(text,    parts, count, i, name) {
    if (text !~ ("^" Word "( " Word ")* \\**" Word "(, \\**" Word ")*$")) return 0
    if (text ~ /^(return|goto|static|extern|typedef|case|else) /) return 0
    count = split(text, parts, /, /)
    sub(/^.* /, "", parts[1])
    for (i = 1; i <= count; i++) {
        name = parts[i]
        gsub(/\*/, "", name)
        Names[i] = name
    }
    return count
}

function mentions(line, name) {
    return (" " line " ") ~ ("[^A-Za-z0-9_.>]" name "[^A-Za-z0-9_]")
}

# The line of the assignment that declaration could be, or 0.
function first_assignment(name, from, depth,    i, behind_label) {
    for (i = from; i <= NR; i++) {
        if (line[i] ~ /^ *$/) continue
        if (line[i] ~ /^#/ || depth_of(line[i]) < depth) return 0
        if (mentions(line[i], name))
            return depth_of(line[i]) == depth && !behind_label &&
                substr(line[i], depth + 1) ~ ("^" name " = ") ? i : 0
        behind_label = line[i] ~ /:$/
    }
    return 0
}

{
    sub(/ +$/, "")
    line[NR] = $0
}
END {
    for (n = 1; n <= NR; n++) {
        if (line[n] ~ /^[A-Za-z_].*\{$/) in_function = line[n] ~ /\) \{$/
        if (line[n] ~ /^\{/) in_function = 1
        if (line[n] ~ /^}/) in_function = 0
        depth = depth_of(line[n])
        # Members are no variables.
        if (in_function && line[n] ~ /^ +(static )?(const )?(struct|union)( [A-Za-z0-9_]+)? \{$/)
            while (n < NR && !(depth_of(line[n]) == depth && line[n] ~ /^ +}/)) n++
        if (!in_function || depth == 0 || line[n] !~ /;$/) continue
        count = names_in(substr(line[n], depth + 1, length(line[n]) - depth - 1))
        for (i = 1; i <= count; i++) {
            at = first_assignment(Names[i], n + 1, depth)
            if (at)
                print file ":" n ": declare " Names[i] " in line " at ", where it gets its value"
        }
    }
}
