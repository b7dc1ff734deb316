/* thread - see thread.h. */
#include "base/thread.h"

#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/process.h"

struct zkli_thread zkli_thread_self(void) {
    return (struct zkli_thread){zkli_thread_number(), zkli_thread_id()};
}

uint64_t zkli_thread_number(void) {
    static atomic_uint_fast64_t last;
    static _Thread_local uint64_t number;
    if (number == 0)
        number = atomic_fetch_add(&last, 1) + 1;
    return number;
}

int64_t zkli_thread_id(void) {
    static _Thread_local int64_t id;
    static _Thread_local uint64_t process; /* in which that was asked */
    const uint64_t now = zkli_process_number();
    if (process != now)
        id = syscall(SYS_gettid);
    process = now;
    return id;
}
