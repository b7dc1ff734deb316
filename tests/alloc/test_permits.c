/* As test_calls.c, for a semaphore. */
#include "alloc/fail_each.h"
#include "support/permits.h"

/* A transaction for which there is no memory is tried again. */
#define SOME 3

static client *open_permit(const char *name, int permits) {
    client *c = client_open(name, T_NORMAL);
    client_be_permit(c, permits);
    return c;
}

/* Another program's, that holds the only permit. */
static void plant_holder(const char *name, char *ret_path) {
    plant_contender(name, LEASE, ret_path);
    permits_record(name, "permits=1 max=1");
}

/* ---- Acquire ---- */

static void acquire_a_free_one(void) {
    client *c = open_permit("permit", 2);

    arm();
    finish(c, client_acquire(c, SOON_MS));
}

static void a_free_one_is_acquired_or_there_is_no_memory(void) {
    fail_each(acquire_a_free_one);
}

static void try_a_free_one(void) {
    client *c = open_permit("permit-try", 2);

    arm();
    finish(c, client_acquire(c, 0));
}

static void a_try_succeeds_or_there_is_no_memory(void) {
    fail_each(try_a_free_one);
}

/* With its number, or without. */
static void acquire_in_a_new_directory(void) {
    client *c = open_permit(fresh_name("new/permit"), 2);

    arm();
    finish(c, client_acquire(c, SOON_MS));
}

static void one_without_a_directory_is_acquired_or_there_is_no_memory(void) {
    fail_each(acquire_in_a_new_directory);
}

static void record_a_number(void) {
    client *c = open_permit(fresh_name("unnumbered"), 2);
    char text[PERMITS_TEXT];

    dir_make(c->name);
    arm();
    client_begin(c, SOON_MS);
    WAIT_UNTIL(client_is_done(c) || failing_failed() >= SOME, SOON_MS);
    failing_disarm();
    zkl_err err = client_result(c);
    permits_read(c->name, text);
    CHECK(strcmp(text, "permits=2 max=2") == 0 || (err == ZKL_NOMEM && text[0] == '\0'));
    finish(c, err);
}

static void the_number_is_recorded_or_there_is_no_memory(void) {
    fail_each(record_a_number);
}

static void wait_in_front(void) {
    client *c = open_permit(fresh_name("front"), 1);
    char holder[RAW_PATH_MAX];

    plant_holder(c->name, holder);
    wait_behind(c, holder);
}

static void one_is_waited_for_in_front_or_there_is_no_memory(void) {
    fail_each(wait_in_front);
}

/* The one that it watches is admitted and marks its node, and leaves. */
static void wait_behind_another(void) {
    client *c = open_permit(fresh_name("behind"), 1);
    char holder[RAW_PATH_MAX], other[RAW_PATH_MAX];

    plant_holder(c->name, holder);
    plant_contender(c->name, LEASE, other);
    arm();
    queue_up(c);
    uproot(holder);
    REQUIRE_INT(raw_set(fixture_raw(), other, "zklock1 touched=1", 17), RAW_OK);
    uproot(other);
    finish(c, client_result(c));
}

static void one_is_waited_for_behind_another_or_there_is_no_memory(void) {
    fail_each(wait_behind_another);
}

/* Memory that there is again later is enough. */
static void mark_a_node(void) {
    client *c = open_permit(fresh_name("mark"), 1);
    char holder[RAW_PATH_MAX], behind[RAW_PATH_MAX], own[RAW_PATH_MAX] = "";

    plant_holder(c->name, holder);
    arm();
    queue_up(c);
    plant_contender(c->name, LEASE, behind);
    uproot(holder);
    zkl_err err = client_result(c);
    failing_disarm();
    if (err == ZKL_OK) {
        actor_node_path(c->actor, c->lock, own, sizeof(own));
        WAIT_UNTIL(permit_is_marked(own), SOON_MS);
    }
    uproot(behind);
    finish(c, err);
}

static void who_is_admitted_tells_the_next_one_when_there_is_memory(void) {
    fail_each(mark_a_node);
}

/* ---- The number ---- */

static zkl_err call_set_permits(void *lock) {
    return zkl_set_permits(lock, 3);
}

static void set_permits(void) {
    client *c = open_permit(fresh_name("set"), 1);
    char text[PERMITS_TEXT];

    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    arm();
    actor_begin(c->actor, call_set_permits, c->lock);
    WAIT_UNTIL(client_is_done(c) || failing_failed() >= SOME, SOON_MS);
    failing_disarm();
    zkl_err err = client_result(c);
    check_nomem_or(err, ZKL_OK);
    permits_read(c->name, text);
    CHECK_STRING(text, err == ZKL_OK ? "permits=3 max=3" : "permits=1 max=1");
    if (err != ZKL_OK) {
        actor_begin(c->actor, call_set_permits, c->lock);
        CHECK_INT(client_result(c), ZKL_OK);
    }
    CHECK(client_held(c));
    CHECK_INT(client_release_wait(c), ZKL_OK);
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
    CHECK_INT(client_release_wait(c), ZKL_OK);
    WAIT_UNTIL(client_nodes(c) == 0, SOON_MS);
    client_close(c);
}

static void the_number_is_changed_or_there_is_no_memory(void) {
    fail_each(set_permits);
}

static const test_case Cases[] = {
    {"a free permit is acquired, or there is no memory",
     a_free_one_is_acquired_or_there_is_no_memory},
    {"a try succeeds, or there is no memory", a_try_succeeds_or_there_is_no_memory},
    {"one without a directory is acquired, or there is no memory",
     one_without_a_directory_is_acquired_or_there_is_no_memory},
    {"the number is recorded, or there is no memory", the_number_is_recorded_or_there_is_no_memory},
    {"one is waited for in front, or there is no memory",
     one_is_waited_for_in_front_or_there_is_no_memory},
    {"one is waited for behind another, or there is no memory",
     one_is_waited_for_behind_another_or_there_is_no_memory},
    {"who is admitted tells the next one when there is memory",
     who_is_admitted_tells_the_next_one_when_there_is_memory},
    {"the number is changed, or there is no memory", the_number_is_changed_or_there_is_no_memory},
};

int main(int argc, char **argv) {
    return fail_each_main(argc, argv, "permits", Cases, sizeof(Cases) / sizeof(Cases[0]));
}
