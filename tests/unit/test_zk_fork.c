/* What belongs to the whole process, in a child of fork(): other threads of its parent's had it. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/actor.h"
#include "support/main.h"
#include "support/wait.h"
#include "zk/zk_socket.h"
#include "zk/zk_table.h"
#include "zk/zk_transaction.h"

static atomic_bool MayRest;

/* One use, which is over soon. The argument is a child's, or the other thread's. */
typedef void use_fn(bool is_child);

static zkl_err use_without_rest(void *arg) {
    use_fn *const *use = arg;
    while (!atomic_load(&MayRest))
        (*use)(false);
    return ZKL_OK;
}

static bool child_can(use_fn *use) {
    int status = -1;
    const pid_t pid = fork();
    if (pid == 0) {
        (void)alarm(2); /* a hang ends the child */
        use(true);
        _exit(0);
    }
    REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
    return status == 0;
}

static void check_children(use_fn *use) {
    enum {
        FORKS = 300
    };
    actor *a = actor_new();
    bool can = true;
    use(true); /* there is a session already */
    atomic_store(&MayRest, false);
    actor_begin(a, use_without_rest, &use);
    for (int i = 0; i < FORKS && can; i++)
        can = child_can(use);
    CHECK(can);
    atomic_store(&MayRest, true);
    CHECK_INT(actor_result(a, SOON_MS), ZKL_OK);
    actor_free(a);
}

static void not_freed(struct zkli_place *place) {
    (void)place;
}

static void use_table(bool is_child) {
    static struct zkli_place places[2];
    struct zkli_place *place = &places[is_child];
    zkli_table_add(place);
    zkli_table_close(place);
    zkli_table_drop(place, true, not_freed);
}

/* ---- Who waits for the end of a delivery ---- */

static zkl_err close_place(void *place) {
    zkli_table_close(place);
    return ZKL_OK;
}

static unsigned begin_delivery(struct zkli_place *place) {
    unsigned number = 0;
    zkli_table_add(place);
    REQUIRE(zkli_table_begin(zkli_table_context(place, 1), &number, NULL) == place);
    return number;
}

/* It waits for the end of a delivery, too. */
static void close_another(void) {
    static struct zkli_place place;
    actor *a = actor_new();
    (void)begin_delivery(&place);
    actor_begin(a, close_place, &place);
    WAIT_UNTIL(actor_is_blocked(a), SOON_MS);
    zkli_table_end(&place);
    CHECK_INT(actor_result(a, SOON_MS), ZKL_OK);
    zkli_table_drop(&place, true, not_freed);
    actor_free(a);
}

/* Its runtime refuses new threads in a child of a program with several. */
static bool is_under_thread_sanitizer(void) {
#if defined(__SANITIZE_THREAD__)
    return true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
    return true;
#endif
#endif
    return false;
}

static void a_child_has_none_of_those_who_wait(void) {
    if (is_under_thread_sanitizer()) {
        test_skip("no threads in a child");
        return;
    }
    static struct zkli_place place;
    int status = -1;
    actor *a = actor_new();
    CHECK_INT(begin_delivery(&place), 1);
    actor_begin(a, close_place, &place);
    WAIT_UNTIL(actor_is_blocked(a), SOON_MS);
    const pid_t pid = fork();
    if (pid == 0) {
        (void)alarm(2);
        for (int i = 0; i < 3; i++)
            close_another();
        _exit(0);
    }
    REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
    CHECK_INT(status, 0);
    zkli_table_end(&place);
    CHECK_INT(actor_result(a, SOON_MS), ZKL_OK);
    zkli_table_drop(&place, true, not_freed);
    actor_free(a);
}

/* ---- The others ---- */

static void use_transactions(bool is_child) {
    static struct zkli_transaction transactions[2], *slots[2];
    zkli_transaction_put(&slots[is_child], &transactions[is_child], 1);
    CHECK(zkli_transaction_take(&slots[is_child], 1) != NULL);
}

static void use_searches(bool is_child) {
    static struct zkli_search searches[2];
    zkli_search_init(&searches[is_child]);
    zkli_search_fini(&searches[is_child]);
}

static void the_table_of_ports_is_free(void) {
    check_children(use_table);
}

static void transactions_can_be_sent(void) {
    check_children(use_transactions);
}

static void a_socket_can_be_searched_for(void) {
    check_children(use_searches);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"in a child of a fork the table of ports is free", the_table_of_ports_is_free},
        {"in a child of a fork nobody waits that did in its parent",
         a_child_has_none_of_those_who_wait},
        {"in a child of a fork transactions can be sent", transactions_can_be_sent},
        {"in a child of a fork a socket can be searched for", a_socket_can_be_searched_for},
    };
    return TEST_MAIN(argc, argv, "zk_fork", cases);
}
