/* servers - see servers.h. */
#include "cli/servers.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PORT_DEFAULT "2181"
#define PORT_LENGTH_MAX 5
#define PORT_MAX 65535

/* ---- The list ---- */

static bool copy(char *ret_text, size_t size, const char *from, size_t length) {
    if (length == 0 || length >= size)
        return false;
    memcpy(ret_text, from, length);
    ret_text[length] = '\0';
    return true;
}

static bool is_numeric(const char *name) {
    unsigned char address[sizeof(struct in6_addr)];
    return inet_pton(AF_INET, name, address) == 1 || strchr(name, ':') != NULL;
}

static bool is_port(const char *digits) {
    const long number = strtol(digits, NULL, 10);
    return number > 0 && number <= PORT_MAX;
}

/* One of the list, of so many bytes, without the spaces around it. As the library reads it: the
 * last colon is before the port, unless a bracket follows it. */
static bool parse_one(cli_server *ret_server, const char *text, size_t length) {
    size_t name = length;
    if (text[length - 1] == ':')
        return false;
    if (text[length - 1] != ']')
        while (name > 0 && text[name - 1] != ':')
            name--;
    const bool has_port = name > 0 && name < length;
    const char *port = has_port ? text + name : PORT_DEFAULT;
    const size_t port_length = has_port ? length - name : strlen(PORT_DEFAULT);
    name = has_port ? name - 1 : length;
    if (name >= 2 && text[0] == '[' && text[name - 1] == ']') {
        text++;
        name -= 2;
    }
    cli_server server = {.count = 0};
    if (port_length > PORT_LENGTH_MAX ||
        !copy(server.port, sizeof(server.port), port, port_length) ||
        strspn(server.port, "0123456789") != port_length || !is_port(server.port) ||
        !copy(server.name, sizeof(server.name), text, name))
        return false;
    server.is_numeric = is_numeric(server.name);
    *ret_server = server;
    return true;
}

bool cli_servers_parse(cli_servers *ret_servers, const char *hosts) {
    cli_servers *s = ret_servers;
    const size_t end = strcspn(hosts, "/");
    *s = (cli_servers){.chroot = hosts + end};
    for (size_t at = 0; at <= end;) {
        size_t length = strcspn(hosts + at, ",/");
        const char *one = hosts + at;
        at += length + 1;
        for (; length > 0 && (*one == ' ' || *one == '\t'); length--)
            one++;
        while (length > 0 && (one[length - 1] == ' ' || one[length - 1] == '\t'))
            length--;
        cli_server server;
        if (length == 0 || !parse_one(&server, one, length))
            return false;
        if (s->count == CLI_SERVERS_MAX)
            s->left_out++;
        else
            s->servers[s->count++] = server;
    }
    return true;
}

/* ---- Looking names up ---- */

typedef struct lookup {
    struct lookups *all;
    char name[NI_MAXHOST], port[NI_MAXSERV];
    bool is_done;
    int error;
    struct addrinfo *found;
} lookup;

/* Shared with the threads; the last of them, or the caller, frees it. */
typedef struct lookups {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    size_t users, pending;
    lookup one[CLI_SERVERS_MAX];
} lookups;

static void release(lookups *all) {
    pthread_mutex_lock(&all->mutex);
    const bool is_last = --all->users == 0;
    pthread_mutex_unlock(&all->mutex);
    if (!is_last)
        return;
    for (size_t i = 0; i < CLI_SERVERS_MAX; i++)
        if (all->one[i].found != NULL)
            freeaddrinfo(all->one[i].found);
    pthread_cond_destroy(&all->changed);
    pthread_mutex_destroy(&all->mutex);
    free(all);
}

static void *lookup_main(void *arg) {
    lookup *l = (lookup *)arg;
    lookups *all = l->all;
    const struct addrinfo hints = {.ai_flags = AI_ADDRCONFIG, .ai_socktype = SOCK_STREAM};
    const struct addrinfo any = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int error = getaddrinfo(l->name, l->port, &hints, &found);
    if (error == EAI_BADFLAGS || error == EAI_ADDRFAMILY) /* as ZooKeeper's client does */
        error = getaddrinfo(l->name, l->port, &any, &found);
    pthread_mutex_lock(&all->mutex);
    l->error = error;
    l->found = error == 0 ? found : NULL;
    l->is_done = true;
    all->pending--;
    pthread_cond_broadcast(&all->changed);
    pthread_mutex_unlock(&all->mutex);
    release(all);
    return NULL;
}

static bool lookup_start(lookups *all, lookup *l, const cli_server *server) {
    pthread_t thread;
    l->all = all;
    memcpy(l->name, server->name, sizeof(l->name));
    memcpy(l->port, server->port, sizeof(l->port));
    pthread_mutex_lock(&all->mutex);
    all->users++;
    all->pending++;
    pthread_mutex_unlock(&all->mutex);
    if (pthread_create(&thread, NULL, lookup_main, l) == 0)
        return pthread_detach(thread) == 0;
    pthread_mutex_lock(&all->mutex);
    all->users--;
    all->pending--;
    pthread_mutex_unlock(&all->mutex);
    return false;
}

static void wait_for_all(lookups *all) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += CLI_RESOLVE_LIMIT_MS / 1000;
    int error = 0;
    while (all->pending > 0 && error == 0)
        error = pthread_cond_timedwait(&all->changed, &all->mutex, &until);
}

static bool is_known(const cli_servers *s, const struct addrinfo *info) {
    for (size_t i = 0; i < s->address_count; i++)
        if (s->addresses[i].length == info->ai_addrlen &&
            memcmp(&s->addresses[i].address, info->ai_addr, info->ai_addrlen) == 0)
            return true;
    return false;
}

static void add_address(cli_servers *s, size_t server, const struct addrinfo *info) {
    char host[NI_MAXHOST], port[NI_MAXSERV];
    if (info->ai_family != AF_INET && info->ai_family != AF_INET6)
        return;
    s->servers[server].count++;
    if (is_known(s, info))
        return;
    if (s->address_count == CLI_ADDRESSES_MAX ||
        getnameinfo(info->ai_addr, info->ai_addrlen, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
        s->left_out++;
        return;
    }
    cli_address *a = &s->addresses[s->address_count++];
    *a = (cli_address){.server = server, .length = info->ai_addrlen};
    memcpy(&a->address, info->ai_addr, info->ai_addrlen);
    (void)snprintf(a->text, sizeof(a->text), info->ai_family == AF_INET6 ? "[%s]:%s" : "%s:%s",
                   host, port);
}

/* all->mutex is held. */
static void take(cli_servers *s, lookups *all) {
    for (size_t i = 0; i < s->count; i++) {
        s->servers[i].is_timeout = !all->one[i].is_done;
        s->servers[i].error = all->one[i].error;
        for (const struct addrinfo *info = all->one[i].found; info != NULL; info = info->ai_next)
            add_address(s, i, info);
    }
}

bool cli_servers_resolve(cli_servers *servers) {
    lookups *all = calloc(1, sizeof(*all));
    pthread_condattr_t monotonic;
    bool are_started = true;
    if (all == NULL)
        return false;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_mutex_init(&all->mutex, NULL);
    pthread_cond_init(&all->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    all->users = 1;
    for (size_t i = 0; i < servers->count && are_started; i++)
        are_started = lookup_start(all, &all->one[i], &servers->servers[i]);
    pthread_mutex_lock(&all->mutex);
    if (are_started) {
        wait_for_all(all);
        take(servers, all);
    }
    pthread_mutex_unlock(&all->mutex);
    release(all);
    return are_started;
}
