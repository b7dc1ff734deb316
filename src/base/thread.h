/* thread - who the calling thread is. */
#ifndef ZKLI_BASE_THREAD_H
#define ZKLI_BASE_THREAD_H

#include <stdint.h>

struct zkli_thread {
    uint64_t number;
    int64_t id;
};

struct zkli_thread zkli_thread_self(void);

/* A number for the calling thread that is never used again, unlike thread ids. */
uint64_t zkli_thread_number(void);
/* The kernel's number, for an operator who looks at the queue. */
int64_t zkli_thread_id(void);

#endif
