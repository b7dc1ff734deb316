/* See contender_matrix.h. */
#include "unit/contender_matrix.h"

/* ---- Events ---- */

bool matrix_has(enum zkli_contender_event_type type, unsigned v) {
    switch (type) {
    case ZKLI_EV_LISTED:
        return (v > 0 && v < RESULTS) || (v >= V_CROWD && v < V_CROWD + TWICE);
    case ZKLI_EV_PREDECESSOR_READ:
        return v < RESULTS || v == V_TOUCHED;
    case ZKLI_EV_OWNER_READ:
        return v < RESULTS || v == V_OTHERS_NODE;
    case ZKLI_EV_PARENT:
    case ZKLI_EV_CREATED:
    case ZKLI_EV_BARRIER:
    case ZKLI_EV_OWN_READ:
    case ZKLI_EV_DELETED:
    case ZKLI_EV_TURNED:
    case ZKLI_EV_DIRECTORY_READ:
    case ZKLI_EV_RECORDED:
    case ZKLI_EV_TOUCHED:
    case ZKLI_EV_ASKED_TO_LET_GO:
    case ZKLI_EV_FOLLOWERS:
    case ZKLI_EV_SINCE_TOLD:
        return v < RESULTS;
    case ZKLI_EV_OWN_EVENT:
    case ZKLI_EV_PREDECESSOR_EVENT:
    case ZKLI_EV_DIRECTORY_EVENT:
    case ZKLI_EV_CHILDREN_EVENT:
        return v <= V_DELETED;
    case ZKLI_EV_GRANT: /* to one of several */
    case ZKLI_EV_ADOPT:
    case ZKLI_EV_ANEW:
        return false;
    case ZKLI_EV_CONNECTED:
    case ZKLI_EV_EXPIRED:
    case ZKLI_EV_RETRY:
    case ZKLI_EV_LEASE:
    case ZKLI_EV_HEARTBEAT:
    case ZKLI_EV_TURN:
    case ZKLI_EV_IDLE:
    case ZKLI_EV_SINCE_SENT:
    case ZKLI_EV_RELEASE:
    case ZKLI_EV_ABANDON:
    case ZKLI_EVENT_TYPES:
        break;
    }
    return v == 0;
}

static void feed_listing(struct bench *b, unsigned v) {
    int count = v == V_MORE ? 2 : 1;
    if (v >= V_STALE)
        bench_record(b, count, v == V_SHRUNK ? 2 : count);
    if (v == V_NO_DATA || v == V_OTHER_DATA)
        b->directory.state = v == V_NO_DATA ? ZKLI_PERMITS_NONE : ZKLI_PERMITS_OTHER;
    if (v > V_STALE)
        b->permits = b->directory;
    enum crowd crowd = v == V_MORE ? BEHIND_HEAD : v == V_SHRUNK ? BEHIND_TWO : FIRST;
    listed(b, v < V_STALE ? (enum crowd)(v - V_CROWD) : crowd);
}

void matrix_feed(struct bench *b, enum zkli_contender_event_type type, unsigned v) {
    if (type == ZKLI_EV_LISTED && v >= V_CROWD) {
        feed_listing(b, v);
    } else if ((type == ZKLI_EV_OWN_READ || type == ZKLI_EV_OWNER_READ) && v == V_OTHERS_NODE) {
        say(b, (struct zkli_contender_event){.type = type, .owner = OTHER_SESSION});
    } else if (type == ZKLI_EV_OWN_READ && v == V_ASKED) {
        say(b, (struct zkli_contender_event){.type = type, .owner = SESSION, .is_asked = true});
    } else if (type == ZKLI_EV_PREDECESSOR_READ) {
        b->are_touched = v == V_TOUCHED;
        reply(b, type, v == V_TOUCHED ? ZKLI_RESULT_OK : (enum zkli_result)v);
    } else if (type == ZKLI_EV_RECORDED && v == V_BAD_VERSION) {
        reply(b, type, ZKLI_RESULT_BAD_VERSION);
    } else if (type >= ZKLI_EV_OWN_EVENT && type <= ZKLI_EV_CHILDREN_EVENT) {
        fired(b, type, v == V_DELETED);
    } else if (type == ZKLI_EV_ABANDON) {
        give_up(b);
    } else {
        reply(b, type, (enum zkli_result)v);
    }
}

/* ---- Situations ---- */

void matrix_go(struct bench *b, const struct way *ways,
               void (*begin)(struct bench *b, unsigned situation), unsigned situation) {
    const struct way *way = &ways[situation];
    if (way->from == situation)
        begin(b, situation);
    else
        matrix_go(b, ways, begin, way->from);
    bench_lease(b, way->how == DOUBTFUL ? SHORT : AMPLE);
    b->world.is_connected = way->how != DISCONNECTED;
    if (way->how == RECONNECTED)
        bench_reconnect(b);
    matrix_feed(b, way->type, way->v);
    if (way->how == DISCONNECTED)
        bench_reconnect(b);
    if (b->c.state != way->state)
        test_note("situation %u", situation);
    CHECK(b->c.state == way->state);
}

unsigned matrix_states(const struct matrix *matrix) {
    unsigned states = 0;
    for (unsigned situation = matrix->first; situation < matrix->end; situation++) {
        struct bench b;
        matrix->bring(&b, situation);
        states |= BIT(b.c.state);
    }
    return states;
}

/* ---- The comparison ---- */

/* The row for this type, if there is one; two would be a contradiction. */
static const struct outcome *row_of_type(const struct matrix *matrix, unsigned situation,
                                         enum zkli_contender_event_type type, unsigned v) {
    const struct outcome *found = NULL;
    for (size_t i = 0; i < matrix->outcome_count; i++) {
        const struct outcome *row = &matrix->outcomes[i];
        if ((row->situations & IN(situation - matrix->first)) == 0 || row->type != type ||
            (row->variations & BIT(v)) == 0)
            continue;
        if (found != NULL)
            test_note("rows %td and %zu: situation %u, event %u.%u", found - matrix->outcomes, i,
                      situation, type, v);
        CHECK(found == NULL);
        found = row;
    }
    return found;
}

static const struct outcome *row_of(const struct matrix *matrix, unsigned situation,
                                    enum zkli_contender_event_type type, unsigned v) {
    const struct outcome *row = row_of_type(matrix, situation, type, v);
    bool is_repeated = row == NULL && type == ZKLI_EV_RETRY;
    return is_repeated ? row_of_type(matrix, situation, ZKLI_EV_CONNECTED, v) : row;
}

/* The row, as it reads with or without a connection, and with this lease. */
static struct outcome resolve(const struct outcome *row, const struct bench *b) {
    static const struct outcome nothing = {.state = SAME};
    bool is_connected = b->world.is_connected, is_ample = b->world.is_ample;
    struct outcome expected = row == NULL ? nothing : *row;
    unsigned touch = expected.actions & ZKLI_ASK_TOUCH;
    if (!is_connected)
        expected.actions &= ~(unsigned)ZKLI_ASK_TOUCH;
    switch (expected.effect) {
    case PLAINLY:
        return expected;
    case IF_CONNECTED:
        return is_connected ? expected : nothing;
    case SENDING:
        if (!is_connected)
            expected.actions &= ~ZKLI_ASKS;
        return expected;
    case IF_AMPLE_AND_CONNECTED:
        return is_ample && is_connected ? expected : nothing;
    case IF_UNCERTAIN:
        return b->world.is_certain ? nothing : expected;
    case ADMITTING:
        if (!is_ample)
            expected.state = ZKLI_ADMITTED,
            expected.actions = is_connected ? ZKLI_ASK_OWN | touch : 0;
        return expected;
    case ADMITTING_WATCHED:
    case HOLDING_ON:
        if (!is_connected && expected.effect == HOLDING_ON)
            return nothing;
        if (!is_ample)
            expected.state = ZKLI_ADMITTED, expected.actions &= ~(unsigned)ZKLI_DO_GRANT;
        return expected;
    case HANDED_OFF:
        if (!is_connected)
            expected.state = ZKLI_LISTING, expected.actions = BARRIER_AND_LIST;
        else if (!is_ample)
            expected.state = ZKLI_ADMITTED, expected.actions = 0;
        return expected;
    case LISTING_AGAIN:
        if (!is_connected)
            expected.actions |= ZKLI_ASK_BARRIER;
        return expected;
    case LOOKING:
        if (!is_connected)
            expected.state = ZKLI_LISTING, expected.actions = BARRIER_AND_LIST;
        return expected;
    case REQUEUING:
        if (!is_connected)
            expected.state = ZKLI_IDLE, expected.actions &= ZKLI_TELL_REQUEUED;
        return expected;
    case PARKING:
        expected.actions |= is_connected ? ZKLI_DO_RETRY : 0u;
        return expected;
    }
    return nothing;
}

static bool is_as_expected(const struct matrix *matrix, unsigned situation,
                           enum zkli_contender_event_type type, unsigned v, bool is_connected,
                           enum lease lease) {
    struct bench b;
    matrix->bring(&b, situation);
    enum zkli_contender_state before = b.c.state;
    b.world.is_connected = is_connected;
    bench_lease(&b, lease);
    struct outcome expected = resolve(row_of(matrix, situation, type, v), &b);
    enum zkli_contender_state state = expected.state == SAME ? before : expected.state;
    matrix_feed(&b, type, v);
    if (b.c.state == state && b.actions == expected.actions &&
        (expected.error == 0 || b.c.error == expected.error))
        return true;
    test_note("situation %u (%s), event %d.%u%s, lease %d: %s, actions 0x%x, error %d; "
              "not %s, 0x%x, %d",
              situation, zkli_contender_state_name(before), type, v,
              is_connected ? "" : ", not connected", lease, zkli_contender_state_name(b.c.state),
              b.actions, b.c.error, zkli_contender_state_name(state), expected.actions,
              expected.error);
    return false;
}

void matrix_check_events(const struct matrix *matrix) {
    size_t tried = 0, wrong = 0;
    for (unsigned situation = matrix->first; situation < matrix->end; situation++)
        for (unsigned type = 0; type < ZKLI_EVENT_TYPES; type++)
            for (unsigned v = 0; v < VARIATIONS; v++)
                for (unsigned world = 0; world < 6; world++) {
                    enum zkli_contender_event_type of = (enum zkli_contender_event_type)type;
                    bool is_connected = world % 2 != 0;
                    enum lease lease = (enum lease)(world / 2);
                    if (!matrix->has(situation, of, v, is_connected, lease))
                        continue;
                    tried++;
                    wrong += !is_as_expected(matrix, situation, of, v, is_connected, lease);
                }
    test_note("%zu combinations", tried);
    CHECK_INT(wrong, 0);
}

void matrix_check_rows(const struct matrix *matrix) {
    for (size_t i = 0; i < matrix->outcome_count; i++) {
        const struct outcome *row = &matrix->outcomes[i];
        size_t met = 0;
        for (unsigned situation = matrix->first; situation < matrix->end; situation++)
            for (unsigned v = 0; v < VARIATIONS; v++)
                met += matrix->has(situation, row->type, v, true, AMPLE) &&
                       row_of(matrix, situation, row->type, v) == row;
        if (met == 0)
            test_note("row %zu", i);
        CHECK(met > 0);
    }
}
