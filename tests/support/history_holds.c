/* Of a history (see history.h): who held at a time, and when writes were done. */
#include "support/history_impl.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool history_tell(char *why, size_t size, const char *format, ...) {
    va_list args;

    va_start(args, format);
    (void)vsnprintf(why, size, format, args);
    va_end(args);
    return false;
}

static int compare_tokens(const void *a, const void *b) {
    const struct op *x = *(struct op *const *)a, *y = *(struct op *const *)b;

    return (x->token > y->token) - (x->token < y->token);
}

/* Whether it was certain of its hold at any time. */
static bool was_certain(const struct op *op) {
    return op->has_written || op->has_read || (op->token > 0 && op->held_after);
}

struct op **history_by_token(const history *h, char reg, size_t *ret_count) {
    struct op **ops = malloc((h->op_count + 1) * sizeof(struct op *));

    if (!ops)
        abort();
    *ret_count = 0;
    for (size_t i = 0; i < h->op_count; i++)
        if (h->ops[i].reg == reg && was_certain(&h->ops[i]))
            ops[(*ret_count)++] = &h->ops[i];
    qsort(ops, *ret_count, sizeof(struct op *), compare_tokens);
    return ops;
}

static int64_t certain_until(const struct op *op) {
    if (op->outcome != OUTCOME_NONE && op->held_after)
        return op->after_ns;
    return op->is_reader ? op->begun_ns : op->held_ns;
}

/* So long it may take to end somebody's session, and all that it held. */
#define ENDING_NS INT64_C(15000000000)

/* By when nothing can be certain any more of the session that this one has ended. */
static int64_t ending_until(const history *h, size_t at) {
    const struct event *e = &h->events[at];

    for (size_t i = at + 1; i < h->event_count; i++)
        if (h->events[i].process == e->process && h->events[i].kind == 'x')
            return h->events[i].ns;
    return e->ns + ENDING_NS;
}

static bool is_excused(const history *h, const struct op *op) {
    const int64_t process = op->id / HISTORY_OPS, until_ns = certain_until(op);
    bool is_found = false;

    for (size_t i = 0; i < h->event_count && !is_found; i++)
        is_found = h->events[i].kind == 'e' && h->events[i].process == process &&
                   h->events[i].ns <= until_ns && until_ns <= ending_until(h, i);
    return is_found;
}

/* Of the lower tokens, those that were certain last: of all, and of those that exclude all. */
struct holders {
    const struct op *any, *exclusive;
};

static void note_holder(const struct op **last, const struct op *op) {
    if (!*last || certain_until(op) > certain_until(*last))
        *last = op;
}

bool history_check_holds(const history *h, char reg, char *why, size_t size) {
    size_t count, end;
    struct op **ops = history_by_token(h, reg, &count);
    struct holders before = {0};
    bool is_good = true;

    for (size_t first = 0; first < count && is_good; first = end) {
        struct holders last = before;

        for (end = first; end < count && ops[end]->token == ops[first]->token; end++) {
            const struct op *op = ops[end], *other = op->is_reader ? before.exclusive : before.any;

            if (op->id / HISTORY_OPS != ops[first]->id / HISTORY_OPS)
                is_good = history_tell(why, size, "two processes have the token %" PRId64,
                                       op->token);
            if (other && op->begun_ns <= certain_until(other))
                is_good = history_tell(why, size,
                                       "operation %" PRId64 " held for %" PRId64
                                       " us after operation %" PRId64 " had begun",
                                       other->id, (certain_until(other) - op->begun_ns) / 1000,
                                       op->id);
            if (is_excused(h, op))
                continue;
            note_holder(&last.any, op);
            if (!op->is_reader)
                note_holder(&last.exclusive, op);
        }
        before = last;
    }
    free(ops);
    return is_good;
}

/* A hold's begin, or its end. */
struct turn {
    int64_t ns;
    bool is_end;
    const struct op *op;
};

/* Who ends at the time at which another begins has held beside it. */
static int compare_turns(const void *a, const void *b) {
    const struct turn *x = a, *y = b;

    if (x->ns != y->ns)
        return (x->ns > y->ns) - (x->ns < y->ns);
    return (int)x->is_end - (int)y->is_end;
}

bool history_check_permits(const history *h, char reg, size_t permits, size_t *ret_most, char *why,
                           size_t size) {
    size_t count, turn_count = 0, holders = 0;
    struct op **ops = history_by_token(h, reg, &count);
    struct turn *turns = malloc((2 * count + 1) * sizeof(*turns));
    bool is_good = true;

    if (!turns)
        abort();
    for (size_t i = 0; i < count; i++) {
        if (is_excused(h, ops[i]))
            continue;
        turns[turn_count++] = (struct turn){ops[i]->begun_ns, false, ops[i]};
        turns[turn_count++] = (struct turn){certain_until(ops[i]), true, ops[i]};
    }
    qsort(turns, turn_count, sizeof(*turns), compare_turns);
    *ret_most = 0;
    for (size_t i = 0; i < turn_count; i++) {
        holders = turns[i].is_end ? holders - 1 : holders + 1;
        if (holders > *ret_most)
            *ret_most = holders;
        if (holders > permits && is_good)
            is_good = history_tell(why, size, "operation %" PRId64 " began beside %zu others",
                                   turns[i].op->id, holders - 1);
    }
    free(turns);
    free(ops);
    return is_good;
}

size_t history_losses_told(const history *h) {
    size_t count = 0;

    for (size_t i = 0; i < h->event_count; i++)
        count += h->events[i].kind == 'l';
    return count;
}

static int compare_ns(const void *a, const void *b) {
    const int64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

int64_t history_longest_gap_ns(const history *h, const char *registers, const history_span *span) {
    int64_t *ok_ns = malloc((h->op_count + 1) * sizeof(*ok_ns)), longest = 0;
    size_t count = 0;

    if (!ok_ns)
        abort();
    for (size_t i = 0; i < h->op_count; i++)
        if (h->ops[i].outcome == OUTCOME_OK && strchr(registers, h->ops[i].reg))
            ok_ns[count++] = h->ops[i].after_ns;
    qsort(ok_ns, count, sizeof(*ok_ns), compare_ns);
    if (count > 0)
        ok_ns[count++] = INT64_MAX;
    for (size_t i = 1; i < count; i++) {
        const int64_t from_ns = ok_ns[i - 1];
        const int64_t until_ns = ok_ns[i] < span->end_ns ? ok_ns[i] : span->end_ns;

        if (from_ns >= span->since_ns && until_ns > span->from_ns && from_ns < span->until_ns &&
            until_ns - from_ns > longest)
            longest = until_ns - from_ns;
    }
    free(ok_ns);
    return longest;
}
