/*
 * Every scenario once without a fault, which shows its frames; then once for every one of them with
 * each of the given faults. Prints a table; fails the running test unless all cases were run and
 * passed.
 */
#ifndef FAULT_MATRIX_H
#define FAULT_MATRIX_H

#include "play.h"

void matrix_run(const fault_mode *modes, size_t mode_count);

#endif
