/* The thread that turns a signal into zkl_cancel. */
#include "cli/interrupt.h"

#include "cli/exit_status.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* A cancel that comes before the acquire has no effect on it, so it is repeated. */
#define REPEAT_MS 20

struct cli_interrupt {
    pthread_t thread;
    pthread_mutex_t mutex;
    int signal_fd;
    int stop_fd;
    zkl_lock *lock; /* under mutex, as is what follows */
    bool is_kept;
    int came;
    void (*farewell)(void *arg, int status); /* NULL: none */
    void *arg;
};

static bool wait_for_stop(cli_interrupt *in, int timeout_ms) {
    struct pollfd stop = {.fd = in->stop_fd, .events = POLLIN};
    return poll(&stop, 1, timeout_ms) > 0;
}

/* Returns the signal, or 0 when it is time to stop. */
static int wait_for_signal(cli_interrupt *in) {
    struct pollfd fds[] = {{.fd = in->stop_fd, .events = POLLIN},
                           {.fd = in->signal_fd, .events = POLLIN}};
    struct signalfd_siginfo info;
    for (;;) {
        if (poll(fds, 2, -1) < 0)
            continue; /* EINTR: the process was stopped and continued */
        if (fds[0].revents != 0)
            return 0;
        if (read(in->signal_fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
            return (int)info.ssi_signo;
    }
}

/* Nothing is held or queued before there is a lock, and opening a session cannot be canceled. */
static void act(cli_interrupt *in, int signal_number) {
    pthread_mutex_lock(&in->mutex);
    if (in->lock == NULL && !in->is_kept) {
        if (in->farewell != NULL)
            in->farewell(in->arg, CLI_EXIT_SIGNAL_BASE + signal_number);
        if (signal_number == SIGINT) {
            cli_signals_allow_interrupt();
            (void)kill(getpid(), SIGINT);
        }
        _exit(CLI_EXIT_SIGNAL_BASE + signal_number);
    }
    in->came = signal_number;
    zkl_lock *lock = in->lock;
    pthread_mutex_unlock(&in->mutex);
    if (lock == NULL)
        return;
    do {
        (void)zkl_cancel(lock); /* fails only when there is nothing to cancel */
    } while (!wait_for_stop(in, REPEAT_MS));
}

static void *interrupt_main(void *arg) {
    cli_interrupt *in = (cli_interrupt *)arg;
    int signal_number = wait_for_signal(in);
    if (signal_number != 0)
        act(in, signal_number);
    return NULL;
}

static void interrupt_free(cli_interrupt *in) {
    if (in->signal_fd >= 0)
        close(in->signal_fd);
    if (in->stop_fd >= 0)
        close(in->stop_fd);
    pthread_mutex_destroy(&in->mutex);
    free(in);
}

cli_interrupt *cli_interrupt_start(const cli_signals *signals) {
    cli_interrupt *in = calloc(1, sizeof(*in));
    if (in == NULL)
        return NULL;
    pthread_mutex_init(&in->mutex, NULL);
    in->signal_fd = signalfd(-1, &signals->ending, SFD_CLOEXEC | SFD_NONBLOCK);
    in->stop_fd = eventfd(0, EFD_CLOEXEC);
    if (in->signal_fd < 0 || in->stop_fd < 0 ||
        pthread_create(&in->thread, NULL, interrupt_main, in) != 0) {
        interrupt_free(in);
        return NULL;
    }
    return in;
}

void cli_interrupt_watch(cli_interrupt *interrupt, zkl_lock *lock) {
    pthread_mutex_lock(&interrupt->mutex);
    interrupt->lock = lock;
    pthread_mutex_unlock(&interrupt->mutex);
}

void cli_interrupt_before_exit(cli_interrupt *interrupt, void (*farewell)(void *arg, int status),
                               void *arg) {
    pthread_mutex_lock(&interrupt->mutex);
    interrupt->farewell = farewell;
    interrupt->arg = arg;
    pthread_mutex_unlock(&interrupt->mutex);
}

void cli_interrupt_keep(cli_interrupt *interrupt) {
    pthread_mutex_lock(&interrupt->mutex);
    interrupt->is_kept = true;
    pthread_mutex_unlock(&interrupt->mutex);
}

bool cli_interrupt_came(cli_interrupt *interrupt) {
    pthread_mutex_lock(&interrupt->mutex);
    bool came = interrupt->came != 0;
    pthread_mutex_unlock(&interrupt->mutex);
    return came;
}

int cli_interrupt_stop(cli_interrupt *interrupt) {
    if (interrupt == NULL)
        return 0;
    const eventfd_t one = 1;
    (void)eventfd_write(interrupt->stop_fd, one); /* a counter at 0 takes a 1 */
    pthread_join(interrupt->thread, NULL);
    int came = interrupt->came;
    interrupt_free(interrupt);
    return came;
}
