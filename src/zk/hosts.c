/* hosts - see hosts.h. */
#include "zk/hosts.h"

#include <netdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* A numeric address with its scope, ':' and a port. */
#define ADDRESS_MAX (NI_MAXHOST + 1 + NI_MAXSERV)

struct census {
    size_t count;
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
    for (const struct addrinfo *info = found; info != NULL; info = info->ai_next) {
        if (info->ai_family != AF_INET && info->ai_family != AF_INET6)
            continue;
        census->count++;
        note_first(census, info);
    }
    freeaddrinfo(found);
}

static struct census take_census(char *servers) {
    struct census census = {0};
    char *rest = NULL;
    for (char *one = strtok_r(servers, ",", &rest); one != NULL; one = strtok_r(NULL, ",", &rest))
        count_addresses(&census, one);
    return census;
}

char *zkli_hosts_make_odd(const char *hosts) {
    size_t length = strcspn(hosts, "/");
    char *servers = strndup(hosts, length);
    if (servers == NULL)
        return NULL;
    struct census census = take_census(servers);
    free(servers);
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
