/*
 * The servers of a list, each by itself, and their addresses. Names are looked up beside each
 * other, on threads that are left behind if the resolver takes longer than the limit.
 */
#ifndef CLI_SERVERS_H
#define CLI_SERVERS_H

#include <netdb.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#define CLI_RESOLVE_LIMIT_MS 5000
/* Ensembles have at most some ten servers and observers; a name has an address for each. */
#define CLI_SERVERS_MAX 32
#define CLI_ADDRESSES_MAX 64

/* "name:port", or "[address]:port" of IPv6, with the scope. */
#define CLI_ADDRESS_BYTES (NI_MAXHOST + NI_MAXSERV + 4)

typedef struct cli_server {
    char name[NI_MAXHOST]; /* as in the list, without port and brackets */
    char port[NI_MAXSERV];
    bool is_numeric;
    bool is_timeout; /* the resolver did not answer in time */
    int error;       /* of getaddrinfo */
    size_t count;    /* addresses */
} cli_server;

typedef struct cli_address {
    size_t server; /* whose it is */
    struct sockaddr_storage address;
    socklen_t length;
    char text[CLI_ADDRESS_BYTES];
} cli_address;

typedef struct cli_servers {
    size_t count;
    size_t left_out; /* beyond the limits: servers and addresses */
    size_t address_count;
    const char *chroot; /* "" or "/..."; points into the list */
    cli_server servers[CLI_SERVERS_MAX];
    cli_address addresses[CLI_ADDRESSES_MAX];
} cli_servers;

/* False: it is no list of servers. The list is borrowed. */
bool cli_servers_parse(cli_servers *ret_servers, const char *hosts);

/* Fills in the addresses, none of them twice. False: no memory or thread. */
bool cli_servers_resolve(cli_servers *servers);

#endif
