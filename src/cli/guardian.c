/*
 * What the guardian has to know lies in memory that both processes share, so that the newest is
 * always there, however long either of them did not run. A pipe only wakes it up, and its end says
 * that no process has the other side any more.
 */
#include "cli/guardian.h"

#include "cli/clock.h"
#include "cli/descriptors.h"
#include "cli/members.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* How often a killed group is looked at, and a process that is about to be dead. */
#define LOOK_MS 2
/* How seldom, in the end, one that may take its time. */
#define LOOK_PATIENTLY_MS 100
/* A group that has been killed is killed again, for a process that comes late. */
#define KILL_AGAIN_MS 200
/* A process that has closed its descriptors is dead soon after. */
#define DYING_MAX_MS 10000
/* One attempt to end the session. */
#define END_MS 5000

#define TICKETS 2
#define NAME "zklock-guardian" /* the kernel keeps 15 characters */
/* More is not where the kernel has put the arguments. */
#define ARGUMENTS_MAX (1 << 21)

typedef struct shared {
    _Atomic int64_t until_ms;
    atomic_int timeout_ms; /* of the session: after that it is over without us */
    _Atomic pid_t group;   /* 0: none to end */
    atomic_bool has_acted; /* the guardian, on a group of a runner that did not renew */
    atomic_bool had_term;  /* the group, from either of the two, for the hold */
    atomic_uint ticket;    /* the one that counts, + 1; 0: there is none */
    char tickets[TICKETS][ZKL_TICKET_SIZE];
} shared;

/* Else it would be a lock in the memory of one process. */
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2, "shared with a process");

struct cli_guardian {
    shared *shared;
    int pipe_fd;
    pid_t pid;
    bool kills;
    pthread_mutex_t mutex; /* one ticket is written at a time */
};

/* What the guardian goes by. */
typedef struct post {
    const cli_guardian_orders *orders;
    shared *shared;
    int pipe_fd;
    bool is_group_gone;
} post;

/* ---- The guardian's side ---- */

static void sleep_ms(int ms) {
    (void)poll(NULL, 0, ms);
}

/* Who kills processes by the words of a command line means the runner. The arguments lie in one
 * piece before the environment. */
static void rename_process(void) {
    char *first = program_invocation_name, *end = environ[0];
    (void)prctl(PR_SET_NAME, NAME);
    if (end > first && end - first < ARGUMENTS_MAX && end - first > (ptrdiff_t)sizeof(NAME)) {
        memset(first, 0, (size_t)(end - first));
        memcpy(first, NAME, sizeof(NAME));
    }
}

/* Nothing of the caller's stays open, or the reader of its standard output would wait for us. */
static void detach(int pipe_fd) {
    sigset_t all;
    sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL); /* the arguments are right */
    (void)setsid();                             /* cannot fail for a child that leads no group */
    (void)!chdir("/");
    cli_descriptors_close_all_but(pipe_fd);
    (void)open("/dev/null", O_RDWR);
    (void)dup(STDIN_FILENO);
    (void)dup(STDIN_FILENO);
}

static void set_timer(int timer_fd, int64_t at_ms) {
    const struct itimerspec timer = {
        .it_value = {.tv_sec = at_ms / 1000, .tv_nsec = at_ms % 1000 * 1000000}};
    (void)timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &timer, NULL); /* the arguments are right */
}

/* The group's SIGKILL; once nothing is left of it, its number may be another's. */
static void kill_group(post *p, pid_t group) {
    if (!p->is_group_gone && kill(-group, SIGKILL) != 0 && errno == ESRCH)
        p->is_group_gone = true;
}

static void kill_all(post *p, pid_t group) {
    kill_group(p, group);
    cli_cgroup_kill(p->orders->cgroup);
}

/* What waits for a disk may run on. */
static bool runs(const post *p, pid_t group) {
    return cli_cgroup_runs(p->orders->cgroup) || (!p->is_group_gone && cli_members_run(group));
}

static void terminate_group(const post *p, pid_t group) {
    if (atomic_exchange(&p->shared->had_term, true))
        return;
    (void)kill(-group, SIGTERM); /* fails when no process is left in it */
    (void)kill(-group, SIGCONT); /* a stopped process does not see SIGTERM */
}

/* The group's time is over. Returns when to come again, 0: never. */
static int64_t act(post *p, pid_t group) {
    switch (p->orders->on_lost) {
    case CLI_ON_LOST_KILL:
        atomic_store(&p->shared->has_acted, true);
        kill_all(p, group);
        break;
    case CLI_ON_LOST_TERM:
        if (!atomic_load(&p->shared->had_term))
            atomic_store(&p->shared->has_acted, true);
        terminate_group(p, group);
        return 0;
    case CLI_ON_LOST_IGNORE:
        return 0;
    }
    return cli_clock_ms() + KILL_AGAIN_MS;
}

/* Acts on the group whenever its time is over. Returns when the runner has closed its side. */
static void watch(post *p, int timer_fd) {
    char poked[64];
    struct pollfd fds[] = {{.fd = p->pipe_fd, .events = POLLIN},
                           {.fd = timer_fd, .events = POLLIN}};
    for (;;) {
        pid_t group = atomic_load(&p->shared->group);
        int64_t until_ms = atomic_load(&p->shared->until_ms);
        if (group != 0 && cli_clock_ms() >= until_ms)
            until_ms = act(p, group);
        set_timer(timer_fd, group == 0 ? 0 : until_ms);
        if (poll(fds, 2, -1) > 0 && fds[0].revents != 0 &&
            read(p->pipe_fd, poked, sizeof(poked)) == 0)
            return;
    }
}

static bool is_dead(pid_t runner) {
    int64_t until_ms = cli_clock_ms() + DYING_MAX_MS;
    while (getppid() == runner && cli_clock_ms() < until_ms)
        sleep_ms(LOOK_MS);
    return getppid() != runner;
}

/* Returns whether nothing of it runs any more. */
static bool end_group(post *p, int64_t until_ms) {
    pid_t group = atomic_load(&p->shared->group);
    bool kills = p->orders->on_lost == CLI_ON_LOST_KILL;
    int look_ms = LOOK_MS;
    if (group == 0)
        return true;
    if (p->orders->on_lost == CLI_ON_LOST_TERM)
        terminate_group(p, group);
    do {
        if (kills)
            kill_all(p, group);
        if (!runs(p, group))
            return true;
        sleep_ms(look_ms);
        if (!kills && look_ms < LOOK_PATIENTLY_MS)
            look_ms *= 2;
    } while (cli_clock_ms() < until_ms);
    return false;
}

static void end_session(const shared *s, const char *hosts, int64_t until_ms) {
    unsigned number = atomic_load(&s->ticket);
    zkl_err err;
    if (number == 0)
        return;
    do {
        err = zkl_session_end(hosts, s->tickets[number - 1], END_MS);
        if (err == ZKL_UNREACHABLE || err == ZKL_UNSURE)
            sleep_ms(LOOK_MS);
    } while ((err == ZKL_UNREACHABLE || err == ZKL_UNSURE) && cli_clock_ms() < until_ms);
}

_Noreturn static void guard(post *p, pid_t runner) {
    shared *s = p->shared;
    char *hosts = strdup(p->orders->hosts); /* that may be an argument */
    detach(p->pipe_fd);
    if (hosts != NULL)
        rename_process();
    int timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (timer_fd < 0)
        _exit(EXIT_FAILURE); /* the runner goes on, as it would without us */
    watch(p, timer_fd);
    int64_t until_ms = cli_clock_ms() + atomic_load(&s->timeout_ms);
    bool is_ended = end_group(p, until_ms);
    if (hosts != NULL && is_ended && is_dead(runner))
        end_session(s, hosts, until_ms);
    (void)cli_cgroup_remove(p->orders->cgroup); /* unless a process runs in it */
    _exit(EXIT_SUCCESS);
}

/* ---- The runner's side ---- */

static shared *share(void) {
    void *memory = mmap(NULL, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                        -1, 0);
    if (memory == MAP_FAILED)
        return NULL;
    (void)madvise(memory, sizeof(shared), MADV_DONTDUMP); /* a ticket is a secret */
    return memory;
}

static bool launch(cli_guardian *g, const cli_guardian_orders *orders) {
    int ends[2];
    pid_t runner = getpid();
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return false;
    g->pid = fork();
    if (g->pid == 0)
        guard(&(post){.orders = orders, .shared = g->shared, .pipe_fd = ends[0]}, runner);
    int error = errno;
    close(ends[0]);
    g->pipe_fd = ends[1];
    if (g->pid < 0)
        close(ends[1]);
    errno = error;
    return g->pid > 0;
}

cli_guardian *cli_guardian_start(const cli_guardian_orders *orders) {
    static cli_guardian guardian = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    guardian.shared = share();
    guardian.kills = orders->on_lost == CLI_ON_LOST_KILL;
    return guardian.shared != NULL && launch(&guardian, orders) ? &guardian : NULL;
}

void cli_guardian_know_session(cli_guardian *g, zkl_session *s) {
    pthread_mutex_lock(&g->mutex);
    unsigned next = atomic_load(&g->shared->ticket) == 1 ? 1 : 0;
    if (zkl_session_ticket(s, g->shared->tickets[next], ZKL_TICKET_SIZE) == ZKL_OK)
        atomic_store(&g->shared->ticket, next + 1);
    atomic_store(&g->shared->timeout_ms, zkl_session_timeout_ms(s));
    pthread_mutex_unlock(&g->mutex);
}

void cli_guardian_renew(cli_guardian *g, int64_t until_ms) {
    atomic_store(&g->shared->until_ms, until_ms);
}

bool cli_guardian_join(const cli_guardian *g) {
    atomic_store(&g->shared->group, getpid());
    (void)!write(g->pipe_fd, "", 1); /* a full pipe wakes it up as well */
    if (!g->kills || cli_clock_ms() < atomic_load(&g->shared->until_ms))
        return true;
    atomic_store(&g->shared->has_acted, true);
    return false;
}

void cli_guardian_heed_term(cli_guardian *g) {
    atomic_store(&g->shared->had_term, true);
}

bool cli_guardian_has_acted(const cli_guardian *g) {
    return atomic_load(&g->shared->has_acted);
}

void cli_guardian_let_go(cli_guardian *g) {
    atomic_store(&g->shared->group, 0);
}

void cli_guardian_end(const cli_guardian *g) {
    siginfo_t info;
    if (g == NULL)
        return;
    (void)kill(g->pid, SIGKILL); /* a child of ours, dead or not */
    (void)waitid(P_PID, (id_t)g->pid, &info, WEXITED);
    explicit_bzero(g->shared->tickets, sizeof(g->shared->tickets));
}
