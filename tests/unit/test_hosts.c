/* The list of servers as the client library is given it: an odd number of addresses. */
#include "zk/hosts.h"

#include <CUnit/CUnit.h>
#include <stdlib.h>
#include <string.h>

#include "support/main.h"
#include "support/wait.h"

static void check_becomes(const char *hosts, const char *expected) {
    size_t servers;
    char *odd = zkli_hosts_make_odd(hosts, &servers);

    CU_ASSERT_PTR_NOT_NULL_FATAL(odd);
    CU_ASSERT_STRING_EQUAL(odd, expected);
    free(odd);
}

static void check_servers(const char *hosts, size_t expected) {
    size_t servers = 99;
    char *odd = zkli_hosts_make_odd(hosts, &servers);

    CU_ASSERT_PTR_NOT_NULL_FATAL(odd);
    CHECK_INT(servers, expected);
    free(odd);
}

static void the_number_of_servers_is_told(void) {
    check_servers("127.0.0.1:1", 1);
    check_servers("127.0.0.1:1/a,b", 1);
    check_servers("127.0.0.1:1,127.0.0.2:2", 2); /* not the one that is there twice */
    check_servers("127.0.0.1:1,::1:2,127.0.0.3:3", 3);
    check_servers("no such name:1", 0);
    check_servers("no such name:1,127.0.0.1:1", 1);
    check_servers("localhost:1", 1); /* with an address of each kind, or of one */
    check_servers("localhost:1,localhost:2", 2);
}

static void an_odd_number_stays(void) {
    check_becomes("127.0.0.1:2181", "127.0.0.1:2181");
    check_becomes("127.0.0.1:1,127.0.0.2:2,127.0.0.3:3", "127.0.0.1:1,127.0.0.2:2,127.0.0.3:3");
    check_becomes("127.0.0.1:1/a/b", "127.0.0.1:1/a/b");
}

static void an_even_number_gets_one_twice(void) {
    check_becomes("127.0.0.1:1,127.0.0.2:2", "127.0.0.1:1,127.0.0.2:2,127.0.0.1:1");
    check_becomes("127.0.0.9:1, 127.0.0.2:2,127.0.0.3:3,127.0.0.4:4",
                  "127.0.0.9:1, 127.0.0.2:2,127.0.0.3:3,127.0.0.4:4,127.0.0.9:1");
}

static void the_chroot_stays_at_the_end(void) {
    check_becomes("127.0.0.1:1,127.0.0.2:2/a/b", "127.0.0.1:1,127.0.0.2:2,127.0.0.1:1/a/b");
}

/* The client library leaves it out as well. */
static void a_name_that_is_not_found_does_not_count(void) {
    check_becomes("no such name:1", "no such name:1");
    check_becomes("no such name:1,127.0.0.1:1", "no such name:1,127.0.0.1:1");
    check_becomes("127.0.0.1:1,no such name:1,127.0.0.2:2",
                  "127.0.0.1:1,no such name:1,127.0.0.2:2,127.0.0.1:1");
}

/* "/" alone is none to the client library. */
static void what_stands_before_each_path_is_the_chroot(void) {
    CHECK_INT(zkli_hosts_chroot_length("h:1"), 0);
    CHECK_INT(zkli_hosts_chroot_length("h:1,i:2/"), 0);
    CHECK_INT(zkli_hosts_chroot_length("h:1/a"), 2);
    CHECK_INT(zkli_hosts_chroot_length("h:1,i:2/a/bc"), 5);
}

static void spaces_go_and_missing_ports_come(void) {
    static const struct {
        const char *given, *complete;
    } lists[] = {
        {"zk1", "zk1:2181"},
        {"zk1:99", "zk1:99"},
        {"zk1, zk2:99 ,\tzk3/a b", "zk1:2181,zk2:99,zk3:2181/a b"},
        {" zk1 ", "zk1:2181"},
        {"[::1],[::2]:99", "::1:2181,::2:99"},
        {"::1:99", "::1:99"},
        {"/a,b", "/a,b"},
        {"zk1/", "zk1:2181/"},
        {"", ""},
        {" ", ""},
        {",", ","},
        {"zk1,", "zk1:2181,"},
    };

    for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++) {
        char *complete = zkli_hosts_complete(lists[i].given);

        CU_ASSERT_PTR_NOT_NULL_FATAL(complete);
        CHECK_STRING(complete, lists[i].complete);
        free(complete);
    }
}

static const test_case Cases[] = {
    {"spaces go, and missing ports come", spaces_go_and_missing_ports_come},
    {"the number of servers is told", the_number_of_servers_is_told},
    {"an odd number of addresses stays", an_odd_number_stays},
    {"of an even number one is there twice", an_even_number_gets_one_twice},
    {"the chroot stays at the end", the_chroot_stays_at_the_end},
    {"what stands before each path is the chroot", what_stands_before_each_path_is_the_chroot},
    {"a name that is not found does not count", a_name_that_is_not_found_does_not_count},
};

int main(int argc, char **argv) {
    return TEST_MAIN(argc, argv, "hosts", Cases);
}
