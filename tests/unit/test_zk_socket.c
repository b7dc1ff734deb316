/*
 * The search for a connection's socket among all that a process has open, and its end: real
 * sockets, to listeners of the test's own. A "server" acknowledges what it is sent, as kernels do.
 */
#include "zk/zk_socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/main.h"
#include "support/wait.h"

struct server {
    int listener;
    struct sockaddr_storage address;
    socklen_t size;
};

struct link {
    int fd;   /* the client's end */
    int peer; /* the server's */
};

static struct server Server;
static struct zkli_search Search;

static void listen_at(struct server *server, int family) {
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = in6addr_loopback};
    server->size = family == AF_INET ? sizeof(v4) : sizeof(v6);
    memset(&server->address, 0, sizeof(server->address));
    memcpy(&server->address, family == AF_INET ? (void *)&v4 : (void *)&v6, server->size);
    server->listener = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(server->listener >= 0);
    REQUIRE(bind(server->listener, (struct sockaddr *)&server->address, server->size) == 0);
    REQUIRE(listen(server->listener, 128) == 0);
    REQUIRE(getsockname(server->listener, (struct sockaddr *)&server->address, &server->size) == 0);
}

static struct link connect_to(const struct server *server) {
    struct link link = {socket(server->address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0), -1};
    REQUIRE(link.fd >= 0);
    REQUIRE(connect(link.fd, (const struct sockaddr *)&server->address, server->size) == 0);
    link.peer = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);
    REQUIRE(link.peer >= 0);
    return link;
}

static void close_link(const struct link *link) {
    (void)close(link->fd);
    (void)close(link->peer);
}

/* Read by the server, so that it has been acknowledged. */
static void send_bytes(const struct link *link, size_t count) {
    static char bytes[4096];
    REQUIRE(send(link->fd, bytes, count, MSG_NOSIGNAL) == (ssize_t)count);
    REQUIRE(recv(link->peer, bytes, count, MSG_WAITALL) == (ssize_t)count);
}

/* Whether the client's end still carries data. */
static bool is_open(const struct link *link) {
    char byte = 'x';
    struct pollfd events = {.fd = link->fd, .events = POLLRDHUP};
    if (poll(&events, 1, 0) != 0)
        return false;
    return send(link->fd, &byte, 1, MSG_NOSIGNAL) == 1 && recv(link->peer, &byte, 1, 0) == 1;
}

static void begin(void) {
    listen_at(&Server, AF_INET);
    zkli_search_init(&Search);
}

static void end(void) {
    zkli_search_fini(&Search);
    (void)close(Server.listener);
}

static enum zkli_search_result search(void) {
    return zkli_search_begin(&Search, &Server.address);
}

/* One search whose long request goes over this link. */
static void search_with(const struct link *link) {
    CHECK_INT(search(), ZKLI_SEARCH_PROBES);
    CHECK(!zkli_search_is_wanted(&Search)); /* while it is under way */
    send_bytes(link, ZKLI_PROBE_BYTES);
    zkli_search_end_probe(&Search, true);
}

static bool shut(void) {
    return zkli_search_shut(&Search, &Server.address);
}

/* ---- One socket ---- */

static void the_only_socket_is_known_when_it_was_found_twice(void) {
    begin();
    struct link link = connect_to(&Server);
    CHECK(!shut());
    CHECK(zkli_search_is_wanted(&Search));
    CHECK_INT(search(), ZKLI_SEARCH_DONE);
    CHECK(!shut() && is_open(&link));
    CHECK(zkli_search_is_wanted(&Search));
    CHECK_INT(search(), ZKLI_SEARCH_DONE);
    CHECK(!zkli_search_is_wanted(&Search));
    CHECK(is_open(&link));
    CHECK(shut());
    CHECK(!is_open(&link));
    char byte;
    CHECK_INT(recv(link.peer, &byte, 1, 0), 0); /* the server is told, too */
    CHECK(!shut());                             /* not twice */
    CHECK(zkli_search_is_wanted(&Search));
    close_link(&link);
    end();
}

static void without_a_socket_none_is_found(void) {
    begin();
    for (int i = 0; i < 3; i++)
        CHECK_INT(search(), ZKLI_SEARCH_DONE);
    CHECK(zkli_search_is_wanted(&Search) && !shut());
    end();
}

static void sockets_that_lead_elsewhere_do_not_matter(void) {
    begin();
    struct server other, v6;
    listen_at(&other, AF_INET);
    listen_at(&v6, AF_INET6);
    struct link elsewhere = connect_to(&other), link = connect_to(&Server), six = connect_to(&v6);
    int pair[2], udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    REQUIRE(connect(udp, (struct sockaddr *)&Server.address, Server.size) == 0);
    CHECK_INT(search(), ZKLI_SEARCH_DONE);
    CHECK_INT(search(), ZKLI_SEARCH_DONE);
    CHECK(shut() && !is_open(&link));
    CHECK(is_open(&elsewhere) && is_open(&six));
    close_link(&elsewhere);
    close_link(&link);
    close_link(&six);
    (void)close(pair[0]);
    (void)close(pair[1]);
    (void)close(udp);
    (void)close(other.listener);
    (void)close(v6.listener);
    end();
}

static void over_ipv6_it_is_the_same(void) {
    begin();
    struct server v6;
    listen_at(&v6, AF_INET6);
    struct link link = connect_to(&v6);
    struct sockaddr_storage other_port = v6.address;
    ((struct sockaddr_in6 *)&other_port)->sin6_port ^= htons(1);
    CHECK_INT(zkli_search_begin(&Search, &v6.address), ZKLI_SEARCH_DONE);
    CHECK_INT(zkli_search_begin(&Search, &v6.address), ZKLI_SEARCH_DONE);
    CHECK(!zkli_search_shut(&Search, &other_port));
    CHECK(!shut() && is_open(&link));
    CHECK(zkli_search_shut(&Search, &v6.address) && !is_open(&link));
    close_link(&link);
    (void)close(v6.listener);
    end();
}

/* As after dup, or in a program that hands its descriptors on to itself. */
static void a_socket_with_two_descriptors_is_one(void) {
    begin();
    struct link link = connect_to(&Server);
    int twin = fcntl(link.fd, F_DUPFD_CLOEXEC, 0);
    CHECK_INT(search(), ZKLI_SEARCH_DONE);
    CHECK_INT(search(), ZKLI_SEARCH_DONE);
    CHECK(shut() && !is_open(&link));
    (void)close(twin);
    close_link(&link);
    end();
}

/* ---- Several ---- */

static void of_several_it_is_the_one_that_has_sent_the_request(void) {
    for (size_t of = 0; of < 3; of++) {
        begin();
        struct link links[3];
        for (size_t i = 0; i < COUNT(links); i++)
            links[i] = connect_to(&Server);
        search_with(&links[of]);
        CHECK(zkli_search_is_wanted(&Search) && !shut());
        search_with(&links[of]);
        CHECK(!zkli_search_is_wanted(&Search));
        CHECK(shut());
        for (size_t i = 0; i < COUNT(links); i++) {
            CHECK(is_open(&links[i]) == (i != of));
            close_link(&links[i]);
        }
        end();
    }
}

static void a_little_less_is_not_the_request(void) {
    begin();
    struct link one = connect_to(&Server), other = connect_to(&Server);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(search(), ZKLI_SEARCH_PROBES);
        send_bytes(&one, ZKLI_PROBE_BYTES - 1);
        zkli_search_end_probe(&Search, true);
    }
    CHECK(!shut() && is_open(&one) && is_open(&other));
    close_link(&one);
    close_link(&other);
    end();
}

static void if_two_have_sent_as_much_neither_is_known(void) {
    begin();
    struct link one = connect_to(&Server), other = connect_to(&Server);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(search(), ZKLI_SEARCH_PROBES);
        send_bytes(&one, ZKLI_PROBE_BYTES);
        send_bytes(&other, ZKLI_PROBE_BYTES);
        zkli_search_end_probe(&Search, true);
        CHECK(zkli_search_is_wanted(&Search) && !shut());
    }
    search_with(&other); /* then it rests */
    search_with(&other);
    CHECK(shut() && !is_open(&other) && is_open(&one));
    close_link(&one);
    close_link(&other);
    end();
}

static void a_request_without_an_answer_proves_nothing(void) {
    begin();
    struct link one = connect_to(&Server), other = connect_to(&Server);
    search_with(&one);
    CHECK_INT(search(), ZKLI_SEARCH_PROBES);
    send_bytes(&one, ZKLI_PROBE_BYTES);
    zkli_search_end_probe(&Search, false);
    search_with(&one); /* the first one again: the count began anew */
    CHECK(!shut());
    search_with(&one);
    CHECK(shut() && !is_open(&one) && is_open(&other));
    close_link(&one);
    close_link(&other);
    end();
}

static void two_searches_that_disagree_are_none(void) {
    begin();
    struct link one = connect_to(&Server), other = connect_to(&Server);
    search_with(&one);
    search_with(&other);
    CHECK(!shut() && is_open(&one) && is_open(&other));
    search_with(&other);
    CHECK(shut() && is_open(&one) && !is_open(&other));
    close_link(&one);
    close_link(&other);
    end();
}

static void a_rival_that_comes_or_goes_changes_nothing(void) {
    begin();
    struct link link = connect_to(&Server);
    CHECK_INT(search(), ZKLI_SEARCH_DONE);
    struct link rival = connect_to(&Server);
    CHECK_INT(search(), ZKLI_SEARCH_PROBES);
    close_link(&rival); /* while the request is under way */
    send_bytes(&link, ZKLI_PROBE_BYTES);
    zkli_search_end_probe(&Search, true);
    rival = connect_to(&Server);
    CHECK(shut() && !is_open(&link) && is_open(&rival));
    close_link(&rival);
    close_link(&link);
    end();
}

/* More than there is room for at first. */
static void among_many_rivals_it_is_found_too(void) {
    static struct link links[100];
    begin();
    for (size_t i = 0; i < COUNT(links); i++)
        links[i] = connect_to(&Server);
    search_with(&links[70]);
    search_with(&links[70]);
    CHECK(shut());
    for (size_t i = 0; i < COUNT(links); i++) {
        CHECK(is_open(&links[i]) == (i != 70));
        close_link(&links[i]);
    }
    end();
}

/* Two at once would take each other's long requests for their own. */
/* It has sessions of its own. */
static void a_child_searches_though_its_parent_was_searching(void) {
    begin();
    struct link link = connect_to(&Server), rival = connect_to(&Server);
    CHECK_INT(search(), ZKLI_SEARCH_PROBES);
    int status = -1;
    pid_t child = fork();
    if (child == 0) {
        struct zkli_search own;
        zkli_search_init(&own);
        bool is_wanted = zkli_search_is_wanted(&own);
        _exit(is_wanted && zkli_search_begin(&own, &Server.address) == ZKLI_SEARCH_PROBES ? 7 : 0);
    }
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
    zkli_search_end_probe(&Search, false);
    close_link(&link);
    close_link(&rival);
    end();
}

static void while_one_searches_no_other_does(void) {
    struct zkli_search other;
    begin();
    zkli_search_init(&other);
    struct link link = connect_to(&Server), rival = connect_to(&Server);
    for (int i = 0; i < 2; i++) {
        CHECK_INT(search(), ZKLI_SEARCH_PROBES);
        CHECK(!zkli_search_is_wanted(&other));
        CHECK_INT(zkli_search_begin(&other, &Server.address), ZKLI_SEARCH_DONE);
        send_bytes(&link, ZKLI_PROBE_BYTES);
        zkli_search_end_probe(&Search, true);
        CHECK(zkli_search_is_wanted(&other));
    }
    CHECK_INT(other.searches, 0);
    for (int i = 0; i < 2; i++) { /* one that ends in the middle does not hold the others up */
        CHECK_INT(zkli_search_begin(&other, &Server.address), ZKLI_SEARCH_PROBES);
        CHECK(!zkli_search_is_wanted(&Search));
        if (i == 0)
            zkli_search_forget(&other);
        else
            zkli_search_fini(&other);
        CHECK_INT(zkli_search_begin(&Search, &Server.address), ZKLI_SEARCH_PROBES);
        zkli_search_end_probe(&Search, false);
    }
    search_with(&link);
    search_with(&link);
    CHECK(shut() && !is_open(&link) && is_open(&rival));
    close_link(&link);
    close_link(&rival);
    end();
}

static void after_so_many_searches_no_more_are_wanted(void) {
    begin();
    for (int i = 0; i < ZKLI_SEARCHES_MAX; i++) {
        CHECK(zkli_search_is_wanted(&Search));
        CHECK_INT(search(), ZKLI_SEARCH_DONE);
    }
    CHECK(!zkli_search_is_wanted(&Search));
    zkli_search_forget(&Search); /* another connection */
    CHECK(zkli_search_is_wanted(&Search));
    end();
}

static void a_new_connection_is_searched_anew(void) {
    begin();
    struct link link = connect_to(&Server);
    CHECK_INT(search(), ZKLI_SEARCH_DONE);
    CHECK_INT(search(), ZKLI_SEARCH_DONE);
    zkli_search_forget(&Search);
    CHECK(!shut() && is_open(&link));
    struct link rival = connect_to(&Server);
    CHECK_INT(search(), ZKLI_SEARCH_PROBES);
    zkli_search_forget(&Search); /* the answer comes too late */
    send_bytes(&link, ZKLI_PROBE_BYTES);
    zkli_search_end_probe(&Search, true);
    search_with(&link);
    CHECK(!shut());
    search_with(&link);
    CHECK(shut());
    close_link(&rival);
    close_link(&link);
    end();
}

/* ---- What has come in its place ---- */

/* Another file under its number. */
static void replace(const struct link *link, int by) {
    REQUIRE(dup3(by, link->fd, O_CLOEXEC) == link->fd);
}

static void know(const struct link *link) {
    CHECK_INT(search(), ZKLI_SEARCH_DONE);
    CHECK_INT(search(), ZKLI_SEARCH_DONE);
    CHECK(is_open(link));
}

static void a_descriptor_that_is_closed_is_left_alone(void) {
    begin();
    struct link link = connect_to(&Server);
    know(&link);
    (void)close(link.fd);
    CHECK(!shut());
    (void)close(link.peer);
    end();
}

static void another_connection_under_its_number_is_left_alone(void) {
    begin();
    struct link link = connect_to(&Server);
    know(&link);
    struct link other = connect_to(&Server);
    replace(&link, other.fd);
    CHECK(!shut());
    CHECK(is_open(&other));
    close_link(&other);
    close_link(&link);
    end();
}

/* A lock on a file goes with the first descriptor of it that is closed. */
static bool is_locked(const char *path) {
    pid_t child = fork();
    int status = -1;
    if (child == 0) {
        struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
        int fd = open(path, O_RDWR | O_CLOEXEC);
        _exit(fd >= 0 && fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK ? 7 : 0);
    }
    REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) && WEXITSTATUS(status) == 7;
}

static void a_locked_file_under_its_number_stays_locked(void) {
    begin();
    char path[] = "zk_socket-XXXXXX";
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    int file = mkstemp(path);
    REQUIRE(file >= 0);
    struct link link = connect_to(&Server);
    know(&link);
    replace(&link, file);
    REQUIRE(fcntl(file, F_SETLK, &lock) == 0);
    CHECK(is_locked(path));
    CHECK(!shut());
    CHECK(is_locked(path));
    CHECK_INT(search(), ZKLI_SEARCH_DONE);
    CHECK(is_locked(path));
    (void)close(file);
    (void)unlink(path);
    close_link(&link);
    end();
}

static size_t descriptors(void) {
    size_t count = 0;
    for (int fd = 0; fd < 1024; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

static void nothing_is_left_open(void) {
    begin();
    const size_t before = descriptors();
    for (int i = 0; i < 100; i++) {
        struct link link = connect_to(&Server), rival = connect_to(&Server);
        search_with(&link);
        search_with(&link);
        CHECK(shut());
        close_link(&link);
        close_link(&rival);
        zkli_search_forget(&Search);
    }
    CHECK_INT(descriptors(), before);
    end();
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"the only socket is known when it was found twice",
         the_only_socket_is_known_when_it_was_found_twice},
        {"without a socket none is found", without_a_socket_none_is_found},
        {"sockets that lead elsewhere do not matter", sockets_that_lead_elsewhere_do_not_matter},
        {"over IPv6 it is the same", over_ipv6_it_is_the_same},
        {"a socket with two descriptors is one", a_socket_with_two_descriptors_is_one},
        {"of several it is the one that has sent the request",
         of_several_it_is_the_one_that_has_sent_the_request},
        {"a little less is not the request", a_little_less_is_not_the_request},
        {"if two have sent as much, neither is known", if_two_have_sent_as_much_neither_is_known},
        {"a request without an answer proves nothing", a_request_without_an_answer_proves_nothing},
        {"two searches that disagree are none", two_searches_that_disagree_are_none},
        {"a rival that comes or goes changes nothing", a_rival_that_comes_or_goes_changes_nothing},
        {"among many rivals it is found, too", among_many_rivals_it_is_found_too},
        {"a child searches though its parent was searching",
         a_child_searches_though_its_parent_was_searching},
        {"while one searches, no other does", while_one_searches_no_other_does},
        {"after so many searches no more are wanted", after_so_many_searches_no_more_are_wanted},
        {"a new connection is searched anew", a_new_connection_is_searched_anew},
        {"a descriptor that is closed is left alone", a_descriptor_that_is_closed_is_left_alone},
        {"another connection under its number is left alone",
         another_connection_under_its_number_is_left_alone},
        {"a locked file under its number stays locked",
         a_locked_file_under_its_number_stays_locked},
        {"nothing is left open", nothing_is_left_open},
    };
    return TEST_MAIN(argc, argv, "zk_socket", cases);
}
