/* Sessions that beat only while something is held or waited for. */
#include "support/client.h"

enum {
    SILENCES = 12
};

/* A session that comes back with somebody who waits. */
static void begin_in_outage(client *c) {
    client_outage_begin(c);
    client_begin(c, SOON_MS);
    client_outage_end(c);
}

/* After a silence of 0, 1/8, ... of the timeout each, counted from from_ms. */
static void acquire_after_silences(client *const *clients, const int64_t *from_ms, bool in_outage) {
    bool begun[SILENCES] = {false};
    size_t count = 0;

    while (count < SILENCES) {
        for (size_t i = 0; i < SILENCES; i++) {
            if (begun[i] || clock_ms() < from_ms[i] + (int64_t)i * T_NORMAL / 8)
                continue;
            if (in_outage)
                begin_in_outage(clients[i]);
            else
                client_begin(clients[i], SOON_MS);
            begun[i] = true;
            count++;
        }
        wait_pause();
    }
    for (size_t i = 0; i < SILENCES; i++)
        CHECK_INT(client_result(clients[i]), ZKL_OK);
}

static bool all_are_held(client *const *clients) {
    for (size_t i = 0; i < SILENCES; i++)
        if (client_told(clients[i], ZKL_EVENT_LOST) > 0)
            return false;
    return true;
}

/* What is left of a silent session's lease may be less than heartbeats need to prove more. */
static void check_that_holds_last(int rounds, bool in_outage) {
    client *clients[SILENCES];
    int64_t from_ms[SILENCES];

    for (size_t i = 0; i < SILENCES; i++) {
        clients[i] = client_open_lazy(fresh_name("silent"), T_NORMAL);
        from_ms[i] = clock_ms();
    }
    for (int round = 0; round < rounds; round++) {
        acquire_after_silences(clients, from_ms, in_outage);
        CHECK_STAYS(all_are_held(clients), T_NORMAL * 5 / 4);
        for (size_t i = 0; i < SILENCES; i++) {
            CHECK(client_held(clients[i]));
            CHECK_INT(client_release_wait(clients[i]), ZKL_OK);
            from_ms[i] = clock_ms();
        }
    }
    for (size_t i = 0; i < SILENCES; i++)
        client_close(clients[i]);
}

static void a_hold_lasts_whatever_silence_was_before(void) {
    check_that_holds_last(2, false);
}

static void a_hold_lasts_after_a_silence_and_an_outage(void) {
    check_that_holds_last(1, true);
}

static const test_case Cases[] = {
    {"a hold lasts whatever silence was before", a_hold_lasts_whatever_silence_was_before},
    {"a hold lasts that was asked for in an outage, after a silence",
     a_hold_lasts_after_a_silence_and_an_outage},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "lazy", Cases);
}
