/*
 * Every scenario, once for each of its frames and each fault. Registered four times, each time with
 * the first word of a claim, so that the faults are played beside each other.
 */
#include "matrix.h"

static void cut(void) {
    static const fault_mode modes[] = {FAULT_CUT_BEFORE, FAULT_CUT_AFTER};

    matrix_run(modes, sizeof(modes) / sizeof(modes[0]));
}

static void stall(void) {
    static const fault_mode modes[] = {FAULT_STALL_SHORT, FAULT_STALL_LONG};

    matrix_run(modes, sizeof(modes) / sizeof(modes[0]));
}

static void half_open(void) {
    static const fault_mode modes[] = {FAULT_HALF_OPEN};

    matrix_run(modes, sizeof(modes) / sizeof(modes[0]));
}

static void blackout(void) {
    static const fault_mode modes[] = {FAULT_BLACKOUT};

    matrix_run(modes, sizeof(modes) / sizeof(modes[0]));
}

static const test_case Cases[] = {
    {"cut: a connection cut at any frame, before or after it, costs neither hold nor place nor "
     "node",
     cut},
    {"stall: one direction that stands still costs nothing if short, and is noticed in time if "
     "long",
     stall},
    {"half_open: a connection that goes silent at any frame is found out and replaced", half_open},
    {"blackout: a client without a connection for 2T has given up before another is let in (T20)",
     blackout},
};

int main(int argc, char **argv) {
    fixture_start(NULL);
    return TEST_MAIN(argc, argv, "matrix", Cases);
}
