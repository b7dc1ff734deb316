/* process - which process this is. */
#ifndef ZKLI_BASE_PROCESS_H
#define ZKLI_BASE_PROCESS_H

#include <stdint.h>

/* The number of this process. A child of a fork has another one than its parent, and than whatever
 * forked that. To ask costs no system call, unlike getpid. */
uint64_t zkli_process_number(void);

#endif
