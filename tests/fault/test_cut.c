/* Every scenario with its connection cut at every frame. */
#include "matrix.h"

static void at_every_frame(void) {
    static const fault_mode modes[] = {FAULT_CUT_BEFORE, FAULT_CUT_AFTER};

    matrix_run(modes, sizeof(modes) / sizeof(modes[0]));
}

static const test_case Cases[] = {
    {"a connection cut at any frame, before or after it, costs neither hold nor place nor node",
     at_every_frame},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "cut", Cases);
}
