/*
 * fence - the highest token seen for each name: the marks in memory, and the file that keeps them.
 *
 * Files: fence.c the public calls, fence_marks.c the marks, fence_cell.c what stands in the file,
 * fence_file.c reading, writing and replacing it. Nothing here talks to a server.
 */
#ifndef ZKLI_FENCE_FENCE_H
#define ZKLI_FENCE_FENCE_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "zklock_fence.h"

/* ---- Marks ---- */

/* Names in one fence. So many fill a file of 128 MiB, which is read whole when it is opened; who
 * has more locks than that has more than one resource, and can have a fence for each. */
#define ZKLI_FENCE_NAMES_MAX 65536

struct zkli_fence_mark {
    char *name;
    int64_t token; /* 0: none was let in yet */
};

struct zkli_fence_marks {
    struct zkli_fence_mark *items; /* sorted by name */
    size_t count, room;
};

/* 0: none. */
int64_t zkli_fence_marks_token(const struct zkli_fence_marks *marks, const char *name);
/* The mark of that name, made if there is none; good until the next is made. ZKL_OK, ZKL_LIMIT or
 * ZKL_NOMEM. */
zkl_err zkli_fence_marks_get(struct zkli_fence_marks *marks, const char *name,
                             struct zkli_fence_mark **ret_mark);
void zkli_fence_marks_free(struct zkli_fence_marks *marks);

/* ---- Cells ---- */

/*
 * The file is a row of cells of one size, the first of which says how many there are. A cell is
 * written once, and holds two copies of one record. A flipped bit leaves the other copy. A write
 * that was cut short leaves none, and no caller was told OK about it. A file that was cut off has
 * the wrong size.
 */
#define ZKLI_FENCE_COPY 512 /* the smallest sector there is: a power failure writes it or not */
#define ZKLI_FENCE_CELL (2 * ZKLI_FENCE_COPY)

enum zkli_fence_cell {
    ZKLI_FENCE_EMPTY,
    ZKLI_FENCE_RECORD,
    ZKLI_FENCE_TORN,   /* the write of it did not come to its end */
    ZKLI_FENCE_DAMAGED /* it did, and this is not what was written */
};

struct zkli_fence_record {
    uint32_t index; /* of the cell */
    int64_t token;
    char name[256];
};

void zkli_fence_cell_format(char ret_cell[ZKLI_FENCE_CELL], uint32_t index, int64_t token,
                            const char *name);
/* *ret_record is written for a RECORD only. */
enum zkli_fence_cell zkli_fence_cell_parse(const char cell[ZKLI_FENCE_CELL],
                                           struct zkli_fence_record *ret_record);

/* ---- File ---- */

struct zkli_fence_file {
    int dir_fd, fd; /* fd: -1 until it is locked for the first time */
    uint32_t tail, capacity;
    bool is_loaded; /* fd has been read up to tail */
    bool is_proven; /* all that is before tail is known to be on the disk, under this name */
    char name[NAME_MAX + 1], temporary[NAME_MAX + 1]; /* in the directory */
};

/* ZKL_OK, ZKL_INVALID or ZKL_IO. Makes the file if it is missing, unless it must exist. */
zkl_err zkli_fence_file_open(struct zkli_fence_file *f, const char *path, bool must_exist);
void zkli_fence_file_close(struct zkli_fence_file *f);
/* Keeps out other processes. ZKL_OK or ZKL_IO. */
zkl_err zkli_fence_file_lock(struct zkli_fence_file *f);
void zkli_fence_file_unlock(struct zkli_fence_file *f);

/* The following with the lock held. */

/* Takes in what others have written. ZKL_OK, ZKL_IO, ZKL_CORRUPT, ZKL_NOMEM or ZKL_LIMIT. */
zkl_err zkli_fence_file_refresh(struct zkli_fence_file *f, struct zkli_fence_marks *marks);
/* Makes sure that what was read is on the disk. ZKL_OK, ZKL_IO or ZKL_CORRUPT. */
zkl_err zkli_fence_file_prove(struct zkli_fence_file *f);
/* The same, and that a higher token is; the marks stay as they are. Any other name in them is kept
 * if the file has to be replaced. */
zkl_err zkli_fence_file_append(struct zkli_fence_file *f, const struct zkli_fence_marks *marks,
                               const char *name, int64_t token);

#endif
