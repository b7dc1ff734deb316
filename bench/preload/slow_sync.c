/*
 * slow_sync - to be preloaded into a throw-away server: a disk that takes as many milliseconds for
 * each fdatasync as the file named by SLOW_SYNC_FILE says at that moment. No data get to any disk
 * by it.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static long wanted_ms(void) {
    char text[32] = "";
    const char *name = getenv("SLOW_SYNC_FILE");
    int fd = name == NULL ? -1 : open(name, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    ssize_t got = read(fd, text, sizeof(text) - 1);
    (void)close(fd);
    return got > 0 ? strtol(text, NULL, 10) : 0;
}

__attribute__((visibility("default"))) int fdatasync(int fd) {
    (void)fd;
    long ms = wanted_ms();
    struct timespec wait = {ms / 1000, ms % 1000 * 1000000};
    if (ms > 0)
        (void)nanosleep(&wait, NULL); /* cut short by a signal, it is a quicker disk */
    return 0;
}
