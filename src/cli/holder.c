/* holder - see holder.h. */
#include "cli/holder.h"

#include "cli/contender.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Of one that holds, whether another does; and one of these may be our own, which waits. */
#define LOOKED_AT 3
/* As long as a label may be. */
#define WHAT_BYTES 129

/* In quotes: what it holds of these does not end them. */
static void quote(char *ret_text, size_t size, const char *text) {
    size_t length = 0;
    for (; text[length] != '\0' && length + 1 < size; length++)
        ret_text[length] = text[length];
    ret_text[length] = '\0';
    for (char *quote = ret_text; (quote = strchr(quote, '"')) != NULL;)
        *quote = '\'';
}

void cli_holder_name(char *ret_text, size_t size, const zkl_contender *c) {
    char what[WHAT_BYTES], pid[32] = "";
    if (c->pid != 0)
        (void)snprintf(pid, sizeof(pid), " pid %" PRId64, c->pid);
    quote(what, sizeof(what), c->label[0] == '\0' ? c->program : c->label);
    (void)snprintf(ret_text, size, "%s%s%s%s%s", c->host[0] == '\0' ? c->node : c->host, pid,
                   what[0] == '\0' ? "" : " \"", what, what[0] == '\0' ? "" : "\"");
}

void cli_holder_age(char *ret_text, size_t size, const zkl_contender *c) {
    char age[CLI_AGE_BYTES];
    cli_age_format(age, sizeof(age), c->is_holder ? c->held_since_ms : c->since_ms);
    (void)snprintf(ret_text, size, "%s%s", age[0] == '\0' ? "" : " for ", age);
}

static void describe(cli_holder *holder, const zkl_contender *c, bool is_alone) {
    char name[CLI_HOLDER_NAME_BYTES], age[CLI_HOLDER_AGE_BYTES];
    cli_holder_name(name, sizeof(name), c);
    cli_holder_age(age, sizeof(age), c);
    (void)snprintf(holder->node, sizeof(holder->node), "%s", c->node);
    (void)snprintf(holder->text, sizeof(holder->text), "held by %s%s%s", name, age,
                   is_alone ? "" : ", and by others");
}

bool cli_holder_find(cli_holder *ret_holder, zkl_session *session, int64_t session_id,
                     const char *name) {
    zkl_queue *queue = NULL;
    const zkl_contender *first = NULL;
    size_t holders = 0;
    if (zkl_inspect_first(session, name, LOOKED_AT, &queue) != ZKL_OK)
        return false;
    for (size_t i = 0; i < zkl_queue_count(queue); i++) {
        const zkl_contender *c = zkl_queue_at(queue, i);
        if (!c->is_holder || c->session_id == session_id)
            continue;
        first = first == NULL ? c : first;
        holders++;
    }
    if (first != NULL)
        describe(ret_holder, first, holders == 1);
    zkl_queue_free(queue);
    return first != NULL;
}
