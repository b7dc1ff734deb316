/* See history.h. */
#include "support/history_impl.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

history *history_new(void) {
    return calloc(1, sizeof(history));
}

void history_free(history *h) {
    if (h) {
        free(h->ops);
        free(h->events);
    }
    free(h);
}

/* ---- Lines ---- */

static void *grow(void *items, size_t count, size_t *room, size_t size) {
    if (count < *room)
        return items;
    *room = *room ? 2 * *room : 256;
    items = realloc(items, *room * size);
    if (!items)
        abort();
    return items;
}

/* The latest are the ones that are asked for. */
static struct op *find_op(history *h, int64_t id) {
    for (size_t i = h->op_count; i > 0; i--)
        if (h->ops[i - 1].id == id)
            return &h->ops[i - 1];
    return NULL;
}

static bool add_begin(history *h, const char *line) {
    struct op op = {0};
    char end;

    if (sscanf(line + 1, " %" SCNd64 " %c %" SCNd64 " %" SCNd64 "%c", &op.id, &op.reg, &op.token,
               &op.begun_ns, &end) != 4 ||
        find_op(h, op.id))
        return false;
    op.is_reader = line[0] == 'j';
    op.begun = h->lines;
    op.ended = SIZE_MAX;
    h->ops = grow(h->ops, h->op_count, &h->op_room, sizeof(*h->ops));
    h->ops[h->op_count++] = op;
    return true;
}

static bool add_write(history *h, const char *line) {
    int64_t id, token, read, written, held, until;
    char end;

    if (sscanf(line, "w %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64 "%c",
               &id, &token, &read, &written, &held, &until, &end) != 6)
        return false;
    struct op *op = find_op(h, id);
    if (!op || op->is_reader || op->has_written || op->ended != SIZE_MAX || token <= 0 ||
        token != op->token || written <= 0)
        return false;
    op->has_written = true;
    op->read = read;
    op->written = written;
    op->held_ns = held;
    op->until_ns = until;
    return true;
}

static bool add_readings(history *h, const char *line) {
    int64_t id, read, again;
    char end;

    if (sscanf(line, "q %" SCNd64 " %" SCNd64 " %" SCNd64 "%c", &id, &read, &again, &end) != 3)
        return false;
    struct op *op = find_op(h, id);
    if (!op || !op->is_reader || op->has_read || op->ended != SIZE_MAX || op->token <= 0)
        return false;
    op->has_read = true;
    op->read = read;
    op->again = again;
    return true;
}

static bool add_end(history *h, const char *line) {
    static const char *const names[] = {"", "ok", "refused", "unsure"};
    char name[8], end;
    int64_t id, now;
    int held;

    if (sscanf(line, "r %" SCNd64 " %7s %" SCNd64 " %d%c", &id, name, &now, &held, &end) != 4)
        return false;
    struct op *op = find_op(h, id);
    if (!op || op->ended != SIZE_MAX)
        return false;
    for (enum outcome i = OUTCOME_OK; i <= OUTCOME_UNSURE; i++)
        if (strcmp(name, names[i]) == 0)
            op->outcome = i;
    op->after_ns = now;
    op->held_after = held != 0;
    op->ended = h->lines;
    /* Refused before it was tried is possible. */
    return op->outcome != OUTCOME_NONE &&
           (op->has_written || op->has_read || op->outcome == OUTCOME_REFUSED);
}

static bool add_event(history *h, const char *line) {
    struct event event;
    char end;

    if (sscanf(line, "%c %" SCNd64 " %" SCNd64 "%c", &event.kind, &event.process, &event.ns,
               &end) != 3)
        return false;
    h->events = grow(h->events, h->event_count, &h->event_room, sizeof(*h->events));
    h->events[h->event_count++] = event;
    return true;
}

bool history_add(history *h, const char *line) {
    h->lines++;
    switch (line[0]) {
    case 'i':
    case 'j':
        return add_begin(h, line);
    case 'q':
        return add_readings(h, line);
    case 'w':
        return add_write(h, line);
    case 'r':
        return add_end(h, line);
    case 'k':
    case 's':
    case 'c':
    case 'e':
    case 'x':
    case 'l':
        return add_event(h, line);
    default:
        return false;
    }
}

/* ---- The judge ---- */

struct judge {
    history *h;
    char reg;
    bool is_strict;
    struct op **by_written; /* writes that were not refused */
    struct op **by_read;    /* the same */
    size_t count;
    history_figures *figures;
    bool has_objected;
    char *why;
    size_t size;
};

/* The first one counts. */
#define object(j, ...)                                                                             \
    ((j)->has_objected                                                                             \
         ? false                                                                                   \
         : ((j)->has_objected = true, history_tell((j)->why, (j)->size, __VA_ARGS__)))

static int compare_written(const void *a, const void *b) {
    const struct op *x = *(struct op *const *)a, *y = *(struct op *const *)b;

    return (x->written > y->written) - (x->written < y->written);
}

static int compare_read(const void *a, const void *b) {
    const struct op *x = *(struct op *const *)a, *y = *(struct op *const *)b;

    return (x->read > y->read) - (x->read < y->read);
}

static struct op *writer_of(const struct judge *j, int64_t value) {
    struct op key = {.written = value}, *at = &key;
    struct op **found = j->count ? bsearch(&at, j->by_written, j->count, sizeof(*j->by_written),
                                           compare_written)
                                 : NULL;

    return found ? *found : NULL;
}

/* Whether the write landed after the lease, or, of one that nobody was told of, may have. */
static bool is_late(const struct judge *j, const struct op *op) {
    const history *h = j->h;

    if (op->outcome == OUTCOME_OK)
        return !op->held_after;
    for (size_t i = 0; i < h->event_count; i++)
        if (h->events[i].kind == 'k' && h->events[i].process == op->id / HISTORY_OPS)
            return h->events[i].ns > op->until_ns;
    return false;
}

/* Whether its process was stopped between its last look at the hold and the end of the write. */
static bool was_stopped(const struct judge *j, const struct op *op) {
    const history *h = j->h;
    const int64_t process = op->id / HISTORY_OPS;
    const int64_t end = op->outcome == OUTCOME_NONE ? INT64_MAX : op->after_ns;
    bool is_stopped = false;

    for (size_t i = 0; i < h->event_count && !is_stopped; i++)
        is_stopped = h->events[i].process == process && h->events[i].kind == 'c' &&
                     h->events[i].ns >= op->held_ns && h->events[i].ns <= end;
    return is_stopped;
}

static void count_grants(struct judge *j) {
    size_t count;
    struct op **ops = history_by_token(j->h, j->reg, &count);

    for (size_t i = 0; i < count; i++) {
        if (i > 0 && ops[i]->token == ops[i - 1]->token)
            continue;
        j->figures->grants++;
        j->figures->hand_offs += i > 0 && ops[i]->id / HISTORY_OPS != ops[i - 1]->id / HISTORY_OPS;
    }
    free(ops);
}

static bool collect(struct judge *j) {
    history *h = j->h;

    for (size_t i = 0; i < h->op_count; i++) {
        struct op *op = &h->ops[i];

        op->in_chain = op->was_read = false;
        if (op->reg != j->reg)
            continue;
        j->figures->operations++;
        j->figures->readings += op->has_read;
        j->figures->writes += op->has_written;
        j->figures->ok += op->has_written && op->outcome == OUTCOME_OK;
        j->figures->refused += op->has_written && op->outcome == OUTCOME_REFUSED;
        j->figures->unsure += op->has_written && op->outcome != OUTCOME_OK &&
                              op->outcome != OUTCOME_REFUSED;
        if (op->has_written && op->outcome != OUTCOME_REFUSED)
            j->by_written[j->count++] = op;
    }
    if (j->count > 0) {
        memcpy(j->by_read, j->by_written, j->count * sizeof(*j->by_read));
        qsort(j->by_written, j->count, sizeof(*j->by_written), compare_written);
        qsort(j->by_read, j->count, sizeof(*j->by_read), compare_read);
    }
    for (size_t i = 1; i < j->count; i++)
        if (j->by_written[i]->written == j->by_written[i - 1]->written)
            return object(j, "%" PRId64 " was written twice", j->by_written[i]->written);
    return true;
}

/* Back from the final value. */
static bool follow(struct judge *j, int64_t final) {
    const struct op *after = NULL;

    for (int64_t value = final; value != 0;) {
        struct op *op = writer_of(j, value);

        if (!op)
            return object(j, "nobody wrote %" PRId64 ", or it was refused", value);
        if (op->in_chain)
            return object(j, "%" PRId64 " is its own past", value);
        if (after && after->token < op->token && (j->is_strict || !is_late(j, after)))
            (void)object(j, "token %" PRId64 " after %" PRId64, after->token, op->token);
        op->in_chain = op->was_read = true;
        after = op;
        value = op->read;
    }
    return !j->has_objected;
}

/* What comes before another in the chain has not begun after that had ended. */
static bool check_order(struct judge *j, int64_t final) {
    size_t ended = SIZE_MAX; /* the first of those behind */

    for (int64_t value = final; value != 0;) {
        const struct op *op = writer_of(j, value);

        if (op->begun > ended)
            return object(j, "operation %" PRId64 " began after one behind it had ended", op->id);
        /* Of one that is unsure nobody knows when it was done. */
        if (op->outcome == OUTCOME_OK && op->ended < ended)
            ended = op->ended;
        value = op->read;
    }
    return true;
}

static bool check_reads(struct judge *j) {
    for (size_t i = 0; i < j->h->op_count; i++) {
        const struct op *op = &j->h->ops[i];

        if (op->reg != j->reg)
            continue;
        if (op->has_read && op->read != op->again)
            return object(j, "operation %" PRId64 " read %" PRId64 " and then %" PRId64, op->id,
                          op->read, op->again);
        if ((!op->has_written && !op->has_read) || op->read == 0)
            continue;
        struct op *from = writer_of(j, op->read);
        if (!from)
            return object(j, "%" PRId64 " was read, and nobody wrote it", op->read);
        from->was_read = true;
        if (j->is_strict && !from->in_chain)
            return object(j, "%" PRId64 " was read, and is not in the past", op->read);
    }
    for (size_t i = 0; i < j->count; i++)
        j->figures->unsure_done += j->by_written[i]->outcome != OUTCOME_OK &&
                                   j->by_written[i]->was_read;
    return true;
}

/* Of the writes that read the same and landed all but one were late; *ret_late is one of them. */
static bool check_fork(struct judge *j, size_t first, size_t end) {
    const struct op *in_time = NULL;

    for (size_t i = first; i < end; i++) {
        const struct op *op = j->by_read[i];

        if ((op->outcome != OUTCOME_OK && !op->was_read) || is_late(j, op))
            continue;
        if (in_time)
            return object(j, "%" PRId64 " and %" PRId64 " both read %" PRId64 " and were in time",
                          in_time->id, op->id, op->read);
        in_time = op;
    }
    return true;
}

static size_t fork_begin(const struct judge *j, int64_t read) {
    size_t low = 0, high = j->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (j->by_read[middle]->read < read)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Which write is to blame for a lost one: where its past leaves the chain, the late one. */
static bool explain(struct judge *j, const struct op *lost) {
    const struct op *branch = lost, *late = NULL;
    size_t steps = 0;

    for (const struct op *up;
         branch->read != 0 && (up = writer_of(j, branch->read)) != NULL && !up->in_chain;
         branch = up)
        if (++steps > j->count)
            return object(j, "%" PRId64 " is its own past", lost->written);
    for (size_t i = fork_begin(j, branch->read);
         i < j->count && j->by_read[i]->read == branch->read; i++) {
        const struct op *op = j->by_read[i];

        if ((op->outcome == OUTCOME_OK || op->was_read) && is_late(j, op) &&
            (!late || was_stopped(j, op)))
            late = op;
    }
    if (!late)
        return object(j, "operation %" PRId64 " was OK, and is lost without a late write",
                      lost->id);
    j->figures->by_stop += was_stopped(j, late);
    return true;
}

static bool check_losses(struct judge *j) {
    for (size_t i = 0; i < j->count; i++) {
        const struct op *op = j->by_written[i];

        if (op->outcome != OUTCOME_OK || op->in_chain)
            continue;
        j->figures->lost++;
        if (j->is_strict)
            (void)object(j, "operation %" PRId64 " was OK, and is lost", op->id);
        else
            (void)explain(j, op);
    }
    return !j->has_objected;
}

static bool judge_all(struct judge *j, int64_t final) {
    count_grants(j);
    if (!collect(j))
        return false;
    /* All of them, because losses are counted also where something else is wrong. */
    (void)follow(j, final);
    (void)check_reads(j);
    if (!check_losses(j))
        return false;
    for (size_t first = 0, end; first < j->count; first = end) {
        for (end = first; end < j->count && j->by_read[end]->read == j->by_read[first]->read; end++)
            continue;
        if (!check_fork(j, first, end))
            return false;
    }
    for (size_t i = 0; i < j->count; i++)
        j->figures->late += (j->by_written[i]->outcome == OUTCOME_OK ||
                             j->by_written[i]->was_read) &&
                            is_late(j, j->by_written[i]);
    return !j->is_strict || check_order(j, final);
}

bool history_check(history *h, char reg, int64_t final, bool is_strict,
                   history_figures *ret_figures, char *why, size_t size) {
    const size_t room = (h->op_count + 1) * sizeof(struct op *);
    struct judge j = {.h = h,
                      .reg = reg,
                      .is_strict = is_strict,
                      .by_written = malloc(room),
                      .by_read = malloc(room),
                      .figures = ret_figures,
                      .why = why,
                      .size = size};
    bool is_good;

    if (!j.by_written || !j.by_read)
        abort();
    *ret_figures = (history_figures){0};
    (void)snprintf(why, size, "nothing");
    is_good = judge_all(&j, final);
    free(j.by_written);
    free(j.by_read);
    return is_good;
}
