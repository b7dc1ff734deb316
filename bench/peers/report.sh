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
        function better_peer(workload,   i, most) {
            for (i = 2; i <= peer_count; i++)
                if (median[peer[i] " " workload] > most) most = median[peer[i] " " workload]
            return most
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
            printf "\nMedians of %d turns. In brackets are figures %d and %d by size: the " \
                "true\nmedian is between those with a confidence of %.1f %%.\n", rounds, k, \
                rounds + 1 - k, confidence * 100
            ours = median["zklock impatient"]
            patient = median["zklock patient"]
            most = better_peer("impatient")
            if (ours && patient) printf "\nimpatient, of the patient rate: %.2f\n", ours / patient
            if (ours && most) printf "impatient, times the better peer: %.2f\n", ours / most
        }
    ' "$TMPDIR/figures"
}
