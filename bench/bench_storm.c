/*
 * bench_storm - what many sessions that hold a lock each do to servers that are slow for a while.
 *
 * bench_storm -n SESSIONS -t TIMEOUT_MS -d SECONDS BEGIN END, with ZKLOCK_HOSTS: runs the shell
 * command BEGIN when all hold, and END so many seconds later. It prints a line each second, and in
 * the end a summary: connections, writes, and how soon all was well again.
 *
 * A report, not a test. See storm.sh.
 */
#include <errno.h>
#include <inttypes.h>
#include <netdb.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <zklock.h>

#define SESSIONS_MAX 2000
#define SERVERS_MAX 9
#define NS_PER_MS INT64_C(1000000)
/* After END, until nothing happens for so many session timeouts, and no longer than that. */
#define QUIET_TIMEOUTS 2
#define RECOVERY_MAX_S 180
/* Before BEGIN. */
#define CALM_S 5

struct holder {
    zkl_session *session;
    zkl_lock *lock;
    pthread_t thread;
    atomic_bool is_held;
};

static struct holder Holders[SESSIONS_MAX];
static atomic_size_t Breaks, Resumed, Lost, Expired;
static atomic_bool Is_over;
static const char *Hosts;

static void die(const char *what, const char *why) {
    (void)fprintf(stderr, "bench_storm: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

static int64_t now_ms(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return now.tv_sec * 1000 + now.tv_nsec / NS_PER_MS;
}

static void pause_ms(long ms) {
    struct timespec wait = {ms / 1000, ms % 1000 * NS_PER_MS};
    (void)nanosleep(&wait, NULL);
}

/* ---- The sessions ---- */

static void on_event(const zkl_event *event, void *arg) {
    (void)arg;
    if (event->type == ZKL_EVENT_SUSPENDED)
        atomic_fetch_add(&Breaks, 1);
    else if (event->type == ZKL_EVENT_RESUMED)
        atomic_fetch_add(&Resumed, 1);
    else if (event->type == ZKL_EVENT_LOST)
        atomic_fetch_add(&Lost, 1);
}

static void on_log(zkl_log_level level, const char *text, void *arg) {
    (void)level;
    (void)arg;
    if (strstr(text, "has expired") != NULL)
        atomic_fetch_add(&Expired, 1);
}

static void *hold(void *arg) {
    struct holder *h = arg;
    while (!atomic_load(&Is_over)) {
        if (zkl_acquire(h->lock, 1000) != ZKL_OK) {
            (void)zkl_release(h->lock); /* a hold that was lost meanwhile */
            pause_ms(100);
            continue;
        }
        while (zkl_held(h->lock) && !atomic_load(&Is_over)) {
            atomic_store(&h->is_held, true);
            pause_ms(100);
        }
        atomic_store(&h->is_held, false);
        (void)zkl_release(h->lock);
    }
    return NULL;
}

static void open_one(struct holder *h, size_t number, int timeout_ms) {
    char name[64];
    zkl_err err = zkl_session_open(&h->session, Hosts,
                                   &ZKL_SESSION_OPTIONS(.session_timeout_ms = timeout_ms,
                                                        .connect_timeout_ms = 60000,
                                                        .on_event = on_event, .log = on_log));
    if (err != ZKL_OK)
        die("zkl_session_open", zkl_strerror(err));
    (void)snprintf(name, sizeof(name), "storm/%zu", number);
    err = zkl_lock_open(&h->lock, h->session, name, &ZKL_LOCK_OPTIONS(.on_event = on_event));
    if (err != ZKL_OK)
        die("zkl_lock_open", zkl_strerror(err));
    if (pthread_create(&h->thread, NULL, hold, h) != 0)
        die("pthread_create", strerror(errno));
}

/* ---- The servers ---- */

/* The answer to mntr; "": none within a second. */
static void ask(const char *host, const char *port, char *ret, size_t size) {
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *address = NULL;
    struct timeval limit = {1, 0};
    size_t used = 0;
    ret[0] = '\0';
    if (getaddrinfo(host, port, &hints, &address) != 0)
        return;
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    (void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
    if (connect(fd, address->ai_addr, address->ai_addrlen) == 0 && write(fd, "mntr", 4) == 4)
        for (ssize_t got = 1; got > 0 && used + 1 < size; used += got > 0 ? (size_t)got : 0)
            got = read(fd, ret + used, size - 1 - used);
    ret[used] = '\0';
    (void)close(fd);
    freeaddrinfo(address);
}

static int64_t number_of(const char *text, const char *key) {
    const char *at = strstr(text, key);
    return at == NULL ? 0 : strtoll(at + strlen(key), NULL, 10);
}

/* A server that leads or serves anew counts anew. */
static int64_t rate(int64_t count, int64_t last, int64_t took_ms) {
    return count < last || took_ms <= 0 ? 0 : (count - last) * 1000 / took_ms;
}

struct figures {
    int64_t proposals, packets, outstanding;
};

static struct figures look(void) {
    static char answer[1 << 16];
    struct figures f = {0};
    char hosts[256], *next = hosts;
    (void)snprintf(hosts, sizeof(hosts), "%s", Hosts);
    for (char *host; (host = strsep(&next, ",")) != NULL;) {
        char *port = strrchr(host, ':');
        if (port == NULL)
            die("ZKLOCK_HOSTS", "not host:port,...");
        *port = '\0';
        ask(host, port + 1, answer, sizeof(answer));
        f.outstanding += number_of(answer, "zk_outstanding_requests");
        f.packets += number_of(answer, "zk_packets_received");
        f.proposals += number_of(answer, "zk_proposal_count");
    }
    return f;
}

/* ---- A second at a time ---- */

struct course {
    size_t sessions;
    int64_t begun_ms, bad_ms; /* bad: when all was not well for the last time */
    int64_t last_line_ms;
    struct figures last;
    size_t last_breaks, last_resumed;
    size_t most_resumed;
    int64_t most_proposals, most_outstanding;
};

static void line(struct course *c, const char *phase) {
    struct figures f = look();
    size_t connected = 0, held = 0, breaks = atomic_load(&Breaks), resumed = atomic_load(&Resumed);
    int64_t now = now_ms();
    for (size_t i = 0; i < c->sessions; i++) {
        connected += zkl_session_state(Holders[i].session) == ZKL_STATE_CONNECTED;
        held += atomic_load(&Holders[i].is_held);
    }
    int64_t took = now - c->last_line_ms;
    int64_t proposals = rate(f.proposals, c->last.proposals, took);
    if (connected < c->sessions || held < c->sessions || breaks > c->last_breaks)
        c->bad_ms = now;
    if (resumed - c->last_resumed > c->most_resumed)
        c->most_resumed = resumed - c->last_resumed;
    if (proposals > c->most_proposals)
        c->most_proposals = proposals;
    if (f.outstanding > c->most_outstanding)
        c->most_outstanding = f.outstanding;
    (void)printf("%5.1f s %-6s %4zu connected %4zu hold; %4zu broke %4zu resumed; writes %6" PRId64
                 "/s, packets %6" PRId64 "/s, outstanding %6" PRId64 "; lost %zu, expired %zu\n",
                 (double)(now - c->begun_ms) / 1000.0, phase, connected, held,
                 breaks - c->last_breaks, resumed - c->last_resumed, proposals,
                 rate(f.packets, c->last.packets, took), f.outstanding, atomic_load(&Lost),
                 atomic_load(&Expired));
    (void)fflush(stdout);
    c->last_breaks = breaks;
    c->last_resumed = resumed;
    c->last = f;
    c->last_line_ms = now;
}

static void run(const char *command) {
    if (system(command) != 0)
        die(command, "failed");
}

static void watch(struct course *c, const char *phase, int64_t ms) {
    for (int64_t end = now_ms() + ms; now_ms() < end;) {
        pause_ms(1000);
        line(c, phase);
    }
}

static bool all_hold(size_t count) {
    for (size_t i = 0; i < count; i++)
        if (!atomic_load(&Holders[i].is_held))
            return false;
    return true;
}

static void report(size_t count, int timeout_ms, int64_t slow_ms, const char *begin,
                   const char *end) {
    struct course c = {.sessions = count, .begun_ms = now_ms()};
    c.last = look();
    c.last_line_ms = now_ms();
    while (!all_hold(count))
        pause_ms(100);
    watch(&c, "calm", CALM_S * 1000);
    c.most_resumed = 0;
    c.most_proposals = c.most_outstanding = 0;
    size_t before = atomic_load(&Resumed);
    run(begin);
    watch(&c, "slow", slow_ms);
    run(end);
    size_t during = atomic_load(&Resumed);
    int64_t ended_ms = now_ms();
    c.bad_ms = ended_ms;
    while (now_ms() - ended_ms < RECOVERY_MAX_S * 1000 &&
           now_ms() - c.bad_ms < (int64_t)QUIET_TIMEOUTS * timeout_ms) {
        pause_ms(1000);
        line(&c, "after");
    }
    (void)printf("%zu sessions, T = %d ms, slow for %" PRId64 " s: %zu connections meanwhile, %zu "
                 "after; %zu/s, %" PRId64 " writes/s, %" PRId64
                 " outstanding at the most; %zu holds lost, %zu sessions expired; all well %.1f s "
                 "after the end\n",
                 count, timeout_ms, slow_ms / 1000, during - before, atomic_load(&Resumed) - during,
                 c.most_resumed, c.most_proposals, c.most_outstanding, atomic_load(&Lost),
                 atomic_load(&Expired), (double)(c.bad_ms - ended_ms) / 1000.0);
}

int main(int argc, char **argv) {
    size_t count = 500;
    int timeout_ms = 10000, option;
    int64_t slow_ms = 30000;
    while ((option = getopt(argc, argv, "n:t:d:")) != -1)
        if (option == 'n')
            count = strtoul(optarg, NULL, 10);
        else if (option == 't')
            timeout_ms = (int)strtol(optarg, NULL, 10);
        else if (option == 'd')
            slow_ms = strtol(optarg, NULL, 10) * 1000;
        else
            return 64;
    Hosts = getenv("ZKLOCK_HOSTS");
    if (optind + 2 != argc || count == 0 || count > SESSIONS_MAX || Hosts == NULL) {
        (void)fprintf(stderr, "usage: ZKLOCK_HOSTS=... bench_storm [-n SESSIONS] [-t TIMEOUT_MS] "
                              "[-d SECONDS] BEGIN END\n");
        return 64;
    }
    for (size_t i = 0; i < count; i++)
        open_one(&Holders[i], i, timeout_ms);
    report(count, timeout_ms, slow_ms, argv[optind], argv[optind + 1]);
    atomic_store(&Is_over, true);
    for (size_t i = 0; i < count; i++)
        (void)pthread_join(Holders[i].thread, NULL);
    for (size_t i = 0; i < count; i++) {
        (void)zkl_lock_close(Holders[i].lock);
        (void)zkl_session_close(Holders[i].session);
    }
    return EXIT_SUCCESS;
}
