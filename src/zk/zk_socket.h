/*
 * zk_socket - which of this process's sockets is a client library's connection, and its end. That
 * library does not say; it says where the connection goes. A program may have other connections to
 * the same server, and descriptors may be closed and used again at any moment.
 *
 * Not here: the client library, and when to look. Linux only: without /proc, or without cookies of
 * sockets (4.12), no socket is ever found.
 */
#ifndef ZKLI_ZK_ZK_SOCKET_H
#define ZKLI_ZK_ZK_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Connections of the process to the same server; with more the search is given up. A process with
 * as many sessions has them on several servers. */
#define ZKLI_RIVALS_MAX 4096
/* Searches on one connection. Each looks at all that the process has open; with rivals the client
 * library makes a read, too. */
#define ZKLI_SEARCHES_MAX 16
/* A request has to have so many bytes for its socket to be told from others by what was sent: more
 * than ten heartbeats. */
#define ZKLI_PROBE_BYTES 2048

struct zkli_socket {
    int fd;
    uint64_t cookie; /* the kernel's number, which no other socket has or had */
    uint64_t acked;  /* bytes that the peer had acknowledged when it was looked at */
};

/*
 * The search for the socket of one connection after the other. Two searches in a row have to come
 * to the same socket, each behind an answer that came over the connection: then it was there both
 * times. A search finds the only socket that is connected to the server; or, if there are several,
 * the only one over which a long request has gone meanwhile, which was answered.
 *
 * In a process there is one search at a time, so that a thousand sessions that come back together
 * neither compute all at once nor take each other's long requests for their own.
 *
 * **Threads:** any.
 */
struct zkli_search {
    struct sockaddr_storage peer;
    struct zkli_socket found;
    unsigned agreed;   /* searches in a row that have found it: 2 are enough */
    unsigned searches; /* on this connection */
    bool is_probing;   /* a long request is under way */
    bool is_void;      /* the search under way: there has been another connection since */
    size_t rival_count;
    struct zkli_socket *rivals; /* while it is probing */
};

enum zkli_search_result {
    ZKLI_SEARCH_DONE,  /* found one, or not; or another search was under way */
    ZKLI_SEARCH_PROBES /* a request of ZKLI_PROBE_BYTES has to be made, and end_probe called */
};

void zkli_search_init(struct zkli_search *search);
/* No thread is in a call about it. */
void zkli_search_fini(struct zkli_search *search);
/* There is another connection, or none. */
void zkli_search_forget(struct zkli_search *search);
/* Whether a search could find more than is known, now. */
bool zkli_search_is_wanted(struct zkli_search *search);
/* Of the connection to this peer. By one thread at a time. */
enum zkli_search_result zkli_search_begin(struct zkli_search *search,
                                          const struct sockaddr_storage *peer);
/* The request was answered over the connection, or else is lost. */
void zkli_search_end_probe(struct zkli_search *search, bool is_answered);
/* Ends the connection to this peer. False: its socket is not known for certain, or is gone; nothing
 * was done. */
bool zkli_search_shut(struct zkli_search *search, const struct sockaddr_storage *peer);

#endif
