/*
 * The file of a fence: cells are appended, and a full file is replaced by one that has the highest
 * token of each name only. What keeps it right:
 *
 * - No caller is told OK before the cell is on the disk. A cell that another process has written
 *   may not be there yet. That process may have been killed in between. Or it was told of an error,
 *   after which the kernel holds the page for clean. So the last cell is written once more, and
 *   synced, before anything is built on it. Those before it have been proven in the same way.
 * - The lock is the file's own, taken with flock. While a process waits for it, the file may be
 *   replaced. Then that process has the lock of a file without a name. It notices, and takes the
 *   lock of the new file.
 * - Damage that is seen too late is worse than none seen: what does not fit is an error.
 */
#include "fence/fence.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* The name in the first cell; its token is the number of cells. No lock has this name. */
static const char Header[] = "/zklock fence 1/";

/* Cells that a new file has beyond those it begins with, so that replacing it, with its three
 * syncs, is seldom. */
#define SPARE_CELLS 30
#define CAPACITY_MAX (2 * (ZKLI_FENCE_NAMES_MAX + 1) + SPARE_CELLS)
/* Replacements that lock runs after, each of them by another process, before it gives up. */
#define CHASES_MAX 1000

#define FILE_MODE 0600

/* ---- System calls that are repeated until they are done ---- */

static bool write_all(int fd, const char *data, size_t size, off_t at) {
    while (size > 0) {
        const ssize_t done = pwrite(fd, data, size, at);

        if (done > 0) {
            data += done;
            size -= (size_t)done;
            at += done;
        } else if (done == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

static bool read_all(int fd, char *data, size_t size, off_t at) {
    while (size > 0) {
        const ssize_t done = pread(fd, data, size, at);

        if (done > 0) {
            data += done;
            size -= (size_t)done;
            at += done;
        } else if (done == 0 || errno != EINTR) {
            return false;
        }
    }
    return true;
}

static bool sync_all(int fd) {
    int result;

    do
        result = fsync(fd);
    while (result != 0 && errno == EINTR);
    return result == 0;
}

static bool lock_all(int fd) {
    int result;

    do
        result = flock(fd, LOCK_EX);
    while (result != 0 && errno == EINTR);
    return result == 0;
}

static off_t offset_of(uint32_t cell) {
    return (off_t)cell * ZKLI_FENCE_CELL;
}

static bool write_cell(int fd, uint32_t index, int64_t token, const char *name) {
    char cell[ZKLI_FENCE_CELL];

    zkli_fence_cell_format(cell, index, token, name);
    return write_all(fd, cell, sizeof(cell), offset_of(index));
}

/* ---- A new file ---- */

struct replacement {
    const struct zkli_fence_marks *marks;
    const char *name; /* has this token instead of that in the marks; NULL: none */
    int64_t token;
    uint32_t tail, capacity;
};

static bool write_replacement(int fd, struct replacement *r) {
    r->tail = 1;
    for (size_t i = 0; i < r->marks->count; i++) {
        const struct zkli_fence_mark *mark = &r->marks->items[i];
        const bool is_new = r->name && strcmp(mark->name, r->name) == 0;
        const int64_t token = is_new ? r->token : mark->token;

        if (token > 0 && !write_cell(fd, r->tail++, token, mark->name))
            return false;
    }
    r->capacity = 2 * r->tail + SPARE_CELLS;
    return write_cell(fd, 0, r->capacity, Header) && ftruncate(fd, offset_of(r->capacity)) == 0 &&
           sync_all(fd);
}

/* Makes the file anew, whole and on the disk before it gets its name. Returns its descriptor,
 * locked, or -1, and then the old file is in force. */
static int replace(struct zkli_fence_file *f, struct replacement *r, mode_t mode) {
    const int fd = openat(f->dir_fd, f->temporary,
                          O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, FILE_MODE);

    if (fd < 0)
        return -1;
    if (fchmod(fd, mode) != 0 || !lock_all(fd) || !write_replacement(fd, r) ||
        renameat(f->dir_fd, f->temporary, f->dir_fd, f->name) != 0)
        goto fail_open;
    return fd;

fail_open:
    (void)unlinkat(f->dir_fd, f->temporary, 0); /* what stays is overwritten by the next one */
    (void)close(fd);
    return -1;
}

static void take(struct zkli_fence_file *f, int fd) {
    if (f->fd >= 0)
        (void)close(f->fd); /* with its lock */
    f->fd = fd;
    f->is_loaded = f->is_proven = false;
}

/* Whether the name is taken, by whatever; or ZKL_IO. */
static zkl_err look(const struct zkli_fence_file *f, bool *ret_is_there) {
    struct stat there;

    *ret_is_there = fstatat(f->dir_fd, f->name, &there, AT_SYMLINK_NOFOLLOW) == 0;
    return *ret_is_there || errno == ENOENT ? ZKL_OK : ZKL_IO;
}

/* Makes the file if it is missing. */
static zkl_err make(struct zkli_fence_file *f) {
    const struct zkli_fence_marks none = {0};
    struct replacement r = {.marks = &none};
    bool is_there;
    zkl_err err = look(f, &is_there);
    int fd;

    if (err != ZKL_OK || is_there)
        return err;
    /* Two that make it at once would each remember on its own: the directory lets in one. */
    if (!lock_all(f->dir_fd))
        return ZKL_IO;
    err = look(f, &is_there);
    if (err == ZKL_OK && !is_there) {
        fd = replace(f, &r, FILE_MODE);
        if (fd >= 0)
            (void)close(fd);
        else
            err = ZKL_IO;
    }
    (void)flock(f->dir_fd, LOCK_UN);
    return err;
}

/* ---- Open, lock ---- */

static zkl_err split(struct zkli_fence_file *f, const char *path) {
    static const char tail[] = ".new";
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const size_t length = strlen(name);
    char directory[PATH_MAX];

    if (length == 0 || strcmp(name, ".") == 0 || strcmp(name, "..") == 0 ||
        length + sizeof(tail) > sizeof(f->temporary) || (size_t)(name - path) >= sizeof(directory))
        return ZKL_INVALID;
    if (length >= sizeof(tail) && strcmp(name + length - (sizeof(tail) - 1), tail) == 0)
        return ZKL_INVALID; /* the fence without the tail would be written over it */
    (void)snprintf(f->name, sizeof(f->name), "%s", name);
    (void)snprintf(f->temporary, sizeof(f->temporary), "%s%s", name, tail);
    (void)snprintf(directory, sizeof(directory), "%.*s", slash ? (int)(name - path) : 1,
                   slash ? path : ".");
    f->dir_fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return f->dir_fd < 0 ? ZKL_IO : ZKL_OK;
}

zkl_err zkli_fence_file_open(struct zkli_fence_file *f, const char *path, bool must_exist) {
    *f = (struct zkli_fence_file){.dir_fd = -1, .fd = -1};
    zkl_err err = split(f, path);
    if (err == ZKL_OK && !must_exist)
        err = make(f);
    return err;
}

void zkli_fence_file_close(struct zkli_fence_file *f) {
    if (f->fd >= 0)
        (void)close(f->fd); /* what was to be kept has been synced */
    if (f->dir_fd >= 0)
        (void)close(f->dir_fd);
    f->fd = f->dir_fd = -1;
}

zkl_err zkli_fence_file_lock(struct zkli_fence_file *f) {
    struct stat ours, named;

    for (int i = 0; i < CHASES_MAX; i++) {
        if (f->fd < 0)
            f->fd = openat(f->dir_fd, f->name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        if (f->fd < 0 || !lock_all(f->fd))
            return ZKL_IO;
        if (fstat(f->fd, &ours) == 0 &&
            fstatat(f->dir_fd, f->name, &named, AT_SYMLINK_NOFOLLOW) == 0) {
            bool is_ours = ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
            if (is_ours && ours.st_nlink == 1)
                return ZKL_OK;
            if (is_ours) { /* under another name it would stay when this one is replaced */
                zkli_fence_file_unlock(f);
                return ZKL_IO;
            }
        } else {
            zkli_fence_file_unlock(f);
            return ZKL_IO;
        }
        take(f, -1);
    }
    return ZKL_IO;
}

void zkli_fence_file_unlock(struct zkli_fence_file *f) {
    if (f->fd >= 0)
        (void)flock(f->fd, LOCK_UN); /* cannot fail for a descriptor that is open */
}

/* ---- Reading ---- */

static zkl_err read_cell(struct zkli_fence_file *f, uint32_t index, enum zkli_fence_cell *ret_kind,
                         struct zkli_fence_record *ret_record) {
    char cell[ZKLI_FENCE_CELL];

    if (!read_all(f->fd, cell, sizeof(cell), offset_of(index)))
        return ZKL_IO;
    *ret_kind = zkli_fence_cell_parse(cell, ret_record);
    if (*ret_kind == ZKLI_FENCE_DAMAGED ||
        (*ret_kind == ZKLI_FENCE_RECORD && ret_record->index != index))
        return ZKL_CORRUPT;
    return ZKL_OK;
}

/* Takes in the cells from tail on. */
static zkl_err catch_up(struct zkli_fence_file *f, struct zkli_fence_marks *marks) {
    struct zkli_fence_record record;
    enum zkli_fence_cell kind;
    struct zkli_fence_mark *mark;
    zkl_err err = ZKL_OK;

    while (f->tail < f->capacity) {
        err = read_cell(f, f->tail, &kind, &record);
        if (err != ZKL_OK || kind != ZKLI_FENCE_RECORD)
            return err;
        err = zkli_fence_marks_get(marks, record.name, &mark);
        if (err != ZKL_OK)
            return err;
        if (record.token <= mark->token)
            return ZKL_CORRUPT; /* only higher ones are written */
        mark->token = record.token;
        f->is_proven = false;
        f->tail++;
    }
    return ZKL_OK;
}

static zkl_err check_size(const struct zkli_fence_file *f, uint32_t capacity) {
    struct stat ours;

    if (fstat(f->fd, &ours) != 0)
        return ZKL_IO;
    return ours.st_size == offset_of(capacity) ? ZKL_OK : ZKL_CORRUPT;
}

/* Reads a file from its beginning. */
static zkl_err load(struct zkli_fence_file *f, struct zkli_fence_marks *marks) {
    struct zkli_fence_record record;
    enum zkli_fence_cell kind;
    struct stat ours;

    if (fstat(f->fd, &ours) != 0)
        return ZKL_IO;
    if (ours.st_size < ZKLI_FENCE_CELL)
        return ZKL_CORRUPT;
    zkl_err err = read_cell(f, 0, &kind, &record);
    if (err != ZKL_OK)
        return err;
    if (kind != ZKLI_FENCE_RECORD || strcmp(record.name, Header) != 0 || record.token < 1 ||
        record.token > CAPACITY_MAX || ours.st_size != offset_of((uint32_t)record.token))
        return ZKL_CORRUPT;
    f->capacity = (uint32_t)record.token;
    f->tail = 1;
    err = catch_up(f, marks);
    if (err == ZKL_LIMIT)
        err = ZKL_CORRUPT; /* no fence has written so many names */
    for (uint32_t i = f->tail + 1; err == ZKL_OK && i < f->capacity; i++) {
        err = read_cell(f, i, &kind, &record);
        if (err == ZKL_OK && kind != ZKLI_FENCE_EMPTY)
            err = ZKL_CORRUPT;
    }
    return err;
}

zkl_err zkli_fence_file_refresh(struct zkli_fence_file *f, struct zkli_fence_marks *marks) {
    struct zkli_fence_marks fresh = {0};
    zkl_err err;

    if (f->is_loaded) {
        err = check_size(f, f->capacity);
        return err == ZKL_OK ? catch_up(f, marks) : err;
    }
    err = load(f, &fresh);
    /* What replaces a file has all that was let in by it. */
    for (size_t i = 0; err == ZKL_OK && i < marks->count; i++)
        if (zkli_fence_marks_token(&fresh, marks->items[i].name) < marks->items[i].token)
            err = ZKL_CORRUPT;
    if (err != ZKL_OK) {
        zkli_fence_marks_free(&fresh);
        return err;
    }
    zkli_fence_marks_free(marks);
    *marks = fresh;
    f->is_loaded = true;
    f->is_proven = false;
    return ZKL_OK;
}

/* ---- Writing ---- */

zkl_err zkli_fence_file_prove(struct zkli_fence_file *f) {
    struct zkli_fence_record record;
    enum zkli_fence_cell kind;

    if (f->is_proven)
        return ZKL_OK;
    zkl_err err = read_cell(f, f->tail - 1, &kind, &record);
    if (err != ZKL_OK)
        return err;
    if (kind != ZKLI_FENCE_RECORD)
        return ZKL_CORRUPT;
    /* The directory, too: the process that replaced the file may not have got so far. */
    if (!write_cell(f->fd, record.index, record.token, record.name) || !sync_all(f->fd) ||
        !sync_all(f->dir_fd))
        return ZKL_IO;
    f->is_proven = true;
    return ZKL_OK;
}

zkl_err zkli_fence_file_append(struct zkli_fence_file *f, const struct zkli_fence_marks *marks,
                               const char *name, int64_t token) {
    struct replacement r = {.marks = marks, .name = name, .token = token};
    zkl_err err = zkli_fence_file_prove(f);
    struct stat ours;
    int fd;

    if (err != ZKL_OK)
        return err;
    if (f->tail < f->capacity) {
        if (!write_cell(f->fd, f->tail, token, name) || !sync_all(f->fd))
            return ZKL_IO; /* whatever stands there now, the next refresh finds it */
        f->tail++;
        return ZKL_OK;
    }
    if (fstat(f->fd, &ours) != 0)
        return ZKL_IO;
    fd = replace(f, &r, ours.st_mode & 0777);
    if (fd < 0)
        return ZKL_IO;
    take(f, fd);
    if (!sync_all(f->dir_fd))
        return ZKL_IO; /* it is read anew, with the token that is in it */
    f->tail = r.tail;
    f->capacity = r.capacity;
    f->is_loaded = f->is_proven = true;
    return ZKL_OK;
}
