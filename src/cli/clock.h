/* The clock of the command's deadlines: it goes on while the machine is suspended. */
#ifndef CLI_CLOCK_H
#define CLI_CLOCK_H

#include <stdint.h>

int64_t cli_clock_ms(void);

#endif
