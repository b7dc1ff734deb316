/*
 * One loop on the main thread over signals, a timer, the LOST event and the exec's status. The
 * rule it serves, unless CMD may outlive its hold: no process of CMD's group runs once
 * cli_holds_remaining_ms has come down to zero.
 */
#include "cli/supervise.h"

#include "cli/clock.h"
#include "cli/exit_status.h"
#include "cli/members.h"
#include "cli/message.h"
#include "cli/search.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

/* How often a group without its leader is looked at, and for how long after SIGKILL. */
#define GROUP_POLL_MS 10
#define GROUP_LIMIT_MS 1000

enum {
    FD_SIGNAL,
    FD_TIMER,
    FD_LOST,
    FD_EXEC,
    FD_COUNT
};

typedef struct watch {
    const cli_supervision *s;
    struct pollfd fds[FD_COUNT];
    pid_t group; /* CMD's pid too */
    bool lends_terminal;
    cli_stage stage;
    int exec_status; /* of a CMD that could not be executed; 0: it could */
    bool is_ended;   /* CMD was reaped; the rest is known then */
    bool was_held;
    bool had_terminal;
    int end_code;
    int end_status;
    int64_t ended_ms;
    int64_t killed_ms;
} watch;

static void signal_group(const watch *w, int signal_number) {
    (void)kill(-w->group, signal_number); /* fails when no process is left in it */
}

/* The group's SIGKILL is for what has left the cgroup. */
static void kill_all(const watch *w) {
    signal_group(w, SIGKILL);
    cli_cgroup_kill(w->s->child.cgroup);
}

static bool is_empty(const watch *w) {
    return !cli_cgroup_runs(w->s->child.cgroup) && !cli_members_run(w->group);
}

/* ---- The hold ---- */

static bool kills(const watch *w) {
    return w->s->on_lost == CLI_ON_LOST_KILL;
}

/* Without a SIGKILL behind it, a second SIGTERM could mean something else to CMD. False: it has had
 * the guardian's. */
static bool terminate(const watch *w) {
    if (!kills(w) && cli_guardian_has_acted(w->s->guardian))
        return false;
    signal_group(w, SIGTERM);
    signal_group(w, SIGCONT); /* a stopped process does not see SIGTERM */
    cli_guardian_heed_term(w->s->guardian);
    return true;
}

static void enter_terminated(const watch *w, const char *name, int64_t remaining_ms) {
    bool is_sent = terminate(w);
    if (kills(w)) {
        cli_message("%s: the hold is certain for only %" PRId64
                    " ms more: SIGTERM sent, SIGKILL follows in %" PRId64 " ms",
                    name, remaining_ms, remaining_ms - w->s->grace.over_ms);
    } else {
        cli_message("%s: the hold is certain for only %" PRId64 " ms more%s", name, remaining_ms,
                    is_sent ? ": SIGTERM sent" : "");
    }
}

static void enter_over(watch *w, const char *name, int64_t remaining_ms, bool is_terminated) {
    if (kills(w)) {
        kill_all(w);
        w->killed_ms = cli_clock_ms();
        cli_message("%s: the hold %s: SIGKILL sent", name,
                    remaining_ms == 0 ? "is lost" : "is about to end");
        return;
    }
    bool is_sent = w->s->on_lost == CLI_ON_LOST_TERM && !is_terminated && terminate(w);
    cli_message("%s: the hold is lost:%s %s may run on beside the next holder", name,
                is_sent ? " SIGTERM sent;" : "", w->s->child.command[0]);
}

static void enter(watch *w, cli_stage stage, int64_t remaining_ms) {
    const char *lost = cli_holds_lost_one(w->s->holds);
    const char *name = lost == NULL ? w->s->holds->title : lost;
    bool is_terminated = w->stage == CLI_STAGE_TERMINATED;
    w->stage = stage;
    if (stage == CLI_STAGE_TERMINATED)
        enter_terminated(w, name, remaining_ms);
    else if (stage == CLI_STAGE_OVER)
        enter_over(w, name, remaining_ms, is_terminated);
}

/* The guardian comes a little later than we do, while we live. The clock is read first: who is
 * stopped in between renews for less. */
static int64_t renew(const watch *w) {
    int64_t now_ms = cli_clock_ms();
    int64_t remaining_ms = cli_holds_remaining_ms(w->s->holds);
    cli_guardian_renew(w->s->guardian, now_ms + remaining_ms - w->s->grace.guard_ms);
    return remaining_ms;
}

/* Takes the step that the hold's state asks for, if any; returns the remaining certainty. */
static int64_t look_at_hold(watch *w) {
    int64_t remaining_ms = renew(w);
    cli_stage stage = cli_grace_stage(&w->s->grace, w->stage, remaining_ms);
    if (stage != w->stage)
        enter(w, stage, remaining_ms);
    return remaining_ms;
}

/* Whether what CMD leaves behind may stay. */
static bool is_left_alone(const watch *w) {
    return w->stage == CLI_STAGE_RUNNING || w->s->on_lost == CLI_ON_LOST_IGNORE;
}

/* What is left of a group whose leader obeyed SIGTERM has the rest of the grace, not more. */
static bool is_grace_over(const watch *w) {
    return cli_clock_ms() - w->ended_ms >= w->s->grace.term_ms - w->s->grace.over_ms;
}

static void look_at_group(watch *w) {
    if (kills(w) && w->stage == CLI_STAGE_TERMINATED && is_grace_over(w))
        enter(w, CLI_STAGE_OVER, cli_holds_remaining_ms(w->s->holds));
    else if (kills(w) && w->stage == CLI_STAGE_OVER)
        cli_cgroup_kill(w->s->child.cgroup); /* for what came late, or takes several calls */
}

static bool is_finished(const watch *w) {
    if (!w->is_ended)
        return false;
    if (is_left_alone(w) || is_empty(w))
        return true;
    if (!kills(w))
        return is_grace_over(w);
    /* A zombie that is not reaped stays in the group; so does a process that waits for a broken
       disk. */
    return w->stage == CLI_STAGE_OVER && cli_clock_ms() - w->killed_ms >= GROUP_LIMIT_MS;
}

static void set_timer(const watch *w, int64_t remaining_ms) {
    int64_t ms = cli_grace_wait_ms(&w->s->grace, w->stage, remaining_ms);
    if (ms < 0 || ms > w->s->renew_ms)
        ms = w->s->renew_ms;
    if (w->is_ended && ms > GROUP_POLL_MS)
        ms = GROUP_POLL_MS;
    const struct itimerspec timer = {
        .it_value = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}};
    (void)timerfd_settime(w->fds[FD_TIMER].fd, 0, &timer, NULL); /* the arguments are right */
}

/* ---- CMD stops and goes on ---- */

static void lend_terminal(const watch *w) {
    cli_terminal_give(w->s->child.terminal, w->group);
}

/* Stops our own process group as Ctrl-Z would have done. False: the system refused. */
static bool stop_own_group(void) {
    const struct timespec now = {0};
    sigset_t stop;
    sigset_t cont;
    sigset_t pending;
    sigemptyset(&cont);
    sigaddset(&cont, SIGCONT);
    (void)sigtimedwait(&cont, NULL, &now); /* an old one must not be taken for a new one */
    sigemptyset(&stop);
    sigaddset(&stop, SIGTSTP);
    pthread_sigmask(SIG_UNBLOCK, &stop, NULL);
    (void)kill(0, SIGTSTP);
    /* Here we stop, and go on after a SIGCONT, which stays pending: it is blocked. */
    pthread_sigmask(SIG_BLOCK, &stop, NULL);
    return sigpending(&pending) == 0 && sigismember(&pending, SIGCONT);
}

/* The job was continued. If that took too long, the hold is lost and nothing is continued. */
static void follow_continue(watch *w) {
    (void)look_at_hold(w);
    if ((kills(w) && w->stage == CLI_STAGE_OVER) || w->is_ended)
        return;
    if (w->lends_terminal)
        lend_terminal(w);
    signal_group(w, SIGCONT);
}

/* Ctrl-Z: the whole job stops, for the shell to see. */
static void stop_job(const watch *w) {
    signal_group(w, SIGSTOP);
    bool had_terminal = cli_terminal_take(w->s->child.terminal, w->group);
    if (stop_own_group())
        return; /* the SIGCONT is read next */
    /* Our group is orphaned: no shell could continue it. In it, CMD would not have stopped. */
    if (had_terminal)
        lend_terminal(w);
    signal_group(w, SIGCONT);
}

/* CMD was stopped because it reads the terminal, or changes it, in the background. */
static void seek_terminal(watch *w) {
    const cli_terminal *terminal = w->s->child.terminal;
    if (cli_terminal_has(terminal, w->group)) { /* several processes had asked for it */
        signal_group(w, SIGCONT);
        return;
    }
    cli_terminal_answer answer = CLI_TERMINAL_REFUSED;
    if (cli_terminal_exists(terminal)) {
        signal_group(w, SIGSTOP);
        answer = cli_terminal_ask(terminal, w->group);
    }
    switch (answer) {
    case CLI_TERMINAL_LENT:
        follow_continue(w);
        break;
    case CLI_TERMINAL_CONTINUED:
        /* Read next, after the signals with lower numbers that came with it: CMD must find a
           SIGTERM when it wakes, or it would stop for the terminal again. */
        (void)kill(getpid(), SIGCONT);
        break;
    case CLI_TERMINAL_REFUSED:
        /* In our group, CMD's read would fail; continued, it would ask again without end. */
        cli_message("%s: stopped, because it needs the terminal and cannot get it",
                    w->s->child.command[0]);
        break;
    }
}

/*
 * CMD was stopped. By SIGSTOP, or by SIGTSTP without a terminal, CMD alone was stopped and not the
 * job: the lock is held on. Else the whole job stops. No heartbeat leaves a stopped process, so
 * nothing of the group may run on: processes that ignored the signal are stopped too.
 */
static void follow_stop(watch *w, int signal_number) {
    if (kills(w) && w->stage != CLI_STAGE_RUNNING)
        return;
    if (signal_number == SIGTTIN || signal_number == SIGTTOU)
        seek_terminal(w);
    else if (signal_number == SIGTSTP && cli_terminal_exists(w->s->child.terminal))
        stop_job(w);
}

/* ---- CMD ends ---- */

/* What it has killed must be gone before the lock is free, also if the hold was kept since. */
static void follow_guardian(watch *w) {
    cli_message("%s: zklock did not run for too long: the guardian sent %s", w->s->holds->title,
                kills(w) ? "SIGKILL" : "SIGTERM");
    if (!kills(w))
        return;
    kill_all(w);
    w->stage = CLI_STAGE_OVER;
    w->killed_ms = cli_clock_ms();
}

/* CMD is a zombie, and stays one while we look after its group. Until it is reaped, no other group
 * can get its number, and be killed by the guardian while we do not run. */
static void follow_end(watch *w, const siginfo_t *info) {
    (void)look_at_hold(w);
    w->was_held = cli_holds_are_held(w->s->holds);
    w->end_code = info->si_code;
    w->end_status = info->si_status;
    w->had_terminal = cli_terminal_take(w->s->child.terminal, w->group);
    w->ended_ms = cli_clock_ms();
    w->is_ended = true;
    if (cli_guardian_has_acted(w->s->guardian) && !(kills(w) && w->stage == CLI_STAGE_OVER))
        follow_guardian(w);
}

static void reap(const watch *w) {
    siginfo_t reaped;
    cli_guardian_let_go(w->s->guardian);
    (void)waitid(P_PID, (id_t)w->group, &reaped, WEXITED); /* it is there */
}

/* What became of CMD since the last look: several things may have happened for one SIGCHLD. */
static void look_at_child(watch *w) {
    while (!w->is_ended) {
        siginfo_t info = {0};
        siginfo_t taken = {0};
        const id_t id = (id_t)w->group;
        if (waitid(P_PID, id, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) != 0 ||
            info.si_pid == 0)
            return;
        if (info.si_code != CLD_STOPPED && info.si_code != CLD_TRAPPED)
            follow_end(w, &info);
        else if (waitid(P_PID, id, &taken, WSTOPPED | WNOHANG) == 0 && taken.si_pid != 0)
            follow_stop(w, taken.si_status);
    }
}

/* ---- The loop ---- */

static void read_signals(watch *w) {
    struct signalfd_siginfo info;
    while (read(w->fds[FD_SIGNAL].fd, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
        int signal_number = (int)info.ssi_signo;
        if (signal_number == SIGCHLD) {
            look_at_child(w);
        } else if (signal_number == SIGCONT) {
            follow_continue(w);
        } else if (!w->is_ended) {
            cli_message_detail("forwarding signal %d (%s)", signal_number,
                               strsignal(signal_number));
            signal_group(w, signal_number);
        }
    }
}

static int explain_start(const watch *w, int error) {
    const char *command = w->s->child.command[0];
    if (error > 0)
        return cli_search_explain(command, error);
    cli_message("--cgroup: %s cannot enter '%s': %s", command, w->s->child.cgroup->path,
                strerror(-error));
    return CLI_EXIT_INTERNAL;
}

static void read_exec_status(watch *w) {
    struct pollfd *fd = &w->fds[FD_EXEC];
    if (fd->fd < 0)
        return;
    int error = cli_child_exec_error(fd->fd);
    close(fd->fd);
    fd->fd = -1;
    if (error != 0)
        w->exec_status = explain_start(w, error);
}

static void loop(watch *w) {
    uint64_t count;
    while (!is_finished(w)) {
        int64_t remaining_ms = look_at_hold(w);
        if (w->is_ended)
            look_at_group(w);
        set_timer(w, remaining_ms);
        if (poll(w->fds, FD_COUNT, -1) < 0)
            continue;          /* EINTR: the process was stopped and continued */
        (void)look_at_hold(w); /* before anything else: after a suspend, CMD must not go on */
        if (w->fds[FD_TIMER].revents != 0)
            (void)!read(w->fds[FD_TIMER].fd, &count, sizeof(count)); /* only to rearm it */
        if (w->fds[FD_LOST].revents != 0)
            (void)!read(w->fds[FD_LOST].fd, &count, sizeof(count)); /* it made us look */
        if (w->fds[FD_EXEC].revents != 0)
            read_exec_status(w);
        if (w->fds[FD_SIGNAL].revents != 0)
            read_signals(w);
    }
    read_exec_status(w);
}

static int exit_status_of_child(const watch *w) {
    if (w->exec_status != 0)
        return w->exec_status;
    return w->end_code == CLD_EXITED ? w->end_status : CLI_EXIT_SIGNAL_BASE + w->end_status;
}

/* After our SIGTERM the status of CMD may be 0 although its work is not done. */
static void conclude(const watch *w, cli_ending *ret_ending) {
    bool is_by_signal = w->end_code != CLD_EXITED;
    bool has_acted = cli_guardian_has_acted(w->s->guardian);
    bool is_lost = !w->was_held || w->stage == CLI_STAGE_OVER || (kills(w) && has_acted);
    bool is_stopped = is_lost || has_acted || w->stage == CLI_STAGE_TERMINATED;
    ret_ending->is_lost = is_lost;
    ret_ending->is_stopped = is_stopped;
    ret_ending->is_interrupted = !is_stopped && is_by_signal && w->end_status == SIGINT &&
                                 w->had_terminal;
    ret_ending->command_status = exit_status_of_child(w);
    ret_ending->exit_status = is_stopped ? CLI_EXIT_LOST : ret_ending->command_status;
}

static bool open_descriptors(watch *w) {
    w->fds[FD_SIGNAL].fd = signalfd(-1, &w->s->child.signals->watched, SFD_CLOEXEC | SFD_NONBLOCK);
    w->fds[FD_TIMER].fd = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    w->fds[FD_LOST].fd = w->s->lost_fd;
    w->fds[FD_EXEC].fd = -1;
    for (size_t i = 0; i < FD_COUNT; i++)
        w->fds[i].events = POLLIN;
    return w->fds[FD_SIGNAL].fd >= 0 && w->fds[FD_TIMER].fd >= 0;
}

static void close_descriptors(watch *w) {
    if (w->fds[FD_SIGNAL].fd >= 0)
        close(w->fds[FD_SIGNAL].fd);
    if (w->fds[FD_TIMER].fd >= 0)
        close(w->fds[FD_TIMER].fd);
}

void cli_supervise(const cli_supervision *supervision, cli_ending *ret_ending) {
    watch w = {.s = supervision, .lends_terminal = supervision->child.lend_terminal};
    (void)renew(&w);
    if (open_descriptors(&w) &&
        cli_child_start(&supervision->child, &w.group, &w.fds[FD_EXEC].fd)) {
        loop(&w);
        reap(&w);
        conclude(&w, ret_ending);
    } else {
        cli_message("cannot start %s: %s", supervision->child.command[0], strerror(errno));
        *ret_ending = (cli_ending){.exit_status = CLI_EXIT_INTERNAL};
    }
    close_descriptors(&w);
}
