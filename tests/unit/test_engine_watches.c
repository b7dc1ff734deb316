/* Which paths are watched, for whom, and what a watch counts that no member waits for any more. */
#include "unit/engine_bench.h"

static struct zkli_watcher Watchers[4];

static void begin_watching(void) {
    bench_begin();
    (void)hold("a");
    for (size_t i = 0; i < COUNT(Watchers); i++)
        Watchers[i] = (struct zkli_watcher){.watch = NULL};
}

static size_t stale_bytes(void) {
    return Bench.engine->stale_watch_bytes;
}

static size_t bytes_of(const char *path) {
    return zkli_path_bytes(Bench.engine, strlen(path));
}

/* The read that sets it is answered. */
static void read_watched(struct zkli_watcher *watcher, bool is_set) {
    zkli_watch_asked(watcher->watch);
    zkli_watch_answered(Bench.engine, watcher->watch, is_set);
}

static void end_watching(void) {
    for (size_t i = 0; i < COUNT(Watchers); i++)
        zkli_watcher_drop(Bench.engine, &Watchers[i]);
    bench_end();
}

static void a_watch_is_shared_and_goes_with_its_last_watcher(void) {
    begin_watching();
    for (size_t i = 0; i < 2; i++) {
        REQUIRE(zkli_watcher_point_to(Bench.engine, &Watchers[0], "/p"));
        REQUIRE(zkli_watcher_point_to(Bench.engine, &Watchers[1], "/p"));
        CHECK(Watchers[0].watch == Watchers[1].watch);
        CHECK_STRING(Watchers[0].watch->path, "/p");
        CHECK_INT(stale_bytes(), 0);
        zkli_watcher_drop(Bench.engine, &Watchers[0]);
        CHECK(Watchers[0].watch == NULL);
        CHECK_INT(stale_bytes(), 0);
        CHECK_STRING(Watchers[1].watch->path, "/p");
        zkli_watcher_drop(Bench.engine, &Watchers[1]);
        CHECK_INT(stale_bytes(), 0); /* it was never set */
    }
    end_watching();
}

static void a_watch_that_is_set_counts_until_it_fires(void) {
    begin_watching();
    REQUIRE(zkli_watcher_point_to(Bench.engine, &Watchers[0], "/p"));
    read_watched(&Watchers[0], true);
    read_watched(&Watchers[0], false); /* this read has set none; the first has */
    zkli_watcher_drop(Bench.engine, &Watchers[0]);
    CHECK_INT(stale_bytes(), bytes_of("/p"));
    REQUIRE(zkli_watcher_point_to(Bench.engine, &Watchers[1], "/p")); /* it is of use again */
    CHECK_INT(stale_bytes(), 0);
    zkli_watcher_drop(Bench.engine, &Watchers[1]);
    CHECK_INT(stale_bytes(), bytes_of("/p"));
    zkli_watches_fire(Bench.engine, "/q", ZKLI_WATCH_DELETED);
    CHECK_INT(stale_bytes(), bytes_of("/p"));
    zkli_watches_fire(Bench.engine, "/p", ZKLI_WATCH_DELETED);
    CHECK_INT(stale_bytes(), 0);
    end_watching();
}

static void a_watch_that_may_be_set_yet_counts_until_that_is_known(void) {
    for (int is_set = 0; is_set < 2; is_set++) {
        begin_watching();
        REQUIRE(zkli_watcher_point_to(Bench.engine, &Watchers[0], "/p"));
        struct zkli_watch *watch = Watchers[0].watch;
        zkli_watch_asked(watch);
        zkli_watcher_drop(Bench.engine, &Watchers[0]);
        CHECK_INT(stale_bytes(), bytes_of("/p"));
        zkli_watch_answered(Bench.engine, watch, is_set == 1);
        CHECK_INT(stale_bytes(), is_set == 1 ? bytes_of("/p") : 0);
        zkli_watches_reset(Bench.engine);
        CHECK_INT(stale_bytes(), 0);
        end_watching();
    }
}

static void a_watcher_that_is_dropped_hears_of_nothing(void) {
    begin_watching();
    REQUIRE(zkli_watcher_point_to(Bench.engine, &Watchers[0], "/p"));
    REQUIRE(zkli_watcher_point_to(Bench.engine, &Watchers[1], "/p"));
    zkli_watches_fire(Bench.engine, "/p", ZKLI_WATCH_CHANGED);
    zkli_watcher_drop(Bench.engine, &Watchers[0]);
    struct zkli_watcher *fired = zkli_watches_next_fired(Bench.engine);
    CHECK(fired == &Watchers[1]);
    CHECK(fired != NULL && fired->fired_type == ZKLI_WATCH_CHANGED);
    CHECK(zkli_watches_next_fired(Bench.engine) == NULL);
    end_watching();
}

static void a_watcher_follows_its_path(void) {
    begin_watching();
    REQUIRE(zkli_watcher_point_to(Bench.engine, &Watchers[0], "/p"));
    read_watched(&Watchers[0], true);
    struct zkli_watch *watch = Watchers[0].watch;
    REQUIRE(zkli_watcher_point_to(Bench.engine, &Watchers[0], "/p"));
    CHECK(Watchers[0].watch == watch && stale_bytes() == 0);
    REQUIRE(zkli_watcher_point_to(Bench.engine, &Watchers[0], "/longer"));
    CHECK_STRING(Watchers[0].watch->path, "/longer");
    CHECK_INT(stale_bytes(), bytes_of("/p"));
    zkli_watches_reset(Bench.engine);
    CHECK(Watchers[0].watch == NULL);
    CHECK_INT(stale_bytes(), 0);
    end_watching();
}

/* Of one path; each is read apart, and each takes its own bytes. */
static void begin_both(void) {
    begin_watching();
    Watchers[0].what = ZKLI_WATCHED_DIRECTORY;
    Watchers[1].what = ZKLI_WATCHED_CHILDREN;
    for (size_t i = 0; i < 2; i++) {
        REQUIRE(zkli_watcher_point_to(Bench.engine, &Watchers[i], "/p"));
        read_watched(&Watchers[i], true);
    }
    CHECK(Watchers[0].watch != Watchers[1].watch);
}

static void data_and_children_are_watched_apart(void) {
    begin_both();
    zkli_watches_fire(Bench.engine, "/p", ZKLI_WATCH_CHANGED);
    CHECK(zkli_watches_next_fired(Bench.engine) == &Watchers[0]);
    CHECK(zkli_watches_next_fired(Bench.engine) == NULL);
    CHECK(!Watchers[0].watch->is_set && Watchers[1].watch->is_set);
    zkli_watches_fire(Bench.engine, "/p", ZKLI_WATCH_CHILDREN);
    struct zkli_watcher *fired = zkli_watches_next_fired(Bench.engine);
    CHECK(fired == &Watchers[1] && fired->fired_type == ZKLI_WATCH_CHILDREN);
    CHECK(zkli_watches_next_fired(Bench.engine) == NULL);
    CHECK(!Watchers[1].watch->is_set);
    end_watching();
}

static void the_end_of_a_node_fires_both(void) {
    for (int is_known = 0; is_known < 2; is_known++) {
        bool has_fired[2] = {false};
        begin_both();
        if (is_known == 1)
            zkli_watches_fire(Bench.engine, "/p", ZKLI_WATCH_DELETED);
        else
            zkli_watches_fire_all(Bench.engine);
        struct zkli_watcher *fired;
        while ((fired = zkli_watches_next_fired(Bench.engine)) != NULL)
            has_fired[fired - Watchers] = (fired->fired_type == ZKLI_WATCH_DELETED) ==
                                          (is_known == 1);
        CHECK(has_fired[0] && has_fired[1]);
        CHECK(!Watchers[0].watch->is_set && !Watchers[1].watch->is_set);
        end_watching();
    }
}

static void each_of_both_is_stale_by_itself(void) {
    begin_both();
    zkli_watcher_drop(Bench.engine, &Watchers[1]);
    CHECK_INT(stale_bytes(), bytes_of("/p"));
    zkli_watcher_drop(Bench.engine, &Watchers[0]);
    CHECK_INT(stale_bytes(), 2 * bytes_of("/p"));
    zkli_watches_fire(Bench.engine, "/p", ZKLI_WATCH_CHANGED);
    CHECK_INT(stale_bytes(), bytes_of("/p"));
    zkli_watches_fire(Bench.engine, "/p", ZKLI_WATCH_CHANGED); /* that of the children stands */
    CHECK_INT(stale_bytes(), bytes_of("/p"));
    zkli_watches_fire(Bench.engine, "/p", ZKLI_WATCH_DELETED);
    CHECK_INT(stale_bytes(), 0);
    end_watching();
}

static void path_in_bucket(size_t bucket, unsigned nth, char *ret_path, size_t size) {
    for (unsigned i = 0;; i++) {
        (void)snprintf(ret_path, size, "/n%u", i);
        if (zkli_bucket_of(ret_path, strlen(ret_path)) == bucket && nth-- == 0)
            return;
    }
}

/* In whichever bucket they are, and two of one bucket. */
static void all_watches_fire_where_it_is_not_known_which(void) {
    static const struct {
        size_t bucket;
        unsigned nth;
    } places[COUNT(Watchers)] = {{0, 0}, {0, 1}, {ZKLI_BUCKETS - 1, 0}, {1, 0}};
    bool has_fired[COUNT(Watchers)] = {false};
    begin_watching();
    for (size_t i = 0; i < COUNT(Watchers); i++) {
        char path[32];
        path_in_bucket(places[i].bucket, places[i].nth, path, sizeof(path));
        REQUIRE(zkli_watcher_point_to(Bench.engine, &Watchers[i], path));
        read_watched(&Watchers[i], true);
    }
    zkli_watches_fire_all(Bench.engine);
    struct zkli_watcher *fired;
    while ((fired = zkli_watches_next_fired(Bench.engine)) != NULL)
        has_fired[fired - Watchers] = fired->fired_type == ZKLI_WATCH_CHANGED;
    for (size_t i = 0; i < COUNT(Watchers); i++) {
        CHECK(has_fired[i]);
        CHECK(!Watchers[i].watch->is_set);
    }
    end_watching();
}

/* In the same bucket, and listed first. */
static void a_path_that_begins_with_another_is_another(void) {
    char prefix[] = "/n", path[32];
    begin_watching();
    for (unsigned i = 0;; i++) {
        (void)snprintf(path, sizeof(path), "%s%u", prefix, i);
        if (zkli_bucket_of(path, strlen(path)) == zkli_bucket_of(prefix, strlen(prefix)))
            break;
    }
    REQUIRE(zkli_watcher_point_to(Bench.engine, &Watchers[0], path));
    REQUIRE(zkli_watcher_point_to(Bench.engine, &Watchers[1], prefix));
    CHECK_STRING(Watchers[0].watch->path, path);
    CHECK_STRING(Watchers[1].watch->path, prefix);
    end_watching();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a watch is shared, and goes with its last watcher",
         a_watch_is_shared_and_goes_with_its_last_watcher},
        {"a watch that is set counts until it fires", a_watch_that_is_set_counts_until_it_fires},
        {"a watch that may be set yet counts until that is known",
         a_watch_that_may_be_set_yet_counts_until_that_is_known},
        {"a watcher that is dropped hears of nothing", a_watcher_that_is_dropped_hears_of_nothing},
        {"a watcher follows its path", a_watcher_follows_its_path},
        {"data and children are watched apart", data_and_children_are_watched_apart},
        {"the end of a node fires both", the_end_of_a_node_fires_both},
        {"each of both is stale by itself", each_of_both_is_stale_by_itself},
        {"a path that begins with another is another", a_path_that_begins_with_another_is_another},
        {"all watches fire where it is not known which",
         all_watches_fire_where_it_is_not_known_which},
    };
    return TEST_MAIN(argc, argv, "engine_watches", cases);
}
