/*
 * counter - adds 1 to the number in a file, so many times: read it, think, write it back. When
 * several processes do that to one file they lose each other's updates; under a lock they do not.
 * scripts/demo.sh runs eight of them.
 *
 * Not here: protection against a process that is paused between its last look at the hold and the
 * write. A plain file cannot refuse a late writer; a store that compares zkl_token() can.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <zklock.h>

/* A number is always written as so many digits, so that no write leaves the rest of another. */
#define DIGITS 19
#define THINK_NS 1000000
/* Short, because a holder that dies keeps the others waiting for so long. */
#define SESSION_TIMEOUT_MS 2000
/* Far longer than the queue ever takes: without a server we stop instead of waiting for ever. */
#define ACQUIRE_TIMEOUT_MS 30000
#define ROUNDS_MAX 1000000

static const char Usage[] =
    "usage: counter [-l NAME] [-s N] FILE ROUNDS\n"
    "\n"
    "Adds 1 to the number in FILE, ROUNDS times, and prints how many times it did.\n"
    "\n"
    "  -l NAME  do each round under this lock; ZKLOCK_HOSTS names the servers\n"
    "  -s N     after N rounds acquire the lock, print \"holding N\" and stop there until\n"
    "           standard input ends\n";

struct job {
    int fd;
    int64_t rounds;
    int64_t stop_after; /* -1: never */
    int64_t done;
    const char *lock_name; /* NULL: without a lock */
    zkl_lock *lock;
};

static bool complain(const char *what, const char *why) {
    (void)fprintf(stderr, "counter %ld: %s: %s\n", (long)getpid(), what, why);
    return false;
}

/* ---- The file ---- */

static bool read_number(int fd, int64_t *ret_number) {
    char text[DIGITS + 1] = "";
    char *end;
    if (pread(fd, text, DIGITS, 0) < 0)
        return complain("cannot read the file", strerror(errno));
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (errno != 0 || end == text || number < 0 || number == INT64_MAX)
        return complain("no number in the file", text);
    *ret_number = number;
    return true;
}

static bool write_number(int fd, int64_t number) {
    char text[DIGITS + 2];
    int length = snprintf(text, sizeof(text), "%0*" PRId64 "\n", DIGITS, number);
    if (pwrite(fd, text, (size_t)length, 0) != length)
        return complain("cannot write the file", strerror(errno));
    return true;
}

static void think(void) {
    struct timespec left = {.tv_nsec = THINK_NS};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

/* ---- One round ---- */

static bool round_without_lock(struct job *job) {
    int64_t number;
    if (!read_number(job->fd, &number))
        return false;
    think();
    if (!write_number(job->fd, number + 1))
        return false;
    job->done++;
    return true;
}

/* Says that we hold, and holds. That nothing is read or written here makes the count exact: whoever
 * is killed now has done the rounds it says and no part of another. */
static bool stop_here(const struct job *job) {
    (void)printf("holding %" PRId64 "\n", job->done);
    (void)fflush(stdout);
    while (getchar() != EOF)
        ;
    return complain("stopped while holding", "standard input has ended");
}

/* A hold that ends early, because the server was out of reach for too long, costs a round, not an
 * update: then nothing is written and the round is done again. */
static bool round_under_lock(struct job *job) {
    int64_t number;
    zkl_err err = zkl_acquire(job->lock, ACQUIRE_TIMEOUT_MS);
    if (err != ZKL_OK)
        return complain("acquire", zkl_strerror(err));
    if (job->done == job->stop_after)
        return stop_here(job);
    if (!read_number(job->fd, &number))
        return false;
    think();
    bool is_held = zkl_held(job->lock);
    if (is_held && !write_number(job->fd, number + 1))
        return false;
    err = zkl_release(job->lock);
    if (!is_held)
        (void)complain("nothing written", zkl_strerror(ZKL_LOST));
    else if (err != ZKL_OK)
        (void)complain("after the write", zkl_strerror(err)); /* whoever reads the file will see */
    job->done += is_held;
    return true;
}

static bool do_rounds(struct job *job) {
    while (job->done < job->rounds)
        if (!(job->lock != NULL ? round_under_lock(job) : round_without_lock(job)))
            return false;
    (void)printf("done %" PRId64 "\n", job->done);
    return true;
}

/* ---- With a session ---- */

static bool do_rounds_locked(struct job *job) {
    zkl_session *session;
    bool is_ok = false;
    const char *hosts = getenv("ZKLOCK_HOSTS");
    if (hosts == NULL)
        return complain("-l", "ZKLOCK_HOSTS is not set");
    zkl_err err = zkl_session_open(&session, hosts,
                                   &ZKL_SESSION_OPTIONS(.session_timeout_ms = SESSION_TIMEOUT_MS));
    if (err != ZKL_OK)
        return complain(hosts, zkl_strerror(err));
    err = zkl_lock_open(&job->lock, session, job->lock_name, NULL);
    if (err != ZKL_OK)
        (void)complain(job->lock_name, zkl_strerror(err));
    else
        is_ok = do_rounds(job);
    (void)zkl_lock_close(job->lock); /* NULL, or open; a fork is the only way to fail */
    (void)zkl_session_close(session);
    return is_ok;
}

/* ---- The command line ---- */

static bool parse_number(int64_t *ret_number, const char *text) {
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || number < 0 || number > ROUNDS_MAX)
        return false;
    *ret_number = number;
    return true;
}

static bool parse_command_line(struct job *job, int argc, char **argv) {
    int option;
    while ((option = getopt(argc, argv, "l:s:")) != -1)
        if (option == 'l')
            job->lock_name = optarg;
        else if (option != 's' || !parse_number(&job->stop_after, optarg))
            return false;
    return argc - optind == 2 && parse_number(&job->rounds, argv[optind + 1]) &&
           (job->stop_after < 0 || job->lock_name != NULL);
}

int main(int argc, char **argv) {
    struct job job = {.stop_after = -1};
    if (!parse_command_line(&job, argc, argv)) {
        (void)fputs(Usage, stderr);
        return 64;
    }
    job.fd = open(argv[optind], O_RDWR | O_CLOEXEC);
    if (job.fd < 0) {
        (void)complain(argv[optind], strerror(errno));
        return EXIT_FAILURE;
    }
    bool is_ok = job.lock_name != NULL ? do_rounds_locked(&job) : do_rounds(&job);
    (void)close(job.fd); /* each write has been reported already */
    if (fflush(stdout) != 0)
        is_ok = complain("standard output", strerror(errno));
    return is_ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
