/* As test_calls.c, for several locks at once. */
#include "alloc/fail_each.h"
#include "support/party.h"

#define SEVERAL 3
/* A transaction for which the client library has no memory is tried again, like a create. */
#define SOME 3

static party *open_party(const char *name, bool has_directories) {
    static const zkl_kind kinds[SEVERAL] = {ZKL_MUTEX, ZKL_SEMAPHORE, ZKL_READ};
    party *p = party_open(T_NORMAL);

    for (size_t i = 0; i < SEVERAL; i++) {
        party_add(p, fresh_name(name), kinds[i], 2 * (kinds[i] == ZKL_SEMAPHORE));
        if (has_directories)
            dir_make(p->names[i]);
    }
    return p;
}

/* However it ended for want of memory, nothing of it is left, and another one succeeds; each grant
 * was told once. A release needs no memory. Ends with the party closed. */
static void finish_all(party *p, zkl_err err) {
    if (err == ZKL_OK) {
        (void)party_check_holds(p);
        CHECK_INT(party_release(p), ZKL_OK);
    }
    failing_disarm();
    check_nomem_or(err, ZKL_OK);
    CHECK_INT(party_held(p), 0);
    WAIT_UNTIL(party_nodes(p) == 0, SOON_MS);
    if (err != ZKL_OK) {
        REQUIRE_INT(party_acquire(p, SOON_MS), ZKL_OK);
        (void)party_check_holds(p);
        CHECK_INT(party_release(p), ZKL_OK);
    }
    WAIT_UNTIL(party_told(p, ZKL_EVENT_HELD) == SEVERAL, SOON_MS);
    CHECK_INT(party_told(p, ZKL_EVENT_LOST), 0);
    party_check_deserted(p);
    party_close(p);
}

/* It has returned, or is told of no memory again and again: then there is some again. */
static zkl_err result_of(party *p) {
    WAIT_UNTIL(actor_is_done(p->actor) || failing_failed() >= SOME, SOON_MS);
    if (!actor_is_done(p->actor))
        failing_disarm();
    return party_result(p);
}

static zkl_err acquire_armed(party *p, int64_t timeout_ms) {
    arm();
    party_begin(p, timeout_ms);
    return result_of(p);
}

/* Begins and waits until it waits for its turn, or has failed, or will not but with memory. */
static void queue_all_up(party *p, size_t taken) {
    party_begin(p, SOON_MS);
    WAIT_UNTIL(actor_is_done(p->actor) || failing_failed() >= SOME ||
                   events_count(p->events[taken], ZKL_EVENT_QUEUED) > 0,
               SOON_MS);
}

static void acquire_free_ones(void) {
    party *p = open_party("free", true);

    finish_all(p, acquire_armed(p, SOON_MS));
}

static void free_ones_are_acquired_or_there_is_no_memory(void) {
    fail_each(acquire_free_ones);
}

static void try_free_ones(void) {
    party *p = open_party("try", true);

    finish_all(p, acquire_armed(p, 0));
}

static void a_try_succeeds_or_there_is_no_memory(void) {
    fail_each(try_free_ones);
}

static void acquire_in_new_directories(void) {
    party *p = open_party("new/a", false);

    finish_all(p, acquire_armed(p, SOON_MS));
}

static void those_without_directories_are_acquired_or_there_is_no_memory(void) {
    fail_each(acquire_in_new_directories);
}

static size_t Taken; /* which of them is waited for */

static void wait_for_one(void) {
    party *p = open_party("contended", true);
    char holder[RAW_PATH_MAX];

    plant_contender(p->names[Taken], CURATOR, holder);
    arm();
    queue_all_up(p, Taken);
    if (actor_is_done(p->actor))
        CHECK_INT(party_result(p), ZKL_NOMEM); /* not OK: there is a holder */
    uproot(holder);
    finish_all(p, result_of(p));
}

static void they_are_waited_for_or_there_is_no_memory(void) {
    for (Taken = 0; Taken < SEVERAL; Taken++)
        fail_each(wait_for_one);
}

static void be_made_anew(void) {
    party *p = open_party("anew", true);
    char holder[RAW_PATH_MAX], own[RAW_PATH_MAX];

    plant_contender(p->names[0], CURATOR, holder);
    party_queue_up_behind(p, 0);
    party_node(p, 2, own);
    arm();
    uproot(own);
    WAIT_UNTIL(actor_is_done(p->actor) || failing_failed() >= SOME ||
                   party_told(p, ZKL_EVENT_REQUEUED) >= SEVERAL,
               SOON_MS);
    uproot(holder);
    finish_all(p, result_of(p));
}

static void they_are_made_anew_or_there_is_no_memory(void) {
    fail_each(be_made_anew);
}

/* Of what is given up nothing stays, whatever is under way. */
static void give_up(void) {
    party *p = open_party("given-up", true);
    char holder[RAW_PATH_MAX];

    plant_contender(p->names[1], CURATOR, holder);
    arm();
    queue_all_up(p, 1);
    (void)zkl_cancel(p->locks[2]);
    const zkl_err err = party_result(p);
    failing_disarm();
    check_nomem_or(err, ZKL_CANCELED);
    WAIT_UNTIL(party_nodes(p) == 0, SOON_MS);
    uproot(holder);
    CHECK_INT(party_acquire(p, SOON_MS), ZKL_OK);
    (void)party_check_holds(p);
    party_close(p);
}

static void one_that_is_given_up_leaves_nothing(void) {
    fail_each(give_up);
}

/* Their deletes are sent when there is memory for them. */
static void release_all(void) {
    party *p = open_party("released", true);

    REQUIRE_INT(party_acquire(p, SOON_MS), ZKL_OK);
    arm();
    CHECK_INT(party_release(p), ZKL_OK);
    WAIT_UNTIL(party_nodes(p) == 0 || failing_failed() >= SOME, SOON_MS);
    failing_disarm();
    WAIT_UNTIL(party_nodes(p) == 0, SOON_MS);
    CHECK_INT(party_held(p), 0);
    CHECK_INT(party_told(p, ZKL_EVENT_LOST), 0);
    party_check_deserted(p);
    party_close(p);
}

static void they_are_released_without_memory(void) {
    fail_each(release_all);
}

static const test_case Cases[] = {
    {"free ones are acquired, or there is no memory", free_ones_are_acquired_or_there_is_no_memory},
    {"a try succeeds, or there is no memory", a_try_succeeds_or_there_is_no_memory},
    {"those without directories are acquired, or there is no memory",
     those_without_directories_are_acquired_or_there_is_no_memory},
    {"they are waited for, or there is no memory", they_are_waited_for_or_there_is_no_memory},
    {"they are made anew, or there is no memory", they_are_made_anew_or_there_is_no_memory},
    {"one that is given up leaves nothing", one_that_is_given_up_leaves_nothing},
    {"they are released without memory", they_are_released_without_memory},
};

int main(int argc, char **argv) {
    return fail_each_main(argc, argv, "several", Cases, sizeof(Cases) / sizeof(Cases[0]));
}
