/* Readers share, writers exclude everybody, and the queue's order holds. */
#include "support/client.h"

#define READERS 6

static client *open_kind(const char *name, zkl_kind kind) {
    client *c = client_open_proxied(name, T_NORMAL);
    client_be(c, kind);
    return c;
}

/* Some in one session: its holders are several, too. */
static void open_readers(client *readers[READERS], const char *name) {
    for (size_t i = 0; i < READERS; i++) {
        readers[i] = i % 2 == 0 ? client_open_proxied(name, T_NORMAL)
                                : client_open_on(readers[i - 1], name);
        client_be(readers[i], ZKL_READ);
    }
}

static void close_all(client *clients[], size_t count) {
    while (count > 0)
        client_close(clients[--count]);
}

static void readers_hold_together(void) {
    const char *name = fresh_name("readers");
    client *readers[READERS], *writer = open_kind(name, ZKL_WRITE);

    open_readers(readers, name);
    for (size_t i = 0; i < READERS; i++)
        CHECK_INT(client_acquire(readers[i], SOON_MS), ZKL_OK);
    CHECK_INT(client_acquire(writer, 0), ZKL_BUSY);
    CHECK_INT(client_acquire(readers[0], 0), ZKL_DEADLOCK);
    for (size_t i = 0; i < READERS; i++) {
        CHECK(client_held(readers[i]));
        CHECK_INT(client_release(readers[i]), ZKL_OK);
    }
    CHECK_INT(client_acquire(writer, SOON_MS), ZKL_OK);
    CHECK_INT(client_acquire(readers[0], 0), ZKL_BUSY);
    client_close(writer);
    close_all(readers, READERS);
}

/* Each wakes once, with the writer's end: nobody lists again. */
static void readers_behind_a_writer_are_granted_with_its_end(void) {
    const char *name = fresh_name("behind");
    client *readers[READERS], *writer = open_kind(name, ZKL_WRITE);

    open_readers(readers, name);
    CHECK_INT(client_acquire(writer, SOON_MS), ZKL_OK);
    for (size_t i = 0; i < READERS; i++)
        client_queue_up(readers[i], 2 + i);
    for (size_t i = 0; i < READERS; i++) {
        WAIT_UNTIL(client_told(readers[i], ZKL_EVENT_QUEUED) == 1, SOON_MS);
        CHECK(!client_is_done(readers[i]));
    }
    for (size_t i = 0; i < READERS; i += 2) {
        WAIT_UNTIL(proxy_answered(readers[i]->proxy, PROXY_GET, name) >= 3, SOON_MS);
        proxy_forget(readers[i]->proxy);
    }
    CHECK_INT(client_release(writer), ZKL_OK);
    for (size_t i = 0; i < READERS; i++)
        CHECK_INT(client_result(readers[i]), ZKL_OK);
    for (size_t i = 0; i < READERS; i += 2) {
        CHECK_INT(proxy_count_tail(readers[i]->proxy, PROXY_LIST, name), 0);
        CHECK_INT(proxy_count(readers[i]->proxy, PROXY_EVENT, name), 1); /* one for both */
    }
    close_all(readers, READERS);
    client_close(writer);
}

/* A writer may leave a reader in its place. So the next one lists. A reader need not. */
static void behind_a_writer_the_next_one_lists(void) {
    static const zkl_kind kinds[] = {ZKL_WRITE, ZKL_MUTEX, ZKL_READ};
    for (size_t i = 0; i < 2 * COUNT(kinds); i++) {
        const char *name = fresh_name("next");
        client *first = open_kind(name, ZKL_WRITE), *next = open_kind(name, kinds[i / 2]);
        const bool is_ours = i % 2 == 0;
        char path[RAW_PATH_MAX];

        if (is_ours)
            CHECK_INT(client_acquire(first, SOON_MS), ZKL_OK);
        else
            plant_contender(name, "_c_6ba7b810-9dad-11d1-80b4-00c04fd430c8-__WRIT__", path);
        client_queue_up(next, 2);
        WAIT_UNTIL(proxy_answered(next->proxy, PROXY_GET, name) == 2, SOON_MS);
        proxy_forget(next->proxy);
        if (is_ours)
            CHECK_INT(client_release(first), ZKL_OK);
        else
            uproot(path);
        CHECK_INT(client_result(next), ZKL_OK);
        CHECK_INT(proxy_count(next->proxy, PROXY_LIST, name), kinds[i / 2] == ZKL_READ ? 0 : 1);
        client_close(next);
        client_close(first);
    }
}

/* T35: no reader that comes later goes before a writer that waits. */
static void a_reader_behind_a_waiting_writer_waits(void) {
    const char *name = fresh_name("fair");
    client *first = open_kind(name, ZKL_READ), *writer = open_kind(name, ZKL_WRITE);
    client *last = open_kind(name, ZKL_READ);

    CHECK_INT(client_acquire(first, SOON_MS), ZKL_OK);
    client_queue_up(writer, 2);
    WAIT_UNTIL(client_told(writer, ZKL_EVENT_QUEUED) == 1, SOON_MS);
    CHECK_INT(client_acquire(last, 0), ZKL_BUSY);
    client_queue_up(last, 3);
    WAIT_UNTIL(client_told(last, ZKL_EVENT_QUEUED) == 1, SOON_MS);
    CHECK_INT(client_release(first), ZKL_OK);
    CHECK_INT(client_result(writer), ZKL_OK);
    CHECK(!client_is_done(last));
    const int64_t token = client_token(writer);
    CHECK_INT(client_release(writer), ZKL_OK);
    CHECK_INT(client_result(last), ZKL_OK);
    CHECK(client_token(last) > token);
    client_close(last);
    client_close(writer);
    client_close(first);
}

/* The last of them to leave lets the writer in, whoever that is. */
static void a_writer_waits_for_every_reader(void) {
    const char *name = fresh_name("every");
    client *readers[READERS], *writer = open_kind(name, ZKL_WRITE);

    open_readers(readers, name);
    for (size_t last = 0; last < READERS; last++) {
        for (size_t i = 0; i < READERS; i++)
            CHECK_INT(client_acquire(readers[i], SOON_MS), ZKL_OK);
        client_queue_up(writer, READERS + 1);
        for (size_t i = 1; i < READERS; i++)
            CHECK_INT(client_release_wait(readers[(last + i) % READERS]), ZKL_OK);
        CHECK(!client_is_done(writer));
        CHECK_INT(client_release(readers[last]), ZKL_OK);
        CHECK_INT(client_result(writer), ZKL_OK);
        CHECK_INT(client_release_wait(writer), ZKL_OK);
    }
    close_all(readers, READERS);
    client_close(writer);
}

/* T37: with a mutex, too, and whatever other libraries call their nodes. */
static void whatever_is_no_reader_keeps_readers_out(void) {
    static const char *const others[] = {
        CURATOR, "_c_6ba7b810-9dad-11d1-80b4-00c04fd430c8-__WRIT__",
        "0123456789abcdef0123456789abcdef__rlock__", "x-72057594037927936-"};
    static const char reader[] = "_c_6ba7b810-9dad-11d1-80b4-00c04fd430c8-__READ__";
    for (size_t i = 0; i < COUNT(others); i++) {
        const char *name = fresh_name("mixed");
        client *c = open_kind(name, ZKL_READ), *mutex = client_open(name, T_NORMAL);
        char path[RAW_PATH_MAX], reader_path[RAW_PATH_MAX];

        plant_contender(name, others[i], path);
        plant_contender(name, reader, reader_path);
        CHECK_INT(client_acquire(c, 0), ZKL_BUSY);
        client_queue_up(c, 3);
        WAIT_UNTIL(client_told(c, ZKL_EVENT_QUEUED) == 1, SOON_MS);
        CHECK(!client_is_done(c));
        uproot(path);
        CHECK_INT(client_result(c), ZKL_OK);
        client_queue_up(mutex, 3);
        CHECK_INT(client_release_wait(c), ZKL_OK);
        CHECK(!client_is_done(mutex)); /* the other reader is there */
        uproot(reader_path);
        CHECK_INT(client_result(mutex), ZKL_OK);
        client_close(mutex);
        client_close(c);
    }
}

static void a_free_one_is_one_create_and_one_list(void) {
    static const zkl_kind kinds[] = {ZKL_READ, ZKL_WRITE};
    for (size_t i = 0; i < COUNT(kinds); i++) {
        const char *name = fresh_name("free");
        client *c = open_kind(name, kinds[i]);

        CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK); /* makes the directory */
        CHECK_INT(client_release_wait(c), ZKL_OK);
        proxy_forget(c->proxy);
        CHECK_INT(client_acquire(c, SOON_MS), ZKL_OK);
        CHECK_INT(client_release_wait(c), ZKL_OK);
        CHECK_INT(proxy_count(c->proxy, PROXY_CREATE, name), 1);
        CHECK_INT(proxy_count(c->proxy, PROXY_DELETE, name), 1);
        CHECK_INT(proxy_count(c->proxy, PROXY_WORK, name), 3);
        client_close(c);
    }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"readers hold together", readers_hold_together},
        {"readers behind a writer are granted with its end",
         readers_behind_a_writer_are_granted_with_its_end},
        {"behind a writer the next one lists, unless it reads", behind_a_writer_the_next_one_lists},
        {"a reader behind a waiting writer waits (T35)", a_reader_behind_a_waiting_writer_waits},
        {"a writer waits for every reader", a_writer_waits_for_every_reader},
        {"whatever is no reader keeps readers out (T37)", whatever_is_no_reader_keeps_readers_out},
        {"a free one is one create and one list", a_free_one_is_one_create_and_one_list},
    };
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "read_write", cases);
}
