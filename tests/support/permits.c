/* See permits.h. */
#include "support/permits.h"

#include <string.h>

client *permit_open(const char *name, int permits) {
    client *c = client_open_proxied(name, T_NORMAL);

    client_be_permit(c, permits);
    return c;
}

/* It lists a second time when it has set its watches, which that listing is one of. */
void permit_wait_in_front(client *c, size_t count) {
    const size_t lists = proxy_answered(c->proxy, PROXY_LIST, c->name);

    client_queue_up(c, count);
    WAIT_UNTIL(proxy_answered(c->proxy, PROXY_LIST, c->name) >= lists + 2, SOON_MS);
}

/* It reads its own node and the other one, and perhaps the directory before. */
void permit_wait_behind(client *c, size_t count) {
    const size_t told = client_told(c, ZKL_EVENT_QUEUED);

    client_queue_up(c, count);
    WAIT_UNTIL(client_told(c, ZKL_EVENT_QUEUED) > told, SOON_MS);
    WAIT_UNTIL(proxy_answered(c->proxy, PROXY_GET, "-lease-") >= 2, SOON_MS);
}

void permits_record(const char *name, const char *text) {
    REQUIRE_INT(raw_set(fixture_raw(), lock_dir(name), text, strlen(text)), RAW_OK);
}

static void read_text(const char *path, char *ret_text, size_t size) {
    size_t length = size - 1;

    REQUIRE_INT(raw_get(fixture_raw(), path, ret_text, &length, NULL), RAW_OK);
    ret_text[length] = '\0';
}

void permits_read(const char *name, char *ret_text) {
    read_text(lock_dir(name), ret_text, PERMITS_TEXT);
}

void permits_check(const char *name, const char *expected) {
    char text[PERMITS_TEXT];

    permits_read(name, text);
    CHECK_STRING(text, expected);
}

bool permit_is_marked(const char *path) {
    char text[1024];

    read_text(path, text, sizeof(text));
    return strstr(text, " touched=1") != NULL;
}
