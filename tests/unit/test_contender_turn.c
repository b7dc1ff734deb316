/*
 * A writer's hold that becomes a reader's: courses of events. Single steps are in
 * test_contender_matrix.c.
 */
#include "unit/contender_bench.h"

static void to_turning(struct bench *b) {
    to_writing(b);
    CHECK_ACTIONS(news(b, ZKLI_EV_TURN), ZKLI_ASK_TURN);
    CHECK_STATE(b, "turning");
}

static void the_reader_has_the_writer_s_number_and_token(void) {
    struct bench b;
    to_writing(&b);
    char writer[ZKLI_CHILD_MAX + 1];
    memcpy(writer, b.c.node, sizeof(writer));
    const int64_t token = b.c.czxid;
    news(&b, ZKLI_EV_TURN);
    CHECK_STRING(b.c.node, writer); /* until the servers say otherwise */
    CHECK(zkli_contender_may_own(&b.c, writer));
    char reader[ZKLI_OWN_CHILD_MAX + 1];
    zkli_contender_reader(reader, &b.c);
    CHECK(zkli_contender_may_own(&b.c, reader));
    reply(&b, ZKLI_EV_TURNED, ZKLI_RESULT_OK);
    CHECK_INT(b.c.kind, ZKLI_KIND_READ);
    CHECK(!zkli_contender_may_own(&b.c, writer));
    CHECK_INT(strlen(b.c.node), strlen(writer));
    CHECK_INT(zkli_node_name_parse(b.c.node).kind, ZKLI_KIND_READ);
    CHECK_INT(zkli_node_name_parse(b.c.node).sequence, OWN_NUMBER);
    CHECK(zkli_node_name_has_uuid(b.c.node, b.c.uuid));
    CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), ZKLI_ASK_OWN);
    say(&b,
        (struct zkli_contender_event){.type = ZKLI_EV_OWN_READ, .czxid = 4711, .owner = SESSION});
    CHECK_INT(b.c.czxid, token); /* its own is above those of writers that are queued */
    CHECK_ACTIONS(news(&b, ZKLI_EV_TURN), 0);
}

static void a_hold_that_is_refused_goes_on_as_a_writer_s(void) {
    struct bench b;
    to_writing(&b);
    news(&b, ZKLI_EV_HEARTBEAT);
    reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
    news(&b, ZKLI_EV_TURN);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_TURNED, ZKLI_RESULT_DENIED), ZKLI_TELL_TURNED);
    CHECK_INT(b.c.kind, ZKLI_KIND_WRITE);
    CHECK_ACTIONS(news(&b, ZKLI_EV_HEARTBEAT), ZKLI_ASK_OWN); /* the watch may have fired */
    reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK);
    CHECK_ACTIONS(news(&b, ZKLI_EV_TURN), ZKLI_ASK_TURN); /* and may be tried again */
    CHECK_ACTIONS(reply(&b, ZKLI_EV_TURNED, ZKLI_RESULT_OK), ZKLI_TELL_TURNED);
    CHECK_INT(b.c.error, ZKL_OK);
}

/* Lost, then sent again because only the writer's node was found, lost again, and then found. */
static void what_was_lost_is_looked_for_before_it_is_sent_again(void) {
    struct bench b;
    to_turning(&b);
    b.world.is_connected = false;
    CHECK_ACTIONS(reply(&b, ZKLI_EV_TURNED, ZKLI_RESULT_LOST), 0);
    bench_reconnect(&b);
    CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), BARRIER_AND_LIST);
    reply(&b, ZKLI_EV_BARRIER, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed(&b, FIRST), ZKLI_ASK_TURN);
    b.world.is_connected = false;
    reply(&b, ZKLI_EV_TURNED, ZKLI_RESULT_LOST);
    bench_reconnect(&b);
    news(&b, ZKLI_EV_CONNECTED);
    reply(&b, ZKLI_EV_BARRIER, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed(&b, TURNED), ZKLI_TELL_TURNED);
    CHECK_INT(b.c.kind, ZKLI_KIND_READ);
}

/* On a connection that is lost, answers may come in any order. */
static void the_read_of_its_node_decides_nothing(void) {
    struct bench b;
    to_writing(&b);
    news(&b, ZKLI_EV_HEARTBEAT);
    news(&b, ZKLI_EV_TURN);
    b.world.is_connected = false;
    CHECK_ACTIONS(reply(&b, ZKLI_EV_TURNED, ZKLI_RESULT_LOST), 0);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_LOST), 0);
    CHECK_STATE(&b, "turning");
    bench_reconnect(&b);
    CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), BARRIER_AND_LIST);
}

/* A search begins anew: what an earlier one has found counts no more. */
static void each_search_looks_anew(void) {
    struct bench b;
    to_turning(&b);
    reply(&b, ZKLI_EV_TURNED, ZKLI_RESULT_NO_NODE);
    CHECK_ACTIONS(listed(&b, TURNED), 0);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_BARRIER, ZKLI_RESULT_AGAIN), ZKLI_DO_RETRY);
    CHECK_ACTIONS(news(&b, ZKLI_EV_RETRY), BARRIER_AND_LIST);
    reply(&b, ZKLI_EV_BARRIER, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed(&b, OTHERS), ZKLI_DO_LOSE | ZKLI_DO_FORGET);
}

/* Ours come last, behind one that waits. */
static unsigned listed_with_both(struct bench *b, bool is_writer_first) {
    char other[ZKLI_CHILD_MAX + 1];
    bench_name("ffffffff-4e5f-4061-8273-8495a6b7c8d9", 9, other);
    char reader[ZKLI_OWN_CHILD_MAX + 1];
    zkli_contender_reader(reader, &b->c);
    const char *names[] = {other, is_writer_first ? b->c.node : reader,
                           is_writer_first ? reader : b->c.node};
    struct zkli_sibling siblings[COUNT(names)];
    for (size_t i = 0; i < COUNT(names); i++)
        REQUIRE(zkli_sibling_parse(&siblings[i], names[i]));
    struct zkli_listing listing = {.siblings = siblings, .count = COUNT(names)};
    return say(b, (struct zkli_contender_event){.type = ZKLI_EV_LISTED, .listing = &listing});
}

/* Any client can make up the reader's. */
static void while_the_writer_s_node_is_there_it_is_a_writer_s(void) {
    for (int is_writer_first = 0; is_writer_first < 2; is_writer_first++) {
        struct bench b;
        to_turning(&b);
        reply(&b, ZKLI_EV_TURNED, ZKLI_RESULT_NO_NODE);
        reply(&b, ZKLI_EV_BARRIER, ZKLI_RESULT_OK);
        CHECK_ACTIONS(listed_with_both(&b, is_writer_first == 1), ZKLI_ASK_TURN);
        CHECK_INT(b.c.kind, ZKLI_KIND_WRITE);
    }
}

/* A listing that looks for the reader's node says nothing of them. */
static void who_waits_behind_it_keeps_it_from_idling(void) {
    struct bench b;
    bench_init(&b, false);
    b.c.kind = b.kind = ZKLI_KIND_WRITE;
    zkli_contender_keep(&b.c);
    news(&b, ZKLI_EV_CONNECTED);
    reply(&b, ZKLI_EV_CREATED, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed(&b, FIRST), ZKLI_DO_GRANT);
    CHECK(!zkli_contender_may_idle(&b.c));
    news(&b, ZKLI_EV_TURN);
    reply(&b, ZKLI_EV_TURNED, ZKLI_RESULT_NO_NODE);
    reply(&b, ZKLI_EV_BARRIER, ZKLI_RESULT_OK);
    CHECK_ACTIONS(listed(&b, TURNED), ZKLI_TELL_TURNED);
    CHECK(!zkli_contender_may_idle(&b.c));
}

/* The transaction that was lost may be carried out late, and then makes a reader's node. Without
 * the writer's it does nothing. So that goes first. */
static void the_writer_s_node_is_deleted_before_the_reader_s(void) {
    struct bench b;
    to_turning(&b);
    char writer[ZKLI_OWN_CHILD_MAX + 1], reader[ZKLI_OWN_CHILD_MAX + 1];
    memcpy(writer, b.c.node, sizeof(writer));
    zkli_contender_reader(reader, &b.c);
    CHECK_ACTIONS(news(&b, ZKLI_EV_RELEASE), ZKLI_ASK_DELETE);
    CHECK_STRING(b.c.node, writer);
    CHECK(zkli_contender_may_own(&b.c, reader));
    CHECK_ACTIONS(reply(&b, ZKLI_EV_TURNED, ZKLI_RESULT_OK), 0); /* void: it has left */
    b.world.is_connected = false;
    reply(&b, ZKLI_EV_DELETED, ZKLI_RESULT_LOST);
    CHECK_STRING(b.c.node, writer);
    bench_reconnect(&b);
    CHECK_ACTIONS(news(&b, ZKLI_EV_CONNECTED), ZKLI_ASK_DELETE);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_DELETED, ZKLI_RESULT_NO_NODE), ZKLI_ASK_DELETE);
    CHECK_STRING(b.c.node, reader);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_DELETED, ZKLI_RESULT_OK), ZKLI_DO_FORGET);
}

/* Where numbers repeat, the reader's node, which is new, would come after the writers that wait. */
static void near_the_counter_s_end_the_node_stays_a_writer_s(void) {
    struct bench b;
    to_writing(&b);
    (void)snprintf(b.c.node, sizeof(b.c.node), "_c_%s-__WRIT__%010d", b.c.uuid, 2147483647);
    b.c.is_awaited = true; /* its node has a mark, for whoever holds inside later */
    CHECK_ACTIONS(news(&b, ZKLI_EV_TURN), ZKLI_TELL_TURNED);
    CHECK_INT(b.c.error, ZKL_OK);
    CHECK_INT(b.c.kind, ZKLI_KIND_WRITE);
    CHECK(b.c.is_awaited);
    CHECK_STATE(&b, "held");
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"the reader has the writer's number and token",
         the_reader_has_the_writer_s_number_and_token},
        {"a hold that is refused goes on as a writer's",
         a_hold_that_is_refused_goes_on_as_a_writer_s},
        {"what was lost is looked for before it is sent again",
         what_was_lost_is_looked_for_before_it_is_sent_again},
        {"the read of its node decides nothing", the_read_of_its_node_decides_nothing},
        {"each search looks anew", each_search_looks_anew},
        {"while the writer's node is there it is a writer's",
         while_the_writer_s_node_is_there_it_is_a_writer_s},
        {"who waits behind it keeps it from idling", who_waits_behind_it_keeps_it_from_idling},
        {"the writer's node is deleted before the reader's",
         the_writer_s_node_is_deleted_before_the_reader_s},
        {"near the counter's end the node stays a writer's",
         near_the_counter_s_end_the_node_stays_a_writer_s},
    };
    return TEST_MAIN(argc, argv, "contender_turn", cases);
}
