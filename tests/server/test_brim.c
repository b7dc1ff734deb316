/*
 * A session filled up to the limits that protect the servers, on an ensemble: cut off, it comes
 * back with one packet of watches, and its end is one transaction, and neither does harm. With
 * long names and short ones, without a chroot and with the longest: few long paths or many short
 * ones, of which the servers see more than the library.
 *
 * server_brim --harm COUNT, built without the limits (see scripts/limits.sh), fills the session
 * with so many contenders, and passes if that does the harm from which the limits protect: the
 * session never comes back, and no server serves any more if it cannot read the session's end.
 */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/ensemble.h"
#include "support/fixture.h"

#define BUDGET (400 * 1024) /* bytes of node paths a session may have */
#define NAME_MAX_LENGTH 255
#define CHROOT_MAX_LENGTH 255
#define CONTENDERS_MAX 20000
#define SESSION_MS 10000
/* What comes back, does so within a second; what does not is watched for a while longer. */
#define WATCHED_MS (Wanted.expects_harm ? 5000 : 2000)
#define CONNECTS_MAX 3
/* jute.maxbuffer, and as much again (BinaryInputArchive.checkLength): what servers can read. */
#define TRANSACTION_MAX (2 * 1048575)
#define LENGTH_BYTES 4 /* before each path */
/* The session's end, and an election of those who have survived it. */
#define END_MS (SESSION_MS + 6 * SOON_MS)

static struct {
    bool expects_harm;
    size_t most;
} Wanted = {.most = CONTENDERS_MAX};

static struct {
    proxy *proxy;
    events *events;
    zkl_session *session;
    zkl_lock *locks[CONTENDERS_MAX];
    char chroot[CHROOT_MAX_LENGTH + 1]; /* "": none */
    bool has_long_names;
    size_t count;
    size_t bytes; /* of the paths as the servers know them, with their lengths */
} Brim;

/* ---- The servers ---- */

/* The election that a server's last transaction is from. */
static int64_t epoch_of(unsigned server) {
    const int64_t zxid = ensemble_number(server, "srvr", "Zxid");

    return zxid < 0 ? -1 : zxid >> 32;
}

/* How often the servers have looked for a leader, by what they have logged. */
static size_t searches(void) {
    static const char word[] = "LOOKING";
    char path[300], line[1024];
    size_t count = 0;

    for (unsigned i = 0; i < ENSEMBLE_SERVERS; i++) {
        (void)snprintf(path, sizeof(path), "%s/%u/log", server_directory(), i + 1);
        FILE *log = fopen(path, "re");
        REQUIRE(log != NULL);
        while (fgets(line, sizeof(line), log))
            count += strstr(line, word) != NULL;
        (void)fclose(log);
    }
    return count;
}

/* How many serve, without an election since, and have no node of a session any more. */
static size_t healthy(int64_t epoch) {
    size_t count = 0;

    for (unsigned i = 0; i < ENSEMBLE_SERVERS; i++)
        count += epoch_of(i) == epoch && ensemble_number(i, "mntr", "zk_ephemerals_count") == 0;
    return count;
}

static void wait_for_health(int64_t epoch, int64_t ms) {
    for (const int64_t end = clock_ms() + ms;
         healthy(epoch) < ENSEMBLE_SERVERS && clock_ms() < end;)
        (void)poll(NULL, 0, 100);
}

/* ---- The session ---- */

static void name_of(char ret_name[NAME_MAX_LENGTH + 1], size_t number) {
    const int length = snprintf(ret_name, NAME_MAX_LENGTH + 1,
                                Brim.has_long_names ? "brim-%zu-" : "%zu", number);

    if (!Brim.has_long_names)
        return;
    memset(ret_name + length, 'b', (size_t)(NAME_MAX_LENGTH - length));
    ret_name[NAME_MAX_LENGTH] = '\0';
}

/* Short names stand below the root of all. */
static zkl_session *open_below(const char *chroot) {
    char hosts[64 + CHROOT_MAX_LENGTH];

    if (chroot[0] != '\0')
        REQUIRE_INT(raw_make_path(fixture_raw(), chroot), RAW_OK);
    (void)snprintf(hosts, sizeof(hosts), "%s%s", proxy_hosts(Brim.proxy), chroot);
    return session_open_with(hosts, (zkl_session_options){
                                        .session_timeout_ms = SESSION_MS,
                                        .root = Brim.has_long_names ? NULL : "/",
                                        .on_event = events_on,
                                        .log = events_log,
                                        .arg = Brim.events,
                                    });
}

/* What the servers have to read before each path as we know it. */
static size_t before_each(void) {
    return LENGTH_BYTES + strlen(Brim.chroot);
}

/* ZKL_OK: the limits have not been met. */
static zkl_err fill(void) {
    zkl_err err = ZKL_OK;

    while (err == ZKL_OK && Brim.count < Wanted.most) {
        char name[NAME_MAX_LENGTH + 1], path[RAW_PATH_MAX] = "";

        name_of(name, Brim.count);
        Brim.locks[Brim.count] = lock_open(Brim.session, name, NULL);
        err = zkl_acquire(Brim.locks[Brim.count], SOON_MS);
        if (err != ZKL_OK) {
            lock_close(Brim.locks[Brim.count]);
            break;
        }
        CHECK_INT(zkl_node_path(Brim.locks[Brim.count], path, sizeof(path)), ZKL_OK);
        Brim.bytes += before_each() + strlen(path);
        Brim.count++;
    }
    return err;
}

/* Each contender's watch on its own node is set with the heartbeat after its grant. */
static bool is_watched(void) {
    return proxy_answered(Brim.proxy, PROXY_GET, "-lock-") >= Brim.count;
}

/* How many times it connected after the cut; ret_back: it is connected for good. */
static size_t cut(bool *ret_back) {
    const int64_t end = clock_ms() + WATCHED_MS;
    size_t links = 0, connected = 0, looks = 0;

    proxy_forget(Brim.proxy);
    proxy_drop(Brim.proxy);
    for (; clock_ms() < end; looks++) {
        wait_pause();
        links = zkl_session_state(Brim.session) == ZKL_STATE_CONNECTED;
        connected = links ? connected + 1 : 0;
    }
    /* The last half of the time without a break. */
    *ret_back = connected > looks / 2;
    return proxy_connects(Brim.proxy);
}

static size_t held(void) {
    size_t count = 0;

    for (size_t i = 0; i < Brim.count; i++)
        count += zkl_held(Brim.locks[i]);
    return count;
}

static void check_a_full_session(void) {
    const int64_t epoch = epoch_of(ensemble_leader());
    const size_t searched = searches();
    bool is_back;

    Brim.proxy = proxy_open(ensemble_hosts(0), "127.0.0.1");
    REQUIRE(Brim.proxy != NULL);
    Brim.events = events_new();
    Brim.session = open_below(Brim.chroot);
    int64_t id = zkl_session_id(Brim.session);
    zkl_err err = fill();
    CHECK_INT(err, Wanted.expects_harm ? ZKL_OK : ZKL_LIMIT);
    WAIT_UNTIL(is_watched(), SOON_MS);
    test_note("%zu contenders, %zu bytes: %zu of paths, %zu of their chroots and lengths",
              Brim.count, Brim.bytes, Brim.bytes - Brim.count * before_each(),
              Brim.count * before_each());

    size_t connects = cut(&is_back);
    size_t holds = held();
    bool is_same = zkl_session_id(Brim.session) == id;
    int64_t watches = ensemble_number(0, "wchs", "Total watches");
    test_note("cut off: %zu connections in %d s, %s; %zu of %zu held, %" PRId64 " watches",
              connects, WATCHED_MS / 1000, is_back ? "the last one stays" : "none stays", holds,
              Brim.count, watches);

    int64_t begun = clock_ms();
    (void)zkl_session_close(Brim.session);
    wait_for_health(epoch, END_MS);
    size_t well = healthy(epoch);
    test_note("closed: %zu of %d servers serve on, without the nodes, after %lld ms", well,
              ENSEMBLE_SERVERS, (long long)(clock_ms() - begun));
    for (unsigned i = 0; i < ENSEMBLE_SERVERS; i++)
        test_note("server %u: epoch %" PRId64 ", which was %" PRId64 ", %" PRId64
                  " ephemeral nodes (-1: no answer)",
                  i + 1, epoch_of(i), epoch, ensemble_number(i, "mntr", "zk_ephemerals_count"));
    test_note("the servers have looked for a leader %zu times since", searches() - searched);
    if (Wanted.expects_harm) {
        const bool is_readable = Brim.bytes <= TRANSACTION_MAX;

        CHECK(!is_back && connects > CONNECTS_MAX);
        CHECK_INT(well, is_readable ? ENSEMBLE_SERVERS : 0);
        CHECK((searches() > searched) == !is_readable);
    } else {
        CHECK_RANGE(Brim.bytes, BUDGET - 4096, BUDGET);
        CHECK(is_back && is_same);
        CHECK_RANGE(connects, 1, CONNECTS_MAX);
        CHECK_INT(holds, Brim.count);
        CHECK_INT(watches, Brim.count); /* of each its own node */
        CHECK_INT(well, ENSEMBLE_SERVERS);
        CHECK_INT(searches(), searched); /* no server has left the others for a moment, either */
    }
    for (size_t i = 0; i < Brim.count; i++)
        (void)zkl_lock_close(Brim.locks[i]);
    proxy_close(Brim.proxy);
    events_free(Brim.events);
}

static void fill_and_check(size_t chroot_length, bool has_long_names) {
    memset(&Brim, 0, sizeof(Brim));
    memset(Brim.chroot, 'c', chroot_length);
    if (chroot_length > 0)
        Brim.chroot[0] = '/';
    Brim.has_long_names = has_long_names;
    check_a_full_session();
}

static void long_names(void) {
    fill_and_check(0, true);
}

static void short_names(void) {
    fill_and_check(0, false);
}

static void long_names_in_a_chroot(void) {
    fill_and_check(CHROOT_MAX_LENGTH, true);
}

static void short_names_in_a_chroot(void) {
    fill_and_check(CHROOT_MAX_LENGTH, false);
}

int main(int argc, char **argv) {
    static const char *const options[] = {"--servers", "3", NULL};
    static const test_case cases[] = {
        {"a full session comes back, and ends, without harm to an ensemble", long_names},
        {"the same with many short names", short_names},
        {"the same in the longest chroot", long_names_in_a_chroot},
        {"the same with short names in the longest chroot", short_names_in_a_chroot},
    };

    if (argc > 1 && strcmp(argv[1], "--harm") == 0) {
        Wanted.expects_harm = true;
        Wanted.most = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
        if (Wanted.most == 0 || Wanted.most > CONTENDERS_MAX) {
            fprintf(stderr, "usage: %s [--harm COUNT], of at most %d\n", argv[0], CONTENDERS_MAX);
            return 64;
        }
    }
    /* Somebody else's servers are not for this. */
    (void)unsetenv("ZKLOCK_HOSTS");
    fixture_start(options);
    return Wanted.expects_harm ? test_main(1, argv, "brim", cases, 1)
                               : TEST_MAIN(argc, argv, "brim", cases);
}
