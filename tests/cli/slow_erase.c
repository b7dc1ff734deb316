/* Preloaded into zklock: a terminal takes a while to erase the line that tells of a wait. */
#include <poll.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SLOW_MS 200

ssize_t write(int fd, const void *data, size_t length) {
    static const char erase[] = "\r\033[K";
    if (fd == STDERR_FILENO && length == sizeof(erase) - 1 && memcmp(data, erase, length) == 0)
        (void)poll(NULL, 0, SLOW_MS);
    return syscall(SYS_write, fd, data, length);
}
