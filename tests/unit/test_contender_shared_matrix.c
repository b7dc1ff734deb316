/*
 * Every state of a reader, and of a writer, among readers and writers against every event, where
 * the mutex's rules are not theirs: who keeps whom out, and whose end is the grant. See
 * contender_matrix.h. The other states, and mutexes around them: test_contender_matrix.c.
 */
#include "unit/contender_matrix.h"

/* R_, W_: of a reader, of a writer. At the end, the contenders before it: R for a reader, W for a
 * writer; of two, the second is the nearer one. CZXID: one that keeps it out, ordered by czxid. */
enum situation {
    R_IDLE, /* a reader */
    R_PROBING,
    R_PLACING,  /* the first listing is out, here and in ORDERING */
    R_ORDERING, /* by czxid */
    R_LISTING,  /* again, after the second of two writers; our own watch stands */
    R_ARMING_W, /* our watch is set, the predecessor's is out */
    R_ARMING_WW,
    R_ARMING_RW,
    R_ARMING_WR,
    R_ARMING_CZXID,
    R_ARMING_TURNED, /* the writer's node was changed, as that of one that becomes a reader */
    R_WAITING_W,
    R_WAITING_WW,
    R_WAITING_RW,
    R_WAITING_WR,
    R_WAITING_CZXID,
    R_HELD,   /* beside two readers */
    R_TURNED, /* held: it was a writer */
    R_LEAVING,
    W_IDLE, /* a writer */
    W_PROBING,
    W_PLACING,
    W_ORDERING,
    W_LISTING, /* again, after a writer; our own watch stands */
    W_ARMING_R,
    W_ARMING_RR,
    W_ARMING_W,
    W_ARMING_WW,
    W_ARMING_RW,
    W_ARMING_WR,
    W_ARMING_CZXID,
    W_ARMING_TURNED,
    W_WAITING_R,
    W_WAITING_RR,
    W_WAITING_W,
    W_WAITING_WW,
    W_WAITING_RW,
    W_WAITING_WR,
    W_WAITING_CZXID,
    SITUATIONS
};

_Static_assert(SITUATIONS <= 64, "sets of them have 64 bits");

#define LISTING_OF(crowd) ZKLI_EV_LISTED, V_CROWD + (crowd)
#define BY_ITSELF(situation, type, v, state) [situation] = {situation, type, v, PLAIN, state}
/* It is listed, and the read of its node is in; then that of the predecessor. */
#define ARMED(arming, waiting)                                                                     \
    BY_ITSELF(arming, ZKLI_EV_OWN_READ, 0, ZKLI_ARMING), [waiting] = {arming,                      \
                                                                      ZKLI_EV_PREDECESSOR_READ, 0, \
                                                                      PLAIN, ZKLI_WAITING}

static const struct way ways[SITUATIONS] = {
    BY_ITSELF(R_IDLE, ZKLI_EV_HEARTBEAT, 0, ZKLI_IDLE),
    BY_ITSELF(R_PROBING, ZKLI_EV_CONNECTED, 0, ZKLI_PROBING),
    BY_ITSELF(R_PLACING, ZKLI_EV_CREATED, 0, ZKLI_ENQUEUING),
    [R_ORDERING] = {R_PLACING, LISTING_OF(AT_THE_END), PLAIN, ZKLI_ORDERING},
    [R_LISTING] = {R_WAITING_WW, ZKLI_EV_PREDECESSOR_EVENT, V_DELETED, PLAIN, ZKLI_LISTING},
    ARMED(R_ARMING_W, R_WAITING_W),
    ARMED(R_ARMING_WW, R_WAITING_WW),
    ARMED(R_ARMING_RW, R_WAITING_RW),
    ARMED(R_ARMING_WR, R_WAITING_WR),
    ARMED(R_ARMING_CZXID, R_WAITING_CZXID),
    [R_ARMING_TURNED] = {R_WAITING_W, ZKLI_EV_PREDECESSOR_EVENT, V_CHANGED, PLAIN, ZKLI_ARMING},
    [R_HELD] = {R_PLACING, LISTING_OF(BEHIND_READERS), PLAIN, ZKLI_HELD},
    BY_ITSELF(R_TURNED, ZKLI_EV_TURNED, 0, ZKLI_HELD),
    [R_LEAVING] = {R_HELD, ZKLI_EV_RELEASE, 0, PLAIN, ZKLI_LEAVING},
    BY_ITSELF(W_IDLE, ZKLI_EV_HEARTBEAT, 0, ZKLI_IDLE),
    BY_ITSELF(W_PROBING, ZKLI_EV_CONNECTED, 0, ZKLI_PROBING),
    BY_ITSELF(W_PLACING, ZKLI_EV_CREATED, 0, ZKLI_ENQUEUING),
    [W_ORDERING] = {W_PLACING, LISTING_OF(AT_THE_END), PLAIN, ZKLI_ORDERING},
    [W_LISTING] = {W_ARMING_TURNED, ZKLI_EV_PREDECESSOR_READ, ZKLI_RESULT_NO_NODE, PLAIN,
                   ZKLI_LISTING},
    ARMED(W_ARMING_R, W_WAITING_R),
    ARMED(W_ARMING_RR, W_WAITING_RR),
    ARMED(W_ARMING_W, W_WAITING_W),
    ARMED(W_ARMING_WW, W_WAITING_WW),
    ARMED(W_ARMING_RW, W_WAITING_RW),
    ARMED(W_ARMING_WR, W_WAITING_WR),
    ARMED(W_ARMING_CZXID, W_WAITING_CZXID),
    [W_ARMING_TURNED] = {W_WAITING_W, ZKLI_EV_PREDECESSOR_EVENT, V_CHANGED, PLAIN, ZKLI_ARMING},
};

/* What is before the contender that is arming; NOBODY: it is not. */
static const enum crowd crowds[SITUATIONS] = {
    [R_ARMING_W] = BEHIND_WRITER,
    [R_ARMING_WW] = BEHIND_WRITERS,
    [R_ARMING_RW] = BEHIND_READER_AND_WRITER,
    [R_ARMING_WR] = BEHIND_WRITER_AND_READER,
    [R_ARMING_CZXID] = BEHIND_WRITER,
    [W_ARMING_R] = BEHIND_READER,
    [W_ARMING_RR] = BEHIND_READERS,
    [W_ARMING_W] = BEHIND_WRITER,
    [W_ARMING_WW] = BEHIND_WRITERS,
    [W_ARMING_RW] = BEHIND_READER_AND_WRITER,
    [W_ARMING_WR] = BEHIND_WRITER_AND_READER,
    [W_ARMING_CZXID] = BEHIND_READER,
};

static void begin(struct bench *b, unsigned situation) {
    bool is_writer = situation >= W_IDLE, is_try = situation == R_PROBING || situation == W_PROBING;
    if (situation == R_TURNED) {
        to_writing(b);
        CHECK_ACTIONS(news(b, ZKLI_EV_TURN), ZKLI_ASK_TURN);
    } else if (crowds[situation] == NOBODY) {
        bench_init_as(b, is_writer ? ZKLI_KIND_WRITE : ZKLI_KIND_READ, is_try);
        if (situation == R_PLACING || situation == W_PLACING)
            CHECK_ACTIONS(news(b, ZKLI_EV_CONNECTED), CREATE_AND_LIST);
    } else {
        bool is_by_czxid = situation == R_ARMING_CZXID || situation == W_ARMING_CZXID;
        matrix_go(b, ways, begin, is_writer ? W_PLACING : R_PLACING);
        if (is_by_czxid)
            CHECK_ACTIONS(listed(b, AT_THE_END), ZKLI_ASK_ORDER);
        CHECK_ACTIONS(listed(b, crowds[situation]), OWN_AND_PREDECESSOR | ZKLI_TELL_QUEUED);
    }
}

static void bring(struct bench *b, unsigned situation) {
    matrix_go(b, ways, begin, situation);
}

/* ---- What must come of an event ---- */

/* Listings that show our place: with nobody or only readers before it, and with any other. */
#define ONE_READER (LISTED_AS(BEHIND_READER) | LISTED_AS(BEHIND_TURNED))
#define ONLY_READERS (ONE_READER | LISTED_AS(BEHIND_READERS))
#define ONE_OTHER (LISTED_AS(BEHIND_HEAD) | LISTED_AS(BEHIND_WRITER))
#define TWO_WITH_OTHERS                                                                            \
    (LISTED_AS(BEHIND_TWO) | LISTED_AS(BEHIND_WRITERS) | LISTED_AS(BEHIND_READER_AND_WRITER) |     \
     LISTED_AS(BEHIND_WRITER_AND_READER))
#define IN_FRONT (LISTED_AS(FIRST) | LISTED_AS(ALONE))
#define WITHOUT_US (LISTED_AS(NOBODY) | LISTED_AS(OTHERS))

#define R_NEW (IN(R_PLACING) | IN(R_ORDERING))
#define W_NEW (IN(W_PLACING) | IN(W_ORDERING))
#define ORDERS (IN(R_ORDERING) | IN(W_ORDERING))
#define LISTS (IN(R_LISTING) | IN(W_LISTING))
#define PLACING (R_NEW | W_NEW | LISTS)

/* Only the predecessor keeps it out, and a reader in the predecessor's place would not. */
#define ARMING_LAST (IN(R_ARMING_W) | IN(R_ARMING_RW) | IN(R_ARMING_WR) | IN(R_ARMING_TURNED))
#define ARMING_BEHIND_READER IN(W_ARMING_R)
#define HANDED_OFF_TO (ARMING_LAST | ARMING_BEHIND_READER)
#define ARMING_MORE                                                                                \
    (IN(R_ARMING_WW) | IN(R_ARMING_CZXID) | IN(W_ARMING_RR) | IN(W_ARMING_W) | IN(W_ARMING_WW) |   \
     IN(W_ARMING_RW) | IN(W_ARMING_WR) | IN(W_ARMING_CZXID) | IN(W_ARMING_TURNED))
#define ARMING (HANDED_OFF_TO | ARMING_MORE)
#define WAITING_LAST (IN(R_WAITING_W) | IN(R_WAITING_RW) | IN(R_WAITING_WR) | IN(W_WAITING_R))
#define WAITING_MORE                                                                               \
    (IN(R_WAITING_WW) | IN(R_WAITING_CZXID) | IN(W_WAITING_RR) | IN(W_WAITING_W) |                 \
     IN(W_WAITING_WW) | IN(W_WAITING_RW) | IN(W_WAITING_WR) | IN(W_WAITING_CZXID))
#define WAITING (WAITING_LAST | WAITING_MORE)
#define IDLE (IN(R_IDLE) | IN(W_IDLE))
#define PROBING (IN(R_PROBING) | IN(W_PROBING))
#define NOTHING_YET (IDLE | PROBING)
#define QUEUED (PLACING | ARMING | WAITING)
#define HOLDING (IN(R_HELD) | IN(R_TURNED))

static const struct outcome outcomes[] = {
    {IDLE, ZKLI_EV_CONNECTED, ANY, ON(ZKLI_ENQUEUING, CREATE_AND_LIST)},
    {IDLE, ZKLI_EV_LEASE, ANY, ON(ZKLI_ENQUEUING, CREATE_AND_LIST)},
    {NOTHING_YET, ZKLI_EV_EXPIRED, ANY, BECOMES(ZKLI_IDLE, 0)},
    {QUEUED, ZKLI_EV_EXPIRED, ANY, BECOMES(ZKLI_IDLE, ZKLI_TELL_REQUEUED)},
    {HOLDING, ZKLI_EV_EXPIRED, ANY, LOSES},
    {IN(R_LEAVING), ZKLI_EV_EXPIRED, ANY, FORGETS},

    /* A try: readers are in the way of a writer, and in no reader's. */
    {PROBING, ZKLI_EV_LISTED, LISTED_AS(NOBODY) | NO_NODE, ENQUEUES},
    {IN(R_PROBING), ZKLI_EV_LISTED, LISTED_AS(ALONE) | ONLY_READERS, ENQUEUES},
    {IN(W_PROBING), ZKLI_EV_LISTED, LISTED_AS(ALONE) | ONLY_READERS, FAILS(ZKL_BUSY)},
    {PROBING, ZKLI_EV_LISTED,
     LISTED_AS(FIRST) | ONE_OTHER | TWO_WITH_OTHERS | LISTED_AS(OTHERS) | LISTED_AS(AT_THE_END),
     FAILS(ZKL_BUSY)},
    {PROBING, ZKLI_EV_LISTED, LATER, PARKS(ZKLI_PROBING)},
    {PROBING, ZKLI_EV_LISTED, DENIED, FAILS(ZKL_DENIED)},
    {PROBING, ZKLI_EV_LISTED, NOMEM, FAILS(ZKL_NOMEM)},
    {PROBING, ZKLI_EV_LISTED, EXISTS | FAULT, FAILS(ZKL_SERVER)},

    /* A reader's place: readers before it do not keep it out. */
    {R_NEW, ZKLI_EV_LISTED, IN_FRONT | ONLY_READERS, ADMITS},
    {IN(R_LISTING), ZKLI_EV_LISTED, IN_FRONT | ONLY_READERS, ADMITS_WATCHED},
    {R_NEW, ZKLI_EV_LISTED, ONE_OTHER | TWO_WITH_OTHERS,
     BECOMES(ZKLI_ARMING, OWN_AND_PREDECESSOR | ZKLI_TELL_QUEUED)},
    {IN(R_LISTING), ZKLI_EV_LISTED, ONE_OTHER,
     BECOMES(ZKLI_ARMING, ZKLI_ASK_PREDECESSOR | ZKLI_TELL_QUEUED)},
    {IN(R_LISTING), ZKLI_EV_LISTED, TWO_WITH_OTHERS,
     BECOMES(ZKLI_ARMING, ZKLI_ASK_PREDECESSOR)}, /* the position is known */

    /* A writer's: all before it do. */
    {W_NEW, ZKLI_EV_LISTED, IN_FRONT, ADMITS},
    {IN(W_LISTING), ZKLI_EV_LISTED, IN_FRONT, ADMITS_WATCHED},
    {W_NEW, ZKLI_EV_LISTED, ONLY_READERS | ONE_OTHER | TWO_WITH_OTHERS,
     BECOMES(ZKLI_ARMING, OWN_AND_PREDECESSOR | ZKLI_TELL_QUEUED)},
    {IN(W_LISTING), ZKLI_EV_LISTED, ONE_READER | ONE_OTHER,
     BECOMES(ZKLI_ARMING, ZKLI_ASK_PREDECESSOR)},
    {IN(W_LISTING), ZKLI_EV_LISTED, LISTED_AS(BEHIND_READERS) | TWO_WITH_OTHERS,
     BECOMES(ZKLI_ARMING, ZKLI_ASK_PREDECESSOR | ZKLI_TELL_QUEUED)},

    /* Either's. */
    {PLACING & ~ORDERS, ZKLI_EV_LISTED, LISTED_AS(AT_THE_END),
     BECOMES(ZKLI_ORDERING, ZKLI_ASK_ORDER)},
    {ORDERS, ZKLI_EV_LISTED, LISTED_AS(AT_THE_END), ADMITS},
    {PLACING, ZKLI_EV_LISTED, WITHOUT_US | NO_NODE, REQUEUES},
    ENDS_IF_REFUSED(PLACING, ZKLI_EV_LISTED, ZKLI_LISTING),

    /* The end of the last one that keeps it out is the grant. Behind any other, and where a reader
     * may have the place of the writer that has gone, it is listed again. */
    {ARMING, ZKLI_EV_PREDECESSOR_READ, OK | TOUCHED, BECOMES(ZKLI_WAITING, 0)},
    {HANDED_OFF_TO, ZKLI_EV_PREDECESSOR_READ, NO_NODE, IS_HANDED_OFF},
    {ARMING_MORE, ZKLI_EV_PREDECESSOR_READ, NO_NODE, LISTS_AGAIN},
    ENDS_IF_REFUSED(ARMING, ZKLI_EV_PREDECESSOR_READ, ZKLI_LISTING),
    {WAITING_LAST, ZKLI_EV_PREDECESSOR_EVENT, BIT(V_DELETED), IS_HANDED_OFF},
    {WAITING_MORE, ZKLI_EV_PREDECESSOR_EVENT, BIT(V_DELETED), LISTS_AGAIN},
    /* A writer that becomes a reader changes its node first. */
    {WAITING, ZKLI_EV_PREDECESSOR_EVENT, BIT(V_CHANGED),
     BECOMES(ZKLI_ARMING, ZKLI_ASK_PREDECESSOR)},
    {WAITING, ZKLI_EV_OWN_EVENT, BIT(V_DELETED), REQUEUES},
    {WAITING, ZKLI_EV_OWN_EVENT, BIT(V_CHANGED), BECOMES(ZKLI_ARMING, ZKLI_ASK_OWN)},

    /* Beside readers. One that was a writer does not become a reader again. */
    {HOLDING, ZKLI_EV_LEASE, ANY, ZKLI_LEAVING, ZKLI_DO_LOSE | ZKLI_ASK_DELETE, 0, IF_UNCERTAIN},
    {HOLDING, ZKLI_EV_OWN_EVENT, BIT(V_DELETED), LOSES},
    {HOLDING, ZKLI_EV_OWN_EVENT, BIT(V_CHANGED), ON(ZKLI_HELD, ZKLI_ASK_OWN)},
    {HOLDING, ZKLI_EV_HEARTBEAT, ANY, ON(ZKLI_HELD, ZKLI_ASK_OWN)},
    {HOLDING, ZKLI_EV_IDLE, ANY, ON(ZKLI_HELD, ZKLI_ASK_OWN)},

    /* Good-bye. */
    {NOTHING_YET, ZKLI_EV_ABANDON, ANY, FAILS(ZKL_CANCELED)},
    {NOTHING_YET, ZKLI_EV_RELEASE, ANY, FORGETS},
    {QUEUED | HOLDING, ZKLI_EV_ABANDON, ANY, FAILS_AND_DELETES(ZKL_CANCELED)},
    {QUEUED | HOLDING, ZKLI_EV_RELEASE, ANY, BECOMES(ZKLI_LEAVING, ZKLI_ASK_DELETE)},
    {IN(R_LEAVING), ZKLI_EV_DELETED, OK | NO_NODE, FORGETS},
    {IN(R_LEAVING), ZKLI_EV_DELETED, LATER | DENIED | ODD, PARKS(ZKLI_LEAVING)},
};

static bool has(unsigned situation, enum zkli_contender_event_type type, unsigned v,
                bool is_connected, enum lease lease) {
    (void)situation, (void)is_connected, (void)lease;
    unsigned crowd = v - V_CROWD;
    bool is_crowd = type == ZKLI_EV_LISTED && v >= V_CROWD && crowd < CROWDS;
    return is_crowd ? crowd < TWICE || crowd == ALONE || crowd >= BEHIND_READER
                    : matrix_has(type, v) && (type != ZKLI_EV_OWN_READ || v < RESULTS);
}

static const struct matrix matrix = {.end = SITUATIONS,
                                     .bring = bring,
                                     .has = has,
                                     .outcomes = outcomes,
                                     .outcome_count = COUNT(outcomes)};

static void every_event_has_the_outcome_of_the_table(void) {
    matrix_check_events(&matrix);
}

static void every_row_of_the_table_is_met(void) {
    matrix_check_rows(&matrix);
}

static void a_reader_watches_the_nearest_that_is_none_and_a_writer_the_nearest_one(void) {
    static const struct {
        enum situation situation;
        int64_t predecessor, staying; /* its number; those that are waited for */
    } cases[] = {
        {R_WAITING_W, 3, 1},  {R_WAITING_WW, 3, 2},    {R_WAITING_RW, 3, 1},
        {R_WAITING_WR, 1, 1}, {R_WAITING_CZXID, 3, 1}, {W_WAITING_R, 3, 1},
        {W_WAITING_RR, 3, 2}, {W_WAITING_W, 3, 1},     {W_WAITING_WW, 3, 2},
        {W_WAITING_RW, 3, 2}, {W_WAITING_WR, 3, 2},    {W_WAITING_CZXID, 3, 1},
    };
    for (size_t i = 0; i < COUNT(cases); i++) {
        struct bench b;
        bring(&b, cases[i].situation);
        CHECK_INT(zkli_node_name_parse(b.predecessor).sequence, cases[i].predecessor);
        CHECK_INT(b.c.staying, cases[i].staying);
    }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"every event has the outcome of the table", every_event_has_the_outcome_of_the_table},
        {"every row of the table is met", every_row_of_the_table_is_met},
        {"a reader watches the nearest that is none, and a writer the nearest one",
         a_reader_watches_the_nearest_that_is_none_and_a_writer_the_nearest_one},
    };
    return TEST_MAIN(argc, argv, "contender_shared_matrix", cases);
}
