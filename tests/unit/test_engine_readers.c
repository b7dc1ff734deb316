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

/* It may have left a reader in its place. A reader would not mind. */
static void behind_a_writer_the_next_one_lists_unless_it_reads(void) {
    static const struct {
        enum zkli_kind kind;
        size_t lists;
    } cases[] = {{ZKLI_KIND_WRITE, 1}, {ZKLI_KIND_MUTEX, 1}, {ZKLI_KIND_READ, 0}};
    for (size_t i = 0; i < COUNT(cases); i++) {
        bench_begin();
        struct owner *first = begin_as("a", ZKLI_KIND_WRITE);
        serve_all();
        struct owner *next = begin_as("a", cases[i].kind);
        serve_all();
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
        {"behind a writer the next one lists, unless it reads",
         behind_a_writer_the_next_one_lists_unless_it_reads},
        {"a writer is granted when the last has gone", a_writer_is_granted_when_the_last_has_gone},
    };
    return TEST_MAIN(argc, argv, "engine_readers", cases);
}
