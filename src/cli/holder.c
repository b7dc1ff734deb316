/* holder - see holder.h. */
#include "cli/holder.h"

#include "cli/contender.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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

static void add_age(char *ret_text, size_t size, int64_t since_ms) {
    char age[CLI_AGE_BYTES];
    cli_age_format(age, sizeof(age), since_ms);
    (void)snprintf(ret_text, size, "%s%s", age[0] == '\0' ? "" : " for ", age);
}

static int64_t since_of(const zkl_contender *c) {
    return c->is_holder ? c->held_since_ms : c->since_ms;
}

void cli_holder_age(char *ret_text, size_t size, const zkl_contender *c) {
    add_age(ret_text, size, since_of(c));
}

void cli_holder_says(char *ret_text, size_t size, const cli_holder *holder) {
    char age[CLI_HOLDER_AGE_BYTES];
    add_age(age, sizeof(age), holder->since_ms);
    (void)snprintf(ret_text, size, "held by %s%s%s", holder->who, age,
                   holder->is_alone ? "" : ", and by others");
}

static void describe(cli_holder *holder, const zkl_contender *c, bool is_alone) {
    (void)snprintf(holder->node, sizeof(holder->node), "%s", c->node);
    cli_holder_name(holder->who, sizeof(holder->who), c);
    holder->since_ms = since_of(c);
    holder->is_alone = is_alone;
}

bool cli_holder_find(cli_holder *ret_holder, zkl_session *session, int64_t session_id,
                     const char *name, size_t many) {
    zkl_queue *queue = NULL;
    const zkl_contender *first = NULL;
    size_t holders = 0, before = CLI_HOLDER_UNKNOWN;
    if (zkl_inspect_first(session, name, many, &queue) != ZKL_OK)
        return false;
    for (size_t i = 0; i < zkl_queue_count(queue); i++) {
        const zkl_contender *c = zkl_queue_at(queue, i);
        if (c->session_id == session_id)
            before = i;
        if (!c->is_holder || c->session_id == session_id)
            continue;
        first = first == NULL ? c : first;
        holders++;
    }
    if (first != NULL)
        describe(ret_holder, first, holders == 1);
    ret_holder->before = before;
    zkl_queue_free(queue);
    return first != NULL;
}
