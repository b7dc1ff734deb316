/*
 * Near the end of the counter a queue goes by the czxids of its nodes, which are read one by one:
 * what the engine makes of those reads.
 */
#include "unit/engine_bench.h"

#include <stdlib.h>

#define LATE (ZKLI_COUNTER_END - 10) /* numbers are not trusted any more */

static const char Reader[] = "/locks/a/_c_0123abcd-aaaa-bbbb-cccc-0123456789ab-__READ__2147483630";
static const char Writer[] = "/locks/a/_c_0123abcd-aaaa-bbbb-cccc-0123456789ab-lock-2147483631";
static const char Overflown[] = "/locks/a/_c_0123abcd-aaaa-bbbb-cccc-0123456789ab-lock--2147483640";

/* What a port hands over is not there any more when that is done. */
static void serve_and_free(const struct request *list) {
    struct tiny_answer served = serve(list);
    char *names[8];
    REQUIRE(served.reply.child_count <= COUNT(names));
    for (size_t i = 0; i < served.reply.child_count; i++)
        REQUIRE((names[i] = strdup(served.reply.children[i])) != NULL);
    served.reply.children = names;
    tell_reply(list->slot, &served.reply);
    for (size_t i = 0; i < served.reply.child_count; i++) {
        memset(names[i], '?', strlen(names[i]));
        free(names[i]);
    }
}

/* Our node is there, and so is the listing's answer: each node's read is asked for. */
static struct owner *begin_late(const char *before, const char *after) {
    bench_begin();
    Bench.server.number = LATE;
    (void)tiny_add(&Bench.server, "/locks", 0);
    (void)tiny_add(&Bench.server, "/locks/a", 0);
    if (before != NULL)
        (void)tiny_add(&Bench.server, before, 0x2002);
    struct owner *owner = begin("a");
    struct request create = serve_until(CREATE);
    serve_request(&create);
    if (after != NULL)
        (void)tiny_add(&Bench.server, after, 0x2002);
    struct request list = serve_until(LIST);
    serve_and_free(&list);
    return owner;
}

static size_t reads_in_flight(void) {
    size_t count = 0;
    for (size_t i = 0; i < Bench.request_count; i++)
        count += Bench.requests[i].kind == GET;
    return count;
}

static void each_node_is_read_once_and_the_lowest_czxid_holds(void) {
    struct owner *owner = begin_late(NULL, Writer);
    CHECK_INT(reads_in_flight(), 2);
    for (size_t i = 0; i < Bench.request_count; i++)
        CHECK(!Bench.requests[i].is_watched);
    serve_all();
    CHECK_INT(owner->grants, 1); /* the other's number is lower, and its czxid higher */
    bench_end();
}

/* A writer that became a reader has an old number and a new czxid. */
static void a_reader_with_an_old_number_stays_before_us(void) {
    struct owner *owner = begin_late(NULL, Reader);
    serve_all();
    CHECK_INT(owner->grants, 0);
    CHECK((owner->notices & TOLD(QUEUED)) != 0);
    delete_node(Reader);
    serve_all();
    CHECK_INT(owner->grants, 1);
    bench_end();
}

/* Of whatever number. */
static void a_node_that_has_gone_meanwhile_is_not_before_us(void) {
    const char *const gone[] = {Writer, Overflown};
    for (size_t i = 0; i < COUNT(gone); i++) {
        struct owner *owner = begin_late(gone[i], NULL);
        CHECK_INT(reads_in_flight(), 2);
        (void)tiny_remove(&Bench.server, gone[i]);
        const size_t lists = Bench.sent[LIST];
        serve_all();
        CHECK_INT(owner->grants, 1);
        CHECK_INT(Bench.sent[LIST], lists); /* without another look */
        bench_end();
    }
}

/* The number of permits is that of the directory as it was listed. */
static void a_semaphore_goes_by_its_number_there_too(void) {
    bench_begin();
    Bench.server.number = LATE;
    (void)tiny_add(&Bench.server, "/locks", 0);
    (void)tiny_add(&Bench.server, "/locks/a", 0);
    set_node("/locks/a", "permits=1 max=1");
    struct owner *first = begin_lease("a", 1), *second = begin_lease("a", 1);
    serve_all();
    CHECK_INT(first->grants, 1);
    CHECK_INT(second->member->core.state, ZKLI_FRONT);
    release(first);
    serve_all();
    CHECK_INT(second->grants, 1);
    release(second);
    come_to_rest();
    bench_end();
}

/* All reads count, or none. */
static void a_read_that_is_lost_or_not_sent_makes_the_listing_worthless(void) {
    for (unsigned way = 0; way < 3; way++) {
        struct owner *owner = begin_late(Writer, NULL);
        struct request first = serve_until(GET);
        answer(&first, way == 0 ? ZKLI_RESULT_AGAIN : ZKLI_RESULT_LOST);
        if (way == 2)
            Bench.refused = 1u << GET;
        serve_all();
        CHECK_INT(owner->grants, 0);
        for (int i = 0; i < 5; i++) {
            advance(100 * MS);
            serve_all();
        }
        CHECK_INT(owner->grants, 0);
        Bench.refused = 0;
        delete_node(Writer);
        come_to_rest();
        CHECK_INT(owner->grants, 1);
        bench_end();
    }
}

/* The wait ends while its reads are out: their answers reach no other contender. */
static void reads_for_a_wait_that_ended_are_nothing(void) {
    struct owner *owner = begin_late(Writer, NULL);
    struct request first = serve_until(GET);
    abandon(owner);
    struct owner *next = begin("a");
    serve_request(&first);
    CHECK_INT(next->grants, 0);
    delete_node(Writer);
    come_to_rest();
    CHECK_INT(next->grants, 1);
    CHECK_INT(owner->grants, 0);
    CHECK(owner->member == NULL);
    bench_end();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"each node is read once, and the lowest czxid holds",
         each_node_is_read_once_and_the_lowest_czxid_holds},
        {"a reader with an old number stays before us",
         a_reader_with_an_old_number_stays_before_us},
        {"a node that has gone meanwhile is not before us",
         a_node_that_has_gone_meanwhile_is_not_before_us},
        {"a semaphore goes by its number there, too", a_semaphore_goes_by_its_number_there_too},
        {"a read that is lost, or not sent, makes the listing worthless",
         a_read_that_is_lost_or_not_sent_makes_the_listing_worthless},
        {"reads for a wait that ended are nothing", reads_for_a_wait_that_ended_are_nothing},
    };
    return TEST_MAIN(argc, argv, "engine_orders", cases);
}
