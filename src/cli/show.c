/* zklock show: one lock's queue, who holds it, and who waits for whom. */
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/session.h"
#include "cli/table.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#define ISO_TIME_BYTES 40

static const char *const Titles[] = {"POS", "HOST",  "PID",     "PROGRAM", "LABEL", "SINCE",
                                     "AGE", "TOKEN", "SESSION", "NODE",    "STATE"};

/* "2026-01-31T12:00:00Z", or "" for what is no time, as a hostile server could send. */
static void format_time(char *text, size_t size, int64_t since_ms) {
    time_t seconds = (time_t)(since_ms / 1000);
    struct tm parts;
    if (since_ms <= 0 || gmtime_r(&seconds, &parts) == NULL ||
        strftime(text, size, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        text[0] = '\0';
}

/* The two largest units. The server's clock and ours may differ; the past begins now. */
static void add_age(cli_table *table, int64_t since_ms) {
    int64_t age = (int64_t)time(NULL) - since_ms / 1000;
    age = age < 0 ? 0 : age;
    if (since_ms <= 0)
        cli_table_add(table, "");
    else if (age < 60)
        cli_table_addf(table, "%" PRId64 "s", age);
    else if (age < 3600)
        cli_table_addf(table, "%" PRId64 "m%02" PRId64 "s", age / 60, age % 60);
    else if (age < 86400)
        cli_table_addf(table, "%" PRId64 "h%02" PRId64 "m", age / 3600, age / 60 % 60);
    else
        cli_table_addf(table, "%" PRId64 "d%02" PRId64 "h", age / 86400, age / 3600 % 24);
}

/* The node that a waiter waits for: the one before it; for a reader, the nearest that is no reader.
 * So it is for a semaphore's; if all before it are of its kind, it waits for the end of any, and
 * the node is NULL, as for a holder. */
static const char *waits_on(const zkl_queue *queue, size_t i) {
    const zkl_contender *own = zkl_queue_at(queue, i);
    bool shares = own->kind == ZKL_READ || own->kind == ZKL_SEMAPHORE;
    while (!own->is_holder && i > 0) {
        const zkl_contender *other = zkl_queue_at(queue, --i);
        if (!shares || other->kind != own->kind)
            return other->node;
    }
    return NULL;
}

static const char *kind_name(zkl_kind kind) {
    static const char *const names[] = {[ZKL_MUTEX] = "mutex",
                                        [ZKL_READ] = "read",
                                        [ZKL_WRITE] = "write",
                                        [ZKL_SEMAPHORE] = "permit"};
    bool is_known = (size_t)kind < sizeof(names) / sizeof(names[0]); /* later libraries add some */
    return is_known ? names[kind] : "other";
}

/* Numbers of which 0 means that the contender does not say. */
static void add_decimal(cli_table *table, int64_t value) {
    if (value == 0)
        cli_table_add(table, "");
    else
        cli_table_addf(table, "%" PRId64, value);
}

static void add_session(cli_table *table, int64_t session_id) {
    if (session_id == 0)
        cli_table_add(table, "");
    else
        cli_table_addf(table, "0x%" PRIx64, (uint64_t)session_id);
}

static void add_contender(cli_table *table, const zkl_queue *queue, size_t i) {
    const zkl_contender *c = zkl_queue_at(queue, i);
    const char *before = waits_on(queue, i);
    char since[ISO_TIME_BYTES];
    format_time(since, sizeof(since), c->since_ms);
    cli_table_addf(table, "%zu", i + 1);
    cli_table_add(table, c->host);
    add_decimal(table, c->pid);
    cli_table_add(table, c->program);
    cli_table_add(table, c->label);
    cli_table_add(table, since);
    add_age(table, c->since_ms);
    add_decimal(table, c->token);
    add_session(table, c->session_id);
    cli_table_add(table, c->node);
    if (before != NULL)
        cli_table_addf(table, "waits on %s", before);
    else if (!c->is_holder)
        cli_table_add(table, "waits");
    else /* which of the two, the servers do not know */
        cli_table_add(table, c->may_be_idle ? "holds or lingers" : "holds");
}

static bool print_table(const zkl_queue *queue) {
    int permits = zkl_queue_permits(queue);
    cli_table *table = cli_table_new(Titles, sizeof(Titles) / sizeof(Titles[0]));
    if (table == NULL)
        return false;
    if (permits > 0)
        printf("permits: %d\n", permits);
    for (size_t i = 0; i < zkl_queue_count(queue); i++)
        add_contender(table, queue, i);
    bool printed = cli_table_print(table, stdout);
    cli_table_free(table);
    return printed;
}

static void print_number_or_null(const char *key, int64_t value) {
    if (value == 0)
        printf(",\"%s\":null", key);
    else
        printf(",\"%s\":%" PRId64, key, value);
}

static void print_string_or_null(const char *key, const char *value) {
    printf(",\"%s\":", key);
    cli_json_string_or_null(stdout, value);
}

static void print_json_contender(const zkl_queue *queue, size_t i) {
    const zkl_contender *c = zkl_queue_at(queue, i);
    const char *before = waits_on(queue, i);
    char since[ISO_TIME_BYTES];
    format_time(since, sizeof(since), c->since_ms);
    printf("{\"position\":%zu,\"holder\":%s,\"kind\":\"%s\",\"may_linger\":%s", i + 1,
           c->is_holder ? "true" : "false", kind_name(c->kind), c->may_be_idle ? "true" : "false");
    print_string_or_null("node", c->node);
    print_string_or_null("waits_on", before == NULL ? "" : before);
    print_string_or_null("host", c->host);
    print_number_or_null("pid", c->pid);
    print_number_or_null("thread", c->thread);
    print_string_or_null("program", c->program);
    print_string_or_null("label", c->label);
    print_string_or_null("since", since);
    print_number_or_null("since_ms", c->since_ms);
    print_number_or_null("token", c->token);
    if (c->session_id == 0) {
        printf(",\"session\":null}");
    } else {
        /* A string: half of all session ids are beyond what most readers of JSON keep exactly. */
        printf(",\"session\":\"0x%" PRIx64 "\"}", (uint64_t)c->session_id);
    }
}

static void print_json(const char *name, const zkl_queue *queue) {
    fputs("{\"name\":", stdout);
    cli_json_string(stdout, name);
    print_number_or_null("permits", zkl_queue_permits(queue));
    fputs(",\"contenders\":[", stdout);
    for (size_t i = 0; i < zkl_queue_count(queue); i++) {
        fputs(i == 0 ? "" : ",", stdout);
        print_json_contender(queue, i);
    }
    fputs("]}\n", stdout);
}

static int print_queue(const cli_options *options, const zkl_queue *queue) {
    if (options->is_json) {
        print_json(options->name, queue);
    } else if (zkl_queue_count(queue) == 0) {
        cli_message("%s: no client holds this lock or waits for it", options->name);
    } else if (!print_table(queue)) {
        cli_message_error(options->name, ZKL_NOMEM);
        return CLI_EXIT_INTERNAL;
    }
    return CLI_EXIT_OK;
}

int cli_show(const cli_options *options) {
    zkl_session *session;
    zkl_queue *queue = NULL;
    const cli_session_request request = {.connect_timeout_ms = CLI_CONNECT_TIMEOUT_MS};
    int status = cli_session_open(&session, options, &request);
    if (status != CLI_EXIT_OK)
        return status;
    zkl_err err = zkl_inspect(session, options->name, &queue);
    (void)zkl_session_close(session); /* nothing was held */
    if (err == ZKL_INVALID) {
        cli_message_bad_name("show", options->name);
        return cli_exit_status_of(err);
    }
    if (err != ZKL_OK) {
        cli_message_error(options->name, err);
        return cli_exit_status_of(err);
    }
    status = print_queue(options, queue);
    zkl_queue_free(queue);
    return status;
}
