/*
 * options - option structs of programs that were compiled with another release of the header.
 *
 * A struct grows at its end and begins with its size. So that the bytes beyond a size are members
 * and nothing else, no option struct ends in padding: what a compiler leaves there is not zero.
 */
#ifndef ZKLI_BASE_OPTIONS_H
#define ZKLI_BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/* A page, as in Linux's copy_struct_from_user: far more than any struct of ours will have. It keeps
 * a size that was never set from leading the copy through the program's memory. */
#define ZKLI_OPTIONS_SIZE_MAX 4096

/* Copies a program's options into ours, which have size bytes. Members that the program's struct
 * lacks are zero in the copy; its .size is ours. NULL: all zero. False: the program's struct is too
 * short for its own size, too long, or sets a member that we do not have. */
bool zkli_options_copy(void *ret_options, size_t size, const void *options);

#endif
