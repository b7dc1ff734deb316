/*
 * Curator makes a reader of a writer by a new node that has the writer's number, so that it keeps
 * the writer's place in the queue (T37). Ours waits for it, whichever way the queue is ordered.
 */
#include "support/client.h"

#include <stdio.h>
#include <string.h>

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
        plant(name, LAST, RAW_EPHEMERAL, last); /* somebody behind us */
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
    {"a reader keeps the place of the writer it was (T37)",
     a_reader_keeps_the_place_of_the_writer_it_was},
    {"so it does near the counter's end (T34, T37)", so_it_does_near_the_counters_end},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "downgrade", Cases);
}
