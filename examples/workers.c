/*
 * workers NAME PERMITS JOBS - a pool of eight threads that does JOBS jobs each. However many of
 * these programs run, on whatever machines, PERMITS jobs are under way at a time.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <zklock.h>

#define THREADS 8

struct pool {
    zkl_session *session;
    const char *name;
    int permits;
    long jobs;
};

static void do_job(zkl_lock *permit) {
    const struct timespec piece = {0, 1000000};
    for (int i = 0; i < 5 && zkl_held(permit); i++) /* a lost permit is another's */
        (void)nanosleep(&piece, NULL);
}

/* A thread has a handle of its own: threads that share one wait for each other. */
static void *work(void *arg) {
    const struct pool *pool = arg;
    zkl_lock *permit = NULL;
    zkl_err err = zkl_lock_open(&permit, pool->session, pool->name,
                                &ZKL_LOCK_OPTIONS(.kind = ZKL_SEMAPHORE, .permits = pool->permits));
    for (long i = 0; i < pool->jobs && err == ZKL_OK; i++) {
        err = zkl_acquire(permit, ZKL_FOREVER);
        if (err != ZKL_OK)
            break;
        do_job(permit);
        err = zkl_release(permit); /* LOST: the job may not be done, as after a crash */
    }
    (void)zkl_lock_close(permit);
    if (err != ZKL_OK)
        (void)fprintf(stderr, "workers: %s\n", zkl_strerror(err));
    return err == ZKL_OK ? arg : NULL;
}

static int run(struct pool *pool) {
    pthread_t threads[THREADS];
    int started = 0, failed = 0;
    while (started < THREADS && pthread_create(&threads[started], NULL, work, pool) == 0)
        started++;
    for (int i = 0; i < started; i++) {
        void *result = NULL;
        failed += pthread_join(threads[i], &result) != 0 || result == NULL;
    }
    printf("%ld jobs done\n", pool->jobs * (started - failed));
    return started == THREADS && failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv) {
    struct pool pool = {.name = argc > 1 ? argv[1] : ""};
    if (argc != 4) {
        (void)fprintf(stderr, "usage: workers NAME PERMITS JOBS\n");
        return EXIT_FAILURE;
    }
    pool.permits = (int)strtol(argv[2], NULL, 10);
    pool.jobs = strtol(argv[3], NULL, 10);
    zkl_err err = zkl_session_open(&pool.session, getenv("ZKLOCK_HOSTS"), NULL);
    int status = EXIT_FAILURE;
    if (err != ZKL_OK)
        (void)fprintf(stderr, "workers: %s\n", zkl_strerror(err));
    else
        status = run(&pool);
    (void)zkl_session_close(pool.session);
    return status;
}
