/*
 * zklock run on a terminal: an interactive bash on a pseudo-terminal runs the command, and the test
 * types. What the shell prints decides, and whether it has the terminal itself; nothing else is
 * known of the processes behind it.
 */
#include "support/client.h"
#include "support/scratch.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* All that a shell prints in one test; seldom enough asked, its jobs for SOON_MS too. */
#define OUTPUT_MAX 65536
#define ASK_AGAIN_MS 100
#define CTRL_C "\003"
#define CTRL_D "\004"
#define CTRL_Z "\032"

static struct {
    int fd;
    pid_t pid;
    char output[OUTPUT_MAX];
    size_t length;
    size_t seen; /* where the next search begins */
} Shell;

static void shell_become(void) {
    char *const argv[] = {"bash", "--norc", "--noprofile", "--noediting", "-i", NULL};
    (void)signal(SIGINT, SIG_DFL); /* these tests may run in the background of a script */
    (void)signal(SIGQUIT, SIG_DFL);
    setenv("PS1", "", 1);
    setenv("HISTFILE", "", 1);
    setenv("ZKLOCK_HOSTS", server_hosts(), 1);
    setenv("TERM", "dumb", 1);
    execvp(argv[0], argv);
    _exit(127);
}

/* Reads what there is; false at the end of the terminal. */
static bool shell_read(void) {
    struct pollfd fd = {.fd = Shell.fd, .events = POLLIN};
    if (poll(&fd, 1, 10) <= 0)
        return true;
    ssize_t n = read(Shell.fd, Shell.output + Shell.length, OUTPUT_MAX - 1 - Shell.length);
    if (n <= 0)
        return false;
    Shell.length += (size_t)n;
    Shell.output[Shell.length] = '\0';
    return true;
}

/* Whether the text has been printed since the last one that was found. */
static bool shell_says(const char *text) {
    (void)shell_read();
    const char *found = strstr(Shell.output + Shell.seen, text);
    if (found == NULL)
        return false;
    Shell.seen = (size_t)(found - Shell.output) + strlen(text);
    return true;
}

static bool shell_has_said(const char *text) {
    return strstr(Shell.output, text) != NULL;
}

/* No job of the shell is in the foreground. */
static bool shell_has_terminal(void) {
    return tcgetpgrp(Shell.fd) == Shell.pid;
}

static void shell_type(const char *text) {
    REQUIRE_INT(write(Shell.fd, text, strlen(text)), strlen(text));
}

/* Leaves the test with what was printed when the text does not come. */
static void shell_expect(const char *text) {
    int64_t end = clock_ms() + SOON_MS;
    while (!shell_says(text)) {
        bool is_in_time = clock_ms() <= end;
        if (!is_in_time)
            test_note("waited for '%s' in: %s", text, Shell.output);
        REQUIRE(is_in_time);
    }
}

/* A sentence that the echo of the typed line does not contain, so that only its output matches. */
static void shell_ask_alive(void) {
    shell_type("echo al''ive\n");
    shell_expect("alive");
}

static void shell_ask_status(const char *expected) {
    shell_type("echo sta''tus=$?.\n");
    shell_expect(expected);
}

/* Asks for the jobs until the shell has said that of one. wait would not do: right after a kill it
   takes the job for stopped still. */
static void shell_await_job(const char *state) {
    int64_t end = clock_ms() + SOON_MS;
    while (!shell_has_said(state)) {
        REQUIRE(clock_ms() <= end);
        shell_type("jobs; echo lis''ted\n");
        shell_expect("listed");
        for (int64_t next = clock_ms() + ASK_AGAIN_MS; clock_ms() < next;)
            (void)shell_read();
    }
}

static void shell_start(void) {
    Shell.length = 0;
    Shell.seen = 0;
    Shell.output[0] = '\0';
    Shell.pid = forkpty(&Shell.fd, NULL, NULL, NULL);
    REQUIRE(Shell.pid >= 0);
    if (Shell.pid == 0)
        shell_become();
    shell_type("PATH=" ZKLOCK_BUILD_DIR ":$PATH\n");
    shell_ask_alive();
}

/* Closing the terminal hangs up; what ignores that is killed with the shell's session. */
static void shell_end(void) {
    if (Shell.pid <= 0)
        return;
    kill(Shell.pid, SIGKILL);
    close(Shell.fd);
    waitpid(Shell.pid, NULL, 0);
    Shell.pid = 0;
}

static void after_each(void) {
    shell_end();
    fixture_recover();
}

/* Types "zklock run ... NAME -- sh -c 'SCRIPT'TAIL". */
static void shell_run(const char *options, const char *name, const char *script, const char *tail) {
    char line[1024];
    int n = snprintf(line, sizeof(line), "zklock run --root %s %s %s -- sh -c '%s'%s\n",
                     fixture_root(), options, name, script, tail);
    REQUIRE(n > 0 && (size_t)n < sizeof(line));
    shell_type(line);
}

#define READY "echo rea\"\"dy; "

static void ctrl_c_ends_the_command(void) {
    const char *name = fresh_name("ctrl-c");
    shell_start();
    shell_run("", name, READY "exec sleep 1000", "");
    shell_expect("ready");
    shell_type(CTRL_C);
    shell_ask_status("status=130.");
    WAIT_UNTIL(queue_length(name) == 0, SOON_MS);
}

static void a_command_may_handle_ctrl_c(void) {
    shell_start();
    shell_run("", fresh_name("handled"),
              "trap \"echo han\"\"dled; exit 5\" INT; " READY "while :; do read x; done", "");
    shell_expect("ready");
    shell_type(CTRL_C);
    shell_expect("handled");
    shell_ask_status("status=5.");
}

static void the_command_is_in_the_foreground(void) {
    shell_start();
    shell_run("", fresh_name("foreground"),
              "set -- $(cat /proc/$$/stat); echo is-$(($5 == $8)),$(($5 == $1)).", "");
    shell_expect("is-1,1.");
    shell_ask_alive();
}

static void the_command_reads_the_terminal(void) {
    shell_start();
    shell_run("", fresh_name("read"), READY "read x; echo got-$x.", "");
    shell_expect("ready");
    shell_type("hello\n");
    shell_expect("got-hello.");
    shell_ask_alive();
}

static void ctrl_z_stops_the_job_and_fg_goes_on(void) {
    const char *name = fresh_name("ctrl-z");
    shell_start();
    shell_run("", name, READY "while read x; do echo got-$x.; done", "");
    shell_expect("ready");
    for (int i = 0; i < 3; i++) {
        shell_type(CTRL_Z);
        shell_expect("Stopped");
        shell_ask_alive();
        shell_type("fg\n");
        shell_type("hello\n"); /* a Ctrl-Z before it runs again would be lost, zklock or not */
        shell_expect("got-hello.");
    }
    shell_type(CTRL_D);
    shell_ask_status("status=0.");
}

static void bg_goes_on_without_the_terminal(void) {
    shell_start();
    shell_run("", fresh_name("bg"), READY "exec sleep 1000", "");
    shell_expect("ready");
    shell_type(CTRL_Z);
    shell_expect("Stopped");
    shell_type("bg\n");
    shell_ask_alive();
    shell_type("kill %1\n");
    shell_await_job("Exit 143");
}

/* The second run gets the lock, so the first one's session has ended while it was stopped. */
static void a_job_stopped_for_too_long_is_killed_when_it_continues(void) {
    const char *name = fresh_name("stopped");
    shell_start();
    shell_run("--timeout 1", name, "trap \"echo con\"\"tinued\" CONT; " READY "read x", "");
    shell_expect("ready");
    shell_type(CTRL_Z);
    shell_expect("Stopped");
    shell_run("-w 30", name, "echo mi\"\"ne", "");
    shell_expect("mine");
    shell_type("fg\n");
    shell_expect("the lock was lost");
    shell_ask_status("status=75.");
    CHECK(!shell_has_said("continued"));
}

static void nothing_of_the_group_runs_while_the_job_is_stopped(void) {
    shell_start();
    shell_type("F=$(mktemp)\n");
    shell_run("", fresh_name("group"),
              "(trap \"\" TSTP; while :; do echo >>'$F'; done) & "
              "while [ ! -s '$F' ]; do :; done; " READY "wait",
              "");
    shell_expect("ready");
    shell_type(CTRL_Z);
    shell_expect("Stopped");
    /* Two looks that see the same size, with a command between them, while the writer was busy. */
    shell_type("A=$(stat -c %s $F); seq 100000 | wc -l; B=$(stat -c %s $F); rm $F\n");
    shell_expect("100000");
    shell_type("echo same''=$((A == B)).$((A > 0))\n");
    shell_expect("same=1.1");
    shell_type("kill %1\n");
    shell_await_job("Exit 143");
}

static void ctrl_c_ends_a_pipeline(void) {
    shell_start();
    shell_run("", fresh_name("pipeline"), READY "exec sleep 1000", " | cat");
    shell_expect("ready");
    shell_type(CTRL_C);
    shell_ask_alive();
    shell_type("jobs; echo jo''bs.\n");
    shell_expect("jobs.");
    CHECK(!shell_has_said("Running"));
}

static void a_command_in_a_pipeline_gets_the_terminal_when_it_reads(void) {
    shell_start();
    shell_run("", fresh_name("reader"), READY "read x; echo got-$x.", " | cat");
    shell_expect("ready");
    shell_type("hello\n");
    shell_expect("got-hello.");
    shell_ask_alive();
}

static void ctrl_z_stops_a_pipeline(void) {
    shell_start();
    shell_run("", fresh_name("stop"), READY "read x; echo got-$x.", " | cat");
    shell_expect("ready");
    shell_type(CTRL_Z);
    shell_expect("Stopped");
    shell_ask_alive();
    shell_type("fg\nhello\n");
    shell_expect("got-hello.");
}

static void a_background_job_that_reads_stops_until_fg(void) {
    shell_start();
    shell_run("", fresh_name("background"), READY "read x; echo got-$x.", " &");
    shell_expect("ready");
    shell_await_job("Stopped");
    shell_type("fg\n");
    shell_type("hello\n");
    shell_expect("got-hello.");
    shell_ask_status("status=0.");
}

/* kill wakes it: it must end then, and not ask for the terminal again. */
static void a_background_job_that_stopped_for_the_terminal_can_be_killed(void) {
    shell_start();
    shell_run("", fresh_name("background"), READY "read x; echo got-$x.", " &");
    shell_expect("ready");
    shell_await_job("Stopped");
    shell_type("kill %1\n");
    shell_await_job("Exit 143");
}

/* The shell sends no SIGCONT to a job that runs: only its first read shows that it may have it. The
   shell says which job it is before it hands the terminal over. */
static void a_running_background_job_gets_the_terminal_after_fg(void) {
    char script[256];
    const char *path = scratch_fresh("gate");
    scratch_write(path, "", 0);
    (void)snprintf(script, sizeof(script),
                   READY "while [ -e %s ]; do :; done; read x; echo got-$x.", path);
    shell_start();
    shell_run("", fresh_name("foreground"), script, " &");
    shell_expect("ready");
    shell_type("fg\n");
    WAIT_UNTIL(!shell_has_terminal(), SOON_MS);
    CHECK_INT(unlink(path), 0);
    shell_type("hello\n");
    shell_expect("got-hello.");
    shell_ask_status("status=0.");
}

/* For the runs that follow in this shell: a library of this name in tests/cli. */
static void shell_preload(const char *name) {
    char line[1024];
    const char *library = scratch_fresh(name);
    const char *compiler = getenv("CC");
    (void)snprintf(line, sizeof(line),
                   "%s -shared -fPIC -D_GNU_SOURCE -o %s " ZKLOCK_SOURCE_DIR "/tests/cli/%s.c",
                   compiler == NULL ? "cc" : compiler, library, name);
    REQUIRE_INT(system(line), 0);
    (void)snprintf(line, sizeof(line), "zklock() { LD_PRELOAD=%s command zklock \"$@\"; }\n",
                   library);
    shell_type(line);
    shell_ask_alive();
}

/* CMD reads too early, zklock sees that the shell has the terminal, and only then comes fg. */
static void fg_just_before_the_job_would_stop_is_not_lost(void) {
    shell_start();
    shell_preload("slow_look");
    shell_run("", fresh_name("late"), "read x; echo got-$x.", " &");
    shell_expect("looked");
    shell_type("fg\n");
    WAIT_UNTIL(!shell_has_terminal(), SOON_MS);
    shell_type("hello\n");
    shell_expect("got-hello.");
    shell_ask_status("status=0.");
    CHECK(!shell_has_said("Stopped"));
}

/* A script with a zklock in its background, which reads a line when gate has gone. A read that is
   under way already would not show that the terminal has been taken. */
static void shell_run_behind_a_script(const char *script, const char *gate) {
    char line[1024];
    scratch_write(gate, "", 0);
    int n = snprintf(line, sizeof(line),
                     "bash -c 'zklock run --root %s %s -- sh -c \"%s\" & "
                     "while [ -e %s ]; do :; done; read x; echo script-$x.; "
                     "kill $!; kill -CONT $!; wait $!; exit 4'\n",
                     fixture_root(), fresh_name("behind"), script, gate);
    REQUIRE(n > 0 && (size_t)n < sizeof(line));
    shell_type(line);
}

static void a_command_in_the_background_of_a_script_leaves_it_the_terminal(void) {
    const char *gate = scratch_fresh("gate");
    shell_start();
    shell_run_behind_a_script("echo rea''dy; exec sleep 1000", gate);
    shell_expect("ready");
    CHECK_INT(unlink(gate), 0);
    shell_type("hello\n");
    shell_expect("script-hello.");
    shell_ask_status("status=4.");
}

static void it_is_stopped_with_a_message_when_it_needs_the_terminal(void) {
    const char *gate = scratch_fresh("gate");
    shell_start();
    shell_run_behind_a_script("read x </dev/tty; echo got-\\$x.", gate);
    shell_expect("zklock: sh: stopped, because it needs the terminal");
    CHECK_INT(unlink(gate), 0);
    shell_type("hello\n");
    shell_expect("script-hello.");
    shell_ask_status("status=4.");
    CHECK(!shell_has_said("got-hello"));
}

static void ctrl_c_ends_the_script_around_it(void) {
    char line[1024];
    shell_start();
    (void)snprintf(line, sizeof(line),
                   "bash -c 'zklock run --root %s %s -- sh -c \"echo rea\\\"\\\"dy; "
                   "exec sleep 1000\"; echo went-''on'\n",
                   fixture_root(), fresh_name("script"));
    shell_type(line);
    shell_expect("ready");
    shell_type(CTRL_C);
    shell_ask_status("status=130.");
    CHECK(!shell_has_said("went-on"));
}

static void ctrl_c_while_waiting_gives_the_place_up(void) {
    const char *name = fresh_name("waiting");
    client *holder = client_open(name, T_NORMAL);
    REQUIRE_INT(client_acquire(holder, ZKL_FOREVER), ZKL_OK);
    shell_start();
    shell_run("", name, "echo ran", "");
    WAIT_UNTIL(queue_length(name) == 2, SOON_MS);
    shell_type(CTRL_C);
    shell_ask_status("status=130.");
    WAIT_UNTIL(queue_length(name) == 1, SOON_MS);
    client_close(holder);
}

/* And while no server answers: there is no session yet. */
static void ctrl_c_while_waiting_ends_the_script_around_it(void) {
    static const char *const hosts[] = {"", "-vv --hosts 127.0.0.1:1"};
    const char *name = fresh_name("script");
    client *holder = client_open(name, T_NORMAL);
    REQUIRE_INT(client_acquire(holder, ZKL_FOREVER), ZKL_OK);
    for (size_t i = 0; i < sizeof(hosts) / sizeof(hosts[0]); i++) {
        char line[1024];
        shell_start();
        (void)snprintf(line, sizeof(line),
                       "bash -c 'echo beg''ins; zklock %s --root %s run %s -- true; "
                       "echo went-''on'\n",
                       hosts[i], fixture_root(), name);
        shell_type(line);
        shell_expect("begins");
        if (i == 0)
            WAIT_UNTIL(queue_length(name) == 2, SOON_MS);
        else
            shell_expect("zklock: "); /* of its attempts */
        shell_type(CTRL_C);
        shell_ask_status("status=130.");
        CHECK(!shell_has_said("went-on"));
        shell_end();
    }
    client_close(holder);
}

/* ---- The line that tells whom it waits for ---- */

/* As on most terminals, of that many columns. */
static void shell_start_live(unsigned short columns) {
    const struct winsize size = {.ws_row = 24, .ws_col = columns};
    shell_start();
    REQUIRE_INT(ioctl(Shell.fd, TIOCSWINSZ, &size), 0);
    shell_type("export TERM=xterm\n");
    shell_ask_alive();
}

static void a_waiter_has_one_line_which_goes(void) {
    const char *name = fresh_name("live");
    client *holder = client_open(name, T_NORMAL), *before = client_open(name, T_NORMAL);
    REQUIRE_INT(client_acquire(holder, ZKL_FOREVER), ZKL_OK);
    client_queue_up(before, 2);
    shell_start_live(200);
    shell_run("", name, "echo ra''n", "");
    shell_expect("; 2 before us\033[K");
    shell_expect("\rzklock: ");
    shell_expect("held by ");
    REQUIRE_INT(client_release(holder), ZKL_OK);
    shell_expect("; 1 before us\033[K"); /* not a line more */
    REQUIRE_INT(client_result(before), ZKL_OK);
    REQUIRE_INT(client_release(before), ZKL_OK);
    shell_expect("\r\033[K");
    shell_expect("ran");
    CHECK(!shell_has_said("before us\n") && !shell_has_said("before us\r\n"));
    client_close(before);
    client_close(holder);
}

/* Also where the terminal is slow: nothing stands before what CMD prints. */
static void the_line_has_gone_when_the_command_begins(void) {
    const char *name = fresh_name("slow");
    client *holder = client_open(name, T_NORMAL);
    REQUIRE_INT(client_acquire(holder, ZKL_FOREVER), ZKL_OK);
    shell_start_live(200);
    shell_preload("slow_erase");
    shell_run("", name, "echo ra''n", "");
    shell_expect("; 1 before us\033[K");
    REQUIRE_INT(client_release(holder), ZKL_OK);
    shell_expect("\r\033[Kran");
    shell_ask_status("status=0.");
    client_close(holder);
}

static void the_line_fits_and_keeps_its_end(void) {
    const char *name = fresh_name("narrow");
    client *holder = client_open(name, T_NORMAL);
    REQUIRE_INT(client_acquire(holder, ZKL_FOREVER), ZKL_OK);
    shell_start_live(40);
    shell_run("", name, "true", "");
    shell_expect("\rzklock: ");
    const size_t begin = Shell.seen;
    shell_expect("; 1 before us\033[K");
    CHECK_RANGE(Shell.seen - begin + strlen("zklock: ") - strlen("\033[K"), 20, 41); /* bytes */
    shell_type(CTRL_C);
    shell_expect("\r\033[K");
    shell_ask_status("status=130.");
    client_close(holder);
}

static void a_waiter_in_the_background_leaves_the_line_alone(void) {
    const char *name = fresh_name("behind");
    client *holder = client_open(name, T_NORMAL);
    REQUIRE_INT(client_acquire(holder, ZKL_FOREVER), ZKL_OK);
    shell_start_live(200);
    shell_run("", name, "true", " &");
    shell_expect("; 1 before us\r\n"); /* as where there is no terminal */
    REQUIRE_INT(client_release(holder), ZKL_OK);
    shell_type("wait; echo do''ne\n");
    shell_expect("done");
    CHECK(!shell_has_said("\033[K"));
    client_close(holder);
}

/* In the background it would draw over what others write: it stops there, as top does. */
static void a_watch_stops_and_goes_on(void) {
    static const char stopped_in_background[] =
        "bg; until jobs | grep -q Stopped; do sleep 0.02; done; echo aga''in\n";
    char line[256];
    (void)snprintf(line, sizeof(line), "TERM=xterm zklock --root %s ls --watch watched\n",
                   fixture_root());
    shell_start();
    for (int i = 0; i < 2; i++) {
        shell_type(i == 0 ? line : "fg\n");
        shell_expect("\033[?1049h");
        shell_expect("no lock is held or waited for");
        shell_type(CTRL_Z);
        shell_expect("\033[?1049l");
        shell_expect("Stopped");
        shell_ask_alive();
    }
    const size_t before = Shell.seen;
    shell_type(stopped_in_background);
    shell_expect("again");
    CHECK(strstr(Shell.output + before, "\033[?1049h") == NULL);
    shell_type("fg\n");
    shell_expect("no lock is held or waited for");
    shell_type(CTRL_C);
    shell_expect("\033[?1049l");
    shell_ask_status("status=130.");
    shell_type(line);
    shell_expect("no lock is held or waited for");
    shell_type(CTRL_Z);
    shell_expect("Stopped");
    shell_type("kill %1; while grep -q . /proc/$(jobs -p)/environ; do :; done; echo en''ded\n");
    shell_expect("ended"); /* bash may take it for stopped still, and leave it a zombie */
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"Ctrl-C ends the command with 130", ctrl_c_ends_the_command},
        {"a command may handle Ctrl-C and exit as it likes", a_command_may_handle_ctrl_c},
        {"the command's own process group is in the foreground", the_command_is_in_the_foreground},
        {"the command reads the terminal", the_command_reads_the_terminal},
        {"Ctrl-Z stops the job, fg goes on, again and again", ctrl_z_stops_the_job_and_fg_goes_on},
        {"bg goes on without the terminal", bg_goes_on_without_the_terminal},
        {"a job stopped for too long is killed when it continues",
         a_job_stopped_for_too_long_is_killed_when_it_continues},
        {"nothing of the group runs while the job is stopped",
         nothing_of_the_group_runs_while_the_job_is_stopped},
        {"Ctrl-C ends a pipeline", ctrl_c_ends_a_pipeline},
        {"a command in a pipeline gets the terminal when it reads",
         a_command_in_a_pipeline_gets_the_terminal_when_it_reads},
        {"Ctrl-Z stops a pipeline, fg goes on", ctrl_z_stops_a_pipeline},
        {"a background job that reads stops until fg", a_background_job_that_reads_stops_until_fg},
        {"a background job that stopped for the terminal can be killed",
         a_background_job_that_stopped_for_the_terminal_can_be_killed},
        {"a running background job gets the terminal after fg",
         a_running_background_job_gets_the_terminal_after_fg},
        {"fg just before the job would stop is not lost",
         fg_just_before_the_job_would_stop_is_not_lost},
        {"a command in the background of a script leaves it the terminal",
         a_command_in_the_background_of_a_script_leaves_it_the_terminal},
        {"it is stopped with a message when it needs the terminal",
         it_is_stopped_with_a_message_when_it_needs_the_terminal},
        {"Ctrl-C ends the script around it", ctrl_c_ends_the_script_around_it},
        {"Ctrl-C while waiting gives the place up", ctrl_c_while_waiting_gives_the_place_up},
        {"Ctrl-C while waiting ends the script around it",
         ctrl_c_while_waiting_ends_the_script_around_it},
        {"a waiter has one line, which goes", a_waiter_has_one_line_which_goes},
        {"the line has gone when the command begins", the_line_has_gone_when_the_command_begins},
        {"the line fits and keeps its end", the_line_fits_and_keeps_its_end},
        {"a waiter in the background leaves the line alone",
         a_waiter_in_the_background_leaves_the_line_alone},
        {"a watch stops and goes on", a_watch_stops_and_goes_on},
    };
    fixture_start(NULL);
    test_after_each(after_each);
    return TEST_MAIN(argc, argv, "terminal", cases);
}
