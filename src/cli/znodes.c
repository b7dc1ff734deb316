/* znodes - see znodes.h. The one file of the command with calls of ZooKeeper's client library. */
#include "cli/znodes.h"

#include "cli/clock.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <zklock_zookeeper.h>
#include <zookeeper/zookeeper.h>

/* How soon a signal is seen. */
#define LOOK_MS 50

/* The client library has it until it is answered; one that never is goes with the session. */
struct cli_znode_call {
    cli_znodes *znodes;
    cli_znode_call *next; /* of all */
    bool is_done, is_ended;
    cli_znode answer;
};

struct cli_znodes {
    zkl_session *session;
    zhandle_t *handle;
    cli_interrupt *interrupt;
    int64_t deadline_ms;
    bool has_interrupt;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    cli_znode_call *calls; /* under mutex, with all that is in them */
};

static cli_znode_result result_of(int code) {
    switch (code) {
    case ZOK:
        return CLI_ZNODE_OK;
    case ZNONODE:
        return CLI_ZNODE_NONE;
    case ZNODEEXISTS:
        return CLI_ZNODE_EXISTS;
    case ZNOTEMPTY:
        return CLI_ZNODE_NOT_EMPTY;
    case ZNOAUTH:
    case ZAUTHFAILED:
        return CLI_ZNODE_DENIED;
    case ZUNIMPLEMENTED:
        return CLI_ZNODE_UNSUPPORTED;
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZSESSIONEXPIRED:
    case ZSESSIONMOVED:
    case ZCLOSING:
    case ZINVALIDSTATE:
        return CLI_ZNODE_SILENT;
    default:
        return CLI_ZNODE_FAILED;
    }
}

/* ---- Calls ---- */

static void free_call(cli_znode_call *call) {
    for (size_t i = 0; i < call->answer.count; i++)
        free(call->answer.names[i]);
    free(call->answer.names);
    free(call->answer.path);
    free(call);
}

static cli_znode_call *begin(cli_znodes *z) {
    cli_znode_call *call = calloc(1, sizeof(*call));
    if (call == NULL)
        return NULL;
    call->znodes = z;
    pthread_mutex_lock(&z->mutex);
    call->next = z->calls;
    z->calls = call;
    pthread_mutex_unlock(&z->mutex);
    return call;
}

/* z->mutex is held. */
static void remove_call(cli_znodes *z, cli_znode_call *call) {
    cli_znode_call **link = &z->calls;
    while (*link != call)
        link = &(*link)->next;
    *link = call->next;
    free_call(call);
}

static void finish(cli_znode_call *call, int code) {
    cli_znodes *z = call->znodes;
    pthread_mutex_lock(&z->mutex);
    call->answer.result = result_of(code);
    call->is_done = true;
    if (call->is_ended)
        remove_call(z, call);
    else
        pthread_cond_broadcast(&z->changed);
    pthread_mutex_unlock(&z->mutex);
}

/* A request that was not sent has no completion. */
static cli_znode_call *sent(cli_znode_call *call, int code) {
    if (code != ZOK)
        finish(call, code);
    return call;
}

/* Clients see twice the number of creates less the number of children (DataNode.copyStat). */
static int64_t created(const struct Stat *stat) {
    return (uint32_t)(stat->cversion + (int64_t)stat->numChildren) / 2;
}

static void on_listed(int code, const struct String_vector *names, const struct Stat *stat,
                      const void *data) {
    cli_znode_call *call = (cli_znode_call *)data;
    cli_znode *answer = &call->answer;
    if (code == ZOK) {
        const size_t count = (size_t)names->count;
        answer->is_ephemeral = stat->ephemeralOwner != 0;
        answer->created = created(stat);
        answer->names = calloc(count + 1, sizeof(*answer->names));
        for (size_t i = 0; i < count && answer->names != NULL; i++) {
            answer->names[i] = strdup(names->data[i]);
            answer->count += answer->names[i] != NULL;
            if (answer->names[i] == NULL)
                break;
        }
        if (answer->count < count)
            code = ZSYSTEMERROR;
    }
    finish(call, code);
}

static void on_created(int code, const char *path, const void *data) {
    cli_znode_call *call = (cli_znode_call *)data;
    if (code == ZOK)
        call->answer.path = strdup(path); /* NULL: who needs it lists */
    finish(call, code);
}

static void on_deleted(int code, const void *data) {
    finish((cli_znode_call *)data, code);
}

cli_znode_call *cli_znode_list(cli_znodes *znodes, const char *path) {
    cli_znode_call *call = begin(znodes);
    return call == NULL ? NULL
                        : sent(call, zoo_aget_children2(znodes->handle, path, 0, on_listed, call));
}

cli_znode_call *cli_znode_create(cli_znodes *znodes, const char *path, cli_znode_kind kind) {
    cli_znode_call *call = begin(znodes);
    if (call == NULL)
        return NULL;
    const int mode = kind == CLI_ZNODE_CONTAINER    ? ZOO_CONTAINER
                     : kind == CLI_ZNODE_SEQUENTIAL ? ZOO_EPHEMERAL_SEQUENTIAL
                                                    : ZOO_PERSISTENT;
    return sent(call, zoo_acreate(znodes->handle, path, "", 0, &ZOO_OPEN_ACL_UNSAFE, mode,
                                  on_created, call));
}

cli_znode_call *cli_znode_delete(cli_znodes *znodes, const char *path) {
    cli_znode_call *call = begin(znodes);
    return call == NULL ? NULL
                        : sent(call, zoo_adelete(znodes->handle, path, -1, on_deleted, call));
}

/* ---- Waiting ---- */

static void wait_a_moment(cli_znodes *z, int64_t ms) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (ms < LOOK_MS ? ms : LOOK_MS) * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    (void)pthread_cond_timedwait(&z->changed, &z->mutex, &until); /* the caller looks again */
}

const cli_znode *cli_znode_wait(cli_znodes *znodes, cli_znode_call *call) {
    static const cli_znode failed = {.result = CLI_ZNODE_FAILED},
                           silent = {.result = CLI_ZNODE_SILENT},
                           stopped = {.result = CLI_ZNODE_STOPPED};
    const cli_znode *answer = NULL;
    if (call == NULL)
        return &failed;
    pthread_mutex_lock(&znodes->mutex);
    while (answer == NULL) {
        const int64_t left_ms = znodes->deadline_ms - cli_clock_ms();
        if (call->is_done)
            answer = &call->answer;
        else if (znodes->has_interrupt && cli_interrupt_came(znodes->interrupt))
            answer = &stopped;
        else if (left_ms <= 0)
            answer = &silent;
        else
            wait_a_moment(znodes, left_ms);
    }
    pthread_mutex_unlock(&znodes->mutex);
    return answer;
}

void cli_znode_end(cli_znodes *znodes, cli_znode_call *call) {
    if (call == NULL)
        return;
    pthread_mutex_lock(&znodes->mutex);
    call->is_ended = true;
    if (call->is_done)
        remove_call(znodes, call);
    pthread_mutex_unlock(&znodes->mutex);
}

/* ---- Begin and end ---- */

cli_znodes *cli_znodes_open(zkl_session *session, cli_interrupt *interrupt) {
    cli_znodes *z = calloc(1, sizeof(*z));
    if (z == NULL)
        return NULL;
    z->session = session;
    z->interrupt = interrupt;
    z->handle = zkl_session_zhandle(session);
    if (z->handle == NULL) {
        free(z);
        return NULL;
    }
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&z->mutex, NULL);
    pthread_cond_init(&z->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return z;
}

void cli_znodes_return(cli_znodes *znodes) {
    (void)zkl_session_zhandle_return(znodes->session, znodes->handle); /* it is lent */
}

void cli_znodes_free(cli_znodes *znodes) {
    if (znodes == NULL)
        return;
    while (znodes->calls != NULL)
        remove_call(znodes, znodes->calls);
    pthread_cond_destroy(&znodes->changed);
    pthread_mutex_destroy(&znodes->mutex);
    free(znodes);
}

void cli_znodes_limit(cli_znodes *znodes, int64_t deadline_ms, bool has_interrupt) {
    znodes->deadline_ms = deadline_ms;
    znodes->has_interrupt = has_interrupt;
}
