/* zk_socket - see zk_socket.h. */
#include "zk/zk_socket.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/process.h"

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

/* Doubles the room. False: there is no memory for it, or there would be too many. */
static bool make_room(struct zkli_socket **rivals, size_t count, size_t *room) {
    if (count < *room)
        return true;
    size_t more = *room == 0 ? 16 : 2 * *room;
    struct zkli_socket *grown = more <= ZKLI_RIVALS_MAX ? realloc(*rivals, more * sizeof(**rivals))
                                                        : NULL;
    if (grown == NULL)
        return false;
    *rivals = grown;
    *room = more;
    return true;
}

/* Of all that this process has open; to be freed. NULL: there is none, or it cannot be told. (A
 * main thread that has ended has nothing in /proc/self.) */
static struct zkli_socket *list_sockets(size_t *ret_count, const struct sockaddr_storage *peer) {
    struct zkli_socket *rivals = NULL;
    size_t count = 0, room = 0;
    bool is_whole = true;
    DIR *dir = opendir("/proc/thread-self/fd");
    const struct dirent *entry;
    while (dir != NULL && is_whole && (entry = readdir(dir)) != NULL) {
        is_whole = make_room(&rivals, count, &room);
        if (is_whole && isdigit((unsigned char)entry->d_name[0]) &&
            look_at(&rivals[count], (int)strtol(entry->d_name, NULL, 10), peer))
            count++;
    }
    if (dir != NULL)
        (void)closedir(dir);
    *ret_count = count;
    if (is_whole && count > 0)
        return rivals;
    free(rivals);
    return NULL;
}

/* One socket may have several descriptors. */
static bool are_one(const struct zkli_socket *rivals, size_t count) {
    for (size_t i = 1; i < count; i++)
        if (rivals[i].cookie != rivals[0].cookie)
            return false;
    return true;
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

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of all searches; never held for long */
static struct zkli_search *current;                       /* the one that is under way; or NULL */
static uint64_t current_process;                          /* a child goes on with none */

static void lock(void) {
    (void)pthread_mutex_lock(&mutex);
}

static void unlock(void) {
    (void)pthread_mutex_unlock(&mutex);
}

__attribute__((constructor)) static void watch_forks(void) {
    (void)pthread_atfork(lock, unlock, unlock); /* a child finds it free */
}

static bool is_under_way(void) {
    return current != NULL && current_process == zkli_process_number();
}

static void end_search(struct zkli_search *s) {
    free(s->rivals);
    s->rivals = NULL;
    s->is_probing = false;
    if (current == s)
        current = NULL;
}

static void forget(struct zkli_search *s) {
    s->agreed = s->searches = 0;
    if (s->is_probing)
        end_search(s);
    s->is_void = current == s; /* it is being made: what it comes to does not count */
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

void zkli_search_init(struct zkli_search *s) {
    memset(s, 0, sizeof(*s));
}

void zkli_search_fini(struct zkli_search *s) {
    lock();
    end_search(s);
    unlock();
}

void zkli_search_forget(struct zkli_search *s) {
    lock();
    forget(s);
    unlock();
}

bool zkli_search_is_wanted(struct zkli_search *s) {
    lock();
    bool is_wanted = !is_under_way() && s->agreed < 2 && s->searches < ZKLI_SEARCHES_MAX;
    unlock();
    return is_wanted;
}

static bool begin(struct zkli_search *s, const struct sockaddr_storage *peer) {
    lock();
    bool is_first = !is_under_way();
    if (is_first) {
        current = s;
        current_process = zkli_process_number();
        s->is_void = false;
        if (!is_same_address(peer, &s->peer))
            s->agreed = 0;
        s->peer = *peer;
        s->searches++;
    }
    unlock();
    return is_first;
}

enum zkli_search_result zkli_search_begin(struct zkli_search *s,
                                          const struct sockaddr_storage *peer) {
    if (!begin(s, peer))
        return ZKLI_SEARCH_DONE;
    size_t count;
    struct zkli_socket *rivals = list_sockets(&count, peer);
    lock();
    s->rivals = rivals;
    s->rival_count = count;
    s->is_probing = !s->is_void && rivals != NULL && !are_one(rivals, count);
    bool is_probing = s->is_probing;
    if (!is_probing) {
        if (!s->is_void)
            conclude(s, rivals);
        end_search(s);
    }
    unlock();
    return is_probing ? ZKLI_SEARCH_PROBES : ZKLI_SEARCH_DONE;
}

/* The socket of the connection has sent the request, and the answer has acknowledged it. NULL: it
 * is not the only one that has sent so much. */
static const struct zkli_socket *sender(const struct zkli_search *s) {
    const struct zkli_socket *found = NULL;
    for (size_t i = 0; i < s->rival_count; i++) {
        const struct zkli_socket *rival = &s->rivals[i];
        struct zkli_socket now;
        if (!look_at(&now, rival->fd, &s->peer) || now.cookie != rival->cookie ||
            now.acked - rival->acked < ZKLI_PROBE_BYTES)
            continue;
        if (found != NULL && found->cookie != rival->cookie)
            return NULL;
        found = rival;
    }
    return found;
}

void zkli_search_end_probe(struct zkli_search *s, bool is_answered) {
    lock();
    if (s->is_probing) {
        conclude(s, is_answered ? sender(s) : NULL);
        end_search(s);
    }
    unlock();
}

bool zkli_search_shut(struct zkli_search *s, const struct sockaddr_storage *peer) {
    lock();
    bool is_shut = s->agreed >= 2 && is_same_address(peer, &s->peer) && shut(&s->found, peer);
    if (is_shut)
        forget(s);
    unlock();
    return is_shut;
}
