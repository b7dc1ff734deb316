/* Preloaded into zklock: while the file $STUCK is there, a rename does not return. A disk that is
 * stuck behaves so, and an NFS server that is gone. */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int rename(const char *from, const char *to) {
    while (access(getenv("STUCK"), F_OK) == 0)
        (void)poll(NULL, 0, 10);
    return (int)syscall(SYS_rename, from, to);
}
