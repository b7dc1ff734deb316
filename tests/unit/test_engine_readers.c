/* Readers of one session that hold together: what ends one of their holds, and what does not. */
#include "unit/engine_bench.h"

#define READERS 3

static struct owner *Readers[READERS];

static void begin_readers(void) {
    bench_begin();
    for (size_t i = 0; i < READERS; i++)
        Readers[i] = begin_as("a", ZKLI_KIND_READ);
    serve_all();
    for (size_t i = 0; i < READERS; i++)
        CHECK_INT(Readers[i]->grants, 1);
}

static bool holds(const struct owner *owner) {
    return owner->member != NULL && zkli_member_is_held(owner->member);
}

static void check_only_lost(size_t lost) {
    for (size_t i = 0; i < READERS; i++) {
        CHECK(holds(Readers[i]) == (i != lost));
        CHECK(((Readers[i]->notices & TOLD(LOST)) != 0) == (i == lost));
    }
}

static void end(void) {
    for (size_t i = 0; i < READERS; i++)
        if (holds(Readers[i]))
            release(Readers[i]);
    come_to_rest();
    bench_end();
}

static void a_listing_ends_the_holds_whose_nodes_it_does_not_show(void) {
    for (size_t gone = 0; gone < READERS; gone++) {
        begin_readers();
        delete_node(path_of(Readers[gone])); /* nobody watches it yet */
        check_only_lost(READERS);
        struct owner *other = begin_as("a", ZKLI_KIND_READ);
        serve_all();
        check_only_lost(gone);
        CHECK_INT(other->grants, 1);
        release(other);
        end();
    }
}

/* Also while another one of them is being deleted: that is no holder any more. */
static void all_holds_are_looked_at_whatever_has_been_released(void) {
    for (size_t first = 0; first < READERS; first++) {
        begin_readers();
        const size_t gone = (first + 1) % READERS;
        delete_node(path_of(Readers[gone]));
        struct owner *other = begin_as("a", ZKLI_KIND_READ);
        release(Readers[first]);
        serve_all();
        CHECK((Readers[gone]->notices & TOLD(LOST)) != 0);
        CHECK(holds(Readers[(first + 2) % READERS]));
        release(other);
        end();
    }
}

static void a_watch_ends_the_hold_of_its_node_only(void) {
    for (size_t gone = 0; gone < READERS; gone++) {
        begin_readers();
        pass(T_MS * MS / 8); /* the watches are set behind a heartbeat */
        delete_node(path_of(Readers[gone]));
        check_only_lost(gone);
        end();
    }
}

static void a_thread_that_reads_is_known_whichever_of_them_it_is(void) {
    begin_readers();
    for (size_t i = 0; i < READERS; i++)
        Readers[i]->member->thread.number = 100 + i;
    for (size_t i = 0; i < READERS; i++)
        CHECK(zkli_engine_held_by(Bench.engine, "a", 100 + i) == Readers[i]->member);
    CHECK(zkli_engine_held_by(Bench.engine, "a", 100 + READERS) == NULL);
    release(Readers[1]);
    CHECK(zkli_engine_held_by(Bench.engine, "a", 101) == NULL);
    CHECK(zkli_engine_held_by(Bench.engine, "a", 100) == Readers[0]->member);
    end();
}

static void a_writer_is_granted_when_the_last_has_gone(void) {
    begin_readers();
    struct owner *writer = begin_as("a", ZKLI_KIND_WRITE), *late = begin_as("a", ZKLI_KIND_READ);
    serve_all();
    for (size_t i = 0; i < READERS; i++) {
        CHECK_INT(writer->grants, 0);
        release(Readers[i]);
        serve_all();
    }
    CHECK_INT(writer->grants, 1);
    CHECK_INT(late->grants, 0);
    release(writer);
    serve_all();
    CHECK_INT(late->grants, 1);
    release(late);
    end();
}

/* Serves all; nodes have this data. */
static void serve_with(const char *data) {
    while (Bench.request_count > 0) {
        struct request request = take(0);
        struct tiny_answer served = serve(&request);
        served.reply.data = data;
        served.reply.data_length = strlen(data);
        tell_reply(request.slot, &served.reply);
    }
}

/* Another library's writer may have left a reader in its place. */
static void a_writer_s_end_is_the_grant_if_this_library_has_made_it(void) {
    static const struct {
        const char *data;
        size_t lists;
    } cases[] = {{"zklock1 pid=1", 0}, {"zklock1", 0}, {"", 1}, {"10.0.0.1", 1}, {"zklock12", 1}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        bench_begin();
        struct owner *first = begin_as("a", ZKLI_KIND_WRITE);
        serve_all();
        struct owner *next = begin_as("a", ZKLI_KIND_WRITE);
        serve_with(cases[i].data);
        CHECK((next->notices & TOLD(QUEUED)) != 0);
        const size_t lists = Bench.sent[LIST];
        release(first);
        serve_all();
        CHECK_INT(next->grants, 1);
        CHECK_INT(Bench.sent[LIST] - lists, cases[i].lists);
        release(next);
        come_to_rest();
        bench_end();
    }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a listing ends the holds whose nodes it does not show",
         a_listing_ends_the_holds_whose_nodes_it_does_not_show},
        {"all holds are looked at, whatever has been released",
         all_holds_are_looked_at_whatever_has_been_released},
        {"a watch ends the hold of its node only", a_watch_ends_the_hold_of_its_node_only},
        {"a thread that reads is known, whichever of them it is",
         a_thread_that_reads_is_known_whichever_of_them_it_is},
        {"a writer's end is the grant, if this library has made it",
         a_writer_s_end_is_the_grant_if_this_library_has_made_it},
        {"a writer is granted when the last has gone", a_writer_is_granted_when_the_last_has_gone},
    };
    return TEST_MAIN(argc, argv, "engine_readers", cases);
}
