/* The examples as programs: several of each at once do together what each says. */
#include "support/client.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/scratch.h"

enum {
    PROGRAMS = 5,
    ARGUMENTS = 5
};

typedef struct program {
    pid_t pid;
    int output;
    char text[4096];
    int status;
} program;

static program Programs[PROGRAMS];

static void start(program *p, const char *const arguments[ARGUMENTS]) {
    int ends[2];
    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    p->pid = fork();
    if (p->pid == 0) {
        (void)setenv("ZKLOCK_HOSTS", server_hosts(), 1);
        (void)dup2(ends[1], STDOUT_FILENO);
        (void)execv(arguments[0], (char *const *)(uintptr_t)arguments);
        _exit(127);
    }
    REQUIRE(p->pid > 0);
    (void)close(ends[1]);
    p->output = ends[0];
}

static void finish(program *p) {
    size_t length = 0;
    ssize_t got;
    while ((got = read(p->output, p->text + length, sizeof(p->text) - 1 - length)) > 0)
        length += (size_t)got;
    p->text[length] = '\0';
    (void)close(p->output);
    REQUIRE(waitpid(p->pid, &p->status, 0) == p->pid);
}

static void run_all(const char *const arguments[ARGUMENTS]) {
    for (size_t i = 0; i < PROGRAMS; i++)
        start(&Programs[i], arguments);
    for (size_t i = 0; i < PROGRAMS; i++) {
        finish(&Programs[i]);
        CHECK_INT(Programs[i].status, 0);
    }
}

/* Below the root that programs have by default. The queue is looked at while they run. */
static size_t holders_most(const char *name, const char *const arguments[ARGUMENTS]) {
    zkl_session *s = session_open_with(server_hosts(), ZKL_SESSION_OPTIONS(.root = "/locks"));
    size_t most = 0;
    for (size_t i = 0; i < PROGRAMS; i++)
        start(&Programs[i], arguments);
    for (int looks = 0, more = 0; looks < 5000 && more < 30; looks++, more += most >= 3) {
        zkl_queue *queue = NULL;
        size_t holders = 0;
        CHECK_INT(zkl_inspect(s, name, &queue), ZKL_OK);
        for (size_t i = 0; i < zkl_queue_count(queue); i++)
            holders += zkl_queue_at(queue, i)->is_holder;
        most = holders > most ? holders : most;
        zkl_queue_free(queue);
    }
    for (size_t i = 0; i < PROGRAMS; i++) {
        finish(&Programs[i]);
        CHECK_INT(Programs[i].status, 0);
        CHECK_STRING(Programs[i].text, "40 jobs done\n");
    }
    session_close(s);
    return most;
}

static void workers_share_their_permits(void) {
    const char *name = fresh_name("workers");
    const size_t most = holders_most(
        name, (const char *const[ARGUMENTS]){"./example_workers", name, "3", "5"});
    CHECK_INT(most, 3);
}

static size_t count(const char *text, const char *word) {
    size_t times = 0;
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word))
        times++;
    return times;
}

static void one_migrates_and_the_others_find_it_done(void) {
    const char *file = scratch_path("version");
    size_t steps = 0, idle = 0;
    run_all((const char *const[ARGUMENTS]){"./example_migrate", fresh_name("migrate"), file, "7"});
    for (size_t i = 0; i < PROGRAMS; i++) {
        steps += count(Programs[i].text, "now version");
        idle += count(Programs[i].text, "nothing to do");
    }
    CHECK_INT(steps, 7);
    CHECK_INT(idle, PROGRAMS - 1);
}

static void each_line_has_its_number(void) {
    const char *file = scratch_path("lines");
    run_all((const char *const[ARGUMENTS]){"./example_fenced", fresh_name("fenced"), file, "text"});
    FILE *f = fopen(file, "r");
    REQUIRE(f != NULL);
    for (int i = 1; i <= PROGRAMS; i++) {
        int number = 0;
        CHECK_INT(fscanf(f, "%d text\n", &number), 1);
        CHECK_INT(number, i);
    }
    (void)fclose(f);
}

/* Others wait all the time but for the last term: nobody leads for as long as a term may be. */
static void leaders_take_turns(void) {
    int64_t tokens[2 * PROGRAMS];
    size_t terms = 0;
    const int64_t begun_ms = clock_ms();
    run_all((const char *const[ARGUMENTS]){"./example_leader", fresh_name("leader"), "2"});
    const int64_t took_ms = clock_ms() - begun_ms;
    CHECK_RANGE(took_ms, 0, (int64_t)2 * PROGRAMS * 2000);
    for (size_t i = 0; i < PROGRAMS; i++) {
        const char *at = Programs[i].text;
        CHECK_INT(count(at, "leads by token"), 2);
        while ((at = strstr(at, "token ")) != NULL && terms < COUNT(tokens))
            tokens[terms++] = strtoll(at += strlen("token "), NULL, 10);
        CHECK_INT(count(Programs[i].text, "deposed"), 0);
    }
    CHECK_INT(terms, COUNT(tokens));
    for (size_t i = 0; i < terms; i++)
        for (size_t j = 0; j < i; j++)
            CHECK(tokens[i] != tokens[j]);
}

static void without_arguments_they_say_how_they_are_used(void) {
    static const char *const names[] = {"./example_workers", "./example_migrate",
                                        "./example_fenced", "./example_leader"};
    for (size_t i = 0; i < COUNT(names); i++) {
        start(&Programs[0], (const char *const[ARGUMENTS]){names[i]});
        finish(&Programs[0]);
        CHECK(WIFEXITED(Programs[0].status) && WEXITSTATUS(Programs[0].status) == EXIT_FAILURE);
    }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"workers share their permits", workers_share_their_permits},
        {"one migrates, and the others find it done", one_migrates_and_the_others_find_it_done},
        {"each line has its number", each_line_has_its_number},
        {"leaders take turns", leaders_take_turns},
        {"without arguments they say how they are used",
         without_arguments_they_say_how_they_are_used},
    };
    fixture_start(NULL);
    test_after_each(fixture_recover);
    return TEST_MAIN(argc, argv, "examples", cases);
}
