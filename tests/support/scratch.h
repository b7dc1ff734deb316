/*
 * A directory of the test's own for files, removed with what is in it when the program ends: by
 * itself, or by a signal.
 */
#ifndef SUPPORT_SCRATCH_H
#define SUPPORT_SCRATCH_H

#include <stdbool.h>
#include <stddef.h>

const char *scratch_directory(void);
/* "<directory>/<name>"; static, good for the next 15 calls. Made with the first call. */
const char *scratch_path(const char *name);
/* A path in it that was not used before. */
const char *scratch_fresh(const char *name);

/* The whole file into buf; returns its size. Ends the program if that is more than size. */
size_t scratch_read(const char *path, char *buf, size_t size);
/* Replaces the file's content in place, or makes it. */
void scratch_write(const char *path, const char *data, size_t size);

#endif
