/* Every scenario with its connection going silent at every frame. */
#include "matrix.h"

static void at_every_frame(void) {
    static const fault_mode modes[] = {FAULT_HALF_OPEN};

    matrix_run(modes, sizeof(modes) / sizeof(modes[0]));
}

static const test_case Cases[] = {
    {"a connection that goes silent at any frame is found out and replaced", at_every_frame},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "half_open", Cases);
}
