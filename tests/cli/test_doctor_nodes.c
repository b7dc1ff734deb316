/*
 * zklock doctor among what others have put on the servers, and with servers that are none: what may
 * not be done, what is left behind, and what a hostile server says.
 */
#include "cli/json_check.h"
#include "cli/shell.h"
#include "support/snapshot.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define NEARLY_SPENT 2147483640
#define MANY 200 /* directories; more than the doctor has room for at first */
#define UNIMPLEMENTED (-6)

static const char *doctor(const char *hosts, const char *root, const char *rest) {
    static char line[1024];
    (void)snprintf(line, sizeof(line), "zklock doctor --hosts '%s' --root '%s' %s 2>&1", hosts,
                   root, rest);
    return line;
}

static bool says(const char *level, const char *about, const char *words) {
    char begin[512];
    (void)snprintf(begin, sizeof(begin), "%-9s%s: ", level, about);
    for (const char *line = Output; (line = strstr(line, begin)) != NULL; line++) {
        const char *found = strstr(line, words);
        if ((line == Output || line[-1] == '\n') && found != NULL &&
            memchr(line, '\n', (size_t)(found - line)) == NULL)
            return true;
    }
    return false;
}

static void check_harmless(void) {
    for (const char *c = Output; *c != '\0'; c++)
        CHECK(*c == '\n' || ((unsigned char)*c >= 0x20 && (unsigned char)*c < 0x7f));
}

/* Nodes of a doctor's below the root of the tests. */
static size_t left_over(void) {
    raw_list list = raw_children(fixture_raw(), fixture_root());
    size_t count = 0;
    for (size_t i = 0; i < list.count; i++)
        count += strncmp(list.names[i], "zklock-doctor-", 14) == 0;
    raw_list_free(&list);
    return count;
}

/* ---- Rights ---- */

static void a_closed_root_is_denied_and_credentials_open_it(void) {
    const char *root = "/doctor-closed";
    char file[] = "/tmp/zklock-doctor-XXXXXX", rest[64];
    int fd = mkstemp(file);
    REQUIRE(fd >= 0 && write(fd, "digest:ann:secret\n", 18) == 18);
    close(fd);
    zkl_session *s = session_open_with(
        server_hosts(),
        ZKL_SESSION_OPTIONS(.session_timeout_ms = T_LONG, .root = root, .acl = ZKL_ACL_CREATOR,
                            .auth_scheme = "digest", .auth = "ann:secret"));
    zkl_lock *l = lock_open(s, "job", NULL);
    REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    CHECK_INT(shell(doctor(server_hosts(), root, "")), 77);
    CHECK(says("warning", root, "may not be listed"));
    CHECK(says("wrong", root, "do not let us create a directory"));
    CHECK(strstr(Output, "-> change its ACL, or give credentials with --auth-file") != NULL);
    CHECK(says("note", root, "1 directory may not be read; of the others 0 locks are in use"));
    CHECK(strstr(Output, "no nodes of others") == NULL);
    (void)snprintf(rest, sizeof(rest), "--auth-file %s", file);
    CHECK_INT(shell(doctor(server_hosts(), root, rest)), 0);
    CHECK(says("ok", root, "may create, read and delete"));
    CHECK(says("ok", root, "1 lock is in use"));
    (void)unlink(file);
    lock_close(l);
    session_close(s);
}

static void a_root_below_others_that_are_missing_is_tried_and_removed(void) {
    CHECK_INT(shell(doctor(server_hosts(), "/doctor-none/of/these", "")), 0);
    CHECK(says("ok", "/doctor-none/of/these", "does not exist yet"));
    CHECK(says("ok", "/doctor-none/of/these", "may create, read and delete"));
    CHECK(!raw_exists(fixture_raw(), "/doctor-none"));
    CHECK_INT(shell(doctor(server_hosts(), "/", "")), 0);
    CHECK(says("ok", "/", "may create, read and delete"));
}

static void a_node_in_the_way_of_heartbeats_is_a_warning(void) {
    const char *barrier = "/zklock-barrier-of-no-node";
    REQUIRE_INT(raw_create(fixture_raw(), barrier, "", 0, RAW_PERSISTENT, NULL), RAW_OK);
    CHECK_INT(shell(doctor(server_hosts(), fixture_root(), "")), 0);
    CHECK(says("warning", barrier, "must not exist"));
    REQUIRE_INT(raw_delete(fixture_raw(), barrier), RAW_OK);
}

/* ---- What is left behind ---- */

static void what_a_failure_has_left_is_removed(void) {
    proxy *p = proxy_new();
    proxy_fail(p, PROXY_CONTAINER, "zklock-doctor", 1, UNIMPLEMENTED);
    CHECK_INT(shell(doctor(proxy_hosts(p), fixture_root(), "")), 0);
    CHECK(proxy_fired(p));
    CHECK(says("warning", fixture_root(), "know no containers"));
    CHECK_INT(left_over(), 0);
    proxy_fail(p, PROXY_CREATE, "/trial-", 1, RAW_NO_AUTH);
    CHECK_INT(shell(doctor(proxy_hosts(p), fixture_root(), "")), 77);
    CHECK(strstr(Output, "do not let us create a node") != NULL);
    CHECK_INT(left_over(), 0);
    proxy_rule(p, PROXY_CUT_REPLY, PROXY_CREATE, "/trial-", 1, false);
    CHECK_INT(shell(doctor(proxy_hosts(p), fixture_root(), "")), 1);
    CHECK(proxy_fired(p));
    CHECK(strstr(Output, "no answer in time to what was to create a node") != NULL);
    CHECK_INT(left_over(), 0);
    proxy_close(p);
}

static void an_interrupt_in_the_trial_removes_what_was_made(void) {
    proxy *p = proxy_new();
    char line[1024];
    proxy_rule(p, PROXY_HOLD_REPLY, PROXY_CREATE, "/trial-", 1, false);
    (void)snprintf(line, sizeof(line),
                   "exec zklock doctor --hosts %s --root %s >/dev/null 2>&1 & echo $!; wait $!",
                   proxy_hosts(p), fixture_root());
    FILE *pipe = popen(line, "r");
    REQUIRE(pipe != NULL && fgets(Output, OUTPUT_MAX, pipe) != NULL);
    const pid_t pid = (pid_t)strtol(Output, NULL, 10);
    WAIT_UNTIL(proxy_fired(p), SOON_MS);
    CHECK_INT(left_over(), 1);
    REQUIRE(kill(pid, SIGTERM) == 0);
    /* It tidies up. Without the signal it would do so when its 10 s are over. */
    WAIT_UNTIL(proxy_count(p, PROXY_LIST, "/zklock-doctor-") == 1, SOON_MS / 2);
    proxy_hold(p, PROXY_TO_CLIENT, false);
    const int status = pclose(pipe);
    CHECK_INT(WEXITSTATUS(status), 128 + SIGTERM);
    CHECK_INT(left_over(), 0);
    proxy_close(p);
}

/* ---- Other people's nodes ---- */

static void nodes_of_others_are_named_harmlessly(void) {
    plant("others/kazoo", "00112233445566778899aabbccddeeff__lock__0000000003", RAW_EPHEMERAL,
          NULL);
    plant("others/semaphore", "\xe2\x80\xae", RAW_EPHEMERAL, NULL);
    CHECK_INT(shell(doctor(server_hosts(), fixture_root(), "")), 0);
    CHECK(says("warning", lock_dir("others/kazoo"), "__lock__0000000003: a contender of another"));
    CHECK(strstr(Output, "others/semaphore/\\xE2\\x80\\xAE: it: a client's node") != NULL);
    check_harmless();
    CHECK_INT(shell(doctor(server_hosts(), fixture_root(), "--json")), 0);
    CHECK(json_is_valid(Output));
    check_harmless();
    CHECK(strstr(Output, "{\"wrong\":0,\"warnings\":2,\"findings\":[{\"level\":\"ok\",") == Output);
    CHECK(strstr(Output, "{\"level\":\"warning\",\"check\":\"strangers\",\"about\":\"") != NULL);
    REQUIRE_INT(raw_delete_tree(fixture_raw(), lock_dir("others")), RAW_OK);
}

static void a_counter_near_its_end_is_a_warning_where_the_lock_is_in_use(void) {
    char path[RAW_PATH_MAX];
    CHECK_INT(shell(doctor(server_hosts(), fixture_root(), "")), 0);
    CHECK(strstr(Output, "near their end:") == NULL);
    plant_contender("spent", CURATOR, path);
    CHECK_INT(shell(doctor(server_hosts(), fixture_root(), "")), 0);
    CHECK(says("warning", lock_dir("spent"), "near their end: 6 are left"));
    uproot(path);
}

static void each_of_many_directories_is_read(void) {
    char path[RAW_PATH_MAX], root[512];
    (void)snprintf(root, sizeof(root), "%s", lock_dir("many"));
    REQUIRE_INT(raw_create(fixture_raw(), root, "", 0, RAW_PERSISTENT, NULL), RAW_OK);
    for (int i = 0; i < MANY; i++) {
        (void)snprintf(path, sizeof(path), "%s/%d", root, i);
        REQUIRE_INT(raw_create(fixture_raw(), path, "", 0, RAW_PERSISTENT, NULL), RAW_OK);
    }
    plant("many/199", "00112233445566778899aabbccddeeff__lock__0000000003", RAW_EPHEMERAL, NULL);
    CHECK_INT(shell(doctor(server_hosts(), root, "")), 0);
    CHECK(strstr(Output, "/199: 00112233445566778899aabbccddeeff__lock__0000000003: ") != NULL);
    REQUIRE_INT(raw_delete_tree(fixture_raw(), root), RAW_OK);
    CHECK_INT(shell(doctor(server_hosts(), root, "")), 0);
    CHECK(says("ok", root, "0 locks are in use"));
}

/* ---- What is no server ---- */

typedef struct fake {
    int fd;
    const char *srvr, *others;
    const char *session; /* to who asks for a session; NULL: the connection is closed */
    char hosts[32];
    pthread_t thread;
} fake;

static void answer(const fake *f, int fd) {
    char word[5] = "";
    if (recv(fd, word, 4, MSG_WAITALL) != 4)
        return;
    const char *session = f->session == NULL ? "" : f->session;
    const char *text = strcmp(word, "srvr") == 0 ? f->srvr : word[0] == '\0' ? session : f->others;
    (void)send(fd, text, strlen(text), MSG_NOSIGNAL);
}

static void *fake_main(void *arg) {
    const fake *f = (const fake *)arg;
    for (int fd; (fd = accept(f->fd, NULL, NULL)) >= 0; close(fd))
        answer(f, fd);
    return NULL;
}

static void fake_start(fake *f, const char *srvr, const char *others) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof(address);
    *f = (fake){
        .fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), .srvr = srvr, .others = others};
    REQUIRE(bind(f->fd, (struct sockaddr *)&address, size) == 0 && listen(f->fd, 16) == 0 &&
            getsockname(f->fd, (struct sockaddr *)&address, &size) == 0);
    (void)snprintf(f->hosts, sizeof(f->hosts), "127.0.0.1:%d", ntohs(address.sin_port));
    REQUIRE(pthread_create(&f->thread, NULL, fake_main, f) == 0);
}

static void fake_end(fake *f) {
    (void)shutdown(f->fd, SHUT_RDWR);
    pthread_join(f->thread, NULL);
    close(f->fd);
}

static void a_server_that_is_behind_is_a_warning(void) {
    fake one, two;
    char hosts[80];
    fake_start(&one, "Zookeeper version: 3.8.0-x, built on y\nZxid: 0x100000005\nMode: follower\n",
               "");
    fake_start(&two, "Zookeeper version: 3.4.13-x, built on y\nZxid: 0x100000009\nMode: leader\n",
               "");
    (void)snprintf(hosts, sizeof(hosts), "%s,%s", one.hosts, two.hosts);
    CHECK_INT(shell(doctor(hosts, fixture_root(), "")), 69);
    CHECK(says("warning", one.hosts,
               "behind: zxid 0x100000005, where another server had 0x100000009"));
    CHECK(!says("warning", two.hosts, "behind"));
    CHECK(says("wrong", two.hosts, "zklock needs 3.5.3 or later"));
    CHECK(says("wrong", one.hosts, "opens no session: it closes the connection"));
    fake_end(&two);
    fake_end(&one);
}

static void servers_of_two_ensembles_are_wrong(void) {
    fake one, two;
    char hosts[80];
    fake_start(&one, "Zxid: 0x5\nMode: leader\n", "");
    fake_start(&two, "Zxid: 0x5\nMode: standalone\n", "");
    (void)snprintf(hosts, sizeof(hosts), "%s,%s", one.hosts, two.hosts);
    CHECK_INT(shell(doctor(hosts, fixture_root(), "")), 69);
    CHECK(says("wrong", "--hosts", "not one ensemble: 2 lead or stand alone"));
    fake_end(&two);
    fake_end(&one);
}

static void what_a_server_says_is_escaped_and_what_it_does_not_say_is_a_note(void) {
    static const char refused[] = "srvr is not executed because it is not in the whitelist.\n";
    fake f;
    fake_start(&f, "Zookeeper version: \x1b[31m\nZxid: 0xzz\nMode: \x9b\x07\n", "\x1b[2J");
    CHECK_INT(shell(doctor(f.hosts, fixture_root(), "")), 69);
    CHECK(says("wrong", f.hosts, "version \\x1B[31m, \\x9B\\x07, but opens no session"));
    check_harmless();
    CHECK_INT(shell(doctor(f.hosts, fixture_root(), "--json")), 69);
    CHECK(json_is_valid(Output));
    check_harmless();
    fake_end(&f);
    fake_start(&f, refused, refused);
    CHECK_INT(shell(doctor(f.hosts, fixture_root(), "")), 69);
    CHECK(says("note", f.hosts, "version, mode and zxid are not known"));
    CHECK(strstr(Output, "-> 4lw.commands.whitelist=srvr in its zoo.cfg") != NULL);
    fake_end(&f);
    fake_start(&f, "", "");
    CHECK_INT(shell(doctor(f.hosts, fixture_root(), "")), 69);
    CHECK(says("wrong", f.hosts, "closes connections without an answer"));
    CHECK(strstr(Output, "is maxClientCnxns reached") != NULL);
    fake_end(&f);
}

static void a_port_of_another_program_is_wrong(void) {
    static const char http[] = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n<html></html>";
    fake f;
    fake_start(&f, http, http);
    f.session = http;
    CHECK_INT(shell(doctor(f.hosts, fixture_root(), "")), 69);
    CHECK(says("wrong", f.hosts, "it answers, but not as ZooKeeper does"));
    CHECK(strstr(Output, "serves;") == NULL);
    fake_end(&f);
    fake_start(&f, "Zxid: 0x5\nMode: leader\n", "");
    f.session = http;
    CHECK_INT(shell(doctor(f.hosts, fixture_root(), "")), 69);
    CHECK(says("wrong", f.hosts, "opens no session: it answers as no ZooKeeper does"));
    fake_end(&f);
}

static void what_cannot_be_done_is_said(void) {
    CHECK_INT(shell(command("doctor a")), 64);
    CHECK_INT(shell(command("doctor --json >/dev/full")), 70);
    CHECK_INT(shell(command("doctor --auth-file /dev/null")), 64);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a closed root is denied: 77; credentials open it",
         a_closed_root_is_denied_and_credentials_open_it},
        {"a root below others that are missing is tried, and removed",
         a_root_below_others_that_are_missing_is_tried_and_removed},
        {"a node in the way of heartbeats is a warning",
         a_node_in_the_way_of_heartbeats_is_a_warning},
        {"what a failure has left is removed", what_a_failure_has_left_is_removed},
        {"an interrupt in the trial removes what was made",
         an_interrupt_in_the_trial_removes_what_was_made},
        {"nodes of others are named, harmlessly", nodes_of_others_are_named_harmlessly},
        {"each of many directories is read", each_of_many_directories_is_read},
        {"a counter near its end is a warning where the lock is in use",
         a_counter_near_its_end_is_a_warning_where_the_lock_is_in_use},
        {"a server that is behind is a warning", a_server_that_is_behind_is_a_warning},
        {"servers of two ensembles are wrong", servers_of_two_ensembles_are_wrong},
        {"what a server says is escaped, and what it does not say is a note",
         what_a_server_says_is_escaped_and_what_it_does_not_say_is_a_note},
        {"a port of another program is wrong", a_port_of_another_program_is_wrong},
        {"what cannot be done is said", what_cannot_be_done_is_said},
    };
    (void)unsetenv("ZKLOCK_HOSTS"); /* no other server's database is forged */
    shell_start();
    snapshot_node spent[] = {{fixture_root(), 0}, {lock_dir("spent"), NEARLY_SPENT}};
    server_forge(spent, sizeof(spent) / sizeof(spent[0]));
    test_after_each(fixture_recover);
    return TEST_MAIN(argc, argv, "doctor_nodes", cases);
}
