/* Every scenario cut off for twice the session timeout from every frame on: others take over. */
#include "matrix.h"

static void at_every_frame(void) {
    static const fault_mode modes[] = {FAULT_BLACKOUT};

    matrix_run(modes, sizeof(modes) / sizeof(modes[0]));
}

static const test_case Cases[] = {
    {"who is cut off for 2T from any frame on has given up before another is let in (T20)",
     at_every_frame},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "blackout", Cases);
}
