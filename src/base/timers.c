/* timers - see timers.h. A pairing heap: intrusive, of any size, nothing to allocate. */
#include "base/timers.h"

void zkli_timer_init(struct zkli_timer *timer, void (*fire)(struct zkli_timer *timer)) {
    *timer = (struct zkli_timer){.at_ns = ZKLI_NEVER, .fire = fire};
}

static struct zkli_timer *meld(struct zkli_timer *a, struct zkli_timer *b) {
    if (a == NULL)
        return b;
    if (b == NULL)
        return a;
    if (b->at_ns < a->at_ns) {
        struct zkli_timer *swap = a;
        a = b;
        b = swap;
    }
    b->previous = a;
    b->sibling = a->child;
    if (a->child != NULL)
        a->child->previous = b;
    a->child = b;
    return a;
}

/* Melds a list of siblings into one heap: pairs from the left, then the pairs. */
static struct zkli_timer *meld_siblings(struct zkli_timer *first) {
    struct zkli_timer *pairs = NULL;
    while (first != NULL) {
        struct zkli_timer *a = first;
        struct zkli_timer *b = a->sibling;
        first = b == NULL ? NULL : b->sibling;
        a->sibling = a->previous = NULL;
        if (b != NULL)
            b->sibling = b->previous = NULL;
        struct zkli_timer *pair = meld(a, b);
        pair->sibling = pairs;
        pairs = pair;
    }
    struct zkli_timer *root = NULL;
    while (pairs != NULL) {
        struct zkli_timer *next = pairs->sibling;
        pairs->sibling = NULL;
        root = meld(root, pairs);
        pairs = next;
    }
    return root;
}

/* From now on these are all. */
static void plant(struct zkli_timers *timers, struct zkli_timer *root) {
    timers->root = root;
    if (root != NULL)
        root->previous = root;
}

void zkli_timer_clear(struct zkli_timers *timers, struct zkli_timer *timer) {
    if (!zkli_timer_is_set(timer))
        return;
    struct zkli_timer *below = meld_siblings(timer->child);
    if (timer == timers->root) {
        plant(timers, below);
    } else {
        if (timer->previous->child == timer)
            timer->previous->child = timer->sibling;
        else
            timer->previous->sibling = timer->sibling;
        if (timer->sibling != NULL)
            timer->sibling->previous = timer->previous;
        plant(timers, meld(timers->root, below));
    }
    timer->child = timer->sibling = timer->previous = NULL;
}

void zkli_timer_set(struct zkli_timers *timers, struct zkli_timer *timer, int64_t at_ns) {
    if (zkli_timer_is_set(timer) && timer->at_ns == at_ns)
        return;
    zkli_timer_clear(timers, timer);
    if (at_ns == ZKLI_NEVER)
        return;
    timer->at_ns = at_ns;
    plant(timers, meld(timers->root, timer));
}

int64_t zkli_timers_next(const struct zkli_timers *timers) {
    return timers->root == NULL ? ZKLI_NEVER : timers->root->at_ns;
}

void zkli_timers_run(struct zkli_timers *timers, int64_t now_ns) {
    while (timers->root != NULL && timers->root->at_ns <= now_ns) {
        struct zkli_timer *due = timers->root;
        zkli_timer_clear(timers, due);
        due->fire(due);
    }
}
