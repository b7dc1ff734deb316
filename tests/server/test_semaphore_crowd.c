/* A semaphore with many clients: no permit lies idle, none is given twice, and what that costs. */
#include "support/permits.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Any order ---- */

enum {
    CLIENTS = 6,
    ROUNDS = 200,
    PERMITS_MAX = 3
};

typedef enum standing {
    AWAY,
    BIDDING,
    HOLDING
} standing;

typedef struct party {
    const char *name;
    client *clients[CLIENTS];
    standing standings[CLIENTS];
    int greatest[CLIENTS]; /* number of permits since the client's acquire began */
    int64_t tokens[CLIENTS];
    int permits;
    uint64_t state; /* of the random numbers */
    bool breaks;    /* connections, too */
    size_t grants, cancels, resizes, cuts, most;
} party;

static unsigned draw(party *p, unsigned below) {
    p->state = p->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(p->state >> 33) % below;
}

static size_t count(const party *p, standing what) {
    size_t found = 0;

    for (size_t i = 0; i < CLIENTS; i++)
        found += p->standings[i] == what;
    return found;
}

/* The last of the holders in the queue was admitted when there were permits for all of them. */
static void check_not_too_many(party *p) {
    size_t last = CLIENTS, holders = 0;

    for (size_t i = 0; i < CLIENTS; i++) {
        if (p->standings[i] != HOLDING || !client_held(p->clients[i]))
            continue;
        holders++;
        if (last == CLIENTS || p->tokens[i] > p->tokens[last])
            last = i;
    }
    if (holders > p->most)
        p->most = holders;
    CHECK(holders == 0 || holders <= (size_t)p->greatest[last]);
}

/* Notes who has been granted; how many hold then. */
static size_t note_grants(party *p) {
    for (size_t i = 0; i < CLIENTS; i++) {
        if (p->standings[i] != BIDDING || !client_is_done(p->clients[i]))
            continue;
        CHECK_INT(client_result(p->clients[i]), ZKL_OK);
        p->tokens[i] = client_token(p->clients[i]);
        p->standings[i] = HOLDING;
        p->grants++;
        check_not_too_many(p);
    }
    return count(p, HOLDING);
}

static void resize(party *p, size_t who) {
    const int permits = 1 + (int)draw(p, PERMITS_MAX);

    for (size_t i = 0; i < CLIENTS; i++)
        if (permits > p->greatest[i])
            p->greatest[i] = permits;
    CHECK_INT(zkl_set_permits(p->clients[who]->lock, permits), ZKL_OK);
    p->permits = permits;
    p->resizes++;
}

static void cancel(party *p, size_t who) {
    client *c = p->clients[who];

    WAIT_UNTIL(actor_is_blocked(c->actor), SOON_MS); /* its call has begun, or is done */
    CHECK_INT(zkl_cancel(c->lock), ZKL_OK);
    const zkl_err err = client_result(c);
    CHECK(err == ZKL_CANCELED || err == ZKL_OK);
    if (err == ZKL_CANCELED) {
        p->standings[who] = AWAY;
        p->cancels++;
    }
}

static void step(party *p) {
    const size_t who = draw(p, CLIENTS);
    const unsigned dice = draw(p, 12);

    if (dice == 0) {
        resize(p, who);
    } else if (dice == 1 && p->breaks) {
        proxy_drop(p->clients[who]->proxy);
        p->cuts++;
    } else if (p->standings[who] == AWAY) {
        p->greatest[who] = p->permits;
        p->standings[who] = BIDDING;
        client_begin(p->clients[who], ZKL_FOREVER);
    } else if (p->standings[who] == HOLDING) {
        CHECK_INT(client_release(p->clients[who]), ZKL_OK);
        p->standings[who] = AWAY;
    } else if (dice < 5) {
        cancel(p, who);
    }
}

static size_t least_holders(const party *p) {
    const size_t contenders = count(p, BIDDING) + count(p, HOLDING);

    return contenders < (size_t)p->permits ? contenders : (size_t)p->permits;
}

/* The first has the number, the others go by it. */
static party party_open(const char *name, uint64_t seed, bool breaks) {
    party p = {.name = fresh_name(name), .permits = 1, .state = seed, .breaks = breaks};

    for (size_t i = 0; i < CLIENTS; i++)
        p.clients[i] = permit_open(p.name, i == 0 ? 1 : 0);
    REQUIRE_INT(client_acquire(p.clients[0], SOON_MS), ZKL_OK);
    plant(p.name, "keep", RAW_PERSISTENT, NULL); /* the directory, and its number */
    client_be_permit(p.clients[0], 0);
    return p;
}

static void party_close(party *p) {
    test_note("%zu grants, %zu canceled, %zu resizes, %zu cuts; %zu held at most", p->grants,
              p->cancels, p->resizes, p->cuts, p->most);
    CHECK_INT(p->most, PERMITS_MAX);
    for (size_t i = 0; i < CLIENTS; i++) {
        CHECK_INT(client_told(p->clients[i], ZKL_EVENT_LOST), 0);
        CHECK_INT(client_told(p->clients[i], ZKL_EVENT_REQUEUED), 0);
        client_close(p->clients[i]);
    }
    WAIT_UNTIL(queue_length(p->name) == 1, SOON_MS);
}

/* Some steps, and then as many hold as there are permits for. */
static void play(const char *name, uint64_t seed, bool breaks) {
    party p = party_open(name, seed, breaks);

    for (int i = 0; i < ROUNDS; i++) {
        for (unsigned n = 1 + draw(&p, 4); n > 0; n--) {
            (void)note_grants(&p);
            step(&p);
        }
        WAIT_UNTIL(note_grants(&p) >= least_holders(&p), SOON_MS);
        check_not_too_many(&p);
    }
    party_close(&p);
}

static void no_permit_lies_idle_and_none_is_given_twice(void) {
    for (uint64_t seed = 1; seed <= 3; seed++)
        play("any-order", seed, false);
}

static void nor_while_connections_break(void) {
    play("breaks", 4, true);
}

/* ---- A directory that is deleted whenever it is empty ---- */

enum {
    USERS = 5,
    USES = 60,
    VANISHED = 10
};

typedef struct user {
    zkl_lock *lock;
    atomic_int *inside, *most;
} user;

static zkl_err use(void *arg) {
    const user *u = arg;

    for (int i = 0; i < USES; i++) {
        const zkl_err err = zkl_acquire(u->lock, ZKL_FOREVER);

        if (err != ZKL_OK)
            return err;
        const int now = atomic_fetch_add(u->inside, 1) + 1;
        int most = atomic_load(u->most);
        while (now > most && !atomic_compare_exchange_weak(u->most, &most, now))
            continue;
        wait_pause();
        atomic_fetch_sub(u->inside, 1);
        if (zkl_release(u->lock) != ZKL_OK)
            return ZKL_SERVER;
    }
    return ZKL_OK;
}

typedef struct reaper {
    raw *client;
    const char *path;
    atomic_bool stop;
    size_t reaped;
} reaper;

static zkl_err reap(void *arg) {
    reaper *r = arg;

    while (!atomic_load(&r->stop))
        r->reaped += raw_delete(r->client, r->path) == RAW_OK;
    return ZKL_OK;
}

/* How often it vanishes in the midst of calls is luck; here each call waits for it. */
static void use_when_it_has_vanished(const user *u, const char *path) {
    for (int i = 0; i < VANISHED; i++) {
        CHECK_INT(zkl_acquire(u->lock, SOON_MS), ZKL_OK);
        CHECK_INT(zkl_release(u->lock), ZKL_OK);
        WAIT_UNTIL(!raw_exists(fixture_raw(), path), SOON_MS);
    }
}

static void a_directory_may_vanish_at_any_moment(void) {
    const char *name = fresh_name("vanishing");
    reaper r = {.client = raw_open(server_hosts(), T_LONG), .path = lock_dir(name)};
    atomic_int inside = 0, most = 0;
    client *clients[USERS];
    user users[USERS];
    actor *thread = actor_new();

    REQUIRE(r.client != NULL);
    for (size_t i = 0; i < USERS; i++) {
        clients[i] = permit_open(name, 2);
        users[i] = (user){clients[i]->lock, &inside, &most};
    }
    actor_begin(thread, reap, &r);
    for (size_t i = 0; i < USERS; i++)
        actor_begin(clients[i]->actor, use, &users[i]);
    for (size_t i = 0; i < USERS; i++)
        CHECK_INT(actor_result(clients[i]->actor, 3 * SOON_MS), ZKL_OK);
    CHECK_INT(use(&users[0]), ZKL_OK); /* alone, the directory is empty after each release */
    use_when_it_has_vanished(&users[0], r.path);
    atomic_store(&r.stop, true);
    CHECK_INT(actor_result(thread, SOON_MS), ZKL_OK);
    CHECK_RANGE(atomic_load(&most), 1, 2); /* where servers are slow, short holds do not meet */
    CHECK(r.reaped > 0);
    test_note("%d holds, %d at a time, directory deleted %zu times", (USERS + 1) * USES + VANISHED,
              atomic_load(&most), r.reaped);
    actor_free(thread);
    for (size_t i = 0; i < USERS; i++)
        client_close(clients[i]);
    raw_close(r.client);
}

/* Another number may be recorded then, and nobody is kept by the old one. */
static void a_number_ends_with_its_directory(void) {
    const char *name = fresh_name("ends");
    client *c = permit_open(name, 2), *d = permit_open(name, 3), *follower = permit_open(name, 0);

    REQUIRE_INT(client_acquire(c, SOON_MS), ZKL_OK);
    CHECK_INT(client_acquire(d, SOON_MS), ZKL_MISMATCH);
    CHECK_INT(client_release_wait(c), ZKL_OK);
    const int code = raw_delete(fixture_raw(), lock_dir(name)); /* or the server's reaper has */
    CHECK(code == RAW_OK || code == RAW_NO_NODE);
    CHECK_INT(client_acquire(follower, SOON_MS), ZKL_MISMATCH);
    CHECK_INT(client_acquire(d, SOON_MS), ZKL_OK);
    permits_check(name, "permits=3 max=3");
    CHECK_INT(client_acquire(c, SOON_MS), ZKL_MISMATCH);
    CHECK_INT(client_acquire(follower, SOON_MS), ZKL_OK);
    client_close(follower);
    client_close(d);
    client_close(c);
}

/* ---- Costs ---- */

enum {
    DEPTH = 100,
    PERMITS = 10,
    LOOPS = 10,
    WAITERS = 30
};

/* Sessions of their own, counted in one proxy. */
typedef struct crowd {
    const char *name;
    proxy *proxy;
    zkl_session *sessions[DEPTH];
    zkl_lock *locks[DEPTH];
    actor *actors[DEPTH];
    size_t size;
} crowd;

static crowd *crowd_open(const char *name, size_t size) {
    static crowd c;

    c = (crowd){.name = name, .proxy = proxy_new(), .size = size};
    for (size_t i = 0; i < size; i++) {
        c.sessions[i] = session_open(proxy_hosts(c.proxy), T_LONG, NULL);
        REQUIRE_INT(zkl_lock_open(&c.locks[i], c.sessions[i], name,
                                  &ZKL_LOCK_OPTIONS(.kind = ZKL_SEMAPHORE, .permits = PERMITS)),
                    ZKL_OK);
        c.actors[i] = actor_new();
    }
    return &c;
}

static void crowd_close(crowd *c) {
    for (size_t i = 0; i < c->size; i++) {
        lock_close(c->locks[i]);
        actor_free(c->actors[i]);
        session_close(c->sessions[i]);
    }
    proxy_close(c->proxy);
}

static int HoldMs;

static zkl_err loop(void *lock) {
    zkl_err err = ZKL_OK;

    for (int i = 0; i < LOOPS && err == ZKL_OK; i++) {
        err = zkl_acquire(lock, ZKL_FOREVER);
        wait_out(HoldMs);
        if (err == ZKL_OK)
            err = zkl_release(lock);
    }
    return err;
}

static double per_grant(const crowd *c, proxy_kind kind) {
    return (double)proxy_count(c->proxy, kind, NULL) / (DEPTH * LOOPS);
}

/* A hundred stand in the queue nearly all the time, ten of which hold. The first that waits lists
 * for each change, or once for several that come soon after each other. The lists of all are
 * counted, from the first acquire to the last release: four a grant at most, on average. */
static void a_closed_loop_costs_few_requests(void) {
    static const int holds_ms[] = {1, 50};

    for (size_t k = 0; k < COUNT(holds_ms); k++) {
        crowd *c = crowd_open(fresh_name("loop"), DEPTH);

        HoldMs = holds_ms[k];
        proxy_forget(c->proxy);
        for (size_t i = 0; i < DEPTH; i++)
            actor_begin(c->actors[i], loop, c->locks[i]);
        for (size_t i = 0; i < DEPTH; i++)
            REQUIRE_INT(actor_result(c->actors[i], 3 * SOON_MS), ZKL_OK);
        test_note("%d clients, %d permits, %d grants for %d ms; each: %.2f lists, %.2f reads, "
                  "%.2f marks, %.2f creates and deletes, %.2f watch events",
                  DEPTH, PERMITS, DEPTH * LOOPS, HoldMs, per_grant(c, PROXY_LIST),
                  per_grant(c, PROXY_GET), per_grant(c, PROXY_MULTI),
                  per_grant(c, PROXY_CREATE) + per_grant(c, PROXY_DELETE),
                  per_grant(c, PROXY_EVENT));
        CHECK(per_grant(c, PROXY_LIST) <= 4);
        CHECK(per_grant(c, PROXY_MULTI) <= 1.1); /* and those that record, or are in vain */
        crowd_close(c);
    }
}

/*
 * Each release admits the one in front, which lists, and marks its node; and so brings the next one
 * to the front, which lists twice, for the second listing sets the watch. Nobody else hears of it.
 */
static void a_release_wakes_one_waiter_and_the_next(void) {
    const char *name = fresh_name("herd");
    client *holder = permit_open(name, PERMITS);
    char others[PERMITS - 1][RAW_PATH_MAX];

    REQUIRE_INT(client_acquire(holder, SOON_MS), ZKL_OK);
    for (size_t i = 0; i < COUNT(others); i++)
        plant_contender(name, LEASE, others[i]);
    crowd *c = crowd_open(name, WAITERS);
    for (size_t i = 0; i < WAITERS; i++) {
        actor_acquire(c->actors[i], c->locks[i], ZKL_FOREVER);
        /* Each lists once, and the first again, and for each that comes after it. */
        WAIT_UNTIL(proxy_answered(c->proxy, PROXY_LIST, name) == 2 * (i + 1), SOON_MS);
    }
    CHECK_INT(queue_length(name), PERMITS + WAITERS);
    WAIT_UNTIL(proxy_answered(c->proxy, PROXY_GET, "-lease-") == 2 * WAITERS - 1, SOON_MS);
    proxy_forget(c->proxy);
    CHECK_INT(client_release(holder), ZKL_OK);
    for (size_t i = 0; i < WAITERS; i++) {
        CHECK_INT(actor_result(c->actors[i], SOON_MS), ZKL_OK);
        for (size_t k = i + 1; k < WAITERS; k++)
            CHECK(!actor_is_done(c->actors[k]));
        const size_t lists = i + 1 < WAITERS ? 3 * (i + 1) : 3 * i + 1;
        WAIT_UNTIL(proxy_answered(c->proxy, PROXY_LIST, name) >= lists, SOON_MS);
        CHECK_INT(proxy_count(c->proxy, PROXY_LIST, name), lists);
        CHECK_INT(actor_release_wait(c->actors[i], c->locks[i], SOON_MS), ZKL_OK);
    }
    test_note("%d releases: %zu lists, %zu reads, %zu marks, %zu watch events", WAITERS,
              proxy_count(c->proxy, PROXY_LIST, name), proxy_count(c->proxy, PROXY_GET, name),
              proxy_count(c->proxy, PROXY_MULTI, NULL), proxy_count(c->proxy, PROXY_EVENT, name));
    CHECK_INT(proxy_count(c->proxy, PROXY_MULTI, NULL), WAITERS - 1);
    crowd_close(c);
    for (size_t i = 0; i < COUNT(others); i++)
        uproot(others[i]);
    client_close(holder);
}

static const test_case Cases[] = {
    {"no permit lies idle and none is given twice, in any order",
     no_permit_lies_idle_and_none_is_given_twice},
    {"nor while connections break", nor_while_connections_break},
    {"a directory may vanish at any moment", a_directory_may_vanish_at_any_moment},
    {"a number ends with its directory", a_number_ends_with_its_directory},
    {"a closed loop costs few requests", a_closed_loop_costs_few_requests},
    {"a release wakes one waiter and the next", a_release_wakes_one_waiter_and_the_next},
};

int main(int argc, char **argv) {
    static const char *const options[] = {
        "--prop", "znode.container.checkIntervalMs=100",
        "--prop", "znode.container.maxPerMinute=600000",
        NULL,
    };

    fixture_start(options);
    return TEST_MAIN(argc, argv, "semaphore_crowd", Cases);
}
