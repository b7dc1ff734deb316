/*
 * zklock run: connect, wait for the lock, run CMD under it, release. Everything but the wait for
 * signals happens on the main thread, to which the hold belongs.
 */
#include "cli/clock.h"
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/guardian.h"
#include "cli/holds.h"
#include "cli/inside.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "cli/metrics.h"
#include "cli/refusal.h"
#include "cli/search.h"
#include "cli/session.h"
#include "cli/settings.h"
#include "cli/supervise.h"
#include "cli/ticket.h"
#include "cli/waiting.h"

#include <errno.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* For the server's word that the lock is free; the session's end frees it all the same. */
#define RELEASE_TIMEOUT_MS 1000
/* Of the session's timeout: a little less than the time from heartbeat to heartbeat. */
#define RENEW_DIVISOR 16

typedef struct run {
    const cli_options *options;
    int64_t deadline_ms; /* of the wait; without meaning when it is for ever */
    char *paths;         /* where CMD's file may be */
    cli_signals signals;
    cli_terminal terminal;
    cli_interrupt *interrupt;
    cli_cgroup cgroup_made;
    const cli_cgroup *cgroup; /* that one, or NULL */
    cli_guardian *guardian;
    int came; /* the signal that ended the wait, or 0 */
    atomic_bool is_waiting;
    zkl_session *session;
    cli_ticket ticket;
    cli_holds holds;
    _Atomic(cli_waiting *) waiting;
    cli_metrics *metrics; /* NULL: none are wanted */
    int lost_fd;
    cli_grace grace;
    int timeout_ms; /* the session's */
    bool is_unsure; /* no server has confirmed the release */
} run;

/* ---- What the library tells ---- */

/* Who ends the present session if we cannot. */
static bool hand_out_ticket(run *r, zkl_session *session) {
    cli_guardian_know_session(r->guardian, session);
    if (r->ticket.file == NULL || cli_ticket_write(&r->ticket, session))
        return true;
    cli_message("--ticket '%s': %s", r->ticket.file,
                errno == EBUSY ? "another run has its ticket there, and lives: take another file"
                               : strerror(errno));
    return false;
}

/* A user who waits without end must not take an outage for a queue. */
static void on_session_event(const zkl_event *event, void *arg) {
    run *r = arg;
    void (*say)(const char *format, ...) = atomic_load(&r->is_waiting) ? cli_message
                                                                       : cli_message_detail;
    switch (event->type) {
    case ZKL_EVENT_SUSPENDED:
        say("the connection to the servers broke");
        break;
    case ZKL_EVENT_RESUMED:
        (void)hand_out_ticket(r, event->session); /* perhaps another one; it is told */
        say("connected again");
        break;
    case ZKL_EVENT_QUEUED:
    case ZKL_EVENT_HELD:
    case ZKL_EVENT_LOST:
    case ZKL_EVENT_WANTED:
    case ZKL_EVENT_REQUEUED:
        break;
    }
}

static size_t index_of(const cli_holds *holds, const zkl_lock *lock) {
    size_t i = 0;
    while (i + 1 < holds->count && holds->locks[i] != lock)
        i++;
    return i;
}

static void on_lock_event(const zkl_event *event, void *arg) {
    run *r = arg;
    const eventfd_t one = 1;
    switch (event->type) {
    case ZKL_EVENT_QUEUED:
        cli_message_detail("%s: waiting: %zu %s ahead in the queue", zkl_lock_name(event->lock),
                           event->position, event->position == 1 ? "contender" : "contenders");
        cli_waiting_queued(atomic_load(&r->waiting), index_of(&r->holds, event->lock),
                           event->position);
        break;
    case ZKL_EVENT_REQUEUED:
        cli_message_detail("%s: lost the place in the queue: waiting again, at its end",
                           zkl_lock_name(event->lock));
        break;
    case ZKL_EVENT_LOST:
        (void)eventfd_write(r->lost_fd, one); /* a counter that never comes near its limit */
        break;
    case ZKL_EVENT_HELD:
    case ZKL_EVENT_SUSPENDED:
    case ZKL_EVENT_RESUMED:
    case ZKL_EVENT_WANTED:
        break;
    }
}

/* ---- Connecting ---- */

static int connect_timeout_ms(const cli_options *o) {
    bool is_short = o->wait_ms > 0 && o->wait_ms < CLI_CONNECT_TIMEOUT_MS;
    return is_short ? (int)o->wait_ms : CLI_CONNECT_TIMEOUT_MS;
}

/* The hold is certain for a shorter time than the caller has planned for. */
static void tell_of_shorter_timeout(const run *r) {
    int asked_ms = r->options->session_timeout_ms;
    asked_ms = asked_ms > 0 ? asked_ms : CLI_TIMEOUT_DEFAULT_MS;
    if (r->timeout_ms < asked_ms) {
        cli_message("the servers grant a session timeout of %g s instead of %g s",
                    (double)r->timeout_ms / 1000, (double)asked_ms / 1000);
    }
}

static int plan_grace(run *r) {
    int64_t most_ms = 0;
    r->timeout_ms = zkl_session_timeout_ms(r->session);
    tell_of_shorter_timeout(r);
    if (cli_grace_plan(&r->grace, r->timeout_ms, r->options->grace_ms, &most_ms)) {
        cli_grace_adapt(&r->grace, r->options->on_lost);
        return CLI_EXIT_OK;
    }
    cli_message("--grace %g is too long for the session timeout of %g s: at most %g "
                "(see 'zklock run --help')",
                (double)r->options->grace_ms / 1000, (double)r->timeout_ms / 1000,
                (double)most_ms / 1000);
    return CLI_EXIT_USAGE;
}

static int open_locks(run *r) {
    const cli_options *o = r->options;
    const zkl_lock_options options = ZKL_LOCK_OPTIONS(.kind = cli_options_kind(o),
                                                      .permits = o->permits,
                                                      .on_event = on_lock_event, .arg = r);
    const char *name;
    zkl_err err = cli_holds_open(&r->holds, r->session, o->names, o->name_count, &options, &name);
    if (err == ZKL_INVALID)
        cli_message_bad_name("run", name);
    else if (err != ZKL_OK)
        cli_message_error(name, err);
    return cli_exit_status_of(err);
}

static bool shares(const cli_options *o, const zkl_contender *outer) {
    zkl_kind kind = cli_options_kind(o);
    return outer->kind == kind && (kind == ZKL_READ || (kind == ZKL_SEMAPHORE && o->permits > 1));
}

/* Whether one from the node of the run around us on keeps us out: that run waits for its command,
 * which is us, and so does who stands behind it. */
static bool would_wait_for_itself(const run *r, const char *name) {
    const char *path = cli_inside_node(r->options, name);
    zkl_queue *queue = NULL;
    if (path == NULL || zkl_inspect(r->session, name, &queue) != ZKL_OK)
        return false;
    bool is_behind = false, is_circle = false;
    for (size_t i = 0; i < zkl_queue_count(queue); i++) {
        const zkl_contender *c = zkl_queue_at(queue, i);
        is_behind = is_behind || cli_inside_is(path, c->node);
        is_circle = is_circle || (is_behind && !shares(r->options, c));
    }
    zkl_queue_free(queue);
    return is_circle;
}

static int refuse_circle(const run *r) {
    if (r->options->wait_ms != ZKL_FOREVER)
        return CLI_EXIT_OK; /* it ends by itself */
    for (size_t i = 0; i < r->holds.count; i++)
        if (would_wait_for_itself(r, r->holds.names[i])) {
            cli_message("%s: the 'zklock run' around this one has the same lock: it would wait for "
                        "itself",
                        r->holds.names[i]);
            return CLI_EXIT_USAGE;
        }
    return CLI_EXIT_OK;
}

static int connect_session(run *r) {
    const cli_session_request request = {.connect_timeout_ms = connect_timeout_ms(r->options),
                                         .on_event = on_session_event,
                                         .arg = r};
    int status = cli_session_open(&r->session, r->options, &request);
    if (status == CLI_EXIT_OK && !hand_out_ticket(r, r->session))
        status = CLI_EXIT_USAGE;
    status = status == CLI_EXIT_OK ? plan_grace(r) : status;
    status = status == CLI_EXIT_OK ? open_locks(r) : status;
    return status == CLI_EXIT_OK ? refuse_circle(r) : status;
}

/* ---- Waiting ---- */

/* The library's timeout for the time that is left; when none is left, one try. */
static int64_t time_left(const run *r) {
    if (r->options->wait_ms <= 0)
        return r->options->wait_ms;
    int64_t left = r->deadline_ms - cli_clock_ms();
    return left > 0 ? left : 0;
}

/*
 * A hold granted in the middle of a reconnect may be certain for so short a time that CMD would be
 * stopped at once. The next heartbeats make it longer, or it is lost. Returns whether it is held.
 */
static bool wait_for_certainty(run *r) {
    while (cli_holds_remaining_ms(&r->holds) <= r->grace.term_ms && cli_holds_are_held(&r->holds)) {
        struct pollfd lost = {.fd = r->lost_fd, .events = POLLIN};
        if (cli_interrupt_came(r->interrupt))
            break;
        (void)poll(&lost, 1, r->timeout_ms / 20); /* half a heartbeat; the loop looks again */
    }
    return cli_holds_are_held(&r->holds);
}

static zkl_err acquire_once(run *r) {
    eventfd_t count;
    (void)eventfd_read(r->lost_fd, &count); /* of a hold before, if any */
    zkl_err err = cli_holds_acquire(&r->holds, time_left(r));
    if (err == ZKL_OK && !wait_for_certainty(r)) {
        cli_holds_give_up(&r->holds);
        err = ZKL_LOST;
    }
    return err;
}

/* Returns whether CMD may run; if not, *ret_status says how to end. */
static bool acquire(run *r, int *ret_status) {
    zkl_err err;
    cli_interrupt_watch(r->interrupt, r->holds.locks[0]);
    atomic_store(&r->waiting, /* with the signals blocked */
                 cli_waiting_start(r->session, r->holds.names, r->holds.count,
                                   !r->options->is_quiet && r->options->wait_ms != 0));
    cli_signals_allow_stop(&r->signals, true);
    atomic_store(&r->is_waiting, true);
    do {
        err = acquire_once(r);
    } while (err == ZKL_LOST && !cli_interrupt_came(r->interrupt));
    atomic_store(&r->is_waiting, false);
    cli_waiting_stop(atomic_load(&r->waiting));
    cli_signals_allow_stop(&r->signals, false);
    r->came = cli_interrupt_stop(r->interrupt);
    r->interrupt = NULL;
    if (r->came != 0)
        *ret_status = CLI_EXIT_SIGNAL_BASE + r->came;
    else if (err != ZKL_OK)
        *ret_status = cli_refusal_explain(r->options, &r->holds, r->session,
                                          atomic_load(&r->waiting), err);
    return r->came == 0 && err == ZKL_OK;
}

/* ---- Running ---- */

static void tell_of_ending(const run *r, const cli_ending *ending) {
    const char *command = r->options->command[0];
    const char *lost = cli_holds_lost_one(&r->holds);
    bool is_one = lost != NULL || r->holds.count == 1;
    if (ending->is_lost) {
        cli_message("%s: the %s lost while %s ran", lost == NULL ? r->holds.title : lost,
                    is_one ? "lock was" : "locks were", command);
        if (r->options->on_lost != CLI_ON_LOST_KILL)
            cli_message("%s: %s ended with status %d; the exit status is %d", r->holds.title,
                        command, ending->command_status, ending->exit_status);
    } else if (ending->is_stopped) {
        cli_message("%s: %s ended after SIGTERM with status %d; the exit status is %d",
                    r->holds.title, command, ending->command_status, ending->exit_status);
    }
}

static int run_command(run *r, const char *names, const char *nodes,
                       const cli_descriptors *inherited, cli_ending *ret_ending) {
    const cli_on_lost on_lost = r->options->on_lost;
    const cli_supervision supervision = {.holds = &r->holds,
                                         .grace = r->grace,
                                         .on_lost = on_lost,
                                         .lost_fd = r->lost_fd,
                                         .guardian = r->guardian,
                                         .renew_ms = r->timeout_ms / RENEW_DIVISOR,
                                         .child = {.command = r->options->command,
                                                   .paths = r->paths,
                                                   .lock_names = names,
                                                   .node_paths = nodes,
                                                   .token = zkl_token(r->holds.locks[0]),
                                                   .inherited = inherited,
                                                   .signals = &r->signals,
                                                   .terminal = &r->terminal,
                                                   .lend_terminal = !cli_terminal_in_pipeline(),
                                                   .guardian = r->guardian,
                                                   .cgroup = r->cgroup,
                                                   .death_signal = cli_on_lost_signal(on_lost)}};
    cli_metrics_running(r->metrics);
    cli_supervise(&supervision, ret_ending);
    tell_of_ending(r, ret_ending);
    return ret_ending->exit_status;
}

static int hold_and_run(run *r, const cli_descriptors *inherited, cli_ending *ret_ending) {
    const char *failed = r->holds.title;
    char *nodes = NULL;
    char *names = cli_holds_names(&r->holds);
    zkl_err err = names == NULL ? ZKL_NOMEM : cli_holds_nodes(&r->holds, &nodes, &failed);
    int status;
    if (err == ZKL_OK) {
        status = run_command(r, names, nodes, inherited, ret_ending);
    } else {
        cli_message_error(failed, err);
        status = err == ZKL_NOMEM ? CLI_EXIT_INTERNAL : CLI_EXIT_LOST; /* since the last look */
    }
    free(nodes);
    free(names);
    return status;
}

static void release(run *r) {
    zkl_err err = cli_holds_release(&r->holds, RELEASE_TIMEOUT_MS);
    r->is_unsure = err == ZKL_TIMEOUT;
    if (err == ZKL_TIMEOUT) {
        cli_message_detail("no server has confirmed the release: the lock is free when the "
                           "session ends");
    } else if (err != ZKL_OK && err != ZKL_LOST && err != ZKL_NOT_HELD) {
        cli_message_detail("release: %s", zkl_strerror(err));
    }
}

/* CMD's file is looked for first, so that a wrong name costs no wait; it is started after that. */
static int find_command(run *r) {
    const char *command = r->options->command[0];
    r->paths = cli_search_paths(command);
    if (r->paths == NULL) {
        cli_message_error(command, ZKL_NOMEM);
        return CLI_EXIT_INTERNAL;
    }
    int error = cli_search_check(r->paths);
    return error == 0 ? CLI_EXIT_OK : cli_search_explain(command, error);
}

/* On another thread, while this one connects: a signal ends the process now. */
static void end_metrics(void *arg, int status) {
    cli_metrics_end(arg, status);
    (void)cli_metrics_settle(arg); /* it has said if not */
}

static int run_steps(run *r, const cli_descriptors *inherited, cli_ending *ret_ending) {
    const cli_options *o = r->options;
    if (!cli_cgroup_try(r->cgroup)) /* when there is a guardian to remove it */
        return CLI_EXIT_INTERNAL;
    if (!cli_metrics_start(&r->metrics, o->metrics, o->names, o->name_count))
        return CLI_EXIT_USAGE;
    cli_interrupt_before_exit(r->interrupt, end_metrics, r->metrics);
    int status = find_command(r);
    status = status == CLI_EXIT_OK ? connect_session(r) : status;
    if (status != CLI_EXIT_OK)
        return status;
    cli_metrics_connected(r->metrics, r->session, &r->holds);
    if (acquire(r, &status))
        status = hold_and_run(r, inherited, ret_ending);
    release(r);
    return status;
}

/* ---- Beginning and end ---- */

/*
 * A shell without job control leaves "command &" in the script's own process group, ignores SIGINT
 * and SIGQUIT for it and gives it /dev/null to read. That group may be in the foreground, but it is
 * the script's: CMD must not take the terminal from it.
 */
static bool is_in_background_of_script(const run *r) {
    return !sigismember(&r->signals.ending, SIGINT) && !sigismember(&r->signals.ending, SIGQUIT) &&
           !isatty(STDIN_FILENO);
}

static bool make_cgroup(run *r) {
    if (!r->options->has_cgroup)
        return true;
    if (cli_cgroup_make(&r->cgroup_made, r->options->names[0]))
        r->cgroup = &r->cgroup_made;
    return r->cgroup != NULL;
}

static bool begin(run *r) {
    const cli_guardian_orders orders = {
        .hosts = r->options->hosts, .on_lost = r->options->on_lost, .cgroup = r->cgroup};
    r->lost_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    r->guardian = cli_guardian_start(&orders);
    if (r->guardian == NULL)
        return false;
    cli_terminal_open(&r->terminal, !is_in_background_of_script(r));
    if (r->lost_fd >= 0 && cli_message_start())
        r->interrupt = cli_interrupt_start(&r->signals);
    return r->interrupt != NULL;
}

static void end(run *r) {
    (void)cli_interrupt_stop(r->interrupt); /* before its lock goes away */
    cli_holds_close(&r->holds);
    bool is_answered = cli_waiting_end(atomic_load(&r->waiting));
    /* Else the session may be there still, and the guardian sees to it. */
    bool is_over = r->session == NULL || (is_answered && !r->is_unsure &&
                                          zkl_session_state(r->session) == ZKL_STATE_CONNECTED);
    if (is_answered)                         /* else no server answers, nor would the close */
        (void)zkl_session_close(r->session); /* frees whatever is still held */
    if (is_over) {
        cli_ticket_remove(&r->ticket);
        cli_guardian_end(r->guardian);
    }
    if (!cli_cgroup_remove(r->cgroup))
        cli_message("processes that %s has left run on in the cgroup '%s'", r->options->command[0],
                    r->cgroup->path);
    cli_terminal_close(&r->terminal);
    if (r->lost_fd >= 0)
        close(r->lost_fd);
    free(r->paths);
}

/*
 * A script that runs us is in our process group, not in CMD's, and did not hear the Ctrl-C that
 * ended CMD. Without us in between it would have, and a shell ends a script when its command died
 * of SIGINT. One that came while we waited the group has heard itself. $? is 130 either way.
 */
static void die_of_interrupt(pid_t whom) {
    cli_message_finish();
    cli_signals_allow_interrupt();
    (void)kill(whom, SIGINT);
}

int cli_run(const cli_options *options, const cli_descriptors *inherited) {
    run r = {.options = options,
             .deadline_ms = cli_clock_ms() + options->wait_ms,
             .ticket = {.file = options->ticket, .mutex = PTHREAD_MUTEX_INITIALIZER, .fd = -1}};
    cli_ending ending = {0};
    int status = CLI_EXIT_INTERNAL;
    cli_signals_take(&r.signals);
    if (!make_cgroup(&r))
        return status;
    if (begin(&r))
        status = run_steps(&r, inherited, &ending);
    else
        cli_message("cannot start: %s", strerror(errno));
    cli_metrics_end(r.metrics, status);
    end(&r);
    cli_metrics_finish(r.metrics);
    if (ending.is_interrupted && sigismember(&r.signals.ending, SIGINT))
        die_of_interrupt(0); /* all of our group */
    else if (r.came == SIGINT)
        die_of_interrupt(getpid());
    return status;
}
