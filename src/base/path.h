/* path - names with '/' between them, as strings; what a path means is said elsewhere. */
#ifndef ZKLI_BASE_PATH_H
#define ZKLI_BASE_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Writes "<directory>/<child>", with one '/' also behind the directory "/". If either is empty, it
 * is the other one alone. False: it does not fit. */
bool zkli_path_join(char *ret_path, size_t size, const char *directory, const char *child);
/* The same in new memory. NULL: out of memory. */
char *zkli_path_join_new(const char *directory, const char *child);
/* The last name of a path. */
const char *zkli_path_last(const char *path);
/* How many names an absolute path has; "/" has none. */
unsigned zkli_path_depth(const char *path);
/* The same for the same bytes: for tables of paths. */
uint64_t zkli_path_hash(const char *path, size_t length);

#endif
