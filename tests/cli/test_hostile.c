/*
 * What others wrote on the server meets the command: hostile node data and names, nodes that the
 * command may not read, and a lock node that somebody deletes.
 */
#include "cli/json_check.h"
#include "cli/shell.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A contender's node with this data, owned by the raw client's session. */
static void put_contender(const char *lock, const char *child, const void *data, size_t length) {
    char path[RAW_PATH_MAX];
    dir_make(lock);
    (void)snprintf(path, sizeof(path), "%s/%s", lock_dir(lock), child);
    REQUIRE_INT(raw_create(fixture_raw(), path, data, length, RAW_EPHEMERAL | RAW_SEQUENTIAL, NULL),
                RAW_OK);
}

static void check_harmless(const char *text) {
    for (const char *c = text; *c != '\0'; c++)
        CHECK(*c == '\n' || ((unsigned char)*c >= 0x20 && (unsigned char)*c < 0x7f));
}

static const char *const Child = "_c_00000000-0000-0000-0000-000000000000-lock-";

static void hostile_values_are_escaped(void) {
    static const char line[] = "zklock1 pid=7 tid=8 host=%1B%5B2J prog=%9B31m%FF label=a%0Ab%22%5C";
    put_contender("values", Child, line, sizeof(line) - 1);
    CHECK_INT(shell(command("show --long values")), 0);
    check_harmless(Output);
    CHECK(strstr(Output, "\\x9B31m\\xFF") != NULL);
    CHECK_INT(shell(command("show values")), 0);
    check_harmless(Output);
    CHECK(strstr(Output, "\\x1B[2J pid 7") != NULL);
    CHECK(strstr(Output, "a\\x0Ab\"\\\\") != NULL);
    CHECK_INT(shell(command("show --json values")), 0);
    check_harmless(Output);
    CHECK(json_is_valid(Output));
    CHECK(strstr(Output, "\"host\":\"\\u001b[2J\"") != NULL);
    CHECK(strstr(Output, "\"program\":\"\\ufffd31m\\ufffd\"") != NULL);
    CHECK(strstr(Output, "\"pid\":7,") != NULL);
}

/* Whoever wrote that holds the lock. The quotes end with our words. */
static void a_hostile_holder_is_named_harmlessly(void) {
    static const char line[] = "zklock1 pid=7 tid=8 host=%1B%5B2J prog=%9B31m%FF label=a%0Ab%22%5C";
    put_contender("holder", Child, line, sizeof(line) - 1);
    CHECK_INT(shell(command("run -n holder -- true 2>&1")), 1);
    check_harmless(Output);
    CHECK(strstr(Output, "held by \\x1B[2J pid 7 \"a\\x0Ab'\\\\\" for ") != NULL);
    CHECK_INT(shell(command("run -w 2 holder -- true 2>&1")), 1);
    check_harmless(Output);
    put_contender("bytes/holder", Child, "\x1b[31m\xff", 6);
    CHECK_INT(shell(command("run -n bytes/holder -- true 2>&1")), 1);
    check_harmless(Output);
    CHECK(strstr(Output, "held by _c_0") != NULL);
}

static void any_bytes_in_a_node_leave_the_output_harmless(void) {
    unsigned seed = 1;
    for (int round = 0; round < 20; round++) {
        char data[700];
        size_t length = (size_t)(round * 35);
        for (size_t i = 0; i < length; i++) {
            seed = seed * 1103515245 + 12345;
            data[i] = (char)(seed >> 16);
        }
        put_contender("bytes", Child, data, length);
    }
    put_contender("bytes", Child, "zklock1 pid=99999999999999999999 host=", 38);
    CHECK_INT(shell(command("show bytes")), 0);
    check_harmless(Output);
    CHECK_INT(shell(command("show -l bytes")), 0);
    check_harmless(Output);
    CHECK_INT(shell(command("show --json bytes")), 0);
    check_harmless(Output);
    CHECK(json_is_valid(Output));
}

static void hostile_names_are_escaped(void) {
    put_contender("n\xc3\xa9\xdb\x9b\"\\x", Child, "", 0);
    CHECK_INT(shell(command("ls n")), 0);
    CHECK_INT(shell(command("ls")), 0);
    check_harmless(Output);
    CHECK(strstr(Output, "n\\xC3\\xA9\\xDB\\x9B\"\\\\x ") != NULL);
    CHECK_INT(shell(command("ls --json")), 0);
    check_harmless(Output);
    CHECK(json_is_valid(Output));
    CHECK(strstr(Output, "\"n\\u00e9\\u06db\\\"\\\\x\"") != NULL);
    CHECK_INT(shell(command("ls --prometheus")), 0);
    CHECK(strstr(Output, "zklock_lock_contenders{name=\"n\xc3\xa9\xdb\x9b\\\"\\\\x\"} 1\n") !=
          NULL);
}

/* Nobody but its process knows whether it holds. */
static void a_node_that_may_stay_is_shown_as_such(void) {
    put_contender("stays", "_c_00000000-0000-8000-8000-000000000000-lock-", "", 0);
    put_contender("stays", Child, "", 0);
    CHECK_INT(shell(command("show stays")), 0);
    CHECK(strstr(Output, "  holds or lingers\n") != NULL);
    CHECK(strstr(Output, "  waits on 1\n") != NULL);
    CHECK_INT(shell(command("show --json stays")), 0);
    CHECK(json_is_valid(Output));
    CHECK(strstr(Output, "\"position\":1,\"holder\":true,\"kind\":\"mutex\",\"may_linger\":true") !=
          NULL);
    CHECK(
        strstr(Output, "\"position\":2,\"holder\":false,\"kind\":\"mutex\",\"may_linger\":false") !=
        NULL);
}

/* Its number is higher, so the library queues behind it; it never says who it is. */
static void a_contender_of_another_library_is_shown(void) {
    put_contender("foreign", "x-0000000007-", "", 0);
    CHECK_INT(shell(command("show --json foreign")), 0);
    CHECK(json_is_valid(Output));
    CHECK(strstr(Output, "\"host\":null,\"pid\":null,\"thread\":null,\"program\":null") != NULL);
}

/* Who is asked for a yes is to know it before. */
static void a_break_says_that_such_a_holder_is_not_told(void) {
    static const char ours[] = "zklock1 pid=7 tid=8 host=db3 prog=dump";
    put_contender("told", Child, ours, sizeof(ours) - 1);
    CHECK_INT(shell(command("break told </dev/null")), 64);
    CHECK(strstr(Output, "zklock: told: db3 pid 7 \"dump\" holds") != NULL);
    CHECK(strstr(Output, "no data of zklock") == NULL);
    put_contender("untold", Child, "", 0);
    CHECK_INT(shell(command("break untold </dev/null")), 64);
    CHECK(
        strstr(Output, "zklock: untold: its node has no data of zklock: that client is not told") !=
        NULL);
    CHECK_INT(queue_length("untold"), 1);
    CHECK_INT(shell(command("break --yes untold")), 0);
    CHECK_INT(queue_length("untold"), 0);
}

static void denied_is_77_and_says_where(void) {
    dir_make("secret");
    REQUIRE_INT(raw_restrict(fixture_raw(), lock_dir("secret"), 0), RAW_OK);
    CHECK_INT(shell(command("run -w 10 secret -- true")), 77);
    CHECK(strstr(Output, "zklock: secret: ") != NULL);
    CHECK(strstr(Output, lock_dir("secret")) != NULL);
    CHECK_INT(shell(command("show secret")), 77);
    CHECK_INT(shell(command("run -w 10 --all public secret -- true")), 77);
    CHECK(strstr(Output, "zklock: public and 1 more: ") != NULL);
    CHECK(strstr(Output, lock_dir("secret")) != NULL);
    CHECK_INT(queue_length("public"), 0);
}

static void ls_lists_the_rest_beside_what_it_may_not_read(void) {
    put_contender("some/open", Child, "", 0);
    dir_make("some/closed");
    REQUIRE_INT(raw_restrict(fixture_raw(), lock_dir("some/closed"), 0), RAW_OK);
    CHECK_INT(shell(command("ls some")), 77);
    CHECK(strstr(Output, "zklock: some/closed: no permission to read it") != NULL);
    CHECK(strstr(Output, "some/open") != NULL);
    CHECK_INT(shell(command("ls --json some")), 77);
    const char *json = strstr(Output, "{\"locks\"");
    CHECK(json != NULL && json_is_valid(json));
    CHECK(strstr(Output, "{\"name\":\"some/open\",\"contenders\":1,\"holders\":1,") != NULL);
    CHECK(strstr(Output, "closed\",") == NULL);
}

static void ls_lists_a_lock_whose_queue_it_may_not_read(void) {
    char path[RAW_PATH_MAX];
    put_contender("heads/closed", Child, "", 0);
    put_contender("heads/open", Child, "zklock1 pid=7 host=h", 20);
    REQUIRE(raw_child_path(fixture_raw(), lock_dir("heads/closed"), 0, path));
    REQUIRE_INT(raw_restrict(fixture_raw(), path, 0), RAW_OK);
    CHECK_INT(shell(command("ls heads")), 77);
    CHECK(strstr(Output, "zklock: heads/closed: no permission to read its queue") != NULL);
    CHECK(strstr(Output, "heads/closed  ?        1      ?\n") != NULL);
    CHECK(strstr(Output, "heads/open    h pid 7  1      -\n") != NULL);
    CHECK_INT(shell(command("ls --json heads")), 77);
    const char *json = strstr(Output, "{\"locks\"");
    CHECK(json != NULL && json_is_valid(json));
    CHECK(strstr(Output, "{\"name\":\"heads/closed\",\"contenders\":1,\"holders\":null,"
                         "\"holder\":null,\"oldest_wait_since\":null,"
                         "\"oldest_wait_since_ms\":null,\"oldest_wait_ms\":null}") != NULL);
}

/* However many hold, a lock costs a few reads: the first 4, and the first 64 if all 4 hold. */
static void ls_looks_at_the_head_of_a_queue(void) {
    static const char reader[] = "_c_00000000-0000-0000-0000-000000000000-__READ__";
    static const char data[] = "zklock1 pid=7 host=h";
    for (size_t i = 0; i < 63; i++)
        put_contender("crowd", reader, data, sizeof(data) - 1);
    put_contender("crowd", Child, data, sizeof(data) - 1);
    CHECK_INT(shell(command("ls crowd")), 0);
    CHECK(strstr(Output, "  h pid 7 and 62 more  64 ") != NULL);
    CHECK(strstr(Output, "s\n") != NULL);
    for (size_t i = 0; i < 64; i++)
        put_contender("flood", reader, data, sizeof(data) - 1);
    put_contender("flood", Child, data, sizeof(data) - 1);
    CHECK_INT(shell(command("ls flood")), 0);
    CHECK(strstr(Output, "  h pid 7 and 63 or more  65     ?\n") != NULL);
    CHECK_INT(shell(command("ls --prometheus flood")), 0);
    CHECK(strstr(Output, "zklock_lock_contenders{name=\"flood\"} 65\n") != NULL);
    CHECK(strstr(Output, "wait_seconds{") == NULL);
    CHECK_INT(shell(command("ls --json flood")), 0);
    CHECK(strstr(Output, "\"contenders\":65,\"holders\":null,\"holder\":{") != NULL);
}

/* Under these locks a command sleeps for so long. It has begun: before, a node that is deleted is
 * made anew. */
static FILE *begin_to_sleep(const char *locks, int seconds) {
    char arguments[160], line[16];
    (void)snprintf(arguments, sizeof(arguments), "run %s -- sh -c 'echo begun; exec sleep %d'",
                   locks, seconds);
    FILE *runner = popen(command(arguments), "r");
    REQUIRE(runner != NULL);
    REQUIRE(fgets(line, sizeof(line), runner) != NULL);
    CHECK_STRING(line, "begun\n");
    return runner;
}

static void a_command_whose_node_is_deleted_is_killed(void) {
    char path[RAW_PATH_MAX];
    FILE *runner = begin_to_sleep("deleted", 1000);
    /* The watch on the own node is set at a heartbeat, and watches are what the server counts. */
    WAIT_UNTIL(!server_is_ours() || server_number("wchs", "Total watches") > 0, SOON_MS);
    REQUIRE(raw_child_path(fixture_raw(), lock_dir("deleted"), 0, path));
    CHECK_INT(raw_delete(fixture_raw(), path), RAW_OK);
    int status = pclose(runner);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 75);
}

/* The watches on the own nodes are set at a heartbeat: see above. */
static void delete_one_of_several(const char *const *names, size_t count, size_t which) {
    char path[RAW_PATH_MAX];
    char expected[512];
    FILE *runner = begin_to_sleep("--all several/a several/b several/c", 20);
    WAIT_UNTIL(!server_is_ours() || server_number("wchs", "Total watches") >= (long)count, SOON_MS);
    REQUIRE(raw_child_path(fixture_raw(), lock_dir(names[which]), 0, path));
    CHECK_INT(raw_delete(fixture_raw(), path), RAW_OK);
    size_t length = fread(Output, 1, OUTPUT_MAX - 1, runner);
    Output[length] = '\0';
    int status = pclose(runner);
    CHECK(WIFEXITED(status));
    CHECK_INT(WEXITSTATUS(status), 75);
    (void)snprintf(expected, sizeof(expected),
                   "zklock: %s: the hold is lost: SIGKILL sent\n"
                   "zklock: %s: the lock was lost while sh ran\n",
                   names[which], names[which]);
    CHECK_STRING(Output, expected);
    for (size_t i = 0; i < count; i++)
        CHECK_INT(queue_length(names[i]), 0);
}

static void a_command_of_several_is_killed_with_any_one_of_their_nodes(void) {
    static const char *const names[] = {"several/a", "several/b", "several/c"};
    const size_t count = sizeof(names) / sizeof(names[0]);
    for (size_t i = 0; i < count; i++)
        delete_one_of_several(names, count, i);
}

static void a_waiter_of_several_that_loses_a_place_queues_again_for_all(void) {
    char path[RAW_PATH_MAX];
    char held[RAW_PATH_MAX];
    put_contender("places/held", Child, "", 0);
    REQUIRE(raw_child_path(fixture_raw(), lock_dir("places/held"), 0, held));
    FILE *runner = popen(command("-v run --all places/free places/held -- true"), "r");
    REQUIRE(runner != NULL);
    WAIT_UNTIL(queue_length("places/free") == 1 && queue_length("places/held") == 2, SOON_MS);
    REQUIRE(raw_child_path(fixture_raw(), lock_dir("places/free"), 0, path));
    CHECK_INT(raw_delete(fixture_raw(), path), RAW_OK);
    WAIT_UNTIL(queue_length("places/free") == 1, SOON_MS);
    CHECK_INT(raw_delete(fixture_raw(), held), RAW_OK);
    size_t length = fread(Output, 1, OUTPUT_MAX - 1, runner);
    Output[length] = '\0';
    CHECK_INT(pclose(runner), 0);
    CHECK(strstr(Output, "zklock: places/free: lost the place in the queue") != NULL);
    CHECK(strstr(Output, "zklock: places/held: lost the place in the queue") != NULL);
    CHECK(strstr(Output, "-lock-0000000001\nzklock: acquired places/held, ") != NULL);
    CHECK_INT(queue_length("places/free") + queue_length("places/held"), 0);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"hostile values are escaped", hostile_values_are_escaped},
        {"a hostile holder is named harmlessly", a_hostile_holder_is_named_harmlessly},
        {"any bytes in a node leave the output harmless",
         any_bytes_in_a_node_leave_the_output_harmless},
        {"hostile names are escaped", hostile_names_are_escaped},
        {"a node that may stay is shown as such", a_node_that_may_stay_is_shown_as_such},
        {"a contender of another library is shown", a_contender_of_another_library_is_shown},
        {"a break says that such a holder is not told",
         a_break_says_that_such_a_holder_is_not_told},
        {"denied is 77 and says where", denied_is_77_and_says_where},
        {"ls lists the rest beside what it may not read",
         ls_lists_the_rest_beside_what_it_may_not_read},
        {"ls lists a lock whose queue it may not read",
         ls_lists_a_lock_whose_queue_it_may_not_read},
        {"ls looks at the head of a queue", ls_looks_at_the_head_of_a_queue},
        {"a command whose node is deleted is killed: 75",
         a_command_whose_node_is_deleted_is_killed},
        {"a command of several is killed with any one of their nodes: 75, and which is named",
         a_command_of_several_is_killed_with_any_one_of_their_nodes},
        {"a waiter of several that loses a place queues again for all",
         a_waiter_of_several_that_loses_a_place_queues_again_for_all},
    };
    shell_start();
    test_after_each(fixture_recover);
    return TEST_MAIN(argc, argv, "hostile", cases);
}
