/* hosts - see hosts.h. */
#include "zk/hosts.h"

#include <netdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "core/node_name.h"

#define PORT_DEFAULT ":2181"
/* A numeric address with its scope, ':' and a port. */
#define ADDRESS_MAX (NI_MAXHOST + 1 + NI_MAXSERV)

/* ---- What is given ---- */

/* An address of IPv6 with a port has it behind a bracket. */
static bool has_port(const char *server, size_t length) {
    return memchr(server, ':', length) != NULL && server[length - 1] != ']';
}

/* Writes one server, of so many bytes. Returns the end. */
static char *complete_one(char *out, const char *server, size_t length) {
    size_t spaces = strspn(server, " \t");
    if (spaces > length)
        spaces = length;
    server += spaces;
    length -= spaces;
    while (length > 0 && (server[length - 1] == ' ' || server[length - 1] == '\t'))
        length--;
    bool is_complete = length == 0 || has_port(server, length);
    for (size_t i = 0; i < length; i++) /* the client library splits at the last colon */
        if (server[i] != '[' && server[i] != ']')
            *out++ = server[i];
    if (is_complete)
        return out;
    memcpy(out, PORT_DEFAULT, sizeof(PORT_DEFAULT) - 1);
    return out + sizeof(PORT_DEFAULT) - 1;
}

char *zkli_hosts_complete(const char *hosts) {
    size_t end = strcspn(hosts, "/"), servers = 1;
    for (size_t i = 0; i < end; i++)
        servers += hosts[i] == ',';
    char *complete = malloc(strlen(hosts) + servers * (sizeof(PORT_DEFAULT) - 1) + 1);
    if (complete == NULL)
        return NULL;
    char *out = complete;
    for (size_t at = 0; at <= end;) {
        size_t length = strcspn(hosts + at, ",/");
        out = complete_one(out, hosts + at, length);
        at += length + 1;
        if (at <= end)
            *out++ = ',';
    }
    memcpy(out, hosts + end, strlen(hosts + end) + 1);
    return complete;
}

static bool port_is_valid(const char *text, size_t length) {
    long number = 0;
    if (length == 0 || length > 5)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
        number = number * 10 + (text[i] - '0');
    }
    return number >= 1 && number <= 65535;
}

static bool host_is_valid(const char *text, size_t length) {
    size_t colon = length;
    while (colon > 0 && text[colon - 1] != ':')
        colon--;
    if (colon < 2 || !port_is_valid(text + colon, length - colon))
        return false;
    for (size_t i = 0; i < colon; i++)
        if ((unsigned char)text[i] <= 0x20 || (unsigned char)text[i] >= 0x7f)
            return false;
    return true;
}

bool zkli_hosts_are_valid(const char *hosts) {
    if (strlen(hosts) > ZKLI_HOSTS_MAX || zkli_hosts_chroot_length(hosts) > ZKLI_CHROOT_MAX)
        return false;
    size_t end = strcspn(hosts, "/");
    if (hosts[end] == '/' && !zkli_root_is_valid(hosts + end))
        return false;
    for (size_t at = 0; at <= end;) {
        size_t length = strcspn(hosts + at, ",/");
        if (!host_is_valid(hosts + at, length))
            return false;
        at += length + 1;
    }
    return true;
}

/* ---- What the client library is given ---- */

struct census {
    size_t count, servers;
    char first[ADDRESS_MAX]; /* "" while there is none */
};

static void note_first(struct census *census, const struct addrinfo *info) {
    char host[NI_MAXHOST], port[NI_MAXSERV];
    if (census->first[0] != '\0' ||
        getnameinfo(info->ai_addr, info->ai_addrlen, host, sizeof(host), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return;
    (void)snprintf(census->first, sizeof(census->first), "%s:%s", host, port);
}

static bool is_without_family(int error) {
    return error == EAI_BADFLAGS || error == EAI_ADDRFAMILY;
}

/* Asks as the client library does, for the same answer. A name that is not found does not count. */
static void count_addresses(struct census *census, char *server) {
    char *colon = strrchr(server, ':');
    if (colon == NULL)
        return;
    *colon = '\0';
    server += strspn(server, " \t");
    struct addrinfo hints = {.ai_flags = AI_ADDRCONFIG,
                             .ai_family = AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_protocol = IPPROTO_TCP};
    struct addrinfo *found = NULL;
    int error = getaddrinfo(server, colon + 1, &hints, &found);
    if (is_without_family(error)) {
        hints.ai_flags = 0;
        error = getaddrinfo(server, colon + 1, &hints, &found);
    }
    if (error != 0)
        return;
    size_t of_4 = 0, of_6 = 0;
    for (const struct addrinfo *info = found; info != NULL; info = info->ai_next) {
        of_4 += info->ai_family == AF_INET;
        of_6 += info->ai_family == AF_INET6;
        if (info->ai_family == AF_INET || info->ai_family == AF_INET6)
            note_first(census, info);
    }
    freeaddrinfo(found);
    census->count += of_4 + of_6;
    census->servers += of_4 > of_6 ? of_4 : of_6;
}

static struct census take_census(char *servers) {
    struct census census = {0};
    char *rest = NULL;
    for (char *one = strtok_r(servers, ",", &rest); one != NULL; one = strtok_r(NULL, ",", &rest))
        count_addresses(&census, one);
    return census;
}

char *zkli_hosts_make_odd(const char *hosts, size_t *ret_servers) {
    size_t length = strcspn(hosts, "/");
    char *servers = strndup(hosts, length);
    if (servers == NULL)
        return NULL;
    struct census census = take_census(servers);
    free(servers);
    *ret_servers = census.servers;
    if (census.count % 2 != 0 || census.first[0] == '\0')
        return strdup(hosts);
    size_t size = strlen(hosts) + 1 + strlen(census.first) + 1;
    char *odd = malloc(size);
    if (odd != NULL)
        (void)snprintf(odd, size, "%.*s,%s%s", (int)length, hosts, census.first, hosts + length);
    return odd;
}

size_t zkli_hosts_chroot_length(const char *hosts) {
    const char *chroot = strchr(hosts, '/');
    return chroot == NULL || chroot[1] == '\0' ? 0 : strlen(chroot);
}
