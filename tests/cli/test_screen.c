/*
 * zklock show and ls on a terminal of a certain size, and the question of break: a pseudo-terminal,
 * of which the test reads what is written, and where it types.
 */
#include "support/client.h"

#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_MAX 65536
#define ARGUMENTS_MAX 16

static struct {
    int fd;
    pid_t pid;
    char output[OUTPUT_MAX];
    size_t length;
    size_t seen; /* where the next search begins */
} Screen = {.pid = -1};

/* What takes the screen, and what gives it back. */
#define ENTER "\033[?1049h"
#define LEAVE "\033[?25h\033[?7h\033[?1049l"

/* Starts zklock on a new terminal, with these arguments, which a NULL ends. */
static void screen_start(int columns, int lines, const char *const *arguments) {
    const struct winsize size = {.ws_col = (unsigned short)columns,
                                 .ws_row = (unsigned short)lines};
    const char *argv[ARGUMENTS_MAX] = {"zklock", "--root", fixture_root()};
    for (size_t i = 0; i < ARGUMENTS_MAX - 4 && arguments[i] != NULL; i++)
        argv[3 + i] = arguments[i];
    Screen.length = Screen.seen = 0;
    Screen.output[0] = '\0';
    Screen.pid = forkpty(&Screen.fd, NULL, NULL, &size);
    REQUIRE(Screen.pid >= 0);
    if (Screen.pid == 0) {
        (void)signal(SIGINT, SIG_DFL); /* this test may run in the background of a script */
        execv(ZKLOCK_BUILD_DIR "/zklock", (char *const *)argv);
        _exit(127);
    }
}

/* Reads what there is; false at the end of the terminal. */
static bool screen_read(void) {
    struct pollfd fd = {.fd = Screen.fd, .events = POLLIN};
    if (poll(&fd, 1, 10) <= 0)
        return true;
    ssize_t n = read(Screen.fd, Screen.output + Screen.length, OUTPUT_MAX - 1 - Screen.length);
    if (n <= 0)
        return false;
    Screen.length += (size_t)n;
    Screen.output[Screen.length] = '\0';
    return true;
}

/* Whether the text has been written since the last one that was found. */
static bool screen_says(const char *text) {
    (void)screen_read();
    const char *found = strstr(Screen.output + Screen.seen, text);
    if (found == NULL)
        return false;
    Screen.seen = (size_t)(found - Screen.output) + strlen(text);
    return true;
}

static void screen_expect(const char *text) {
    int64_t end = clock_ms() + SOON_MS;
    while (!screen_says(text)) {
        bool is_in_time = clock_ms() <= end;
        if (!is_in_time)
            test_note("waited for '%s' in: %s", text, Screen.output + Screen.seen);
        REQUIRE(is_in_time);
    }
}

static void screen_type(const char *text) {
    REQUIRE_INT(write(Screen.fd, text, strlen(text)), strlen(text));
}

/* Waits for the end of zklock, and returns its status as waitpid gives it. */
static int screen_finish(void) {
    int status = -1;
    int64_t end = clock_ms() + SOON_MS;
    while (screen_read() && clock_ms() < end) {
    }
    WAIT_UNTIL(waitpid(Screen.pid, &status, WNOHANG) == Screen.pid, SOON_MS);
    close(Screen.fd);
    Screen.pid = -1;
    return status;
}

static void after_each(void) {
    if (Screen.pid > 0) {
        kill(Screen.pid, SIGKILL);
        waitpid(Screen.pid, NULL, 0);
        close(Screen.fd);
        Screen.pid = -1;
    }
    fixture_recover();
}

/* The longest line that was written, in characters of ASCII. */
static size_t longest_line(void) {
    size_t longest = 0, length = 0;
    for (const char *c = Screen.output; *c != '\0'; c++) {
        length = *c == '\n' || *c == '\r' ? 0 : length + 1;
        longest = length > longest ? length : longest;
    }
    return longest;
}

static const char *const LongLabel = "the nightly report of all departments, by month and by "
                                     "year, which nobody reads before noon";

static void a_table_fits_the_terminal(void) {
    static const int sizes[] = {200, 80, 40, 20};
    const char *name = fresh_name("fits");
    zkl_session *s = session_open_with(
        server_hosts(), ZKL_SESSION_OPTIONS(.root = fixture_root(), .label = LongLabel));
    zkl_lock *l = lock_open(s, name, NULL);
    REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        screen_start(sizes[i], 24, (const char *const[]){"show", name, NULL});
        CHECK_INT(screen_finish(), 0);
        CHECK_RANGE((int)longest_line(), 1, sizes[i]);
        CHECK(strstr(Screen.output, "WHO") != NULL);
        CHECK_INT(strstr(Screen.output, LongLabel) != NULL, sizes[i] == 200);
        CHECK_INT(strstr(Screen.output, "...") != NULL, sizes[i] != 200);
        CHECK_INT(strstr(Screen.output, "HELD") != NULL, sizes[i] > 40);
        CHECK_INT(strstr(Screen.output, "holds") != NULL, sizes[i] > 20);
        screen_start(sizes[i], 24, (const char *const[]){"show", "-l", name, NULL});
        CHECK_INT(screen_finish(), 0);
        CHECK(strstr(Screen.output, LongLabel) != NULL);
    }
    lock_close(l);
    session_close(s);
}

/* ---- --watch ---- */

static zkl_session *Holder; /* for the tests below */

static zkl_lock *hold(const char *name) {
    Holder = session_open_with(server_hosts(),
                               ZKL_SESSION_OPTIONS(.root = fixture_root(), .label = LongLabel));
    zkl_lock *l = lock_open(Holder, name, NULL);
    REQUIRE_INT(zkl_acquire(l, SOON_MS), ZKL_OK);
    return l;
}

static void let_go(zkl_lock *l) {
    CHECK_INT(zkl_release_wait(l, SOON_MS), ZKL_OK);
    lock_close(l);
    session_close(Holder);
}

/* It ended by this signal, and what it wrote last gave the screen back. */
static void check_end_by(int signal_number) {
    int status = screen_finish();
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == signal_number);
    const size_t length = strlen(LEAVE);
    CHECK(Screen.length >= length && strcmp(Screen.output + Screen.length - length, LEAVE) == 0);
}

static void a_watch_is_drawn_anew_in_place(void) {
    const char *name = fresh_name("anew");
    screen_start(80, 24, (const char *const[]){"show", "--watch", "--interval", "0.1", name, NULL});
    screen_expect(ENTER);
    screen_expect("no client holds this lock");
    zkl_lock *l = hold(name);
    screen_expect("\033[H\033[Kshow ");
    screen_expect(": every 0.1 s, read at ");
    screen_expect("holds");
    let_go(l);
    screen_expect("no client holds this lock");
    CHECK(strstr(Screen.output + strlen(ENTER), ENTER) == NULL);
    CHECK(strstr(Screen.output, LEAVE) == NULL);
    kill(Screen.pid, SIGINT);
    check_end_by(SIGINT);
}

static void a_watch_gives_the_screen_back_at_any_signal(void) {
    static const int signals[] = {SIGTERM, SIGHUP, SIGQUIT};
    for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++) {
        screen_start(80, 24, (const char *const[]){"ls", "--watch", "nothing", NULL});
        screen_expect("no lock is held or waited for");
        kill(Screen.pid, signals[i]);
        check_end_by(signals[i]);
    }
}

/* Lines that a smaller screen has no room for are counted. The interval is long: only the size has
 * changed. */
static void a_watch_follows_the_size_of_the_terminal(void) {
    struct winsize size = {.ws_col = 40, .ws_row = 3};
    const char *name = fresh_name("size");
    zkl_lock *l = hold(name);
    plant_contender(name, CURATOR, NULL);
    screen_start(200, 24,
                 (const char *const[]){"show", "--watch", "--interval", "600", name, NULL});
    screen_expect(LongLabel);
    screen_expect("waits on 1");
    size_t before = Screen.length;
    REQUIRE_INT(ioctl(Screen.fd, TIOCSWINSZ, &size), 0);
    screen_expect("holds");
    const char *drawn = Screen.output + before;
    CHECK(strstr(drawn, "...") != NULL);
    CHECK(strstr(drawn, LongLabel) == NULL);
    CHECK(strstr(drawn, "waits on 1") == NULL);
    size.ws_col = 100;
    REQUIRE_INT(ioctl(Screen.fd, TIOCSWINSZ, &size), 0);
    screen_expect("; 1 more below");
    kill(Screen.pid, SIGINT);
    check_end_by(SIGINT);
    let_go(l);
}

/* The servers are gone, and back; a read that is under way does not keep it from saying so. */
static void a_watch_survives_the_loss_of_the_servers(void) {
    const char *name = fresh_name("loss");
    proxy *p = proxy_new();
    zkl_lock *l = hold(name);
    screen_start(80, 24,
                 (const char *const[]){"ls", "--hosts", proxy_hosts(p), "--timeout", "20",
                                       "--watch", "--interval", "0.1", name, NULL});
    screen_expect("DEPTH");
    proxy_refuse(p, true);
    proxy_drop(p);
    screen_expect("; no server answers now");
    screen_expect("DEPTH"); /* what was read before stays */
    screen_expect("; no server answers now");
    let_go(l);
    proxy_refuse(p, false);
    screen_expect("no lock is held or waited for");
    proxy_hold(p, PROXY_BOTH, true);
    screen_expect("; waiting for the servers");
    kill(Screen.pid, SIGINT);
    check_end_by(SIGINT);
    proxy_close(p);
}

/* Ctrl-S: the terminal takes nothing, and what is drawn waits. */
static void a_terminal_that_stands_still_does_not_keep_a_watch(void) {
    const char *name = fresh_name("still");
    screen_start(80, 24, (const char *const[]){"ls", "--watch", "--interval", "0.1", name, NULL});
    screen_expect("no lock is held or waited for");
    screen_type("\023");
    const int64_t end = clock_ms() + 500;
    while (clock_ms() < end)
        (void)screen_read();
    int status = 0;
    kill(Screen.pid, SIGINT);
    WAIT_UNTIL(waitpid(Screen.pid, &status, WNOHANG) == Screen.pid, SOON_MS);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    close(Screen.fd);
    Screen.pid = -1;
}

/* Behind the sequence: what is given back with the screen is the cursor, too. */
static void an_error_is_said_when_the_screen_is_given_back(void) {
    char hosts[256];
    (void)snprintf(hosts, sizeof(hosts), "%s/no-such-chroot", server_hosts());
    screen_start(80, 24, (const char *const[]){"ls", "--hosts", hosts, "--watch", NULL});
    int status = screen_finish();
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 64);
    const char *left = strstr(Screen.output, LEAVE);
    REQUIRE(left != NULL);
    CHECK(strstr(left + strlen(LEAVE), LEAVE) == NULL);
    CHECK(strncmp(left + strlen(LEAVE), "zklock: ls: ", strlen("zklock: ls: ")) == 0);
}

static void a_dumb_terminal_gets_no_control_sequences(void) {
    setenv("TERM", "dumb", 1);
    screen_start(80, 24, (const char *const[]){"ls", "--watch", "--interval", "0.1", "x", NULL});
    setenv("TERM", "xterm", 1);
    screen_expect("no lock is held or waited for\r\n\r\nno lock");
    CHECK(strchr(Screen.output, '\033') == NULL);
    kill(Screen.pid, SIGINT);
    int status = screen_finish();
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
}

/* ---- break ---- */

static void a_break_does_nothing_without_a_yes(void) {
    static const struct {
        const char *typed;
        const char *words; /* that follow, if any do */
        int exit_status;   /* 0: SIGINT ends it */
    } answers[] = {
        {"\003", "", 0},
        {"\004", "nothing was done", 64},
        {"\n", "nothing was done", 64},
        {"n\n", "nothing was done", 64},
        {"yesterday\n", "nothing was done", 64},
    };
    const char *name = fresh_name("question");
    zkl_lock *l = hold(name);
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
        screen_start(80, 24, (const char *const[]){"break", name, NULL});
        screen_expect("end its hold, or its place? [y/N] ");
        screen_type(answers[i].typed);
        screen_expect(answers[i].words);
        int status = screen_finish();
        if (answers[i].exit_status == 0)
            CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
        else
            CHECK(WIFEXITED(status) && WEXITSTATUS(status) == answers[i].exit_status);
        CHECK(zkl_held(l));
    }
    screen_start(80, 24, (const char *const[]){"break", name, NULL});
    screen_expect("end its hold, or its place? [y/N] ");
    screen_type("y\n");
    int status = screen_finish();
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    WAIT_UNTIL(!zkl_held(l), SOON_MS);
    CHECK_INT(zkl_release(l), ZKL_LOST);
    lock_close(l);
    session_close(Holder);
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"a table fits the terminal", a_table_fits_the_terminal},
        {"a watch is drawn anew in place", a_watch_is_drawn_anew_in_place},
        {"a watch gives the screen back at any signal",
         a_watch_gives_the_screen_back_at_any_signal},
        {"a watch follows the size of the terminal", a_watch_follows_the_size_of_the_terminal},
        {"a watch survives the loss of the servers", a_watch_survives_the_loss_of_the_servers},
        {"a terminal that stands still does not keep a watch",
         a_terminal_that_stands_still_does_not_keep_a_watch},
        {"an error is said when the screen is given back",
         an_error_is_said_when_the_screen_is_given_back},
        {"a dumb terminal gets no control sequences", a_dumb_terminal_gets_no_control_sequences},
        {"a break does nothing without a yes", a_break_does_nothing_without_a_yes},
    };
    setenv("LC_ALL", "C", 1);
    setenv("TERM", "xterm", 1);
    fixture_start(NULL);
    setenv("ZKLOCK_HOSTS", server_hosts(), 1);
    test_after_each(after_each);
    return TEST_MAIN(argc, argv, "screen", cases);
}
