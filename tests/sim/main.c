/*
 * main - the simulation as a command, for scripts/sim.sh: one seed with its trace, or many with
 * their figures. The last line is for scripts: "<first> <count> <failed> [<seed> <checker>]".
 */
#include "sim/many.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN 8

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

static int many(uint64_t first, uint64_t count, bool stop_at_first) {
    struct figures figures = {0};
    struct failure failures[SHOWN];
    uint64_t failed = many_run(first, count, stop_at_first, &figures, failures, SHOWN);
    figures_print(&figures, stdout);
    for (uint64_t i = 0; i < failed && i < SHOWN; i++)
        printf("seed %" PRIu64 ": %s: %s\n", failures[i].seed, checker_names[failures[i].checker],
               failures[i].text);
    printf("%" PRIu64 " %" PRIu64 " %" PRIu64, first, figures.schedules, failed);
    if (failed > 0)
        printf(" %" PRIu64 " %s", failures[0].seed, checker_names[failures[0].checker]);
    printf("\n");
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv) {
    uint64_t first, count;
    if (argc == 2 && number(argv[1], &first))
        return replay(first);
    bool stop_at_first = argc == 4 && strcmp(argv[3], "--first") == 0;
    if ((argc == 3 || stop_at_first) && number(argv[1], &first) && number(argv[2], &count))
        return many(first, count, stop_at_first);
    (void)fprintf(stderr,
                  "usage: %s SEED            prints what happens\n"
                  "       %s FIRST COUNT [--first]   stops at the first failure\n",
                  argv[0], argv[0]);
    return 64;
}
