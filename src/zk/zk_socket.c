/* zk_socket - see zk_socket.h. */
#include "zk/zk_socket.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Headers older than the kernel do not have it. */
#ifndef SO_COOKIE
#define SO_COOKIE 57
#endif

/* ---- Sockets ---- */

static bool is_same_address(const struct sockaddr_storage *a, const struct sockaddr_storage *b) {
    if (a->ss_family != b->ss_family)
        return false;
    if (a->ss_family == AF_INET) {
        const struct sockaddr_in *one = (const struct sockaddr_in *)a;
        const struct sockaddr_in *other = (const struct sockaddr_in *)b;
        return one->sin_port == other->sin_port && one->sin_addr.s_addr == other->sin_addr.s_addr;
    }
    if (a->ss_family != AF_INET6)
        return false;
    const struct sockaddr_in6 *one = (const struct sockaddr_in6 *)a;
    const struct sockaddr_in6 *other = (const struct sockaddr_in6 *)b;
    return one->sin6_port == other->sin6_port && one->sin6_scope_id == other->sin6_scope_id &&
           memcmp(&one->sin6_addr, &other->sin6_addr, sizeof(one->sin6_addr)) == 0;
}

/* Looks at a descriptor, which may be anything. False: it is no socket that is connected there. */
static bool look_at(struct zkli_socket *ret_socket, int fd, const struct sockaddr_storage *peer) {
    struct sockaddr_storage address;
    socklen_t size = sizeof(address);
    memset(&address, 0, sizeof(address));
    if (getpeername(fd, (struct sockaddr *)&address, &size) != 0 ||
        !is_same_address(&address, peer))
        return false;
    struct tcp_info info;
    memset(&info, 0, sizeof(info));
    socklen_t info_size = sizeof(info), cookie_size = sizeof(ret_socket->cookie);
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &info_size) != 0 ||
        info_size < offsetof(struct tcp_info, tcpi_bytes_acked) + sizeof(info.tcpi_bytes_acked) ||
        getsockopt(fd, SOL_SOCKET, SO_COOKIE, &ret_socket->cookie, &cookie_size) != 0)
        return false;
    ret_socket->fd = fd;
    ret_socket->acked = info.tcpi_bytes_acked;
    return true;
}

/* By another descriptor. */
static bool is_listed(const struct zkli_socket *rivals, size_t count, uint64_t cookie) {
    for (size_t i = 0; i < count; i++)
        if (rivals[i].cookie == cookie)
            return true;
    return false;
}

/* Each of this process's descriptors. A main thread that has ended has none in /proc/self. */
static size_t list_sockets(struct zkli_socket rivals[ZKLI_RIVALS_MAX],
                           const struct sockaddr_storage *peer) {
    DIR *dir = opendir("/proc/thread-self/fd");
    if (dir == NULL)
        return 0;
    size_t count = 0;
    const struct dirent *entry;
    while (count < ZKLI_RIVALS_MAX && (entry = readdir(dir)) != NULL)
        if (isdigit((unsigned char)entry->d_name[0]) &&
            look_at(&rivals[count], (int)strtol(entry->d_name, NULL, 10), peer) &&
            !is_listed(rivals, count, rivals[count].cookie))
            count++;
    (void)closedir(dir);
    return count;
}

/*
 * The descriptor may be closed at any moment, and another opened in its place. So what is shut down
 * is a duplicate, which stays what it is; and it is made only of a descriptor that has just been
 * looked at. (Another file in its place, in that moment, would lose the process's POSIX locks with
 * the duplicate.)
 */
static bool shut(const struct zkli_socket *socket, const struct sockaddr_storage *peer) {
    struct zkli_socket now;
    if (!look_at(&now, socket->fd, peer) || now.cookie != socket->cookie)
        return false;
    int copy = fcntl(socket->fd, F_DUPFD_CLOEXEC, 0);
    if (copy < 0)
        return false;
    bool is_shut = look_at(&now, copy, peer) && now.cookie == socket->cookie &&
                   shutdown(copy, SHUT_RDWR) == 0;
    (void)close(copy);
    return is_shut;
}

/* ---- The search ---- */

static void forget(struct zkli_search *s) {
    s->found.fd = -1;
    s->agreed = 0;
    s->rival_count = 0;
    s->is_probing = false;
}

/* What this search has come to; NULL: nothing. */
static void conclude(struct zkli_search *s, const struct zkli_socket *socket) {
    if (socket == NULL || (s->agreed > 0 && socket->cookie != s->found.cookie))
        s->agreed = 0;
    if (socket == NULL)
        return;
    s->found = *socket;
    s->agreed++;
}

bool zkli_search_init(struct zkli_search *s) {
    memset(s, 0, sizeof(*s));
    forget(s);
    return pthread_mutex_init(&s->mutex, NULL) == 0;
}

void zkli_search_fini(struct zkli_search *s) {
    (void)pthread_mutex_destroy(&s->mutex);
}

void zkli_search_forget(struct zkli_search *s) {
    (void)pthread_mutex_lock(&s->mutex);
    forget(s);
    s->searches = 0;
    (void)pthread_mutex_unlock(&s->mutex);
}

bool zkli_search_is_wanted(struct zkli_search *s) {
    (void)pthread_mutex_lock(&s->mutex);
    bool is_wanted = s->agreed < 2 && !s->is_probing && s->searches < ZKLI_SEARCHES_MAX;
    (void)pthread_mutex_unlock(&s->mutex);
    return is_wanted;
}

enum zkli_search_result zkli_search_begin(struct zkli_search *s,
                                          const struct sockaddr_storage *peer) {
    (void)pthread_mutex_lock(&s->mutex);
    if (s->agreed > 0 && !is_same_address(peer, &s->peer))
        forget(s);
    s->peer = *peer;
    s->searches++;
    s->rival_count = list_sockets(s->rivals, peer);
    s->is_probing = s->rival_count > 1 && s->rival_count < ZKLI_RIVALS_MAX;
    bool is_probing = s->is_probing;
    if (!is_probing)
        conclude(s, s->rival_count == 1 ? &s->rivals[0] : NULL);
    (void)pthread_mutex_unlock(&s->mutex);
    return is_probing ? ZKLI_SEARCH_PROBES : ZKLI_SEARCH_DONE;
}

/* The socket of the connection has sent the request, and the answer has acknowledged it. NULL: it is
 * not the only one that has sent so much. */
static const struct zkli_socket *sender(struct zkli_search *s) {
    const struct zkli_socket *found = NULL;
    for (size_t i = 0; i < s->rival_count; i++) {
        struct zkli_socket now;
        if (!look_at(&now, s->rivals[i].fd, &s->peer) || now.cookie != s->rivals[i].cookie ||
            now.acked - s->rivals[i].acked < ZKLI_PROBE_BYTES)
            continue;
        if (found != NULL)
            return NULL;
        found = &s->rivals[i];
    }
    return found;
}

void zkli_search_end_probe(struct zkli_search *s, bool is_answered) {
    (void)pthread_mutex_lock(&s->mutex);
    if (s->is_probing)
        conclude(s, is_answered ? sender(s) : NULL);
    s->is_probing = false;
    (void)pthread_mutex_unlock(&s->mutex);
}

bool zkli_search_shut(struct zkli_search *s, const struct sockaddr_storage *peer) {
    (void)pthread_mutex_lock(&s->mutex);
    bool is_shut = s->agreed >= 2 && is_same_address(peer, &s->peer) && shut(&s->found, peer);
    if (is_shut) {
        forget(s);
        s->searches = 0;
    }
    (void)pthread_mutex_unlock(&s->mutex);
    return is_shut;
}
