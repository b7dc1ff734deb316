/* zklock deadlocks, of threads that wait for each other. */
#include "cli/json_check.h"
#include "cli/shell.h"
#include "support/actor.h"

#include <string.h>
#include <unistd.h>

typedef struct side {
    actor *actor;
    zkl_session *session;
    zkl_lock *has, *wants;
} side;

static side side_open(const char *has, const char *wants, const char *label) {
    side s = {.actor = actor_new(), .session = session_open(server_hosts(), T_LONG, NULL)};
    REQUIRE_INT(zkl_lock_open(&s.has, s.session, has, &ZKL_LOCK_OPTIONS(.label = label)), ZKL_OK);
    REQUIRE_INT(zkl_lock_open(&s.wants, s.session, wants, &ZKL_LOCK_OPTIONS(.label = label)),
                ZKL_OK);
    actor_acquire(s.actor, s.has, SOON_MS);
    REQUIRE_INT(actor_result(s.actor, SOON_MS), ZKL_OK);
    return s;
}

static void side_wait(side *s, size_t queue) {
    actor_acquire(s->actor, s->wants, ZKL_FOREVER);
    WAIT_UNTIL(queue_length(zkl_lock_name(s->wants)) == queue, SOON_MS);
}

static void side_close(side *s) {
    lock_close(s->wants);
    lock_close(s->has);
    session_close(s->session);
    actor_free(s->actor);
}

static size_t lines(void) {
    size_t lines = 0;
    for (const char *c = Output; *c != '\0'; c++)
        lines += *c == '\n';
    return lines;
}

/* Which line begins with that, and has the words in their order; 0: none. */
static size_t line_with(const char *begin, const char *const *words, size_t count) {
    size_t number = 1;
    for (const char *line = Output; *line != '\0'; number++) {
        const char *end = line + strcspn(line, "\n");
        const char *at = strncmp(line, begin, strlen(begin)) == 0 ? line : NULL;
        for (size_t i = 0; i < count && at != NULL; i++)
            at = memmem(at, (size_t)(end - at), words[i], strlen(words[i]));
        if (at != NULL)
            return number;
        line = end + (*end == '\n');
    }
    return 0;
}

static void a_circle_is_printed_with_what_each_blocks_and_waits_for(void) {
    side one = side_open("ring/a", "ring/b", "the first");
    side two = side_open("ring/b", "ring/a", "\x1b[2J");
    char pid[24], token[2][24];
    (void)snprintf(pid, sizeof(pid), " %d ", (int)getpid());
    (void)snprintf(token[0], sizeof(token[0]), " %lld ",
                   (long long)actor_token(one.actor, one.has));
    (void)snprintf(token[1], sizeof(token[1]), " %lld ",
                   (long long)actor_token(two.actor, two.has));
    side_wait(&one, 2);
    CHECK_INT(shell(command("deadlocks")), 0);
    CHECK_STRING(Output, "");
    CHECK_INT(shell(command("deadlocks --json")), 0);
    CHECK_STRING(Output, "{\"deadlocks\":[]}\n");
    side_wait(&two, 2);
    CHECK_INT(shell(command("deadlocks")), 1);
    CHECK_INT(lines(), 3);
    CHECK_INT(line_with("CIRCLE ", NULL, 0), 1);
    CHECK(line_with("1 ", (const char *[]){pid, "the first", " ring/a ", token[0], "ring/b ", "s "},
                    6) > 1);
    CHECK(line_with("1 ", (const char *[]){pid, "\\x1B[2J", " ring/b ", token[1], "ring/a ", "s "},
                    6) > 1);
    CHECK_INT(shell(command("deadlocks --json ring")), 1);
    CHECK(json_is_valid(Output));
    CHECK(strstr(Output, "{\"deadlocks\":[{\"waits\":[{\"name\":\"ring/") == Output);
    CHECK(strstr(Output, "\"waiter\":{\"holder\":false,") != NULL);
    CHECK(strstr(Output, "\"blocker\":{\"holder\":true,") != NULL);
    CHECK(strstr(Output, "\\u001b[2J") != NULL);
    CHECK_INT(shell(command("deadlocks >/dev/full")), 70); /* none of it arrived */
    CHECK_INT(shell(command("deadlocks other")), 0);
    CHECK_STRING(Output, "");
    REQUIRE_INT(zkl_cancel(two.wants), ZKL_OK);
    REQUIRE_INT(actor_result(two.actor, SOON_MS), ZKL_CANCELED);
    WAIT_UNTIL(queue_length("ring/a") == 1, SOON_MS);
    CHECK_INT(shell(command("deadlocks")), 0);
    side_close(&two);
    side_close(&one);
}

static void what_cannot_be_done_is_said(void) {
    CHECK_INT(shell(command("deadlocks /x")), 64);
    CHECK(strstr(Output, "zklock: ") == Output);
    CHECK_INT(shell(command("deadlocks a b")), 64);
    CHECK_INT(shell(command("deadlocks -n")), 64);
    CHECK_INT(shell("zklock deadlocks --help"), 0);
    CHECK(lines() < 24);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a circle is printed with what each blocks and waits for",
         a_circle_is_printed_with_what_each_blocks_and_waits_for},
        {"what cannot be done is said", what_cannot_be_done_is_said},
    };
    shell_start();
    return TEST_MAIN(argc, argv, "deadlocks", cases);
}
