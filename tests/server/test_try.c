/*
 * T13: a try that fails leaves no node and keeps nobody waiting. Elsewhere a delete that goes
 * astray is nobody's business any more, and the node of somebody who has long left blocks the
 * queue. Here a try looks first; so it takes a rival who comes in between to make it create a
 * node at all.
 */
#include "support/client.h"

static const proxy_action Cuts[] = {PROXY_CUT_REQUEST, PROXY_CUT_REPLY};

/* Longer than the outages below. */
#define TIMEOUT_MS 6000

/* The directory is there, and nobody in it. */
static client *open_client(const char *name) {
    client *c = client_open_proxied(name, TIMEOUT_MS);

    dir_make(name);
    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    REQUIRE_INT(client_release_wait(c), ZKL_OK);
    return c;
}

static void a_try_that_came_too_late_leaves_nothing(void) {
    const char *name = fresh_name("too-late");
    client *c = open_client(name);

    for (size_t i = 0; i < 4; i++) {
        const bool stays_down = i / 2;
        char rival[RAW_PATH_MAX];

        proxy_rule(c->proxy, PROXY_HOLD_REQUEST, PROXY_CREATE, name, 1, false);
        client_begin(c, 0);
        WAIT_UNTIL(proxy_fired(c->proxy), SOON_MS);
        plant_contender(name, CURATOR, rival);
        proxy_rule(c->proxy, Cuts[i % 2], PROXY_DELETE, name, 1, stays_down);
        int64_t lifted = clock_ms();
        proxy_hold(c->proxy, PROXY_TO_SERVER, false);
        CHECK_INT(client_result(c), ZKL_BUSY);
        CHECK_RANGE(clock_ms() - lifted, 0, 1000); /* for a reply, not for the delete */
        WAIT_UNTIL(proxy_fired(c->proxy), SOON_MS);
        if (stays_down) {
            client_outage_begin(c);
            client_outage_end(c);
        }
        WAIT_UNTIL(queue_length(name) == 1, SOON_MS);
        CHECK_STAYS(queue_length(name) == 1, 100);
        uproot(rival);
        CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
        CHECK_INT(client_release_wait(c), ZKL_OK);
    }
    client_close(c);
}

/* It gives up after 2T/3, long before the server is reached again; then the node goes. */
static void a_try_whose_create_has_no_answer_leaves_nothing(void) {
    const char *name = fresh_name("no-answer");
    client *c = open_client(name);

    for (size_t i = 0; i < 2; i++) {
        proxy_rule(c->proxy, Cuts[i], PROXY_CREATE, name, 1, true);
        CHECK_INT(actor_result((client_begin(c, 0), c->actor), TIMEOUT_MS * 2 / 3 + SOON_MS),
                  ZKL_UNREACHABLE);
        CHECK_RANGE(actor_took_ms(c->actor), 0, TIMEOUT_MS * 2 / 3 + 1000);
        CHECK(proxy_fired(c->proxy));
        CHECK_INT(queue_length(name), i); /* the node whose reply was cut off */
        client_outage_end(c);
        WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
        CHECK_STAYS(queue_length(name) == 0, 100);
        CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
        CHECK_INT(client_release_wait(c), ZKL_OK);
    }
    client_close(c);
}

/* After an outage heartbeats take up to 9T/20 to prove that a hold would last. */
static void a_try_waits_for_a_lease_that_lasts(void) {
    client *c = open_client(fresh_name("lease"));

    client_outage_begin(c);
    CHECK_STAYS(!client_is_connected(c), TIMEOUT_MS / 2);
    client_outage_end(c);
    WAIT_UNTIL(client_is_connected(c), SOON_MS);
    CHECK_INT(client_acquire(c, 0), ZKL_OK);
    CHECK_INT(client_release_wait(c), ZKL_OK);
    client_close(c);
}

static const test_case Cases[] = {
    {"a try that came too late leaves nothing, though its delete is lost (T13)",
     a_try_that_came_too_late_leaves_nothing},
    {"a try whose create has no answer leaves nothing (T13)",
     a_try_whose_create_has_no_answer_leaves_nothing},
    {"a try waits for a lease that lasts", a_try_waits_for_a_lease_that_lasts},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "try", Cases);
}
