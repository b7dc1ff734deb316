/*
 * fenced NAME FILE TEXT - adds a line to a file, which processes of one user on this machine share,
 * with its number. Each reads the file, thinks, and writes. A fence beside the file refuses who has
 * been stopped for so long that another has had the lock since.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zklock.h>

static long count_lines(const char *file) {
    long lines = 0;
    int c;
    FILE *f = fopen(file, "r");
    if (f == NULL)
        return 0;
    while ((c = fgetc(f)) != EOF)
        lines += c == '\n';
    (void)fclose(f);
    return lines;
}

static int add_line(const char *file, long number, const char *text) {
    FILE *f = fopen(file, "a");
    if (f == NULL)
        return -1;
    int written = fprintf(f, "%ld %s\n", number, text);
    return fclose(f) == 0 && written > 0 ? 0 : -1;
}

/* The token is shown before the file is read, and again for the write, in which nobody who has a
 * lower one gets between. */
static zkl_err change(zkl_fence *fence, const char *name, int64_t token, const char *file,
                      const char *text) {
    zkl_err err = zkl_fence_check(fence, name, token);
    if (err != ZKL_OK)
        return err;
    long lines = count_lines(file);
    err = zkl_fence_begin(fence, name, token);
    if (err != ZKL_OK)
        return err;
    int result = add_line(file, lines + 1, text);
    (void)zkl_fence_end(fence);
    return result == 0 ? ZKL_OK : ZKL_IO;
}

int main(int argc, char **argv) {
    zkl_session *s = NULL;
    zkl_lock *lock = NULL;
    zkl_fence *fence = NULL;
    char path[4096];
    if (argc != 4) {
        (void)fprintf(stderr, "usage: fenced NAME FILE TEXT\n");
        return EXIT_FAILURE;
    }
    (void)snprintf(path, sizeof(path), "%s.fence", argv[2]);
    zkl_err err = zkl_fence_open(&fence, path, NULL);
    if (err == ZKL_OK)
        err = zkl_session_open(&s, getenv("ZKLOCK_HOSTS"), NULL);
    if (err == ZKL_OK)
        err = zkl_lock_open(&lock, s, argv[1], NULL);
    if (err == ZKL_OK)
        err = zkl_acquire(lock, 60000);
    if (err == ZKL_OK)
        err = change(fence, argv[1], zkl_token(lock), argv[2], argv[3]);
    if (err != ZKL_OK)
        (void)fprintf(stderr, "fenced: %s\n", zkl_strerror(err));
    (void)zkl_lock_close(lock);
    (void)zkl_session_close(s);
    (void)zkl_fence_close(fence);
    return err == ZKL_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
