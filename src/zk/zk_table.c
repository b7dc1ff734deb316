/* zk_table - see zk_table.h. */
#include "zk/zk_table.h"

#include <assert.h>
#include <pthread.h>
#include <stddef.h>

/* Powers of 2. A process has a few ports; with a thousand, sixteen share a bucket. */
#define BUCKETS 64
#define ID_MAX (UINTPTR_MAX >> ZKLI_TABLE_BITS)

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* nothing is called under it */
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;   /* a delivery of a closed port */
static struct zkli_place *buckets[BUCKETS];
static uintptr_t last_id;

/* ---- fork ---- */

/* A child that opens a session finds the mutex free, whichever thread of its parent's had it. */
static void before_fork(void) {
    (void)pthread_mutex_lock(&mutex);
}

static void after_fork(void) {
    (void)pthread_mutex_unlock(&mutex);
}

/* Those who waited are not there, and the condition would wait for them. */
static void in_child(void) {
    (void)pthread_cond_init(&ended, NULL);
    after_fork();
}

/* When the library is loaded: another thread could fork in the middle of it later. */
__attribute__((constructor)) static void watch_forks(void) {
    (void)pthread_atfork(before_fork, after_fork, in_child);
}

/* ---- With the mutex ---- */

/* What points to the place with this id; to NULL: none has it. */
static struct zkli_place **find(uintptr_t id) {
    struct zkli_place **link = &buckets[id % BUCKETS];
    while (*link != NULL && (*link)->id != id)
        link = &(*link)->next;
    return link;
}

/* Takes it out, if it was dropped and nothing holds it. */
static bool take_out(struct zkli_place *place) {
    if (place->free == NULL || place->deliveries > 0 || place->lent > 0)
        return false;
    *find(place->id) = place->next;
    return true;
}

/* ---- Ports ---- */

void zkli_table_add(struct zkli_place *place) {
    (void)pthread_mutex_lock(&mutex);
    do
        last_id = last_id < ID_MAX ? last_id + 1 : 1; /* so no context is NULL */
    while (*find(last_id) != NULL);
    *place = (struct zkli_place){.id = last_id, .next = buckets[last_id % BUCKETS]};
    buckets[last_id % BUCKETS] = place;
    (void)pthread_mutex_unlock(&mutex);
}

void *zkli_table_context(const struct zkli_place *place, unsigned number) {
    assert(number < ZKLI_TABLE_NUMBERS);
    return (void *)(place->id << ZKLI_TABLE_BITS | number);
}

void zkli_table_close(struct zkli_place *place) {
    (void)pthread_mutex_lock(&mutex);
    place->is_closed = true;
    while (place->deliveries > 0)
        (void)pthread_cond_wait(&ended, &mutex);
    (void)pthread_mutex_unlock(&mutex);
}

void zkli_table_drop(struct zkli_place *place, bool is_over,
                     void (*free_place)(struct zkli_place *place)) {
    (void)pthread_mutex_lock(&mutex);
    assert(place->is_closed);
    if (is_over)
        place->lent = 0;
    place->free = free_place;
    bool is_out = take_out(place);
    (void)pthread_mutex_unlock(&mutex);
    if (is_out)
        free_place(place);
}

/* ---- Requests and deliveries ---- */

void zkli_table_lend(struct zkli_place *place) {
    (void)pthread_mutex_lock(&mutex);
    place->lent++;
    (void)pthread_mutex_unlock(&mutex);
}

void zkli_table_give_back(struct zkli_place *place) {
    (void)pthread_mutex_lock(&mutex);
    assert(place->lent > 0);
    place->lent--;
    (void)pthread_mutex_unlock(&mutex);
}

struct zkli_place *zkli_table_begin(const void *context, unsigned *ret_number, bool *ret_is_open) {
    uintptr_t whole = (uintptr_t)context;
    (void)pthread_mutex_lock(&mutex);
    struct zkli_place *place = *find(whole >> ZKLI_TABLE_BITS);
    if (place != NULL && place->is_closed && ret_is_open == NULL)
        place = NULL;
    if (place != NULL) {
        place->deliveries++;
        *ret_number = (unsigned)(whole % ZKLI_TABLE_NUMBERS);
        if (ret_is_open != NULL)
            *ret_is_open = !place->is_closed;
    }
    (void)pthread_mutex_unlock(&mutex);
    return place;
}

void zkli_table_end(struct zkli_place *place) {
    (void)pthread_mutex_lock(&mutex);
    place->deliveries--;
    if (place->is_closed)
        (void)pthread_cond_broadcast(&ended);
    bool is_out = take_out(place);
    (void)pthread_mutex_unlock(&mutex);
    if (is_out)
        place->free(place);
}
