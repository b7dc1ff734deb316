# The table of bench/peers.sh from its figures, and the plots from a table.
# Sourced, never run; the caller has set -euo pipefail.
# shellcheck shell=bash
# shellcheck disable=SC2154  # names of the script that sources this file

# Rows, with the median of the turns and an interval of 95 % or more for it: between two turns by
# rank, whatever the distribution is.
summary() {
    LC_ALL=C awk -v peers="${Peers[*]}" -v workloads="${Workloads[*]}" -v rounds="$Rounds" '
        # The greatest k for which at most 5 of 100 true medians are beyond the k-th of n figures
        # from either end; 1 if there is none.
        function rank(n,   k, below, choose) {
            choose = 0.5 ^ n
            for (k = 0; below + choose <= 0.025 && k < n / 2; k++) {
                below += choose
                choose *= (n - k) / (k + 1)
            }
            confidence = 1 - 2 * below
            if (k == 0) confidence = 1 - 2 * choose
            return k < 1 ? 1 : k
        }
        function with_commas(x,   text, rest) {
            text = sprintf(x < 10 ? "%.2f" : x < 100 ? "%.1f" : "%.0f", x)
            if (text ~ /[.]/) return text
            for (; length(text) > 3; text = substr(text, 1, length(text) - 3))
                rest = "," substr(text, length(text) - 2) rest
            return text rest
        }
        # Sorts the figures of a cell; leaves Median.
        function cell(key,   n, k, i, j, x, v) {
            n = split(figures[key], v, " ")
            if (n == 0) return "-"
            for (i = 2; i <= n; i++) {
                x = v[i] + 0
                for (j = i - 1; j >= 1 && v[j] + 0 > x; j--) v[j + 1] = v[j]
                v[j + 1] = x
            }
            k = rank(n)
            median[key] = (v[int((n + 1) / 2)] + v[int(n / 2) + 1]) / 2
            return with_commas(median[key]) " (" with_commas(v[k]) " to " \
                with_commas(v[n + 1 - k]) ")"
        }
        function better_peer(workload,   i, rate, most) {
            for (i = 1; i <= peer_count; i++) {
                rate = median[peer[i] " " workload]
                if (peer[i] != "zklock" && rate > most) most = rate
            }
            return most
        }
        # What the project asks of itself where waits end too soon.
        function asked(   ours, patient, most, least) {
            ours = median["zklock impatient"]
            patient = median["zklock patient"]
            most = better_peer("impatient")
            if (!ours || !patient) return
            least = most && 3 * most < patient / 2 ? 3 * most : patient / 2
            printf "\nzklock, impatient: %.0f grants/s, asked: at least %.0f, %s.\n", ours, \
                least, (ours >= least ? "met" : "NOT MET")
            print "That is half of its patient rate, or three times the better peer: the lesser."
        }
        { figures[$1 " " $2] = figures[$1 " " $2] " " $3 }
        END {
            peer_count = split(peers, peer, " ")
            workload_count = split(workloads, workload, " ")
            line = "workload | unit"
            for (i = 1; i <= peer_count; i++) line = line " | " peer[i]
            print line
            for (w = 1; w <= workload_count; w++) {
                line = workload[w] " | " (workload[w] ~ /turns|patient/ ? "grants/s" : "us")
                for (i = 1; i <= peer_count; i++)
                    line = line " | " cell(peer[i] " " workload[w])
                print line
            }
            k = rank(rounds)
            printf "\nMedians of %d turns. In brackets are figures %d and %d by size:\n", \
                rounds, k, rounds + 1 - k
            printf "the true median is between those with a confidence of %.1f %%.\n", \
                confidence * 100
            asked()
        }
    ' "$TMPDIR/figures"
}

# The rows of a record whose unit is UNIT, for gnuplot: the workload, and three numbers a peer.
plot_rows() { # RECORD UNIT
    awk -F ' [|] ' -v unit="$2" '
        $1 == "workload" { for (i = 3; i <= NF; i++) peers = peers " " $i; print "-" peers }
        $2 == unit {
            line = $1
            for (i = 3; i <= NF; i++) {
                gsub(/[(),]|to /, "", $i)
                line = line " " ($i == "-" ? "? ? ?" : $i)
            }
            print line
        }
    ' "$1"
}

plot_one() { # RECORD UNIT TITLE LEAST SVG
    plot_rows "$1" "$2" >"$Work/rows"
    (($(wc -l <"$Work/rows") > 1)) || return 0
    gnuplot <<END
set terminal svg size 960,440 font 'sans-serif,12' background 'white'
set output '$5'
set title '$3'
set style data histograms
set style histogram errorbars gap 1 lw 1
set style fill solid 0.8 border -1
set logscale y
set yrange [$4:*]
set format y '%g'
set grid ytics
set key outside top center horizontal
set xtics scale 0
set datafile missing '?'
peers = system("head -n 1 '$Work/rows'")
plot for [i = 2:words(peers)] '$Work/rows' every ::1 \
    using (column(3 * i - 4)):(column(3 * i - 3)):(column(3 * i - 2)):xtic(1) \
    title word(peers, i)
END
}

# The plots of docs/benchmarks from the newest record of NAME.
plot() { # NAME
    local record
    record=$(printf '%s\n' "docs/measurements/$1"/[0-9]*.txt | sort | tail -n 1)
    [[ -r $record ]] || wrong_call "there is no record of $1"
    Work=$(mktemp -d)
    mkdir -p docs/benchmarks
    plot_one "$record" us 'microseconds, less is better' 0.1 "docs/benchmarks/$1-us.svg"
    plot_one "$record" grants/s 'grants a second, more is better' 1 "docs/benchmarks/$1-grants.svg"
    rm -rf "$Work"
}
