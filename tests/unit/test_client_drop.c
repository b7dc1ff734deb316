/*
 * How a port finds its connection's socket and drops it. The client library is a fake, and says
 * that its connection goes to a listener of this test; its socket is the test's, too.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unit/port_seen.h"
#include "zk/zk_socket.h"

struct line {
    int fd, peer;
};

static int Listener;
static struct sockaddr_in Address;

static void begin(void) {
    socklen_t size = sizeof(Address);
    Address = (struct sockaddr_in){.sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    Listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    REQUIRE(Listener >= 0);
    REQUIRE(bind(Listener, (struct sockaddr *)&Address, size) == 0 && listen(Listener, 16) == 0);
    REQUIRE(getsockname(Listener, (struct sockaddr *)&Address, &size) == 0);
}

static struct line connect_line(void) {
    struct line line = {socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), -1};
    REQUIRE(connect(line.fd, (struct sockaddr *)&Address, sizeof(Address)) == 0);
    line.peer = accept4(Listener, NULL, NULL, SOCK_CLOEXEC);
    REQUIRE(line.peer >= 0);
    return line;
}

static bool is_shut(const struct line *line) {
    struct pollfd events = {.fd = line->fd, .events = POLLRDHUP};
    return poll(&events, 1, 0) == 1;
}

static void end(struct zkli_port *port, const struct line *line) {
    port->ops->close(port);
    (void)close(line->fd);
    (void)close(line->peer);
    (void)close(Listener);
}

/* The fake does not answer by itself. */
static void answer_probe(int code) {
    struct call call = fake_take();
    REQUIRE_INT(call.kind, EXISTS);
    call.done.stat(code, NULL, call.data);
}

static void find_alone(struct zkli_port *port) {
    for (int i = 0; i < 2; i++) {
        CHECK(port->ops->wants_preparing(port));
        port->ops->prepare(port);
        CHECK(!fake_has(EXISTS));
    }
    CHECK(!port->ops->wants_preparing(port));
}

/* ---- Finding ---- */

static void a_connection_alone_is_found_without_a_request_and_dropped(void) {
    begin();
    struct zkli_port *port = open_port_to("h:1,h:2");
    struct line line = connect_line();
    fake_peer(&Address, line.fd);
    CHECK(!port->ops->drop(port) && !is_shut(&line));
    find_alone(port);
    CHECK(port->ops->drop(port));
    CHECK(is_shut(&line));
    end(port, &line);
}

static void among_others_it_is_found_by_two_long_reads(void) {
    begin();
    struct zkli_port *port = open_port_to("h:1,h:2");
    struct line line = connect_line(), rival = connect_line();
    fake_peer(&Address, line.fd);
    for (int i = 0; i < 2; i++) {
        CHECK(port->ops->wants_preparing(port));
        port->ops->prepare(port);
        CHECK(!port->ops->wants_preparing(port));
        answer_probe(i == 0 ? ZNONODE : ZNOAUTH); /* any server's answer */
    }
    CHECK(!port->ops->wants_preparing(port));
    CHECK(port->ops->drop(port));
    CHECK(is_shut(&line) && !is_shut(&rival));
    (void)close(rival.fd);
    (void)close(rival.peer);
    end(port, &line);
}

static void a_read_that_is_lost_or_refused_finds_nothing(void) {
    begin();
    struct zkli_port *port = open_port_to("h:1,h:2");
    struct line line = connect_line(), rival = connect_line();
    fake_peer(&Address, line.fd);
    for (int i = 0; i < 3; i++) {
        port->ops->prepare(port);
        answer_probe(ZCONNECTIONLOSS);
        fake_refuse(EXISTS, ZINVALIDSTATE);
        port->ops->prepare(port);
        CHECK(!fake_has(EXISTS));
        fake_refuse(EXISTS, ZOK);
        CHECK(port->ops->wants_preparing(port));
    }
    CHECK(!port->ops->drop(port));
    CHECK(!is_shut(&line) && !is_shut(&rival));
    (void)close(rival.fd);
    (void)close(rival.peer);
    end(port, &line);
}

/* By then another connection may have begun. */
static void the_answer_to_an_earlier_read_means_nothing(void) {
    begin();
    struct zkli_port *port = open_port_to("h:1,h:2");
    struct line line = connect_line(), rival = connect_line();
    fake_peer(&Address, line.fd);
    port->ops->prepare(port);
    struct call old = fake_take();
    fake_state(ZOO_CONNECTING_STATE);
    fake_state(ZOO_CONNECTED_STATE);
    port->ops->prepare(port);
    old.done.stat(ZNONODE, NULL, old.data);
    CHECK(!port->ops->wants_preparing(port)); /* the second is still under way */
    answer_probe(ZNONODE);
    CHECK(port->ops->wants_preparing(port) && !port->ops->drop(port));
    port->ops->prepare(port);
    answer_probe(ZNONODE);
    CHECK(port->ops->drop(port) && is_shut(&line) && !is_shut(&rival));
    (void)close(rival.fd);
    (void)close(rival.peer);
    end(port, &line);
}

/* ---- Not finding ---- */

static void with_one_server_nothing_is_looked_for_or_dropped(void) {
    static const char *const one[] = {"h:1", "h:1/chroot"};
    for (size_t i = 0; i < COUNT(one); i++) {
        begin();
        struct zkli_port *port = open_port_to(one[i]);
        struct line line = connect_line();
        fake_peer(&Address, line.fd);
        CHECK(!port->ops->wants_preparing(port));
        port->ops->prepare(port);
        port->ops->prepare(port);
        CHECK(!port->ops->drop(port) && !is_shut(&line));
        CHECK_INT(Seen.lines, 0);
        end(port, &line);
    }
}

static void a_new_list_says_how_many_servers_there_are(void) {
    begin();
    struct zkli_port *port = open_port_to("h:1,h:2");
    struct line line = connect_line();
    fake_peer(&Address, line.fd);
    CHECK(port->ops->set_hosts(port, "h:1"));
    CHECK(!port->ops->wants_preparing(port));
    CHECK(port->ops->set_hosts(port, "h:1,h:2,h:3"));
    CHECK(port->ops->wants_preparing(port));
    Fake.set_hosts_code = ZSYSTEMERROR;
    CHECK(!port->ops->set_hosts(port, "h:1")); /* not taken */
    CHECK(port->ops->wants_preparing(port));
    end(port, &line);
}

static void without_a_connection_nothing_is_dropped(void) {
    begin();
    struct zkli_port *port = open_port_to("h:1,h:2");
    struct line line = connect_line();
    fake_peer(&Address, line.fd);
    find_alone(port);
    fake_peer(&(struct sockaddr_in){.sin_family = 0}, -1);
    CHECK(!port->ops->drop(port));
    port->ops->prepare(port);
    CHECK(!is_shut(&line));
    CHECK_INT(Seen.lines, 0);
    end(port, &line);
}

static void a_new_connection_has_to_be_found_anew(void) {
    begin();
    struct zkli_port *port = open_port_to("h:1,h:2");
    struct line line = connect_line();
    fake_peer(&Address, line.fd);
    find_alone(port);
    fake_state(ZOO_CONNECTED_STATE); /* the end of the last one was not told */
    CHECK(!port->ops->drop(port) && !is_shut(&line));
    find_alone(port);
    CHECK(port->ops->drop(port) && is_shut(&line));
    end(port, &line);
}

static void that_it_cannot_be_dropped_is_logged_once_a_connection(void) {
    begin();
    struct zkli_port *port = open_port_to("h:1,h:2");
    struct line line = connect_line();
    fake_peer(&Address, line.fd);
    for (int i = 0; i < 3; i++) {
        CHECK(!port->ops->drop(port));
        CHECK_INT(Seen.lines, 1);
    }
    CHECK_INT(Seen.level, ZKL_LOG_WARN);
    fake_state(ZOO_CONNECTED_STATE);
    CHECK(!port->ops->drop(port));
    CHECK_INT(Seen.lines, 2);
    end(port, &line);
}

/* ---- The end of the connection ---- */

/* At the end of its list of servers the client library waits for T/60, unless it is asked for
 * something. */
static size_t Nudges;

static void count_nudge(void) {
    Nudges++;
}

static void when_it_is_told_the_client_library_is_made_to_go_on(void) {
    begin();
    struct zkli_port *port = open_port_to("h:1,h:2");
    struct line line = connect_line();
    fake_peer(&Address, line.fd);
    find_alone(port);
    Fake.at_nudge = count_nudge;
    Nudges = 0;
    fake_state(ZOO_CONNECTING_STATE); /* not our doing */
    CHECK_INT(Nudges, 0);
    fake_state(ZOO_CONNECTED_STATE);
    find_alone(port);
    CHECK(port->ops->drop(port));
    CHECK_INT(Nudges, 0);
    fake_state(ZOO_CONNECTING_STATE);
    CHECK_INT(Nudges, 1);
    CHECK_INT(Seen.state, ZKLI_PORT_CONNECTING);
    fake_state(ZOO_CONNECTED_STATE);
    fake_state(ZOO_CONNECTING_STATE);
    CHECK_INT(Nudges, 1);
    end(port, &line);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a connection alone is found without a request, and dropped",
         a_connection_alone_is_found_without_a_request_and_dropped},
        {"among others it is found by two long reads", among_others_it_is_found_by_two_long_reads},
        {"a read that is lost or refused finds nothing",
         a_read_that_is_lost_or_refused_finds_nothing},
        {"the answer to an earlier read means nothing",
         the_answer_to_an_earlier_read_means_nothing},
        {"with one server nothing is looked for or dropped",
         with_one_server_nothing_is_looked_for_or_dropped},
        {"a new list says how many servers there are", a_new_list_says_how_many_servers_there_are},
        {"without a connection nothing is dropped", without_a_connection_nothing_is_dropped},
        {"a new connection has to be found anew", a_new_connection_has_to_be_found_anew},
        {"that it cannot be dropped is logged once a connection",
         that_it_cannot_be_dropped_is_logged_once_a_connection},
        {"when its end is told, the client library is made to go on",
         when_it_is_told_the_client_library_is_made_to_go_on},
    };
    return TEST_MAIN(argc, argv, "client_drop", cases);
}
