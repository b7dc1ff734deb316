/* list - an intrusive doubly linked list with a head; a link is in at most one list. */
#ifndef ZKLI_BASE_LIST_H
#define ZKLI_BASE_LIST_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>

struct zkli_list {
    struct zkli_list *next, *previous; /* both NULL: a link in no list */
};

#define ZKLI_CONTAINER(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

static inline void zkli_list_init(struct zkli_list *head) {
    head->next = head->previous = head;
}

static inline bool zkli_list_is_empty(const struct zkli_list *head) {
    return head->next == head;
}

static inline bool zkli_list_is_linked(const struct zkli_list *link) {
    return link->next != NULL;
}

static inline void zkli_list_append(struct zkli_list *head, struct zkli_list *link) {
    link->previous = head->previous;
    link->next = head;
    head->previous->next = link;
    head->previous = link;
}

static inline void zkli_list_prepend(struct zkli_list *head, struct zkli_list *link) {
    zkli_list_append(head->next, link); /* before the first one */
}

/* Of a link that is in a list. */
static inline void zkli_list_unlink(struct zkli_list *link) {
    assert(link->next != NULL && link->previous != NULL);
    link->previous->next = link->next;
    link->next->previous = link->previous;
    link->next = link->previous = NULL;
}

static inline void zkli_list_remove(struct zkli_list *link) {
    if (zkli_list_is_linked(link))
        zkli_list_unlink(link);
}

/* Moves all links of one list to the end of another. */
static inline void zkli_list_move_all(struct zkli_list *to, struct zkli_list *from) {
    if (zkli_list_is_empty(from))
        return;
    from->next->previous = to->previous;
    to->previous->next = from->next;
    from->previous->next = to;
    to->previous = from->previous;
    zkli_list_init(from);
}

static inline struct zkli_list *zkli_list_take_first(struct zkli_list *head) {
    struct zkli_list *first = head->next;
    if (first == head)
        return NULL;
    /* The analyzer forgets that unlink relinked the neighbours of a link that was freed before. */
    zkli_list_unlink(first); /* NOLINT(clang-analyzer-unix.Malloc) */
    return first;
}

#endif
