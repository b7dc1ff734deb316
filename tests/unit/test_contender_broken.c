/* A contender's node that is marked as broken: who holds by it holds no more, and who waits by it
 * takes it for deleted. */
#include "unit/contender_permit_situations.h"
#include "unit/contender_situations.h"

typedef void (*bringer)(struct bench *b, unsigned situation);

static unsigned own_read(struct bench *b, bool is_broken) {
    return say(b, (struct zkli_contender_event){
                      .type = ZKLI_EV_OWN_READ,
                      .result = is_broken ? ZKLI_RESULT_OK : ZKLI_RESULT_NO_NODE,
                      .czxid = 7,
                      .owner = SESSION,
                      .is_broken = is_broken,
                  });
}

/* How many of the situations had the read under way. */
static int check_all(bringer bring, unsigned situations, bool is_of_permits) {
    int reading = 0, anew = 0;
    for (unsigned situation = 0; situation < situations; situation++) {
        struct bench marked, gone;
        bring(&marked, situation);
        bring(&gone, situation);
        bool is_awaited = (marked.c.in_flight & ZKLI_ASK_OWN) != 0;
        bool held = zkli_contender_holds(&marked.c);
        unsigned actions = own_read(&marked, true);
        unsigned others = own_read(&gone, false);
        bool begins_anew = is_awaited && !held && gone.c.node[0] == '\0';
        reading += is_awaited;
        if (is_awaited && held) {
            CHECK_ACTIONS(actions, ZKLI_DO_LOSE | ZKLI_ASK_DELETE);
            CHECK_STATE(&marked, "leaving");
        } else if (begins_anew) { /* when the node is deleted */
            CHECK_ACTIONS(actions, ZKLI_ASK_DELETE | ZKLI_TELL_REQUEUED);
            CHECK_STATE(&marked, "clearing");
            actions = reply(&marked, ZKLI_EV_DELETED, ZKLI_RESULT_OK);
            CHECK_ACTIONS(actions, others & ~(unsigned)ZKLI_TELL_REQUEUED);
            CHECK_INT(marked.c.state, gone.c.state);
            anew++;
        } else {
            CHECK_ACTIONS(actions, others);
            CHECK_INT(marked.c.state, gone.c.state);
            CHECK(marked.c.own_watch == gone.c.own_watch);
            CHECK_STRING(marked.c.node, gone.c.node);
        }
        if (marked.c.state != gone.c.state && !held)
            test_note("situation %u%s", situation, is_of_permits ? " of a permit" : "");
    }
    CHECK(anew >= 3);
    return reading;
}

static void a_mark_counts_as_the_end_in_every_situation(void) {
    CHECK(check_all(situation_bring, SITUATIONS, false) >= 8);
    CHECK(check_all(situation_bring_writer, SITUATIONS, false) >= 8);
    CHECK(check_all(situation_bring_reader, SITUATIONS, false) >= 8);
    CHECK(check_all(permit_situation_bring, PERMIT_SITUATIONS, true) >= 8);
}

/* It learns of a mark as of its end; the mark is read when the watch fires. */
static void a_holder_reads_what_has_changed(void) {
    struct bench b;
    situation_bring(&b, S_HELD_WATCHED);
    CHECK_ACTIONS(fired(&b, ZKLI_EV_OWN_EVENT, false), ZKLI_ASK_OWN);
    CHECK_ACTIONS(own_read(&b, true), ZKLI_DO_LOSE | ZKLI_ASK_DELETE);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_DELETED, ZKLI_RESULT_OK), ZKLI_DO_FORGET);
}

/* Of the writer's node, or of the reader's, if it is there already. */
static void a_hold_that_turns_ends(void) {
    struct bench b;
    situation_bring_writer(&b, S_TURNING_READING);
    CHECK_ACTIONS(own_read(&b, true), ZKLI_DO_LOSE | ZKLI_ASK_DELETE);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_DELETED, ZKLI_RESULT_NO_NODE), ZKLI_ASK_DELETE);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_DELETED, ZKLI_RESULT_OK), ZKLI_DO_FORGET);
}

/* ---- A hold that begins before its node is watched ---- */

static void who_must_look_first_is_granted_behind_the_read(void) {
    struct bench b;
    situation_bring(&b, S_ENQUEUING_CREATED);
    b.world.must_look_first = true;
    CHECK_ACTIONS(listed(&b, FIRST), ZKLI_ASK_OWN);
    CHECK_STATE(&b, "admitted");
    CHECK_ACTIONS(own_read(&b, true), ZKLI_ASK_DELETE | ZKLI_TELL_REQUEUED);
    CHECK_ACTIONS(reply(&b, ZKLI_EV_DELETED, ZKLI_RESULT_OK), CREATE_AND_LIST);
    situation_bring(&b, S_ENQUEUING_CREATED);
    b.world.must_look_first = true;
    CHECK_ACTIONS(listed(&b, FIRST), ZKLI_ASK_OWN);
    b.world.must_look_first = false;
    CHECK_ACTIONS(reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK), ZKLI_DO_GRANT);
}

/* Its watch was set on an earlier connection. */
static void who_has_looked_before_looks_again(void) {
    struct bench b;
    situation_bring(&b, S_WAITING_HEAD);
    b.world.must_look_first = true;
    CHECK_ACTIONS(fired(&b, ZKLI_EV_PREDECESSOR_EVENT, true), ZKLI_ASK_OWN);
    CHECK_STATE(&b, "admitted");
    b.world.must_look_first = false;
    CHECK_ACTIONS(reply(&b, ZKLI_EV_OWN_READ, ZKLI_RESULT_OK), ZKLI_DO_GRANT);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a mark counts as the end in every situation",
         a_mark_counts_as_the_end_in_every_situation},
        {"a holder reads what has changed", a_holder_reads_what_has_changed},
        {"a hold that turns ends", a_hold_that_turns_ends},
        {"who must look first is granted behind the read",
         who_must_look_first_is_granted_behind_the_read},
        {"who has looked before looks again", who_has_looked_before_looks_again},
    };
    return TEST_MAIN(argc, argv, "contender_broken", cases);
}
