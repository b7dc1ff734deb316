/*
 * Several locks at once past the counter (T34; see test_counter.c): callers of one to three locks
 * of all kinds, some before the end of each directory's numbers and some after, when the names sort
 * by them no more. They exclude each other, they are served in the order of their creation, and
 * none waits in a circle.
 */
#include "support/client.h"
#include "support/party.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEARLY_SPENT 2147483640
#define LAST "2147483647"
#define PERMITS 2
#define SESSIONS 6
#define VISITORS 36
/* A hand-off costs a list, and a read for each who stands there. */
#define SERVED_MS (6 * SOON_MS)

/* The locks of a scene: two mutexes, a semaphore, and one of readers and writers. */
enum {
    LEFT,
    RIGHT,
    PERMIT,
    SHARED,
    LOCKS
};

static const char *const Scenes[] = {"serial", "at-once", "disturbed", "lost"};
#define SCENES (sizeof(Scenes) / sizeof(Scenes[0]))

static const char *lock_name(const char *scene_name, size_t lock) {
    static char names[SCENES * LOCKS][32];
    static size_t next;
    char *name = names[next++ % (SCENES * LOCKS)];

    (void)snprintf(name, sizeof(names[0]), "%s-%zu", scene_name, lock);
    return name;
}

/* ---- What is seen in the locks ---- */

typedef struct seen {
    atomic_int exclusive, sharing; /* inside now */
    atomic_int overlaps, overtaken;
    atomic_llong last_exclusive, last; /* the highest tokens so far */
} seen;

static void raise(atomic_llong *highest, int64_t token) {
    long long known = atomic_load(highest);

    while (known < token && !atomic_compare_exchange_weak(highest, &known, token)) {
    }
}

/* A permit beside a permit, a reader beside readers. Whoever is alone comes after all who were
 * created before it, and the others after all of those. */
static void come_in(seen *at, zkl_kind kind, int64_t token) {
    const bool shares = kind == ZKL_READ || kind == ZKL_SEMAPHORE;
    const int before = atomic_fetch_add(shares ? &at->sharing : &at->exclusive, 1);
    const int others = atomic_load(shares ? &at->exclusive : &at->sharing);
    const bool is_full = shares ? kind == ZKL_SEMAPHORE && before >= PERMITS : before > 0;

    if (is_full || others > 0)
        (void)atomic_fetch_add(&at->overlaps, 1);
    if (atomic_load(shares ? &at->last_exclusive : &at->last) >= token)
        (void)atomic_fetch_add(&at->overtaken, 1);
    raise(&at->last, token);
    if (!shares)
        raise(&at->last_exclusive, token);
}

static void go_out(seen *at, zkl_kind kind) {
    const bool shares = kind == ZKL_READ || kind == ZKL_SEMAPHORE;

    (void)atomic_fetch_sub(shares ? &at->sharing : &at->exclusive, 1);
}

/* ---- Visitors ---- */

typedef struct want {
    size_t lock;
    zkl_kind kind;
} want;

/* Who comes, again and again: groups, and between them who wants one of theirs alone. */
static const struct {
    size_t count;
    want wants[3];
} Wishes[] = {
    {3, {{LEFT, ZKL_MUTEX}, {SHARED, ZKL_WRITE}, {PERMIT, ZKL_SEMAPHORE}}},
    {2, {{RIGHT, ZKL_MUTEX}, {SHARED, ZKL_READ}}},
    {1, {{SHARED, ZKL_READ}}},
    {2, {{RIGHT, ZKL_MUTEX}, {LEFT, ZKL_MUTEX}}},
    {1, {{LEFT, ZKL_MUTEX}}},
    {3, {{PERMIT, ZKL_SEMAPHORE}, {SHARED, ZKL_READ}, {RIGHT, ZKL_MUTEX}}},
    {1, {{PERMIT, ZKL_SEMAPHORE}}},
    {1, {{RIGHT, ZKL_MUTEX}}},
    {1, {{SHARED, ZKL_WRITE}}},
    {2, {{LEFT, ZKL_MUTEX}, {RIGHT, ZKL_MUTEX}}},
};

typedef struct visitor {
    struct scene *scene;
    actor *actor;
    size_t count;
    want wants[3];
    zkl_lock *locks[3];
} visitor;

typedef struct scene {
    const char *name;
    zkl_session *sessions[SESSIONS];
    visitor visitors[VISITORS];
    char gates[LOCKS][RAW_PATH_MAX]; /* a Curator's node, before all of ours */
    size_t nodes;                    /* of the visitors, when all stand there */
    seen at[LOCKS];
    atomic_int unheld;
} scene;

static zkl_err visit(void *arg) {
    const visitor *v = arg;
    scene *s = v->scene;
    zkl_err err = v->count == 1 ? zkl_acquire(v->locks[0], ZKL_FOREVER)
                                : zkl_acquire_all(v->locks, v->count, ZKL_FOREVER);

    if (err != ZKL_OK)
        return err;
    for (size_t i = 0; i < v->count; i++)
        come_in(&s->at[v->wants[i].lock], v->wants[i].kind, zkl_token(v->locks[i]));
    wait_pause(); /* time for another one to come in */
    for (size_t i = 0; i < v->count; i++) {
        atomic_fetch_add(&s->unheld, !zkl_held(v->locks[i]));
        go_out(&s->at[v->wants[i].lock], v->wants[i].kind);
    }
    return zkl_release_all(v->locks, v->count);
}

static void open_visitor(scene *s, size_t number) {
    visitor *v = &s->visitors[number];
    const size_t wish = number % COUNT(Wishes);

    *v = (visitor){.scene = s, .actor = actor_new(), .count = Wishes[wish].count};
    memcpy(v->wants, Wishes[wish].wants, sizeof(v->wants));
    for (size_t i = 0; i < v->count; i++) {
        const bool is_permit = v->wants[i].kind == ZKL_SEMAPHORE;

        REQUIRE_INT(zkl_lock_open(&v->locks[i], s->sessions[number % SESSIONS],
                                  lock_name(s->name, v->wants[i].lock),
                                  &ZKL_LOCK_OPTIONS(.kind = v->wants[i].kind,
                                                    .permits = is_permit ? PERMITS : 0)),
                    ZKL_OK);
    }
    s->nodes += v->count;
}

static scene *scene_open(const char *name) {
    scene *s = calloc(1, sizeof(*s));

    REQUIRE(s != NULL);
    s->name = name;
    for (size_t i = 0; i < LOCKS; i++)
        plant_contender(lock_name(name, i), CURATOR, s->gates[i]);
    for (size_t i = 0; i < SESSIONS; i++)
        s->sessions[i] = session_open(server_hosts(), T_LONG, NULL);
    for (size_t i = 0; i < VISITORS; i++)
        open_visitor(s, i);
    return s;
}

static void scene_close(scene *s) {
    for (size_t i = 0; i < VISITORS; i++) {
        for (size_t k = 0; k < s->visitors[i].count; k++)
            lock_close(s->visitors[i].locks[k]);
        actor_free(s->visitors[i].actor);
    }
    for (size_t i = 0; i < SESSIONS; i++)
        session_close(s->sessions[i]);
    free(s);
}

/* ---- Queues ---- */

static size_t stand(const scene *s) {
    size_t count = 0;

    for (size_t i = 0; i < LOCKS; i++)
        count += queue_length(lock_name(s->name, i));
    return count;
}

/* In each queue there are numbers that repeat. Negative ones are there if transactions met in the
 * server, which is up to it: in some queue, when many came at once. */
static void check_past_the_end(const scene *s, bool is_negative) {
    size_t negative_in_all = 0;

    for (size_t i = 0; i < LOCKS; i++) {
        raw_list list = raw_children(fixture_raw(), lock_dir(lock_name(s->name, i)));
        size_t last = 0, negative = 0;

        for (size_t k = 0; k < list.count; k++) {
            const char *number = list.names[k] + strlen(list.names[k]) - strlen(LAST);

            last += strcmp(number, LAST) == 0;
            negative += number[-1] == '-' && strchr("-_", number[-2]) != NULL;
        }
        test_note("%s: %zu of %zu with %s, %zu negative", lock_name(s->name, i), last, list.count,
                  LAST, negative);
        CHECK(last > 1);
        negative_in_all += negative;
        raw_list_free(&list);
    }
    CHECK(!is_negative || negative_in_all > 0);
}

/* All stand behind the gates, which are opened one by one. */
static void serve_all(scene *s) {
    CHECK_INT(stand(s), LOCKS + s->nodes);
    for (size_t i = 0; i < LOCKS; i++)
        uproot(s->gates[i]);
    for (size_t i = 0; i < VISITORS; i++)
        CHECK_INT(actor_result(s->visitors[i].actor, SERVED_MS), ZKL_OK);
    for (size_t i = 0; i < LOCKS; i++) {
        CHECK_INT(atomic_load(&s->at[i].overlaps), 0);
        CHECK_INT(atomic_load(&s->at[i].overtaken), 0);
        CHECK(atomic_load(&s->at[i].last) > 0);
    }
    CHECK_INT(atomic_load(&s->unheld), 0);
    WAIT_UNTIL(stand(s) == 0, SOON_MS);
}

static void begin(scene *s, size_t number) {
    actor_begin(s->visitors[number].actor, visit, &s->visitors[number]);
}

/* The frozen server finds all their transactions at once when it goes on. */
static void begin_at_once(scene *s) {
    server_freeze();
    for (size_t i = 0; i < VISITORS; i++)
        begin(s, i);
    for (size_t i = 0; i < VISITORS; i++)
        WAIT_UNTIL(actor_is_blocked(s->visitors[i].actor), SOON_MS);
    server_thaw();
    WAIT_UNTIL(stand(s) == LOCKS + s->nodes, SERVED_MS);
}

static void who_come_one_by_one_are_served_in_order(void) {
    scene *s = scene_open("serial");
    size_t count = LOCKS;

    for (size_t i = 0; i < VISITORS; i++) {
        begin(s, i);
        count += s->visitors[i].count;
        WAIT_UNTIL(stand(s) == count, SOON_MS);
    }
    check_past_the_end(s, false);
    serve_all(s);
    scene_close(s);
}

static void who_come_at_once_are_served_in_order(void) {
    scene *s = scene_open("at-once");

    begin_at_once(s);
    check_past_the_end(s, true);
    serve_all(s);
    scene_close(s);
}

/* A session ends, and of others' groups one loses a node: they begin anew, all at the end. */
static void who_begin_anew_are_served_in_order(void) {
    scene *s = scene_open("disturbed");
    char path[RAW_PATH_MAX];

    begin_at_once(s);
    check_past_the_end(s, true);
    for (size_t i = 1; i <= 12; i += 4) {
        REQUIRE(raw_child_path(fixture_raw(), lock_dir(lock_name(s->name, LEFT)), i, path));
        if (strcmp(path, s->gates[LEFT]) != 0)
            uproot(path);
    }
    const int64_t id = zkl_session_id(s->sessions[1]);
    session_expire(s->sessions[1]);
    WAIT_UNTIL(zkl_session_id(s->sessions[1]) != 0 && zkl_session_id(s->sessions[1]) != id,
               SERVED_MS);
    WAIT_UNTIL(stand(s) == LOCKS + s->nodes, SERVED_MS);
    serve_all(s);
    scene_close(s);
}

/* ---- A lost reply ---- */

/* The nodes are found by the attempt, for their numbers say nothing. */
static void a_lost_reply_ends_in_one_set_of_nodes(void) {
    party *p = party_open_proxied(T_LONG);
    client *holder = client_open(lock_name("lost", RIGHT), T_LONG);

    for (size_t i = 0; i < LOCKS; i++) {
        party_add(p, lock_name("lost", i), i == PERMIT ? ZKL_SEMAPHORE : ZKL_MUTEX,
                  i == PERMIT ? PERMITS : 0);
        for (int k = 0; k < 9; k++) {
            char path[RAW_PATH_MAX];

            plant_contender(p->names[i], CURATOR, path);
            uproot(path);
        }
    }
    for (int turn = 0; turn < 3; turn++) {
        char before[LOCKS][RAW_PATH_MAX], after[RAW_PATH_MAX];

        CHECK_INT(client_acquire(holder, SOON_MS), ZKL_OK);
        proxy_rule(p->proxy, PROXY_CUT_REPLY, PROXY_MULTI, NULL, 1, true);
        party_begin(p, ZKL_FOREVER);
        WAIT_UNTIL(proxy_fired(p->proxy) && party_nodes(p) == LOCKS, SOON_MS);
        for (size_t i = 0; i < LOCKS; i++) {
            party_node(p, i, before[i]);
            CHECK(strstr(before[i], LAST) != NULL);
        }
        proxy_refuse(p->proxy, false);
        CHECK_STAYS(!actor_is_done(p->actor), 50);
        CHECK_INT(client_release(holder), ZKL_OK);
        CHECK_INT(party_result(p), ZKL_OK);
        (void)party_check_holds(p);
        for (size_t i = 0; i < LOCKS; i++) {
            party_node(p, i, after);
            CHECK_STRING(after, before[i]);
        }
        CHECK_INT(party_told(p, ZKL_EVENT_REQUEUED), 0);
        CHECK_INT(party_release(p), ZKL_OK);
        party_check_deserted(p);
    }
    client_close(holder);
    party_close(p);
}

/* The root, and the directories under it. */
static void forge(void) {
    snapshot_node nodes[SCENES * LOCKS + 1] = {{fixture_root(), 0}};

    for (size_t i = 0; i < SCENES * LOCKS; i++)
        nodes[i + 1] = (snapshot_node){lock_dir(lock_name(Scenes[i / LOCKS], i % LOCKS)),
                                       NEARLY_SPENT};
    server_forge(nodes, SCENES * LOCKS + 1);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"who come one by one are served in order (T34)", who_come_one_by_one_are_served_in_order},
        {"who come at once are served in order (T34)", who_come_at_once_are_served_in_order},
        {"who begin anew are served in order (T34)", who_begin_anew_are_served_in_order},
        {"a lost reply ends in one set of nodes (T10, T34)", a_lost_reply_ends_in_one_set_of_nodes},
    };
    /* Nobody forges the database of somebody else's server. */
    (void)unsetenv("ZKLOCK_HOSTS");
    fixture_start(NULL);
    forge();
    return TEST_MAIN(argc, argv, "several_counter", cases);
}
