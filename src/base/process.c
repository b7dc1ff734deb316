/* process - see process.h. */
#include "base/process.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

/* On a page of its own, which is zero again in each child. NULL: there is no such page. */
static atomic_uint_fast64_t *Number;

/* Linux has it since 4.14. */
static void map_number(void) {
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return;
    if (madvise(page, size, MADV_WIPEONFORK) == 0)
        Number = page;
    else
        (void)munmap(page, size);
}

/* A child goes on counting where its parent was. */
uint64_t zkli_process_number(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static atomic_uint_fast64_t last;
    (void)pthread_once(&once, map_number);
    if (Number == NULL)
        return (uint64_t)getpid();
    uint64_t number = atomic_load(Number);
    if (number != 0)
        return number;
    uint64_t next = atomic_fetch_add(&last, 1) + 1;
    return atomic_compare_exchange_strong(Number, &number, next) ? next : number;
}
