/*
 * live - see live.h. This thread draws and takes signals; it never waits for a server or for the
 * terminal alone. Another one reads.
 */
#include "cli/live.h"

#include "cli/clock.h"
#include "cli/escape.h"
#include "cli/exit_status.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "cli/reader.h"
#include "cli/screen.h"
#include "cli/session.h"
#include "cli/signals.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

/* A look that takes longer is mentioned. */
#define SLOW_MS 2000
#define STATUS_BYTES 512
#define CLOCK_BYTES 16
#define GOES_ON (-1) /* in place of an exit status */

typedef struct live {
    const cli_options *options;
    cli_view_fn look;
    cli_signals signals;
    int signal_fd, wake_fd;
    zkl_session *session;
    cli_reader *reader;
    bool is_looking, is_lost; /* the last look found no server */
    bool is_entered;          /* the screen is taken */
    zkl_err err;              /* that ends it */
    int64_t begun_ms;         /* the look that is under way */
    int64_t next_ms;          /* the next look, if none is */
    cli_view view;            /* what is shown */
    char at[CLOCK_BYTES];     /* when it was read; "" before the first */
} live;

/* ---- The screen ---- */

static void write_clock(char text[CLOCK_BYTES]) {
    struct tm parts;
    time_t now = time(NULL);
    if (localtime_r(&now, &parts) == NULL || strftime(text, CLOCK_BYTES, "%H:%M:%S", &parts) == 0)
        text[0] = '\0';
}

/* What is wrong with the picture, or "". */
static const char *trouble_of(const live *l) {
    if (l->is_lost || zkl_session_state(l->session) != ZKL_STATE_CONNECTED)
        return "; no server answers now";
    if (l->is_looking && cli_clock_ms() - l->begun_ms > SLOW_MS)
        return "; waiting for the servers";
    return l->view.err == ZKL_OK ? "" : "; some could not be read";
}

static size_t count_lines(const char *text) {
    size_t count = 0;
    for (; (text = strchr(text, '\n')) != NULL; text++)
        count++;
    return count;
}

static void print_status(const live *l, FILE *out, size_t hidden) {
    char text[STATUS_BYTES], more[48] = "";
    const cli_options *o = l->options;
    if (hidden > 0)
        (void)snprintf(more, sizeof(more), "; %zu more below", hidden);
    (void)snprintf(text, sizeof(text), "%s%s%s: every %g s, read at %s%s%s",
                   cli_subcommand_name(o->subcommand), o->name == NULL ? "" : " ",
                   o->name == NULL ? "" : o->name, (double)cli_watch_interval_ms(o) / 1000,
                   l->at[0] == '\0' ? "-" : l->at, trouble_of(l), more);
    (void)cli_escape_cut(out, text, cli_locale_is_utf8(), cli_screen_columns());
    fputc('\n', out);
}

/* The status line and the view, whole; NULL when out of memory. The caller frees it. */
static char *print_all(const live *l) {
    char *body = NULL, *all = NULL;
    size_t body_size = 0, size = 0, lines = cli_screen_lines();
    FILE *out = open_memstream(&body, &body_size);
    bool is_printed = out != NULL && cli_view_print_watched(&l->view, out, cli_screen_columns());
    is_printed = out != NULL && fclose(out) == 0 && is_printed;
    out = is_printed ? open_memstream(&all, &size) : NULL;
    if (out != NULL) {
        size_t count = count_lines(body) + 1;
        print_status(l, out, count > lines ? count - lines : 0);
        fputs(body, out);
        is_printed = fclose(out) == 0;
    }
    free(body);
    if (is_printed)
        return all;
    free(all);
    return NULL;
}

/* From the background the kernel would not stop us, as it stops who sets a terminal's modes. Where
 * no shell could continue us it does not, and nothing is drawn. A kill continues us only for a
 * moment: what ends us does so here. */
static bool await_foreground(const live *l) {
    sigset_t set = l->signals.ending;
    if (cli_screen_is_ours())
        return true;
    sigaddset(&set, SIGTTOU);
    (void)kill(getpid(), SIGTTOU);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    return cli_screen_is_ours();
}

static int draw(const live *l) {
    if (!await_foreground(l))
        return GOES_ON;
    char *text = print_all(l);
    cli_screen_result result = text == NULL ? CLI_SCREEN_DONE : cli_screen_draw(text, l->signal_fd);
    free(text);
    return result == CLI_SCREEN_GONE ? CLI_EXIT_SIGNAL_BASE + SIGHUP : GOES_ON;
}

static int enter_and_draw(live *l) {
    if (!await_foreground(l))
        return GOES_ON;
    l->is_entered = true;
    if (cli_screen_enter(l->signal_fd) == CLI_SCREEN_GONE)
        return CLI_EXIT_SIGNAL_BASE + SIGHUP;
    return draw(l);
}

static void leave(live *l) {
    if (l->is_entered)
        cli_screen_leave();
    l->is_entered = false;
}

/* ---- Signals ---- */

/* Whoever waits for us sees the signal as the cause. The session, if it is in use, ends at the
 * servers when its timeout has passed. */
static int end_by(live *l, int signal_number) {
    const struct sigaction action = {.sa_handler = SIG_DFL};
    sigset_t set;
    leave(l);
    if (!l->is_looking)
        (void)zkl_session_close(l->session); /* the reader rests */
    sigemptyset(&set);
    sigaddset(&set, signal_number);
    sigaction(signal_number, &action, NULL);
    (void)kill(getpid(), signal_number);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    _exit(CLI_EXIT_SIGNAL_BASE + signal_number);
}

static int stop(live *l) {
    leave(l);
    (void)kill(getpid(), SIGTSTP);
    cli_signals_allow_stop(&l->signals, true); /* it stops here, and goes on when it is continued */
    cli_signals_allow_stop(&l->signals, false);
    return enter_and_draw(l);
}

static int take_signal(live *l) {
    struct signalfd_siginfo info;
    if (read(l->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return GOES_ON;
    const int number = (int)info.ssi_signo;
    if (number == SIGTSTP)
        return stop(l);
    if (number == SIGCONT)
        return enter_and_draw(l); /* by SIGSTOP it was stopped without a chance to leave */
    if (number == SIGWINCH)
        return draw(l);
    return number == SIGCHLD ? GOES_ON : end_by(l, number);
}

/* ---- Looks ---- */

static void ask(live *l) {
    l->is_looking = true;
    l->begun_ms = cli_clock_ms();
    cli_reader_ask(l->reader);
}

/* The pause is between two looks: servers that are slow are asked more rarely. */
static int take_look(live *l) {
    cli_view view;
    zkl_err err;
    if (!cli_reader_take(l->reader, &view, &err))
        return GOES_ON;
    l->is_looking = false;
    l->is_lost = err == ZKL_UNREACHABLE;
    l->next_ms = cli_clock_ms() + cli_watch_interval_ms(l->options);
    if (err == ZKL_OK) {
        cli_view_free(&l->view);
        l->view = view;
        write_clock(l->at);
        return GOES_ON;
    }
    cli_view_free(&view);
    if (l->is_lost)
        return GOES_ON;
    l->err = err;
    return cli_exit_status_of(err);
}

static int wait_ms(const live *l) {
    int64_t left_ms = l->next_ms - cli_clock_ms();
    if (l->is_looking)
        return SLOW_MS;
    return left_ms < 0 ? 0 : left_ms > INT32_MAX ? INT32_MAX : (int)left_ms;
}

static int step(live *l) {
    struct pollfd fds[] = {{.fd = l->signal_fd, .events = POLLIN},
                           {.fd = l->wake_fd, .events = POLLIN},
                           {.fd = STDOUT_FILENO}};
    eventfd_t count;
    if (poll(fds, 3, wait_ms(l)) < 0)
        return errno == EINTR ? GOES_ON : CLI_EXIT_INTERNAL;
    if (fds[0].revents != 0)
        return take_signal(l);
    if ((fds[2].revents & (POLLERR | POLLHUP | POLLNVAL)) != 0)
        return CLI_EXIT_SIGNAL_BASE + SIGHUP;
    if (fds[1].revents != 0)
        (void)eventfd_read(l->wake_fd, &count);
    if (l->is_lost && zkl_session_state(l->session) == ZKL_STATE_CONNECTED)
        l->next_ms = 0; /* it is back */
    int status = take_look(l);
    if (status == GOES_ON && !l->is_looking && cli_clock_ms() >= l->next_ms)
        ask(l);
    return status == GOES_ON ? draw(l) : status;
}

/* ---- Beginning and end ---- */

/* A connection has broken, or is back: the status line says so. */
static void on_event(const zkl_event *event, void *arg) {
    const live *l = (const live *)arg;
    (void)event;
    (void)eventfd_write(l->wake_fd, 1);
}

static int open_session(live *l) {
    const cli_session_request request = {
        .connect_timeout_ms = CLI_CONNECT_TIMEOUT_MS, .on_event = on_event, .arg = l};
    cli_interrupt *interrupt = cli_interrupt_start(&l->signals); /* until then it ends at once */
    if (interrupt == NULL) {
        cli_message_error(cli_subcommand_name(l->options->subcommand), ZKL_NOMEM);
        return CLI_EXIT_INTERNAL;
    }
    int status = cli_session_open(&l->session, l->options, &request);
    (void)cli_interrupt_stop(interrupt);
    return status;
}

static int run(live *l) {
    l->reader = cli_reader_start(l->session, l->options, l->look, l->wake_fd);
    if (l->reader == NULL) {
        cli_message_error(cli_subcommand_name(l->options->subcommand), ZKL_NOMEM);
        return CLI_EXIT_INTERNAL;
    }
    ask(l);
    int status = enter_and_draw(l);
    while (status == GOES_ON)
        status = step(l);
    if (status == CLI_EXIT_SIGNAL_BASE + SIGHUP)
        return end_by(l, SIGHUP); /* the terminal has gone */
    leave(l);
    if (l->err != ZKL_OK)
        (void)cli_session_explain(l->options, l->err);
    return status;
}

int cli_live(const cli_options *options, cli_view_fn look) {
    live l = {.options = options, .look = look};
    cli_signals_take(&l.signals);
    sigaddset(&l.signals.watched, SIGWINCH);
    pthread_sigmask(SIG_BLOCK, &l.signals.watched, NULL);
    l.signal_fd = signalfd(-1, &l.signals.watched, SFD_CLOEXEC | SFD_NONBLOCK);
    l.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int status = CLI_EXIT_INTERNAL;
    if (l.signal_fd < 0 || l.wake_fd < 0)
        cli_message_error(cli_subcommand_name(options->subcommand), ZKL_NOMEM);
    else
        status = open_session(&l);
    if (l.session != NULL) {
        status = run(&l);
        cli_reader_end(l.reader);
        (void)zkl_session_close(l.session); /* nothing was held */
    }
    cli_view_free(&l.view);
    if (l.signal_fd >= 0)
        close(l.signal_fd);
    if (l.wake_fd >= 0)
        close(l.wake_fd);
    return status;
}
