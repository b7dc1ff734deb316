/*
 * migrate NAME FILE VERSION - brings a database to a version, one step at a time. Here the database
 * is a file with a number. However many programs start at once, as after a deployment, one of them
 * does it, and the others find it done.
 */
#include <stdio.h>
#include <stdlib.h>

#include <zklock.h>

/* A file that is not there yet has version 0. */
static long read_version(const char *file) {
    long version = 0;
    FILE *f = fopen(file, "r");
    if (f == NULL)
        return 0;
    if (fscanf(f, "%ld", &version) != 1)
        version = -1;
    return fclose(f) == 0 ? version : -1;
}

/* In a database, with what the step changes in one transaction. */
static int write_version(const char *file, long version) {
    FILE *f = fopen(file, "w");
    if (f == NULL)
        return -1;
    int written = fprintf(f, "%ld\n", version);
    return fclose(f) == 0 && written > 0 ? 0 : -1;
}

/* A step is begun only while the hold is certain, and long enough for the step: another program
 * that believes the same is still waiting then. */
static int migrate(zkl_lock *lock, const char *file, long wanted) {
    long version = read_version(file);
    if (version == wanted)
        printf("version %ld: nothing to do\n", version);
    while (version >= 0 && version < wanted) {
        if (zkl_remaining_ms(lock) < 1000) {
            (void)fprintf(stderr, "migrate: the hold is lost, or too short; run it again\n");
            return EXIT_FAILURE;
        }
        if (write_version(file, version + 1) != 0)
            break;
        version++;
        printf("now version %ld\n", version);
    }
    return version >= wanted ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char **argv) {
    zkl_session *s = NULL;
    zkl_lock *lock = NULL;
    int status = EXIT_FAILURE;
    if (argc != 4) {
        (void)fprintf(stderr, "usage: migrate NAME FILE VERSION\n");
        return EXIT_FAILURE;
    }
    zkl_err err = zkl_session_open(&s, getenv("ZKLOCK_HOSTS"), NULL);
    if (err == ZKL_OK)
        err = zkl_lock_open(&lock, s, argv[1], &ZKL_LOCK_OPTIONS(.label = "migration"));
    if (err == ZKL_OK)
        err = zkl_acquire(lock, 60000); /* as long as a migration may take */
    if (err != ZKL_OK)
        (void)fprintf(stderr, "migrate: %s\n", zkl_strerror(err));
    else
        status = migrate(lock, argv[2], strtol(argv[3], NULL, 10));
    (void)zkl_lock_close(lock);
    (void)zkl_session_close(s);
    return status;
}
