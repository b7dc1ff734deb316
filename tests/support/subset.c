/* See subset.h. */
#include "support/subset.h"

#include "support/random.h"

zkl_err subset_open(subset *s, zkl_session *session, const char *(*name_of)(size_t lock, void *arg),
                    zkl_event_fn on_event, void *arg) {
    zkl_err err = ZKL_OK;

    for (size_t i = 0; i < SUBSET_LOCKS && err == ZKL_OK; i++) {
        err = zkl_lock_open(&s->exclusive[i], session, name_of(i, arg),
                            &ZKL_LOCK_OPTIONS(.kind = i % 3 == 0 ? ZKL_MUTEX : ZKL_WRITE,
                                              .on_event = on_event, .arg = arg));
        if (err == ZKL_OK)
            err = zkl_lock_open(
                &s->shared[i], session, name_of(i, arg),
                &ZKL_LOCK_OPTIONS(.kind = ZKL_READ, .on_event = on_event, .arg = arg));
    }
    return err;
}

void subset_close(subset *s) {
    for (size_t i = 0; i < SUBSET_LOCKS; i++) {
        (void)zkl_lock_close(s->exclusive[i]); /* the session's close ends what is left */
        (void)zkl_lock_close(s->shared[i]);
        s->exclusive[i] = s->shared[i] = NULL;
    }
}

/* The first of a shuffled deck. */
void subset_choose(subset *s, uint64_t *random) {
    size_t deck[SUBSET_LOCKS];

    for (size_t i = 0; i < SUBSET_LOCKS; i++)
        deck[i] = i;
    s->count = SUBSET_MIN + random_draw(random, SUBSET_MAX - SUBSET_MIN + 1);
    for (size_t i = 0; i < s->count; i++) {
        const size_t k = i + random_draw(random, SUBSET_LOCKS - i), lock = deck[k];

        deck[k] = deck[i];
        s->chosen[i] = lock;
        s->is_reader[i] = random_draw(random, 3) == 0;
        s->locks[i] = s->is_reader[i] ? s->shared[lock] : s->exclusive[lock];
    }
}

/* The holds of one session end together. So one that is there when another is not any more, or not
 * yet, is a part. The second round sees those that the first has seen too early. */
subset_state subset_look(const subset *s) {
    bool has_one = false, lacks_one = false, is_torn = false;
    int64_t token = 0;

    for (size_t i = 0; i < 2 * s->count; i++) {
        zkl_lock *l = s->locks[i % s->count];
        const int64_t its = zkl_token(l);
        const bool is_held = its > 0 && zkl_held(l);

        is_torn |= is_held && (lacks_one || (has_one && its != token));
        has_one |= is_held;
        lacks_one |= !is_held;
        token = is_held ? its : token;
    }
    return is_torn ? SUBSET_TORN : lacks_one ? SUBSET_NONE : SUBSET_WHOLE;
}
