/* See server.h. A guardian stops the server when the program has been killed. */
#include "support/server.h"
#include "support/guardian.h"
#include "support/net.h"
#include "support/wait.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGS_MAX 40
#define WORD_ANSWER_MS 5000

static const char Script[] = ZKLOCK_SOURCE_DIR "/scripts/zk.sh";

static struct {
    bool ours, running, frozen;
    bool takes_all; /* of somebody else's */
    char hosts[128];
    char base[256]; /* removed in the end */
    char dir[272];  /* what zk.sh calls --dir; in base */
    pid_t pid;      /* of the first one's java */
    pid_t owner;    /* who called server_start: a forked test must not stop the server */
} Server;

static void die(const char *what) {
    fprintf(stderr, "test fixture: %s: %s\n", what, errno ? strerror(errno) : "failed");
    exit(EXIT_FAILURE);
}

/* Runs zk.sh and returns its exit status; its output goes to buf, if there is one. */
static int run_script(const char *const *arguments, char *buf, size_t size) {
    posix_spawn_file_actions_t actions;
    int ends[2], status = -1;
    size_t used = 0;
    ssize_t got = 1;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) != 0)
        die("pipe");
    if (posix_spawn_file_actions_init(&actions) != 0 ||
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO) != 0)
        die("posix_spawn_file_actions");
    errno = posix_spawn(&pid, Script, &actions, NULL, (char *const *)arguments, environ);
    if (errno)
        die(Script);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(ends[1]);
    while (got > 0 && used + 1 < size) {
        got = read(ends[0], buf + used, size - 1 - used);
        used += got > 0 ? (size_t)got : 0;
    }
    if (size > 0)
        buf[used] = '\0';
    if (waitpid(pid, &status, 0) != pid)
        die("waitpid");
    (void)close(ends[0]);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void stop_server(void) {
    const char *const arguments[] = {Script, "stop", "--dir", Server.dir, NULL};

    if (getpid() != Server.owner)
        return;
    if (run_script(arguments, NULL, 0) != 0)
        fprintf(stderr, "test fixture: cannot stop the server in %s\n", Server.dir);
    (void)rmdir(Server.base);
}

/* Runs in the guardian. */
static void stop_what_is_left(void) {
    const char *const arguments[] = {Script, "stop", "--dir", Server.dir, NULL};

    if (access(Server.dir, F_OK) == 0)
        (void)run_script(arguments, NULL, 0);
    (void)rmdir(Server.base);
}

void server_take_all(void) {
    Server.takes_all = true;
}

/* Each minute a server removes the directories of locks that are empty, and the next acquire there
 * costs more requests. A test that wants that says so in its options; the others count. */
void server_start(const char *const *options) {
    const char *arguments[ARGS_MAX] = {
        Script, "start", "--dir", Server.dir, "--prop", "znode.container.checkIntervalMs=3600000"};
    const char *hosts = getenv("ZKLOCK_HOSTS"), *tmp = getenv("TMPDIR");
    size_t count = 6;

    if (hosts && *hosts) {
        (void)snprintf(Server.hosts, sizeof(Server.hosts), "%.*s",
                       (int)strcspn(hosts, Server.takes_all ? "/" : ",/"), hosts);
        return;
    }
    Server.ours = true;
    Server.owner = getpid();
    (void)snprintf(Server.base, sizeof(Server.base), "%s/zklock-test-XXXXXX",
                   tmp && *tmp ? tmp : "/tmp");
    if (!mkdtemp(Server.base))
        die(Server.base);
    (void)snprintf(Server.dir, sizeof(Server.dir), "%s/zk", Server.base);
    for (; options && *options; options++) {
        if (count + 1 == ARGS_MAX)
            die("more options than ARGS_MAX"); /* a server without one of them is another server */
        arguments[count++] = *options;
    }
    guardian_start(stop_what_is_left);
    errno = 0;
    if (run_script(arguments, Server.hosts, sizeof(Server.hosts)) != 0)
        die("zk.sh start");
    Server.hosts[strcspn(Server.hosts, "\n")] = '\0';
    Server.running = true;
    if (atexit(stop_server) != 0)
        die("atexit");
    Server.pid = server_process(0);
}

const char *server_hosts(void) {
    return Server.hosts;
}

const char *server_directory(void) {
    return Server.dir;
}

pid_t server_process(unsigned server) {
    char path[300], line[32] = "";

    (void)snprintf(path, sizeof(path), "%s/%u/pid", Server.dir, server + 1);
    FILE *file = fopen(path, "re");
    if (!file || !fgets(line, sizeof(line), file))
        die(path);
    (void)fclose(file);
    return (pid_t)strtol(line, NULL, 10);
}

bool server_is_ours(void) {
    return Server.ours;
}

/* Whether a thread of the server stands; also when it has just ended. */
static bool is_stopped(const char *thread) {
    char path[300], line[512];
    const char *name_end = NULL;

    (void)snprintf(path, sizeof(path), "/proc/%ld/task/%s/stat", (long)Server.pid, thread);
    FILE *file = fopen(path, "re");
    if (!file)
        return true;
    if (fgets(line, sizeof(line), file))
        name_end = strrchr(line, ')');
    (void)fclose(file);
    return !name_end || strncmp(name_end, ") T", 3) == 0;
}

static bool all_are_stopped(void) {
    char path[64];
    bool stopped = true;

    (void)snprintf(path, sizeof(path), "/proc/%ld/task", (long)Server.pid);
    DIR *threads = opendir(path);
    if (!threads)
        die(path);
    for (const struct dirent *entry; stopped && (entry = readdir(threads));)
        stopped = entry->d_name[0] == '.' || is_stopped(entry->d_name);
    (void)closedir(threads);
    return stopped;
}

/* The signal comes to each of the server's threads in its own time: until then it may answer. */
void server_freeze(void) {
    if (!Server.ours || kill(Server.pid, SIGSTOP) != 0)
        die("freezing the server");
    Server.frozen = true;
    for (int64_t end = clock_ms() + SOON_MS; !all_are_stopped();) {
        if (clock_ms() > end)
            die("the server does not freeze");
        wait_pause();
    }
}

void server_thaw(void) {
    if (Server.frozen && kill(Server.pid, SIGCONT) != 0)
        die("thawing the server");
    Server.frozen = false;
}

void server_kill(void) {
    if (!Server.ours || kill(Server.pid, SIGKILL) != 0)
        die("killing the server");
    Server.frozen = Server.running = false;
    /* Not our child, so nobody tells us of its end; but its port stays taken until then. */
    for (int64_t end = clock_ms() + SOON_MS; kill(Server.pid, 0) == 0 && clock_ms() < end;)
        wait_pause();
}

/* Else it may be one that took the port meanwhile. */
static bool answers_as_ours(void) {
    char answer[4096], data[320];

    (void)snprintf(data, sizeof(data), "dataDir=%s/1/data/", Server.dir);
    return server_word("conf", answer, sizeof(answer)) && strstr(answer, data) != NULL;
}

void server_revive(void) {
    const char *const arguments[] = {Script, "revive", "--dir", Server.dir, "1", NULL};

    if (!Server.ours || Server.running)
        return;
    errno = 0;
    if (run_script(arguments, NULL, 0) != 0)
        die("zk.sh revive");
    Server.pid = server_process(0);
    Server.running = true;
    for (int64_t end = clock_ms() + 3 * SOON_MS;
         !answers_as_ours() || server_number("mntr", "zk_uptime") < 0;) {
        if (clock_ms() > end)
            die("the server did not start again");
        wait_pause();
    }
}

void server_forge(const snapshot_node *nodes, size_t count) {
    const int64_t zxid = server_number("srvr", "Zxid");
    char data[320];

    errno = 0;
    if (!Server.ours || zxid < 0)
        die("the server's last transaction");
    server_kill();
    (void)snprintf(data, sizeof(data), "%s/1/data/version-2", Server.dir);
    /* What it may have logged since it was asked is older than that, too. */
    if (!snapshot_write(data, (zxid | 0xffff) + 1, nodes, count))
        die(data);
    server_revive();
}

bool server_word(const char *word, char *buf, size_t size) {
    return net_ask(Server.hosts, word, buf, size, WORD_ANSWER_MS);
}

int64_t server_number(const char *word, const char *key) {
    return net_number(Server.hosts, word, key, WORD_ANSWER_MS);
}

const char *server_nowhere(void) {
    static char hosts[64];

    if (!hosts[0]) {
        uint16_t port;

        /* Bound and never closed, so nobody else gets it; not listening, so it refuses. */
        if (net_bind("127.0.0.1", &port) < 0)
            die("a free port");
        (void)snprintf(hosts, sizeof(hosts), "127.0.0.1:%u", (unsigned)port);
    }
    return hosts;
}
