/*
 * One of the processes that read and write a register: a program of its own, since nothing of the
 * library survives a fork. It goes on until SIGTERM; SIGUSR1 makes it stop itself (SIGSTOP) once,
 * at the worst moment: between its last look at the hold and its write. The first operation
 * under a hold takes its time between read and write, so that a late write of another can come in
 * between. A short hold hardly ever meets the moment in which its session ends elsewhere, so there
 * are kinds that hold for long.
 */
#ifndef REGISTER_WORKER_H
#define REGISTER_WORKER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "support/raw.h"

/* What stands before the register. */
#define KIND_LOCK 'a'  /* a file; the lock alone */
#define KIND_FENCE 'b' /* a file; the lock and a fence */
#define KIND_GUARD 'c' /* a znode; guarded writes, by readers and writers */
#define KIND_LONG 'd'  /* a file; the lock alone, held for as long as two sessions last */
#define KIND_LONG_2 'e'
#define KIND_LONG_3 'f'
#define KIND_GROUP 'g' /* ten files; two to four of their locks at once, and a fence */
#define KIND_SLOT 's'  /* nothing; a semaphore, of which each holder has a slot */

#define WORKER_SLOTS 3

#define WORKER_READER_MS 4000

/* What a worker says about its session, so that another can end it. */
struct worker_session {
    int64_t id;
    char password[16];
};

/*
 * argv: program, "--worker", kind, process, hosts, the same without a proxy, root, directory,
 * session timeout in ms, pid of the parent, with which the worker ends.
 */
int worker_main(int argc, char **argv);

/* Paths in the directory; static, good for the next call. */
const char *worker_history_path(const char *directory);
const char *worker_register_path(const char *directory, char kind);
const char *worker_session_path(const char *directory, int64_t process);
/* Whether it is one of those that are held for long. */
bool worker_is_long(char kind);
/* The register behind each lock of the groups, '0' and so on. */
char worker_group_register(size_t lock);
/* The name of the lock of a register, or of the slots; static, good for the next call. */
const char *worker_lock(char kind);
/* The znodes beside the root: the register, and what is written before it is read. Static, good for
 * the next call. */
const char *worker_znode(const char *root);
const char *worker_barrier(const char *root);

/* The value in a file. -1: there is none that makes sense. */
int64_t worker_file_read(int fd);
bool worker_file_write(int fd, int64_t value);
/*
 * The value in the znode, as it is or becomes while this goes on: read behind a write, which only
 * servers that are up to date can make. -1: it cannot be read; then *reader, a session of
 * WORKER_READER_MS, may be another one, or NULL, with which this may be called again.
 */
int64_t worker_znode_read(raw **reader, const char *hosts, const char *root);
/* The value from its text, as it also stands in a znode; and the text of it, ended by a newline. */
#define WORKER_VALUE_SIZE 20
int64_t worker_value_parse(const char text[WORKER_VALUE_SIZE]);
void worker_value_format(char ret_text[WORKER_VALUE_SIZE + 1], int64_t value);

#endif
