/* watch - see watch.h. Here are the views that follow each other; live.c has the screen. */
#include "cli/watch.h"

#include "cli/exit_status.h"
#include "cli/live.h"
#include "cli/message.h"
#include "cli/screen.h"
#include "cli/session.h"
#include "cli/signals.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

typedef struct watch {
    const cli_options *options;
    cli_view_fn look;
    zkl_session *session;
    bool has_printed;
    atomic_bool is_lost; /* it was said that no server answers */
} watch;

static void say_lost(watch *w) {
    if (!atomic_exchange(&w->is_lost, true))
        cli_message("no server answers: goes on when one does");
}

/* On a thread of the library. A look that is under way says so only when its time is over. */
static void on_event(const zkl_event *event, void *arg) {
    if (event->type == ZKL_EVENT_SUSPENDED)
        say_lost((watch *)arg);
}

static bool print(watch *w, const cli_view *view) {
    const cli_options *o = w->options;
    if (w->has_printed && !o->is_json)
        putchar('\n');
    w->has_printed = true;
    return cli_view_print_watched(view, stdout, cli_screen_columns());
}

/* Looks once. An error ends it, unless it is only that no server answers. */
static zkl_err look_once(watch *w) {
    cli_view view = {0};
    zkl_err err = w->look(&view, w->session, w->options, !w->has_printed);
    if (err == ZKL_OK && !print(w, &view))
        err = ZKL_NOMEM;
    cli_view_free(&view);
    if (err == ZKL_UNREACHABLE)
        say_lost(w);
    else if (err == ZKL_OK && atomic_exchange(&w->is_lost, false))
        cli_message("a server answers again");
    return err == ZKL_UNREACHABLE ? ZKL_OK : err;
}

/* False: nobody reads the output any more. */
static bool rest(const watch *w) {
    struct pollfd output = {.fd = STDOUT_FILENO};
    const int64_t ms = cli_watch_interval_ms(w->options);
    (void)poll(&output, 1, ms > INT32_MAX ? INT32_MAX : (int)ms);
    return (output.revents & (POLLERR | POLLHUP)) == 0;
}

static int run(watch *w) {
    for (;;) {
        zkl_err err = look_once(w);
        if (err != ZKL_OK)
            return cli_session_explain(w->options, err);
        if (fflush(stdout) != 0 && errno != EPIPE)
            return CLI_EXIT_OK; /* main says what is wrong */
        if (ferror(stdout) != 0 || !rest(w))
            cli_signals_end_by_pipe();
    }
}

int cli_watch(const cli_options *options, cli_view_fn look) {
    watch w = {.options = options, .look = look};
    bool is_text = options->is_json || options->is_names;
    if (!is_text && cli_screen_can_draw())
        return cli_live(options, look);
    const cli_session_request request = {
        .connect_timeout_ms = CLI_CONNECT_TIMEOUT_MS, .on_event = on_event, .arg = &w};
    int status = cli_session_open(&w.session, options, &request);
    if (status != CLI_EXIT_OK)
        return status;
    status = run(&w);
    (void)zkl_session_close(w.session); /* nothing was held */
    return status;
}
