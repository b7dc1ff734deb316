/*
 * main - the simulation as a command, for scripts/sim.sh: one seed with its trace, or many with
 * their figures. A line "seed N: CHECKER: ..." tells of the first failure that a checker found, and
 * the last line is "<first> <count> <failed>".
 */
#include "sim/many.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool number(const char *text, uint64_t *ret) {
    char *end;
    errno = 0;
    *ret = strtoull(text, &end, 0);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
}

static int replay(uint64_t seed) {
    struct figures figures = {0};
    struct world *w = world_new();
    bool is_right = schedule_run(w, seed, true, &figures);
    if (is_right)
        printf("seed %" PRIu64 ": nothing is violated\n", seed);
    else
        printf("seed %" PRIu64 ": %s: %s\n", seed, checker_names[w->checker], w->violation);
    world_free(w);
    return is_right ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int many(uint64_t first, uint64_t count, const bool *until) {
    struct figures figures = {0};
    struct failure failures[CHECKERS];
    uint64_t failed = many_run(first, count, until, &figures, failures);
    figures_print(&figures, stdout);
    for (int i = 0; i < CHECKERS; i++)
        if (failures[i].count > 0)
            printf("seed %" PRIu64 ": %s: %s (%" PRIu64 " such)\n", failures[i].seed,
                   checker_names[i], failures[i].text, failures[i].count);
    printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", first, figures.schedules, failed);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static bool find_checker(const char *name, bool until[CHECKERS]) {
    for (int i = 0; i < CHECKERS; i++)
        if (strcmp(checker_names[i], name) == 0)
            return until[i] = true;
    return false;
}

int main(int argc, char **argv) {
    uint64_t first, count;
    bool until[CHECKERS] = {false};
    bool is_known = true;
    for (int i = 3; i < argc; i++)
        is_known = is_known && find_checker(argv[i], until);
    if (argc == 2 && number(argv[1], &first))
        return replay(first);
    if (argc >= 3 && is_known && number(argv[1], &first) && number(argv[2], &count))
        return many(first, count, argc > 3 ? until : NULL);
    (void)fprintf(stderr,
                  "usage: %s SEED            prints what happens\n"
                  "       %s FIRST COUNT [CHECKER]...   stops when one of these finds something\n",
                  argv[0], argv[0]);
    return 64;
}
