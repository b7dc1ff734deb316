/* See failing.h. */
#include "support/failing.h"
#include "support/wait.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/timerfd.h>

static struct {
    atomic_int part;
    atomic_bool is_lasting;
    atomic_size_t nth, asked, failed;
    _Atomic(const void *) caller;
    atomic_size_t live[FAILING_CLIENT + 1];
} Failing;

void failing_arm(failing_part part, size_t nth, bool is_lasting) {
    atomic_store(&Failing.part, FAILING_NONE);
    atomic_store(&Failing.nth, nth);
    atomic_store(&Failing.is_lasting, is_lasting);
    atomic_store(&Failing.asked, 0);
    atomic_store(&Failing.failed, 0);
    atomic_store(&Failing.caller, NULL);
    atomic_store(&Failing.part, (int)part);
}

void failing_disarm(void) {
    atomic_store(&Failing.part, FAILING_NONE);
}

size_t failing_asked(void) {
    return atomic_load(&Failing.asked);
}

size_t failing_failed(void) {
    return atomic_load(&Failing.failed);
}

const void *failing_caller(void) {
    return atomic_load(&Failing.caller);
}

size_t failing_live(failing_part part) {
    return atomic_load(&Failing.live[part]);
}

/* Whether this call is to fail. */
static bool fails(failing_part part, const void *caller) {
    if (atomic_load(&Failing.part) != (int)part)
        return false;

    const size_t number = atomic_fetch_add(&Failing.asked, 1) + 1;
    const size_t nth = atomic_load(&Failing.nth);

    if (nth == 0 || number < nth || (number > nth && !atomic_load(&Failing.is_lasting)))
        return false;
    if (atomic_fetch_add(&Failing.failed, 1) == 0)
        atomic_store(&Failing.caller, caller);
    errno = ENOMEM; /* as an allocation leaves it */
    return true;
}

static void *noted(failing_part part, void *block) {
    if (block)
        atomic_fetch_add(&Failing.live[part], 1);
    return block;
}

static void *resized(failing_part part, void *old, size_t size) {
    void *block = realloc(old, size);

    return old ? block : noted(part, block);
}

static void freed(failing_part part, void *block) {
    if (block)
        atomic_fetch_sub(&Failing.live[part], 1);
    free(block);
}

struct start {
    void *(*run)(void *);
    void *arg;
};

/* Threads of the library take no signals, and so those of the client; a crash is to be reported. */
static void *run_open(void *arg) {
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    const struct start start = *(struct start *)arg;
    sigset_t crashes;

    free(arg);
    (void)sigemptyset(&crashes);
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
        (void)sigaddset(&crashes, numbers[i]);
    (void)pthread_sigmask(SIG_UNBLOCK, &crashes, NULL);
    return start.run(start.arg);
}

static int started(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                   void *arg) {
    struct start *start = malloc(sizeof(*start));
    int error;

    if (!start)
        return EAGAIN;
    *start = (struct start){run, arg};
    error = pthread_create(thread, attributes, run_open, start);
    if (error)
        free(start);
    return error;
}

/* What the copies call: failing_<part>_<function>. The linker sees to it, so there is no header. */
#define CALLER __builtin_return_address(0)
#define FUNCTION(type, part, name, ...)                                                            \
    type failing_##part##_##name(__VA_ARGS__);                                                     \
    type failing_##part##_##name(__VA_ARGS__)

#define MEMORY(part, PART)                                                                         \
    FUNCTION(void *, part, malloc, size_t size) {                                                  \
        return fails(PART, CALLER) ? NULL : noted(PART, malloc(size));                             \
    }                                                                                              \
    FUNCTION(void *, part, calloc, size_t count, size_t size) {                                    \
        return fails(PART, CALLER) ? NULL : noted(PART, calloc(count, size));                      \
    }                                                                                              \
    FUNCTION(void *, part, realloc, void *old, size_t size) {                                      \
        return fails(PART, CALLER) ? NULL : resized(PART, old, size);                              \
    }                                                                                              \
    FUNCTION(char *, part, strdup, const char *text) {                                             \
        return fails(PART, CALLER) ? NULL : noted(PART, strdup(text));                             \
    }                                                                                              \
    FUNCTION(char *, part, strndup, const char *text, size_t size) {                               \
        return fails(PART, CALLER) ? NULL : noted(PART, strndup(text, size));                      \
    }                                                                                              \
    FUNCTION(void, part, free, void *block) {                                                      \
        freed(PART, block);                                                                        \
    }                                                                                              \
    FUNCTION(int, part, pthread_create, pthread_t *thread, const pthread_attr_t *attributes,       \
             void *(*run)(void *), void *arg) {                                                    \
        return fails(PART, CALLER) ? EAGAIN : started(thread, attributes, run, arg);               \
    }

MEMORY(own, FAILING_OWN)
MEMORY(client, FAILING_CLIENT)

FUNCTION(int, own, pthread_mutex_init, pthread_mutex_t *mutex,
         const pthread_mutexattr_t *attributes) {
    return fails(FAILING_OWN, CALLER) ? ENOMEM : pthread_mutex_init(mutex, attributes);
}

FUNCTION(int, own, pthread_condattr_init, pthread_condattr_t *attributes) {
    return fails(FAILING_OWN, CALLER) ? ENOMEM : pthread_condattr_init(attributes);
}

FUNCTION(int, own, pthread_cond_init, pthread_cond_t *condition,
         const pthread_condattr_t *attributes) {
    return fails(FAILING_OWN, CALLER) ? ENOMEM : pthread_cond_init(condition, attributes);
}

FUNCTION(int, own, timerfd_create, int clock, int flags) {
    if (!fails(FAILING_OWN, CALLER))
        return timerfd_create(clock, flags);
    errno = EMFILE;
    return -1;
}

FUNCTION(ssize_t, own, getrandom, void *bytes, size_t size, unsigned flags) {
    if (!fails(FAILING_OWN, CALLER))
        return getrandom(bytes, size, flags);
    errno = ENOSYS;
    return -1;
}

/* The C library allocates on the client's behalf. */
FUNCTION(int, client, getaddrinfo, const char *node, const char *service,
         const struct addrinfo *hints, struct addrinfo **ret_info) {
    return fails(FAILING_CLIENT, CALLER) ? EAI_MEMORY : getaddrinfo(node, service, hints, ret_info);
}

/* Without a buffer for a frame the client leaves it in the socket, polls that, and so on. The other
 * children that run on this machine want its processors, too. */
FUNCTION(int, client, poll, struct pollfd *fds, nfds_t count, int timeout_ms) {
    if (failing_failed() > 0)
        wait_pause();
    return poll(fds, count, timeout_ms);
}

/* The copies have their code in sections of these names; a program without them has neither. */
extern const char __start_own_text[] __attribute__((weak));
extern const char __stop_own_text[] __attribute__((weak));
extern const char __start_client_text[] __attribute__((weak));
extern const char __stop_client_text[] __attribute__((weak));

failing_part failing_part_of(const void *address) {
    const char *at = address;

    if (at >= __start_own_text && at < __stop_own_text)
        return FAILING_OWN;
    if (at >= __start_client_text && at < __stop_client_text)
        return FAILING_CLIENT;
    return FAILING_NONE;
}
