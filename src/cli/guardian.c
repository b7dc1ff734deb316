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
    atomic_int timeout_ms;  /* of the session: after that it is over without us */
    _Atomic pid_t group;    /* 0: none to end */
    atomic_bool has_killed; /* the guardian, a group of a runner that did not renew */
    atomic_uint ticket;     /* the one that counts, + 1; 0: there is none */
    char tickets[TICKETS][ZKL_TICKET_SIZE];
} shared;

/* Else it would be a lock in the memory of one process. */
_Static_assert(ATOMIC_LLONG_LOCK_FREE == 2 && ATOMIC_INT_LOCK_FREE == 2, "shared with a process");

struct cli_guardian {
    shared *shared;
    int pipe_fd;
    pid_t pid;
    pthread_mutex_t mutex; /* one ticket is written at a time */
};

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

/* False: no process is left in it. Then its number may be another's: it must not be used again. */
static bool kill_group(pid_t group) {
    return kill(-group, SIGKILL) == 0 || errno != ESRCH;
}

/* Kills the group whenever its time is over. Returns when the runner has closed its side. */
static void watch(shared *s, int pipe_fd, int timer_fd) {
    char poked[64];
    struct pollfd fds[] = {{.fd = pipe_fd, .events = POLLIN}, {.fd = timer_fd, .events = POLLIN}};
    for (;;) {
        pid_t group = atomic_load(&s->group);
        int64_t until_ms = atomic_load(&s->until_ms);
        bool is_over = group != 0 && cli_clock_ms() >= until_ms;
        if (is_over) {
            atomic_store(&s->has_killed, true);
            if (!kill_group(group))
                (void)atomic_compare_exchange_strong(&s->group, &group, 0);
        }
        set_timer(timer_fd, group == 0 ? 0 : is_over ? cli_clock_ms() + KILL_AGAIN_MS : until_ms);
        if (poll(fds, 2, -1) > 0 && fds[0].revents != 0 && read(pipe_fd, poked, sizeof(poked)) == 0)
            return;
    }
}

static bool is_dead(pid_t runner) {
    int64_t until_ms = cli_clock_ms() + DYING_MAX_MS;
    while (getppid() == runner && cli_clock_ms() < until_ms)
        sleep_ms(LOOK_MS);
    return getppid() != runner;
}

/* Returns whether nothing of it runs any more. What waits for a disk may. */
static bool end_group(pid_t group, int64_t until_ms) {
    if (group == 0)
        return true;
    do {
        if (!kill_group(group) || !cli_members_run(group))
            return true;
        sleep_ms(LOOK_MS);
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

_Noreturn static void guard(shared *s, const char *given_hosts, int pipe_fd, pid_t runner) {
    char *hosts = strdup(given_hosts); /* that may be an argument */
    detach(pipe_fd);
    if (hosts != NULL)
        rename_process();
    int timer_fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    if (timer_fd < 0)
        _exit(EXIT_FAILURE); /* the runner goes on, as it would without us */
    watch(s, pipe_fd, timer_fd);
    int64_t until_ms = cli_clock_ms() + atomic_load(&s->timeout_ms);
    bool is_ended = end_group(atomic_load(&s->group), until_ms);
    if (hosts != NULL && is_ended && is_dead(runner))
        end_session(s, hosts, until_ms);
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

static bool launch(cli_guardian *g, const char *hosts) {
    int ends[2];
    pid_t runner = getpid();
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return false;
    g->pid = fork();
    if (g->pid == 0)
        guard(g->shared, hosts, ends[0], runner);
    int error = errno;
    close(ends[0]);
    g->pipe_fd = ends[1];
    if (g->pid < 0)
        close(ends[1]);
    errno = error;
    return g->pid > 0;
}

cli_guardian *cli_guardian_start(const char *hosts) {
    static cli_guardian guardian = {.mutex = PTHREAD_MUTEX_INITIALIZER};
    guardian.shared = share();
    return guardian.shared != NULL && launch(&guardian, hosts) ? &guardian : NULL;
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

void cli_guardian_join(const cli_guardian *g) {
    atomic_store(&g->shared->group, getpid());
    (void)!write(g->pipe_fd, "", 1); /* a full pipe wakes it up as well */
}

bool cli_guardian_has_killed(const cli_guardian *g) {
    return atomic_load(&g->shared->has_killed);
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
