/*
 * Every scenario once without a fault, which shows its frames; then again with a fault. Prints a
 * table; fails the running test unless all cases were run and passed. A case that hangs ends the
 * program, with its name.
 */
#ifndef FAULT_MATRIX_H
#define FAULT_MATRIX_H

#include "play.h"

/* Once for every frame with each of these faults. */
void matrix_run(const fault_mode *modes, size_t mode_count);
/*
 * Once, all at the same time, each up to its middle frame, which is held back. When all have come
 * to it strike is called, and may call matrix_let_go; and when it returns the server is back.
 * timeout_ms: of the sessions; outage_ms: how long the server is away at most.
 */
void matrix_strike_server(fault_mode mode, int timeout_ms, int outage_ms, void (*strike)(void));
void matrix_let_go(void);
/* Kills the server and starts it again. */
void matrix_restart_server(void);

#endif
