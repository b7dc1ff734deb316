/* Every scenario with one direction standing still from every frame on. */
#include "matrix.h"

static void at_every_frame(void) {
    static const fault_mode modes[] = {FAULT_STALL_SHORT, FAULT_STALL_LONG};

    matrix_run(modes, sizeof(modes) / sizeof(modes[0]));
}

static const test_case Cases[] = {
    {"a stall at any frame costs nothing if short, and is noticed in time if long", at_every_frame},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "stall", Cases);
}
