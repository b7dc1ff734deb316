/*
 * T32: children of a lock's directory that nobody expected. Elsewhere they crash a client, make it
 * hang or are taken for contenders. The names are made at random of the pieces that contenders'
 * names are made of; FOREIGN_SEED repeats a run.
 */
#include "support/client.h"

#include "core/node_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUNDS = 60,
    NAMES_MAX = 12,
    NAME_SIZE = 160
};

static uint64_t State;

static unsigned draw(unsigned below) {
    State = State * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(State >> 33) % below;
}

static void add_digits(char *name, unsigned count) {
    size_t used = strlen(name);

    for (; count > 0 && used + 1 < NAME_SIZE; count--)
        name[used++] = (char)('0' + draw(10));
    name[used] = '\0';
}

static void make_name(char ret_name[NAME_SIZE]) {
    static const char *const pieces[] = {
        "_c_",       "lock-",       "-lock-",
        "__lock__",  "__rlock__",   "-__READ__",
        "-__WRIT__", "lease-",      "-lease-",
        "x-",        "-",           "--",
        ".",         " ",           "%n",
        "\xc3\xa9",  "locks",       "6ba7b810-9dad-11d1-80b4-00c04fd430c8",
        "0x",        "-2147483648", "0123456789abcdef0123456789abcdef",
    };
    const unsigned count = 1 + draw(4);

    do {
        ret_name[0] = '\0';
        for (unsigned i = 0; i < count; i++) {
            const size_t used = strlen(ret_name);

            (void)snprintf(ret_name + used, NAME_SIZE - used, "%s",
                           pieces[draw(sizeof(pieces) / sizeof(pieces[0]))]);
        }
        if (draw(2))
            add_digits(ret_name, 8 + draw(5)); /* ten are a number, the others are not */
    } while (strcmp(ret_name, ".") == 0 || strcmp(ret_name, "..") == 0);
}

/* Whose path is taken already is left out. */
static size_t plant_names(const char *name, size_t *ret_contenders) {
    const size_t count = draw(NAMES_MAX + 1);
    size_t planted = 0;

    dir_make(name);
    *ret_contenders = 0;
    for (size_t i = 0; i < count; i++) {
        char child[NAME_SIZE], path[RAW_PATH_MAX];

        make_name(child);
        (void)snprintf(path, sizeof(path), "%s/%s", lock_dir(name), child);
        int result = raw_create(fixture_raw(), path, "%s", 2, RAW_PERSISTENT, NULL);
        REQUIRE(result == RAW_OK || result == RAW_NODE_EXISTS);
        if (result != RAW_OK)
            continue;
        planted++;
        *ret_contenders += zkli_node_name_parse(child).kind != ZKLI_KIND_NONE;
    }
    return planted;
}

static void unexpected_children_are_contenders_or_nothing(void) {
    client *c = client_open(fresh_name("foreign"), T_LONG);
    size_t free = 0, taken = 0;

    for (int i = 0; i < ROUNDS; i++) {
        const char *name = fresh_name("foreign");
        client *here = client_open_on(c, name);
        size_t contenders;
        const size_t planted = plant_names(name, &contenders);
        zkl_queue *queue = NULL;
        zkl_err result;

        CHECK_INT(client_acquire(here, 0), contenders > 0 ? ZKL_BUSY : ZKL_OK);
        REQUIRE_INT(zkl_inspect(c->session, name, &queue), ZKL_OK);
        CHECK_INT(zkl_queue_count(queue), contenders > 0 ? contenders : 1);
        zkl_queue_free(queue);
        *(contenders > 0 ? &taken : &free) += 1;
        if (contenders > 0) {
            /* Made up numbers may be behind ours. */
            client_queue_up(here, planted + 1);
            WAIT_UNTIL(client_told(here, ZKL_EVENT_QUEUED) == 1 || client_is_done(here), SOON_MS);
            CHECK_INT(zkl_cancel(here->lock), ZKL_OK);
            result = client_result(here);
            CHECK(result == ZKL_OK || result == ZKL_CANCELED);
            CHECK_INT(client_release(here), result == ZKL_OK ? ZKL_OK : ZKL_NOT_HELD);
        } else {
            CHECK_INT(client_release_wait(here), ZKL_OK);
        }
        WAIT_UNTIL(queue_length(name) == planted, SOON_MS);
        client_close(here);
        CHECK_INT(raw_delete_tree(fixture_raw(), lock_dir(name)), RAW_OK);
    }
    test_note("%zu directories without contenders, %zu with some", free, taken);
    CHECK(free > 0 && taken > 0);
    client_close(c);
}

/* Any client can read the tag of a session in the queue, and make a node that bears it. */
static void a_node_with_the_session_s_tag_that_is_another_s_is_left_alone(void) {
    enum {
        TRIES = 3
    };
    client *c = client_open_proxied(fresh_name("tagged"), T_LONG);
    char path[RAW_PATH_MAX], prefix[80], tagged[RAW_PATH_MAX];

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    client_node(c, path);
    (void)snprintf(prefix, sizeof(prefix), "_c_%.*s-11d1-80b4-00c04fd430c8-lock-", ZKLI_TAG_LENGTH,
                   strrchr(path, '/') + 1 + strlen("_c_"));
    CHECK_INT(client_release_wait(c), ZKL_OK);
    plant_contender(c->name, prefix, tagged);
    proxy_forget(c->proxy);
    for (size_t i = 1; i <= TRIES; i++) {
        CHECK_INT(client_acquire(c, 0), ZKL_BUSY);
        WAIT_UNTIL(proxy_answered(c->proxy, PROXY_GET, prefix) == i, SOON_MS); /* whose it is */
    }
    CHECK_STAYS(raw_exists(fixture_raw(), tagged), 100);
    CHECK_INT(proxy_count(c->proxy, PROXY_DELETE, prefix), 0);
    CHECK_INT(proxy_count(c->proxy, PROXY_GET, prefix), TRIES);
    client_queue_up(c, 2);
    CHECK_STAYS(!client_is_done(c), 100);
    CHECK(raw_exists(fixture_raw(), tagged));
    uproot(tagged);
    CHECK_INT(client_result(c), ZKL_OK);
    client_close(c);
}

/*
 * Curator makes a reader of a writer by a new node that has the writer's number, so that it keeps
 * the writer's place in the queue (T37). Ours waits for it, whichever way the queue is ordered.
 */
#define WRITER "_c_f47ac10b-58cc-4372-a567-0e02b2c3d479-__WRIT__"
#define READER "_c_6ba7b810-9dad-11d1-80b4-00c04fd430c8-__READ__"
#define LAST "_c_7ba7b810-9dad-11d1-80b4-00c04fd430c8-lock-2147483647"

static void check_downgrade(const char *name, bool is_near_the_end) {
    client *c = client_open(name, T_NORMAL);
    char writer[RAW_PATH_MAX], reader[RAW_PATH_MAX], last[RAW_PATH_MAX], child[128];

    plant_contender(name, WRITER, writer);
    client_queue_up(c, 2);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_QUEUED) > 0, SOON_MS);
    if (is_near_the_end)
        plant(name, LAST, RAW_EPHEMERAL, last); /* a contender behind ours */
    (void)snprintf(child, sizeof(child), READER "%s", writer + strlen(writer) - 10);
    plant(name, child, RAW_EPHEMERAL, reader);
    uproot(writer);
    CHECK_STAYS(!client_is_done(c), 200);
    uproot(reader);
    CHECK_INT(client_result(c), ZKL_OK);
    CHECK_INT(client_release(c), ZKL_OK);
    if (is_near_the_end)
        uproot(last);
    client_close(c);
}

static void a_reader_keeps_the_place_of_the_writer_it_was(void) {
    check_downgrade(fresh_name("downgrade"), false);
}

static void so_it_does_near_the_counters_end(void) {
    check_downgrade(fresh_name("downgrade_late"), true);
}

static const test_case Cases[] = {
    {"children nobody expected are contenders or nothing, never fatal (T32)",
     unexpected_children_are_contenders_or_nothing},
    {"a node with the session's tag that is another's is left alone",
     a_node_with_the_session_s_tag_that_is_another_s_is_left_alone},
    {"a reader keeps the place of the writer it was (T37)",
     a_reader_keeps_the_place_of_the_writer_it_was},
    {"so it does near the counter's end (T34, T37)", so_it_does_near_the_counters_end},
};

int main(int argc, char **argv) {
    const char *seed = getenv("FOREIGN_SEED");

    State = seed ? strtoull(seed, NULL, 0) : (uint64_t)clock_ns();
    printf("FOREIGN_SEED=%llu\n", (unsigned long long)State);
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "foreign", Cases);
}
