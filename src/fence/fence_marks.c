/* The marks: a sorted array, since names come once and are looked up often. */
#include "fence/fence.h"

#include <stdlib.h>
#include <string.h>

/* Where the name stands, or would; whether it does. */
static bool find(const struct zkli_fence_marks *marks, const char *name, size_t *ret_at) {
    size_t low = 0, high = marks->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const int order = strcmp(marks->items[middle].name, name);

        if (order == 0) {
            *ret_at = middle;
            return true;
        }
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *ret_at = low;
    return false;
}

int64_t zkli_fence_marks_token(const struct zkli_fence_marks *marks, const char *name) {
    size_t at;

    return find(marks, name, &at) ? marks->items[at].token : 0;
}

zkl_err zkli_fence_marks_get(struct zkli_fence_marks *marks, const char *name,
                             struct zkli_fence_mark **ret_mark) {
    struct zkli_fence_mark *mark;
    char *copy;
    size_t at;

    if (find(marks, name, &at)) {
        *ret_mark = &marks->items[at];
        return ZKL_OK;
    }
    if (marks->count == ZKLI_FENCE_NAMES_MAX)
        return ZKL_LIMIT;
    if (marks->count == marks->room) {
        const size_t room = marks->room ? 2 * marks->room : 8;
        struct zkli_fence_mark *items = realloc(marks->items, room * sizeof(*items));

        if (!items)
            return ZKL_NOMEM;
        marks->items = items;
        marks->room = room;
    }
    copy = strdup(name);
    if (!copy)
        return ZKL_NOMEM;
    mark = &marks->items[at];
    memmove(mark + 1, mark, (marks->count - at) * sizeof(*mark));
    *mark = (struct zkli_fence_mark){.name = copy};
    marks->count++;
    *ret_mark = mark;
    return ZKL_OK;
}

void zkli_fence_marks_free(struct zkli_fence_marks *marks) {
    for (size_t i = 0; i < marks->count; i++)
        free(marks->items[i].name);
    free(marks->items);
    *marks = (struct zkli_fence_marks){0};
}
