/* report - what many schedules came to, in figures; see sim.h. */
#include "sim/sim.h"

#include <inttypes.h>

/* All fields are counts. */
#define FIGURES (sizeof(struct figures) / sizeof(uint64_t))

void figures_add(struct figures *to, const struct figures *from) {
    uint64_t *sums = (uint64_t *)to;
    const uint64_t *counts = (const uint64_t *)from;
    for (size_t i = 0; i < FIGURES; i++)
        sums[i] += counts[i];
}

static void row(FILE *out, const char *name, uint64_t count, uint64_t schedules) {
    (void)fprintf(out, "  %-28s %12" PRIu64 " %10.3f\n", name, count,
                  schedules == 0 ? 0.0 : (double)count / (double)schedules);
}

static void print_locks(const struct figures *f, FILE *out) {
    uint64_t n = f->schedules;
    (void)fprintf(out, "locks\n");
    row(out, "grants", f->grants, n);
    row(out, "hand-offs", f->hand_offs, n);
    row(out, "read inside a writer's hold", f->nested, n);
    row(out, "handed on in a process", f->handed_on, n);
    row(out, "grants beside readers", f->shared, n);
    row(out, "nodes that stayed idle", f->idle, n);
    row(out, "holds by an idle node", f->lingered, n);
    row(out, "holds wanted by others", f->wanted, n);
    row(out, "nodes asked to let go", f->asked, n);
    row(out, "tries that had to ask", f->tried, n);
    row(out, "permits", f->permits, n);
    row(out, "nodes marked as admitted", f->touches, n);
    row(out, "nodes that say since when they hold", f->said_since, n);
    row(out, "numbers of permits changed", f->resizes, n);
    row(out, "acquires told of", f->told, n);
    row(out, "grants not told in time", f->untold, n);
    row(out, "places kept after a wait", f->places_left, n);
    row(out, "places taken by the next", f->places_taken, n);
    row(out, "several at once", f->together, n);
    row(out, "several at once, granted", f->together_granted, n);
    row(out, "another number of permits", f->mismatches, n);
    row(out, "writers turned readers", f->turns, n);
    row(out, "losses told", f->losses, n);
    row(out, "operators who end a hold", f->breaks, n);
    row(out, "ended by its owner", f->broken, n);
    row(out, "ended by the operator", f->broken_by_deletion, n);
    row(out, "not ended in time", f->breaks_too_short, n);
    row(out, "operators who ask for a hold", f->asks, n);
    row(out, "marked for them, or before", f->asks_heard, n);
    row(out, "on a writer that became a reader", f->buried, n);
    row(out, "guarded writes", f->guarded, n);
    row(out, "guarded writes, lost", f->guarded_lost, n);
    row(out, "guarded writes, unsure", f->guarded_unsure, n);
    row(out, "guarded writes made again", f->guarded_again, n);
    row(out, "guarded writes, not sent", f->guarded_unsent, n);
    row(out, "guarded, several at once", f->several, n);
    row(out, "guarded, several refused", f->several_refused, n);
    row(out, "guarded, callers go on", f->told_writes, n);
    row(out, "held again", f->again, n);
    row(out, "held again, deadlock", f->again_refused, n);
    row(out, "held again, lost", f->again_lost, n);
    row(out, "given up by another thread", f->given_up, n);
    row(out, "given up before it was told", f->given_up_early, n);
    row(out, "given up before an acquire", f->given_up_before, n);
    row(out, "lost and not released", f->unreleased, n);
    row(out, "late releases", f->late, n);
    row(out, "places lost", f->requeues, n);
    row(out, "timeouts", f->timeouts, n);
    row(out, "tries that found it taken", f->busy, n);
    row(out, "tries without an answer", f->unreachable, n);
    row(out, "canceled", f->cancels, n);
    row(out, "closed", f->closes, n);
}

static void print_sessions(const struct figures *f, FILE *out) {
    uint64_t n = f->schedules;
    row(out, "syncs", f->syncs, n);
    row(out, "leases by syncs and a barrier", f->proofs_by_syncs, n);
    row(out, "sessions in another's place", f->successions, n);
    row(out, "silent servers left", f->drops, n);
    row(out, "resumed by an older word", f->older_words, n);
    row(out, "holds that had to last", f->kept, n);
    row(out, "attached to a program's handle", f->attached, n);
    row(out, "attached again", f->attached_again, n);
    row(out, "left with the handle's session", f->attached_over, n);
    row(out, "handles not heard of for a while", f->unheard, n);
    row(out, "left untidy", f->left_untidy, n);
    row(out, "sends refused", f->refused, n);
    row(out, "states not told", f->forgotten, n);
    row(out, "looks at the state", f->looks, n);
}

static void print_servers(const struct figures *f, FILE *out) {
    uint64_t n = f->schedules;
    (void)fprintf(out, "servers\n");
    row(out, "writes proposed", f->writes, n);
    row(out, "two faults at a time", f->double_faults, n);
    row(out, "no quorum left", f->without_quorum, n);
    row(out, "elections", f->elections, n);
    row(out, "sessions expired", f->expiries, n);
    row(out, "sessions ended though heard of", f->ended_heard, n);
    row(out, "sessions found moved", f->moves, n);
    row(out, "replies lost", f->lost_replies, n);
    row(out, "creates carried out late", f->late_creates, n);
    row(out, "pings late", f->late_pings, n);
    row(out, "heartbeats lost by a server", f->lost_touches, n);
    row(out, "sessions told of late", f->told_late, n);
    row(out, "watches sent again", f->watches_resent, n);
    row(out, "creates past the counter", f->past_counter, n);
}

void figures_print(const struct figures *f, FILE *out) {
    uint64_t n = f->schedules;
    (void)fprintf(out, "  %-28s %12s %10s\n", "schedules", "in all", "each");
    row(out, "operations", f->operations, n);
    row(out, "events", f->events, n);
    row(out, "virtual seconds", f->virtual_ms / 1000, n);
    (void)fprintf(out, "faults\n");
    for (int i = 0; i < FAULT_KINDS; i++)
        row(out, fault_names[i], f->faults[i], n);
    print_locks(f, out);
    print_sessions(f, out);
    print_servers(f, out);
}
