/*
 * A fence's file when the system fails it: each system call refused or cut short in turn, the
 * process killed at each of them, the power gone after each of them.
 *
 * The calls are wrapped by the linker. What the disk would have kept is reckoned here: what was
 * synced, and of the rest any sector or none.
 */
#include "support/main.h"
#include "support/scratch.h"
#include "support/wait.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fence/fence.h"

#define BYTES_MAX (1 << 18)
#define SECTOR 512

ssize_t __real_pread(int fd, void *data, size_t size, off_t at);
ssize_t __real_pwrite(int fd, const void *data, size_t size, off_t at);
int __real_fsync(int fd);
int __real_ftruncate(int fd, off_t size);
int __real_renameat(int from_dir, const char *from, int to_dir, const char *to);
int __real_openat(int dir, const char *name, int flags, ...);
int __real_fstat(int fd, struct stat *ret);
int __real_fstatat(int dir, const char *name, struct stat *ret, int flags);
int __real_fchmod(int fd, mode_t mode);
int __real_flock(int fd, int operation);
ssize_t __wrap_pread(int fd, void *data, size_t size, off_t at);
ssize_t __wrap_pwrite(int fd, const void *data, size_t size, off_t at);
int __wrap_fsync(int fd);
int __wrap_ftruncate(int fd, off_t size);
int __wrap_renameat(int from_dir, const char *from, int to_dir, const char *to);
int __wrap_openat(int dir, const char *name, int flags, ...);
int __wrap_fstat(int fd, struct stat *ret);
int __wrap_fstatat(int dir, const char *name, struct stat *ret, int flags);
int __wrap_fchmod(int fd, mode_t mode);
int __wrap_flock(int fd, int operation);

/* ---- What happens at which call ---- */

enum plan {
    PLAN_NONE,
    PLAN_FAIL_ONCE,
    PLAN_FAIL_ON,    /* this one and all that follow */
    PLAN_SHORT,      /* reads and writes do a part; others fail once */
    PLAN_SHORT_FULL, /* a write does a part, and all that follow fail: the disk is full */
    PLAN_INTERRUPT,  /* EINTR, from calls that may wait */
    PLAN_KILL,       /* the process dies; in a write after a part of it */
    PLAN_POWER       /* nothing reaches the disk any more; a sync may have failed before */
};

static struct {
    enum plan plan;
    size_t at, calls;
    size_t failed_sync; /* POWER: the call that fails if it is a sync */
    bool has_failed_sync;
    bool is_on; /* calls are counted and the plan is carried out */
    bool is_off_power;
} Faults;

static void faults_begin(enum plan plan, size_t at) {
    Faults.plan = plan;
    Faults.at = at;
    Faults.calls = 0;
    Faults.failed_sync = SIZE_MAX;
    Faults.has_failed_sync = false;
    Faults.is_off_power = false;
    Faults.is_on = true;
}

static void faults_end(void) {
    Faults.is_on = false;
}

/* Whether this call is to go on. *size, if there is one, may become less. */
static bool goes_on(size_t *size, int error, bool may_wait) {
    if (!Faults.is_on)
        return true;
    bool is_now = Faults.calls == Faults.at;
    bool is_after = Faults.calls++ > Faults.at;
    errno = error;
    switch (Faults.plan) {
    case PLAN_NONE:
        return true;
    case PLAN_FAIL_ONCE:
        return !is_now;
    case PLAN_FAIL_ON:
        return !is_now && !is_after;
    case PLAN_SHORT:
        if (is_now && size)
            *size = (*size + 3) / 4;
        return !is_now || size;
    case PLAN_SHORT_FULL:
        if (is_now && size)
            *size = (*size + 3) / 4;
        return !is_after && (!is_now || size);
    case PLAN_INTERRUPT:
        errno = may_wait ? EINTR : 0;
        return !is_now || !may_wait;
    case PLAN_KILL:
        if (is_now && !size)
            (void)raise(SIGKILL);
        if (is_now && size)
            *size /= 3;
        if (is_after)
            (void)raise(SIGKILL);
        return true;
    case PLAN_POWER:
        Faults.is_off_power |= is_now || is_after;
        return !Faults.is_off_power;
    }
    return true;
}

/* ---- The disk ---- */

/* What is on it of one file; by inode, so of a file that was replaced, too. */
struct on_disk {
    ino_t inode;
    size_t size;
    char bytes[BYTES_MAX];
    /* A sync of that sector failed, and the kernel takes it for clean until it is written again. */
    bool is_given_up[BYTES_MAX / SECTOR];
};

static struct {
    const char *path;
    bool is_on; /* else what is synced is of no interest */
    struct on_disk files[4];
    size_t count;
    ino_t named; /* which of them has the name; 0: none */
} Disk;

static void disk_forget(const char *path) {
    Disk.path = path;
    Disk.is_on = path != NULL;
    Disk.count = 0;
    Disk.named = 0;
}

static struct on_disk *disk_find(ino_t inode) {
    for (size_t i = 0; i < Disk.count; i++)
        if (Disk.files[i].inode == inode)
            return &Disk.files[i];
    return NULL;
}

static void disk_keep(int fd) {
    static char now[BYTES_MAX];
    struct stat status;

    if (__real_fstat(fd, &status) != 0)
        abort();
    if (S_ISDIR(status.st_mode)) {
        Disk.named = stat(Disk.path, &status) == 0 ? status.st_ino : 0;
        return;
    }
    struct on_disk *file = disk_find(status.st_ino);
    if (!file) {
        if (Disk.count == COUNT(Disk.files))
            abort();
        file = &Disk.files[Disk.count++];
        memset(file, 0, sizeof(*file));
        file->inode = status.st_ino;
    }
    ssize_t size = __real_pread(fd, now, sizeof(now), 0);
    if (size < 0)
        abort();
    file->size = (size_t)size;
    for (size_t at = 0; at < file->size; at += SECTOR)
        if (!file->is_given_up[at / SECTOR])
            memcpy(file->bytes + at, now + at, SECTOR);
}

/* The file and its name. */
static void disk_keep_all(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int directory = open(scratch_directory(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    REQUIRE(fd >= 0 && directory >= 0);
    disk_keep(fd);
    disk_keep(directory);
    (void)close(fd);
    (void)close(directory);
}

static void disk_give_up(int fd) {
    static char now[BYTES_MAX];
    struct stat status;

    if (__real_fstat(fd, &status) != 0)
        abort();
    struct on_disk *file = disk_find(status.st_ino);
    if (!file || __real_pread(fd, now, sizeof(now), 0) < 0)
        return; /* a directory; or a file without a name, which never gets one */
    for (size_t at = 0; at < file->size; at += SECTOR)
        file->is_given_up[at / SECTOR] |= memcmp(file->bytes + at, now + at, SECTOR) != 0;
}

static void disk_written(int fd, off_t at, size_t size) {
    struct stat status;

    if (__real_fstat(fd, &status) != 0)
        abort();
    struct on_disk *file = disk_find(status.st_ino);
    for (size_t i = (size_t)at / SECTOR; file && i * SECTOR < (size_t)at + size; i++)
        file->is_given_up[i] = false;
}

static uint32_t draw(uint32_t *seed) {
    *seed = *seed * 1664525 + 1013904223;
    return *seed >> 16;
}

/*
 * Writes to path what the machine comes up with: of what was not synced nothing (variant 0), all
 * (1), or any sectors, and either name. seed: which sectors. False: there is no file of that name.
 */
static bool disk_recover(const char *path, uint32_t variant, uint32_t seed) {
    static char image[BYTES_MAX], now[BYTES_MAX];
    struct stat status;
    const bool is_new = variant == 1 || (variant > 1 && (variant & 1));
    const ino_t current = stat(Disk.path, &status) == 0 ? status.st_ino : 0;
    const ino_t inode = is_new ? current : Disk.named;
    const struct on_disk *kept = disk_find(inode);

    if (inode == 0)
        return false;
    if (!kept)
        abort(); /* it got its name before its content was on the disk */
    memcpy(image, kept->bytes, kept->size);
    size_t size = kept->size;
    if (inode == current) {
        if (scratch_read(Disk.path, now, sizeof(now)) != size)
            abort(); /* a file that has its name does not change its size */
        for (size_t at = 0; at < size; at += SECTOR)
            if (!kept->is_given_up[at / SECTOR] &&
                (variant == 1 || (variant > 1 && draw(&seed) % 2)))
                memcpy(image + at, now + at, SECTOR);
    }
    scratch_write(path, image, size);
    return true;
}

/* ---- The wrapped calls ---- */

ssize_t __wrap_pread(int fd, void *data, size_t size, off_t at) {
    return goes_on(&size, EIO, true) ? __real_pread(fd, data, size, at) : -1;
}

ssize_t __wrap_pwrite(int fd, const void *data, size_t size, off_t at) {
    ssize_t done = goes_on(&size, ENOSPC, true) ? __real_pwrite(fd, data, size, at) : -1;
    if (done > 0 && Disk.is_on)
        disk_written(fd, at, (size_t)done);
    return done;
}

/* Nothing is synced: the disk here is one of ours, and the real one takes its time. */
int __wrap_fsync(int fd) {
    const bool fails = Faults.is_on && Faults.calls == Faults.failed_sync;

    if (!goes_on(NULL, EIO, true))
        return -1;
    if (fails) {
        Faults.has_failed_sync = true;
        disk_give_up(fd);
        errno = EIO;
        return -1;
    }
    if (Disk.is_on)
        disk_keep(fd);
    return 0;
}

int __wrap_ftruncate(int fd, off_t size) {
    return goes_on(NULL, ENOSPC, false) ? __real_ftruncate(fd, size) : -1;
}

int __wrap_renameat(int from_dir, const char *from, int to_dir, const char *to) {
    return goes_on(NULL, EIO, false) ? __real_renameat(from_dir, from, to_dir, to) : -1;
}

int __wrap_openat(int dir, const char *name, int flags, ...) {
    /* Whoever gives no mode does not need one. */
    return goes_on(NULL, EMFILE, false) ? __real_openat(dir, name, flags, 0600) : -1;
}

int __wrap_fstat(int fd, struct stat *ret) {
    return goes_on(NULL, EIO, false) ? __real_fstat(fd, ret) : -1;
}

int __wrap_fstatat(int dir, const char *name, struct stat *ret, int flags) {
    return goes_on(NULL, EIO, false) ? __real_fstatat(dir, name, ret, flags) : -1;
}

int __wrap_fchmod(int fd, mode_t mode) {
    return goes_on(NULL, EIO, false) ? __real_fchmod(fd, mode) : -1;
}

int __wrap_flock(int fd, int operation) {
    return goes_on(NULL, ENOLCK, true) ? __real_flock(fd, operation) : -1;
}

/* ---- The scenario ---- */

enum {
    PREPARED = 28, /* tokens that a file is prepared with, so that it is nearly full */
    SHOWN = 38     /* the last one of the scenario, which replaces it */
};

static const char *const Names[] = {"a", "b"};

/* The highest token that was let in. */
struct admitted {
    int64_t of[2];
};

/* A file to begin with, which a fence has made once, and all of it on the disk. */
static void prepare(const char *file, struct admitted *admitted) {
    static char image[BYTES_MAX];
    static size_t size;
    zkl_fence *f = NULL;

    if (size == 0) {
        REQUIRE_INT(zkl_fence_open(&f, file, NULL), ZKL_OK);
        for (int64_t token = 1; token <= PREPARED; token++)
            REQUIRE_INT(zkl_fence_check(f, Names[token % 2], token), ZKL_OK);
        CHECK_INT(zkl_fence_close(f), ZKL_OK);
        size = scratch_read(file, image, sizeof(image));
    }
    scratch_write(file, image, size);
    disk_forget(file);
    disk_keep_all(file);
    admitted->of[PREPARED % 2] = PREPARED;
    admitted->of[(PREPARED - 1) % 2] = PREPARED - 1;
}

/*
 * Shows tokens to the file, and in between lower ones. What cannot be proven is an error, until it
 * can be. report: gets each token that was let in, or is -1.
 */
static void scenario(const char *file, struct admitted *admitted, int report) {
    zkl_fence *f = NULL;
    zkl_err err = zkl_fence_open(&f, file, NULL);

    CHECK(err == ZKL_OK || err == ZKL_IO);
    if (err != ZKL_OK)
        err = zkl_fence_open(&f, file, NULL);
    if (err != ZKL_OK)
        return;
    for (int64_t token = PREPARED + 1; token <= SHOWN; token++) {
        const char *name = Names[token % 2];
        int64_t *highest = &admitted->of[token % 2];

        err = zkl_fence_check(f, name, token);
        CHECK(err == ZKL_OK || err == ZKL_IO);
        if (err == ZKL_IO) /* it may have been written, and then it is the same token again */
            err = zkl_fence_check(f, name, token);
        if (err == ZKL_OK)
            *highest = token;
        if (err == ZKL_OK && report >= 0 && write(report, &token, sizeof(token)) < 0)
            abort();
        if (*highest > 1) {
            err = zkl_fence_check(f, name, *highest - 1);
            CHECK(err == ZKL_STALE || err == ZKL_IO);
        }
    }
    CHECK_INT(zkl_fence_close(f), ZKL_OK);
}

/* Whether the file, opened anew, is as tight as it has to be, and goes on. */
static bool is_tight(const char *file, const struct admitted *admitted) {
    zkl_fence *f = NULL;
    bool tight = zkl_fence_open(&f, file, NULL) == ZKL_OK;

    for (size_t i = 0; i < 2 && tight; i++) {
        const int64_t token = admitted->of[i];

        /* More may have been remembered than was let in, never less. */
        tight = (token < 2 || zkl_fence_check(f, Names[i], token - 1) == ZKL_STALE) &&
                zkl_fence_check(f, Names[i], 100) == ZKL_OK;
    }
    return zkl_fence_close(f) == ZKL_OK && tight;
}

static void discard(const char *file) {
    (void)unlink(file);
    disk_forget(NULL);
}

/* How many calls the scenario makes, beginning with a file that is there, or with none. */
static size_t count_calls(bool prepared) {
    const char *file = scratch_path("count");
    struct admitted admitted = {0};
    struct stat before = {0}, after = {0};

    if (prepared)
        prepare(file, &admitted);
    (void)stat(file, &before); /* which may not be there */
    faults_begin(PLAN_NONE, 0);
    scenario(file, &admitted, -1);
    size_t calls = Faults.calls;
    faults_end();
    REQUIRE(stat(file, &after) == 0);
    CHECK(before.st_ino != after.st_ino); /* it was made, or replaced */
    CHECK_INT(admitted.of[0], SHOWN);
    CHECK(is_tight(file, &admitted));
    discard(file);
    return calls;
}

/* ---- Tests ---- */

static void check_plan(enum plan plan, bool prepared) {
    const size_t calls = count_calls(prepared);

    for (size_t at = 0; at < calls; at++) {
        const char *file = scratch_path("fault");
        struct admitted admitted = {0};

        if (prepared)
            prepare(file, &admitted);
        faults_begin(plan, at);
        scenario(file, &admitted, -1);
        faults_end();
        if (plan == PLAN_INTERRUPT)
            CHECK_INT(admitted.of[0] + admitted.of[1], SHOWN + SHOWN - 1);
        if (!is_tight(file, &admitted)) {
            test_note("plan %d at call %zu of %zu", (int)plan, at, calls);
            CU_FAIL("a lower token was let in, or nothing is any more");
        }
        discard(file);
    }
}

static void a_call_that_fails_lets_nothing_in_that_is_not_kept(void) {
    for (int prepared = 0; prepared < 2; prepared++) {
        test_note("%zu calls, failed once and from then on", count_calls(prepared));
        check_plan(PLAN_FAIL_ONCE, prepared);
        check_plan(PLAN_FAIL_ON, prepared);
    }
}

static void a_read_or_write_cut_short_is_continued_or_an_error(void) {
    for (int prepared = 0; prepared < 2; prepared++) {
        check_plan(PLAN_SHORT, prepared);
        check_plan(PLAN_SHORT_FULL, prepared);
    }
}

static void a_call_that_a_signal_ends_is_made_again(void) {
    check_plan(PLAN_INTERRUPT, false);
    check_plan(PLAN_INTERRUPT, true);
}

/* Runs the scenario in a child that dies at that call; returns what it was told. */
static struct admitted die_at(const char *file, struct admitted admitted, size_t at) {
    int64_t token;
    int ends[2], status = 0;

    REQUIRE(pipe2(ends, O_CLOEXEC) == 0);
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
        faults_begin(PLAN_KILL, at);
        scenario(file, &admitted, ends[1]);
        _exit(0);
    }
    (void)close(ends[1]);
    while (read(ends[0], &token, sizeof(token)) == sizeof(token))
        admitted.of[token % 2] = token;
    (void)close(ends[0]);
    REQUIRE(waitpid(pid, &status, 0) == pid);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    return admitted;
}

static void a_process_killed_at_any_call_leaves_a_file_that_refuses_what_it_must(void) {
    size_t killed = 0;

    for (int prepared = 0; prepared < 2; prepared++) {
        const size_t calls = count_calls(prepared);

        for (size_t at = 0; at + 2 < calls; at++) {
            const char *file = scratch_path("killed");
            struct admitted admitted = {0};

            if (prepared)
                prepare(file, &admitted);
            admitted = die_at(file, admitted, at);
            if (!is_tight(file, &admitted)) {
                test_note("killed at call %zu of %zu", at, calls);
                CU_FAIL("a lower token was let in, or nothing is any more");
            }
            killed++;
            discard(file);
        }
    }
    CHECK(killed >= 100);
    test_note("%zu kills", killed);
}

/* What a machine may come up with after each power failure; ZKLOCK_TEST_VARIANTS says how many. */
static uint32_t Variants = 4;

/* The power goes at that call; looks at what the machine may come up with. */
static void check_power(bool prepared, size_t at, size_t failed_sync) {
    const char *file = scratch_path("power"), *after = scratch_path("after");
    struct admitted admitted = {0};

    if (prepared)
        prepare(file, &admitted);
    else
        disk_forget(file);
    faults_begin(PLAN_POWER, at);
    Faults.failed_sync = failed_sync;
    scenario(file, &admitted, -1);
    faults_end();
    Disk.is_on = false;
    for (uint32_t variant = 0; variant < Variants; variant++) {
        const bool is_there = disk_recover(after, variant, (uint32_t)at * Variants + variant);

        if (is_there ? !is_tight(after, &admitted) : admitted.of[0] + admitted.of[1] > 0) {
            test_note("power gone at call %zu, sync failed at %zd, variant %u", at,
                      (ssize_t)failed_sync, variant);
            CU_FAIL("a token that was let in is forgotten");
        }
        (void)unlink(after);
    }
    discard(file);
}

static void a_power_failure_at_any_call_forgets_nothing_that_was_let_in(void) {
    size_t failures = 0;

    for (int prepared = 0; prepared < 2; prepared++) {
        const size_t calls = count_calls(prepared);

        for (size_t at = 0; at <= calls; at++, failures += Variants)
            check_power(prepared, at, SIZE_MAX);
    }
    test_note("%zu failures", failures);
}

/* After an error from fsync the kernel may hold pages for clean that never came to the disk. */
static void a_failed_sync_is_made_up_for_before_anything_is_let_in(void) {
    const size_t next_calls = 24; /* two checks, and a replacement */
    size_t failures = 0;

    for (int prepared = 0; prepared < 2; prepared++) {
        const size_t calls = count_calls(prepared);

        for (size_t sync = 0; sync < calls; sync++) {
            check_power(prepared, calls, sync);
            if (!Faults.has_failed_sync)
                continue;
            for (size_t at = sync + 1; at <= sync + next_calls; at++, failures += Variants)
                check_power(prepared, at, sync);
        }
    }
    CHECK(failures > 0);
    test_note("%zu failures", failures);
}

int main(int argc, char **argv) {
    const char *campaign = getenv("ZKLOCK_TEST_VARIANTS");
    static const test_case cases[] = {
        {"a call that fails lets nothing in that is not kept",
         a_call_that_fails_lets_nothing_in_that_is_not_kept},
        {"a read or write cut short is continued or an error",
         a_read_or_write_cut_short_is_continued_or_an_error},
        {"a call that a signal ends is made again", a_call_that_a_signal_ends_is_made_again},
        {"a process killed at any call leaves a file that refuses what it must",
         a_process_killed_at_any_call_leaves_a_file_that_refuses_what_it_must},
        {"a power failure at any call forgets nothing that was let in",
         a_power_failure_at_any_call_forgets_nothing_that_was_let_in},
        {"a failed sync is made up for before anything is let in",
         a_failed_sync_is_made_up_for_before_anything_is_let_in},
    };
    if (campaign != NULL)
        Variants = (uint32_t)strtoul(campaign, NULL, 10);
    return TEST_MAIN(argc, argv, "fence_io", cases);
}
