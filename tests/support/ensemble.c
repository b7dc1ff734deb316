/*
 * See ensemble.h. A server has one thread that writes its log, "SyncThread:<id>", and acknowledges
 * what it has written; this one is stopped, the others go on. SIGSTOP stops a whole process, so the
 * thread is traced, and with our end it goes on by itself.
 */
#include "support/ensemble.h"
#include "support/net.h"
#include "support/server.h"
#include "support/wait.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define SERVE_MS (3 * SOON_MS)
#define ANSWER_MS 5000

static pid_t Stalled[ENSEMBLE_SERVERS]; /* the thread that stands still; 0: none */

const char *ensemble_hosts(unsigned server) {
    static char hosts[ENSEMBLE_SERVERS][64];
    const char *at = server_hosts();

    for (unsigned i = 0; i < server; i++) {
        at = strchr(at, ',');
        REQUIRE(at != NULL);
        at++;
    }
    (void)snprintf(hosts[server], sizeof(hosts[0]), "%.*s", (int)strcspn(at, ","), at);
    return hosts[server];
}

int64_t ensemble_number(unsigned server, const char *word, const char *key) {
    return net_number(ensemble_hosts(server), word, key, ANSWER_MS);
}

bool ensemble_serves(ensemble_view *ret, int answer_ms) {
    static const char connections[] = "Connections: ";
    unsigned leaders = 0;
    long most = -1;

    for (unsigned i = 0; i < ENSEMBLE_SERVERS; i++) {
        char answer[4096];
        const char *at;

        if (!net_ask(ensemble_hosts(i), "srvr", answer, sizeof(answer), answer_ms) ||
            !(at = strstr(answer, connections)))
            return false;
        long count = strtol(at + strlen(connections), NULL, 10);
        if (count > most) {
            most = count;
            ret->busiest = i;
        }
        if (strstr(answer, "Mode: leader")) {
            ret->leader = i;
            leaders++;
        } else if (!strstr(answer, "Mode: follower")) {
            return false;
        }
    }
    return leaders == 1;
}

unsigned ensemble_leader(void) {
    ensemble_view view = {0};

    WAIT_UNTIL(ensemble_serves(&view, ANSWER_MS), SERVE_MS);
    return view.leader;
}

int64_t ensemble_proposed(unsigned leader) {
    const int64_t count = ensemble_number(leader, "mntr", "zk_proposal_count");

    REQUIRE(count >= 0);
    return count;
}

static bool is_listed(unsigned leader, int64_t session) {
    static char answer[1 << 16];
    char id[32], *nodes;

    REQUIRE(net_ask(ensemble_hosts(leader), "dump", answer, sizeof(answer), ANSWER_MS));
    nodes = strstr(answer, "ephemeral nodes dump");
    REQUIRE(nodes != NULL);
    *nodes = '\0'; /* they are listed while they are there */
    (void)snprintf(id, sizeof(id), "0x%llx\n", (unsigned long long)session);
    return strstr(answer, id) != NULL;
}

/* The server lists its ticks first and then the sessions of each; one that is touched in between is
 * moved to a later tick, and left out if that is new. */
bool ensemble_keeps(unsigned leader, int64_t session) {
    return is_listed(leader, session) || is_listed(leader, session);
}

/* The first line of a file about a thread of a process, "" if there is none any more. */
static void read_line(pid_t pid, const char *thread, const char *name, char *ret, size_t size) {
    char path[320];

    ret[0] = '\0';
    (void)snprintf(path, sizeof(path), "/proc/%ld/task/%s/%s", (long)pid, thread, name);
    FILE *file = fopen(path, "re");
    if (!file)
        return;
    if (fgets(ret, (int)size, file))
        ret[strcspn(ret, "\n")] = '\0';
    (void)fclose(file);
}

static pid_t find_thread(pid_t pid, const char *name) {
    char path[64], line[64];
    pid_t found = 0;

    (void)snprintf(path, sizeof(path), "/proc/%ld/task", (long)pid);
    DIR *threads = opendir(path);
    REQUIRE(threads != NULL);
    for (const struct dirent *entry; !found && (entry = readdir(threads));) {
        read_line(pid, entry->d_name, "comm", line, sizeof(line));
        if (strcmp(line, name) == 0)
            found = (pid_t)strtol(entry->d_name, NULL, 10);
    }
    (void)closedir(threads);
    return found;
}

/* The Java machine waits for a thread that runs, for its own purposes, but not for one that sleeps:
 * that one may stand still without the others noticing. */
static bool sleeps(pid_t pid, pid_t thread) {
    char id[16], line[128];

    (void)snprintf(id, sizeof(id), "%ld", (long)thread);
    read_line(pid, id, "syscall", line, sizeof(line));
    return strtol(line, NULL, 10) == SYS_futex;
}

static void stall(unsigned server) {
    const pid_t pid = server_process(server);
    char name[16];
    int status;

    (void)snprintf(name, sizeof(name), "SyncThread:%u", server + 1);
    pid_t thread = find_thread(pid, name);
    REQUIRE(thread != 0);
    WAIT_UNTIL(sleeps(pid, thread), SOON_MS);
    if (ptrace(PTRACE_SEIZE, thread, NULL, NULL) != 0) {
        fprintf(stderr, "stopping a server's thread: %s; as root it may be allowed\n",
                strerror(errno));
        REQUIRE(false);
    }
    Stalled[server] = thread;
    REQUIRE(ptrace(PTRACE_INTERRUPT, thread, NULL, NULL) == 0);
    REQUIRE(waitpid(thread, &status, __WALL) == thread && WIFSTOPPED(status));
}

void ensemble_stall(unsigned server, bool on) {
    if (on && !Stalled[server])
        stall(server);
    if (!on && Stalled[server]) {
        CHECK(ptrace(PTRACE_DETACH, Stalled[server], NULL, NULL) == 0);
        Stalled[server] = 0;
    }
}
