/*
 * leader NAME TERMS - stands for election, so many times. Who leads goes on until another candidate
 * wants to, its term is over, or the hold is lost. The token says whose word is newer: show it to
 * whatever the leader commands (see fenced.c).
 */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <zklock.h>

#define TERM_S 3

/* The last hold that another candidate waits for. */
static _Atomic zkl_hold Wanted;

static void on_event(const zkl_event *event, void *arg) {
    (void)arg;
    if (event->type == ZKL_EVENT_WANTED)
        atomic_store(&Wanted, event->hold);
}

/* One piece of the work; short, so that a loss of the hold is soon seen. */
static void work(void) {
    const struct timespec moment = {.tv_nsec = 50000000};
    (void)nanosleep(&moment, NULL);
}

static void lead(zkl_lock *lock) {
    zkl_hold hold = zkl_hold_of(lock);
    time_t end = time(NULL) + TERM_S;
    printf("leads by token %" PRId64 "\n", zkl_token(lock));
    (void)fflush(stdout);
    while (zkl_hold_valid(lock, hold) && atomic_load(&Wanted) != hold && time(NULL) < end)
        work();
    if (!zkl_hold_valid(lock, hold))
        printf("deposed\n");
}

int main(int argc, char **argv) {
    zkl_session *s = NULL;
    zkl_lock *lock = NULL;
    if (argc != 3) {
        (void)fprintf(stderr, "usage: leader NAME TERMS\n");
        return EXIT_FAILURE;
    }
    const zkl_lock_options options = ZKL_LOCK_OPTIONS(.want_wanted = true, .on_event = on_event,
                                                      .label = "candidate");
    zkl_err err = zkl_session_open(&s, getenv("ZKLOCK_HOSTS"), NULL);
    if (err == ZKL_OK)
        err = zkl_lock_open(&lock, s, argv[1], &options);
    for (long left = strtol(argv[2], NULL, 10); err == ZKL_OK && left > 0; left--) {
        err = zkl_acquire(lock, ZKL_FOREVER);
        if (err != ZKL_OK)
            break;
        lead(lock);
        (void)zkl_release(lock); /* LOST is no news here */
    }
    if (err != ZKL_OK)
        (void)fprintf(stderr, "leader: %s\n", zkl_strerror(err));
    (void)zkl_lock_close(lock);
    (void)zkl_session_close(s);
    return err == ZKL_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
