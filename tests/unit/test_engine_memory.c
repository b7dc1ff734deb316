/*
 * An engine without memory: each allocation fails once by itself, and once with all after it. Who
 * asked is told, or what was to be done is done later; nothing is taken for done, or for free.
 */
#include <stdlib.h>

#include "unit/engine_several.h"

/* ---- Allocations ---- */

static struct {
    bool is_armed, is_lasting, has_failed;
    size_t left; /* until one fails */
} Memory;

/* The linker puts these in the place of the C library's. */
void *__real_malloc(size_t size);                /* NOLINT: names of the linker's */
void *__real_calloc(size_t count, size_t size);  /* NOLINT */
void *__real_realloc(void *memory, size_t size); /* NOLINT */
void *__wrap_malloc(size_t size);                /* NOLINT */
void *__wrap_calloc(size_t count, size_t size);  /* NOLINT */
void *__wrap_realloc(void *memory, size_t size); /* NOLINT */

static bool fails(void) {
    if (!Memory.is_armed || (Memory.left > 0 && --Memory.left > 0) ||
        (Memory.has_failed && !Memory.is_lasting))
        return false;
    Memory.has_failed = true;
    return true;
}

void *__wrap_malloc(size_t size) { /* NOLINT */
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) { /* NOLINT */
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size) { /* NOLINT */
    return fails() ? NULL : __real_realloc(memory, size);
}

/* The nth from now on fails. */
static void arm(size_t nth, bool is_lasting) {
    Memory.is_armed = true;
    Memory.is_lasting = is_lasting;
    Memory.has_failed = false;
    Memory.left = nth;
}

static void disarm(void) {
    Memory.is_armed = false;
}

/* With each allocation of the scenario's, as long as there is one. */
static void fail_each(void (*scenario)(void)) {
    for (int is_lasting = 0; is_lasting < 2; is_lasting++) {
        size_t nth = 0;
        do {
            bench_begin();
            arm(++nth, is_lasting == 1);
            scenario();
            disarm();
            bench_end();
        } while (Memory.has_failed);
        CHECK(nth > 1);
    }
}

/* ---- What is true in each case ---- */

static bool has_directories(void) {
    for (size_t i = 0; i < ZKLI_BUCKETS; i++)
        if (!zkli_list_is_empty(&Bench.engine->dirs[i]))
            return true;
    return false;
}

static size_t holders(void) {
    size_t count = 0;
    for (size_t i = 0; i < Bench.owner_count; i++)
        count += Bench.owners[i].member != NULL && zkli_member_is_held(Bench.owners[i].member);
    return count;
}

static void step(int64_t ns) {
    serve_all();
    CHECK(holders() <= 1);
    advance(ns);
    CHECK(holders() <= 1);
}

/* NULL: there was no memory, and that was said. A member has one more behind it, for an orphan. */
static struct owner *try_to_enter(bool is_try) {
    struct owner *owner = NULL;
    zkl_err err = enter_queue("a", is_try, &owner);
    if (err != ZKL_OK) {
        CHECK_INT(err, ZKL_NOMEM);
        CHECK(Memory.has_failed);
        return NULL;
    }
    CHECK(Bench.engine->spare != NULL);
    return owner;
}

/* It was granted the lock in the end, or there was no memory for its wait, and that was said. */
static void check_end(const struct owner *owner) {
    if (owner == NULL)
        return;
    CHECK(owner->grants == 1 || (Memory.has_failed && owner->error == ZKL_NOMEM));
    CHECK(owner->grants == 1 || owner->member == NULL);
}

/* ---- Tests ---- */

static void an_engine_without_memory_is_none(void) {
    bench_begin();
    struct zkli_engine_options options = {
        .host = Bench.engine->host, .host_arg = &Bench, .root = "/locks"};
    arm(1, false);
    CHECK(zkli_engine_new(&options) == NULL);
    disarm();
    bench_end();
}

static void one_enters(void) {
    struct owner *owner = try_to_enter(false);
    if (owner == NULL)
        CHECK(!has_directories());
    disarm();
    come_to_rest();
    check_end(owner);
}

static void who_cannot_enter_is_told(void) {
    fail_each(one_enters);
}

static void three_follow_each_other(void) {
    struct owner *owners[3];
    for (size_t i = 0; i < COUNT(owners); i++)
        owners[i] = try_to_enter(false);
    for (int i = 0; i < 20; i++)
        step(100 * MS);
    disarm();
    for (size_t i = 0; i < COUNT(owners); i++) {
        come_to_rest();
        check_end(owners[i]);
        if (owners[i] != NULL && owners[i]->member != NULL)
            release(owners[i]);
    }
}

static void who_waits_is_granted_the_lock_in_turn(void) {
    fail_each(three_follow_each_other);
}

/* With one permit: in front, and behind. The directory has one watch of each kind, at most. */
static void three_leases_follow_each_other(void) {
    struct owner *owners[3] = {NULL};
    const struct zkli_wish wish = {.name = "a", .kind = ZKLI_KIND_LEASE, .permits = 1};
    for (size_t i = 0; i < COUNT(owners); i++) {
        zkl_err err = enter_by(&wish, &owners[i]);
        CHECK(err == ZKL_OK || (err == ZKL_NOMEM && Memory.has_failed));
    }
    for (int i = 0; i < 20; i++)
        step(100 * MS);
    disarm();
    for (size_t i = 0; i < COUNT(owners); i++) {
        come_to_rest();
        check_end(owners[i]);
        if (owners[i] != NULL && owners[i]->member != NULL)
            release(owners[i]);
    }
    come_to_rest();
    CHECK_INT(tiny_children(&Bench.server, "/locks/a"), 0);
    CHECK(!has_directories());
}

static void who_waits_for_a_permit_is_granted_it_in_turn(void) {
    fail_each(three_leases_follow_each_other);
}

/* They are granted together or not at all. */
static void several_at_once(void) {
    struct owner *owners = NULL;
    zkl_err err = enter_all(Names, SEVERAL, false, &owners);
    CHECK(err == ZKL_OK || (err == ZKL_NOMEM && Memory.has_failed));
    for (int i = 0; i < 20; i++) {
        serve_all();
        CHECK(holders() == 0 || holders() == SEVERAL);
        advance(100 * MS);
    }
    disarm();
    come_to_rest();
    if (err != ZKL_OK) {
        CHECK_INT(Bench.request_count + nodes(), 0);
        return;
    }
    for (size_t i = 0; i < SEVERAL; i++) {
        check_end(&owners[i]);
        CHECK_INT(owners[i].grants, owners[0].grants);
        if (owners[i].member != NULL)
            release(&owners[i]);
    }
    come_to_rest();
    CHECK_INT(nodes(), 0);
    CHECK(!has_directories());
}

static void several_are_granted_together_or_told(void) {
    fail_each(several_at_once);
}

/* Of the transaction, each allocation. A call without an end must not wait for memory. */
static void a_transaction_without_memory_is_the_end_of_them(void) {
    for (size_t nth = 1; nth <= 2; nth++) {
        bench_begin();
        plant_directories();
        begin_several(true);
        while (in_flight(LIST) > 1)
            serve_next();
        struct request last = serve_until(LIST);
        struct tiny_answer served = serve(&last);
        Bench.engine->siblings_max = 100; /* so that the listing itself has room */
        Bench.engine->siblings = realloc(Bench.engine->siblings, 100 * sizeof(struct zkli_sibling));
        arm(nth, false);
        tell_reply(last.slot, &served.reply);
        CHECK(Memory.has_failed);
        disarm();
        come_to_rest();
        check_failed(ZKL_NOMEM);
        CHECK_INT(Bench.sent[MULTI], 0);
        end_all();
    }
}

/* What could not be listed is not taken for free: a try makes no node. */
static void a_try_at_a_taken_lock(void) {
    (void)tiny_add(&Bench.server, "/locks", 0);
    (void)tiny_add(&Bench.server, "/locks/a", 0);
    (void)tiny_add(&Bench.server, "/locks/a/x-lock-0000000000", 0x2002);
    struct owner *owner = try_to_enter(true);
    for (int i = 0; i < 5; i++)
        step(100 * MS);
    disarm();
    come_to_rest();
    CHECK_INT(Bench.sent[CREATE], 0);
    if (owner != NULL) {
        CHECK_INT(owner->grants, 0);
        CHECK(owner->error == ZKL_BUSY || (Memory.has_failed && owner->error == ZKL_NOMEM));
    }
}

static void what_cannot_be_listed_is_not_free(void) {
    fail_each(a_try_at_a_taken_lock);
}

/* Near the counter's end, where each node is read to have their order. */
static void one_behind_another_by_czxid(void) {
    Bench.server.number = ZKLI_COUNTER_END - 10;
    (void)tiny_add(&Bench.server, "/locks", 0);
    (void)tiny_add(&Bench.server, "/locks/a", 0);
    (void)tiny_add(&Bench.server, "/locks/a/x-lock-2147483630", 0x2002);
    struct owner *owner = try_to_enter(false);
    for (int i = 0; i < 20; i++)
        step(100 * MS);
    CHECK(owner == NULL || owner->grants == 0);
    disarm();
    delete_node("/locks/a/x-lock-2147483630");
    come_to_rest();
    check_end(owner);
}

static void so_it_is_where_each_node_is_read(void) {
    fail_each(one_behind_another_by_czxid);
}

/* ---- Orphans ---- */

#define ORPHANS 40

static void plant(size_t number) {
    char path[ZKLI_PATH_MAX];
    (void)snprintf(path, sizeof(path), "/locks/a/_c_%.13s-0000-0000-%012zu-lock-%010zu",
                   Bench.engine->tag, number, 900 + number);
    (void)tiny_add(&Bench.server, path, Bench.last_session);
}

static void many_orphans(void) {
    disarm();
    struct owner *owner = hold("a");
    for (int i = 0; i < 10; i++)
        step(100 * MS);
    REQUIRE(owner->member->core.own_watch == ZKLI_WATCHED); /* else it is lost without memory */
    zkli_orphans_expect(owner->member->dir);
    for (size_t i = 0; i < ORPHANS; i++)
        plant(i);
    Memory.is_armed = true;
    for (int i = 0; i < 120; i++)
        step(100 * MS);
    disarm();
    CHECK(Memory.is_lasting || !Memory.has_failed || nodes() == 1);
    come_to_rest();
    CHECK_INT(nodes(), 1);
    CHECK_INT(owner->grants, 1);
}

static void no_orphan_is_forgotten(void) {
    fail_each(many_orphans);
}

/* A directory whose next listing shows two orphans; memory for neither, but for the spare one. */
static struct zkli_dir *list_without_memory(struct owner **ret_waiter) {
    bench_begin();
    struct zkli_dir *dir = hold("a")->member->dir;
    *ret_waiter = begin("a");
    struct request list = serve_until(LIST);
    plant(0);
    plant(1);
    struct tiny_answer served = serve(&list);
    Bench.engine->siblings_max = 100; /* so that the listing itself has room */
    Bench.engine->siblings = realloc(Bench.engine->siblings, 100 * sizeof(struct zkli_sibling));
    REQUIRE(Bench.engine->siblings != NULL);
    arm(1, true);
    tell_reply(list.slot, &served.reply);
    disarm();
    return dir;
}

static void the_first_orphan_has_the_spare_memory(void) {
    struct owner *waiter;
    struct zkli_dir *dir = list_without_memory(&waiter);
    CHECK(Bench.engine->spare == NULL);
    CHECK(zkli_timer_is_set(&dir->visit.timer) &&
          dir->visit.timer.at_ns == Bench.now_ns + ZKLI_RETRY_LAST_NS);
    CHECK_INT(dir->member_count, 3);
    serve_all();
    CHECK_INT(waiter->error, ZKL_NOMEM); /* its watch had no memory, either */
    CHECK_INT(nodes(), 2);
    CHECK(Bench.engine->spare != NULL); /* given back */
    advance(ZKLI_RETRY_LAST_NS - 1);
    serve_all();
    CHECK_INT(nodes(), 2);
    advance(1);
    serve_all();
    CHECK_INT(nodes(), 1);
    bench_end();
}

/* Its node counts against the session's limit; it watches nothing. */
static void an_orphan_counts_with_its_node(void) {
    bench_begin();
    struct zkli_dir *dir = hold("a")->member->dir;
    struct owner *waiter = begin("a");
    struct request list = serve_until(LIST);
    plant(0);
    const size_t node_bytes = Bench.engine->node_bytes, watch_bytes = Bench.engine->watch_bytes;
    struct tiny_answer served = serve(&list);
    tell_reply(list.slot, &served.reply);
    CHECK_INT(dir->member_count, 3);
    CHECK_INT(Bench.engine->node_bytes,
              node_bytes + zkli_dir_node_bytes(dir, zkli_node_name_length(ZKLI_KIND_MUTEX)));
    CHECK_INT(Bench.engine->watch_bytes, watch_bytes);
    come_to_rest();
    CHECK_INT(Bench.engine->node_bytes, node_bytes);
    CHECK_INT(waiter->grants, 0);
    bench_end();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"an engine without memory is none", an_engine_without_memory_is_none},
        {"who cannot enter is told", who_cannot_enter_is_told},
        {"who waits is granted the lock in turn", who_waits_is_granted_the_lock_in_turn},
        {"who waits for a permit is granted it in turn",
         who_waits_for_a_permit_is_granted_it_in_turn},
        {"several are granted together, or told", several_are_granted_together_or_told},
        {"a transaction without memory is the end of them",
         a_transaction_without_memory_is_the_end_of_them},
        {"what cannot be listed is not free", what_cannot_be_listed_is_not_free},
        {"so it is where each node is read", so_it_is_where_each_node_is_read},
        {"no orphan is forgotten", no_orphan_is_forgotten},
        {"the first orphan has the spare memory", the_first_orphan_has_the_spare_memory},
        {"an orphan counts with its node", an_orphan_counts_with_its_node},
    };
    return TEST_MAIN(argc, argv, "engine_memory", cases);
}
