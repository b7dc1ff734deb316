/* The number of a process, by which the child of a fork is known. */
#include "base/process.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/thread.h"
#include "support/main.h"
#include "support/wait.h"

static bool RefusesAdvice;

/* In place of the C library's. */
int madvise(void *at, size_t size, int advice) {
    if (!RefusesAdvice)
        return (int)syscall(SYS_madvise, at, size, advice);
    errno = EINVAL;
    return -1;
}

typedef bool claim_fn(void);

/* Each claim has a process of its own, in which nobody has asked before. */
static bool is_true_in_a_child(claim_fn *claim) {
    int status = -1;
    pid_t pid = fork();
    if (pid == 0) {
        (void)alarm(20);
        _exit(claim() ? 7 : 0);
    }
    REQUIRE(pid > 0 && waitpid(pid, &status, 0) == pid);
    return WIFEXITED(status) && WEXITSTATUS(status) == 7;
}

static uint64_t Parents[2];

static bool is_new_in_a_grandchild(void) {
    uint64_t number = zkli_process_number();
    return number != Parents[0] && number != Parents[1] && zkli_process_number() == number;
}

static bool is_new_in_a_child(void) {
    Parents[1] = zkli_process_number();
    return Parents[1] != Parents[0] && zkli_process_number() == Parents[1] &&
           is_true_in_a_child(is_new_in_a_grandchild);
}

static bool each_has_its_own(void) {
    Parents[0] = zkli_process_number();
    return zkli_process_number() == Parents[0] && is_true_in_a_child(is_new_in_a_child) &&
           is_true_in_a_child(is_new_in_a_child) && zkli_process_number() == Parents[0];
}

static void a_child_of_a_fork_has_another_number(void) {
    RefusesAdvice = false;
    CHECK(is_true_in_a_child(each_has_its_own));
}

static bool is_its_id(void) {
    return zkli_process_number() == (uint64_t)getpid();
}

static bool are_their_ids(void) {
    return is_its_id() && is_true_in_a_child(is_its_id);
}

static void where_the_kernel_does_not_wipe_it_is_the_process_id(void) {
    RefusesAdvice = true;
    CHECK(is_true_in_a_child(are_their_ids));
}

static bool is_the_threads_id(void) {
    return zkli_thread_id() == gettid();
}

static bool are_the_threads_ids(void) {
    return is_the_threads_id() && is_true_in_a_child(is_the_threads_id);
}

static void a_child_s_thread_has_another_id(void) {
    RefusesAdvice = false;
    CHECK(is_true_in_a_child(are_the_threads_ids));
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a child of a fork has another number", a_child_of_a_fork_has_another_number},
        {"where the kernel does not wipe it, it is the process id",
         where_the_kernel_does_not_wipe_it_is_the_process_id},
        {"a child's thread has another id than its parent's", a_child_s_thread_has_another_id},
    };
    return TEST_MAIN(argc, argv, "process", cases);
}
