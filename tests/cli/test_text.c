/*
 * The pure parts of the command: escaping, tables, JSON strings, numbers and the arithmetic of the
 * grace.
 */
#include "cli/escape.h"
#include "cli/grace.h"
#include "cli/json.h"
#include "cli/number.h"
#include "cli/prometheus.h"
#include "cli/repeats.h"
#include "cli/status_line.h"
#include "cli/table.h"

#include "support/main.h"
#include "support/wait.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char Kept[1024];

static FILE *keep(void) {
    Kept[0] = '\0'; /* nothing written is no end */
    FILE *out = fmemopen(Kept, sizeof(Kept), "w");
    REQUIRE(out != NULL);
    return out;
}

static const char *escaped(const char *s, bool utf8) {
    FILE *out = keep();
    size_t columns = cli_escape(out, s, strlen(s), utf8);
    fclose(out);
    CHECK_INT(cli_escaped_columns(s, utf8), columns);
    return Kept;
}

static const char *cut(const char *s, bool utf8, size_t most) {
    FILE *out = keep();
    CHECK(cli_escape_cut(out, s, utf8, most) <= most);
    fclose(out);
    return Kept;
}

static size_t columns_of_escaped(const char *s) {
    return cli_escaped_columns(s, true);
}

static const char *json(const char *s) {
    static char kept[512];
    FILE *out = fmemopen(kept, sizeof(kept), "w");
    REQUIRE(out != NULL);
    cli_json_string(out, s);
    fclose(out);
    return kept;
}

static void no_byte_that_a_terminal_acts_on_passes(void) {
    for (int byte = 1; byte < 256; byte++) {
        char s[] = {'a', (char)byte, 'b', '\0'};
        for (const char *c = escaped(s, true); *c != '\0'; c++)
            CHECK_RANGE((unsigned char)*c, 0x20, 0x7e);
    }
}

static void escapes_are_readable_and_unambiguous(void) {
    CHECK_STRING(escaped("plain text", true), "plain text");
    CHECK_STRING(escaped("\033[31m", true), "\\x1B[31m");
    CHECK_STRING(escaped("a\nb\tc\177", true), "a\\x0Ab\\x09c\\x7F");
    CHECK_STRING(escaped("\\x1B", true), "\\\\x1B");
    CHECK_STRING(escaped("", true), "");
}

static void printable_utf8_passes_and_the_rest_does_not(void) {
    CHECK_STRING(escaped("\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80", true),
                 "\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80");
    CHECK_STRING(escaped("\xc2\x9b", true), "\\xC2\\x9B");                   /* C1: CSI */
    CHECK_STRING(escaped("\xe2\x80\xae", true), "\\xE2\\x80\\xAE");          /* right to left */
    CHECK_STRING(escaped("\xe2\x80\x8b", true), "\\xE2\\x80\\x8B");          /* no width */
    CHECK_STRING(escaped("\xc0\x9b", true), "\\xC0\\x9B");                   /* overlong */
    CHECK_STRING(escaped("\xed\xa0\x80", true), "\\xED\\xA0\\x80");          /* surrogate */
    CHECK_STRING(escaped("\xf4\x90\x80\x80", true), "\\xF4\\x90\\x80\\x80"); /* above 10FFFF */
    CHECK_STRING(escaped("\xe4\xb8", true), "\\xE4\\xB8");                   /* cut short */
    CHECK_STRING(escaped("\xe4\xb8z", true), "\\xE4\\xB8z");
    CHECK_STRING(escaped("\xff", true), "\\xFF");
}

static void a_terminal_of_bytes_gets_ascii(void) {
    CHECK_STRING(escaped("\xc3\xa9\xdb\x9b", false), "\\xC3\\xA9\\xDB\\x9B");
}

static void columns_are_those_of_the_terminal(void) {
    CHECK_INT(columns_of_escaped("abc"), 3);
    CHECK_INT(columns_of_escaped("\xc3\xa9"), 1);
    CHECK_INT(columns_of_escaped("\xe4\xb8\xad"), 2);
    CHECK_INT(columns_of_escaped("\033"), 4);
    CHECK_INT(columns_of_escaped("\\"), 2);
}

static void a_cut_leaves_escapes_and_characters_whole(void) {
    CHECK_STRING(cut("abcdef", true, 6), "abcdef");
    CHECK_STRING(cut("abcdef", true, 5), "abcd\xe2\x80\xa6");
    CHECK_STRING(cut("abcdef", false, 5), "ab...");
    CHECK_STRING(cut("abcdef", false, 2), "..");
    CHECK_STRING(cut("abcdef", true, 0), "");
    CHECK_STRING(cut("ab\033cd", true, 8), "ab\\x1Bcd");
    CHECK_STRING(cut("ab\033cd", true, 7), "ab\\x1B\xe2\x80\xa6");
    CHECK_STRING(cut("ab\033cd", true, 6), "ab\xe2\x80\xa6");
    CHECK_STRING(cut("ab\033cd", true, 4), "ab\xe2\x80\xa6");
    CHECK_STRING(cut("a\\bc", true, 3), "a\xe2\x80\xa6");
    CHECK_STRING(cut("a\\bc", true, 4), "a\\\\\xe2\x80\xa6");
    CHECK_STRING(cut("\xe4\xb8\xad\xe4\xb8\xad", true, 3), "\xe4\xb8\xad\xe2\x80\xa6");
    CHECK_STRING(cut("\xe4\xb8\xad\xe4\xb8\xad", true, 2), "\xe2\x80\xa6");
    CHECK_STRING(cut("\xc3\xa9\xc3\xa9", false, 15), "\\xC3\\xA9...");
    CHECK_STRING(cut("\xc3\xa9\xc3\xa9", false, 10), "...");
}

/* ---- Tables ---- */

static const char *const Titles[] = {"POS", "AGE", "WHO", "STATE"};
static const cli_fit Fits[] = {{0}, {.may_go = true}, {.least = 6}, {0}};

static const char *table_within(size_t width, const char *who) {
    FILE *out = keep();
    cli_table *table = cli_table_new(Titles, 4);
    REQUIRE(table != NULL);
    cli_table_fit(table, Fits);
    const char *const cells[] = {"1", "12m05s", who, "holds"};
    for (size_t i = 0; i < 4; i++)
        cli_table_add(table, cells[i]);
    CHECK(cli_table_print_within(table, out, width));
    fclose(out);
    cli_table_free(table);
    return Kept;
}

#define WHOLE                                                                                      \
    "POS  AGE     WHO         STATE\n"                                                             \
    "1    12m05s  0123456789  holds\n"

static void a_table_gives_way_step_by_step(void) {
    CHECK_STRING(table_within(0, "0123456789"), WHOLE);
    CHECK_STRING(table_within(30, "0123456789"), WHOLE);
    CHECK_STRING(table_within(29, "0123456789"), "POS  AGE     WHO        STATE\n"
                                                 "1    12m05s  01234567\xe2\x80\xa6  holds\n");
    CHECK_STRING(table_within(26, "0123456789"), "POS  AGE     WHO     STATE\n"
                                                 "1    12m05s  01234\xe2\x80\xa6  holds\n");
    CHECK_STRING(table_within(25, "0123456789"), "POS  WHO         STATE\n"
                                                 "1    0123456789  holds\n");
    CHECK_STRING(table_within(18, "0123456789"), "POS  WHO     STATE\n"
                                                 "1    01234\xe2\x80\xa6  holds\n");
    CHECK_STRING(table_within(16, "0123456789"), "POS  WHO     ST\xe2\x80\xa6\n"
                                                 "1    01234\xe2\x80\xa6  ho\xe2\x80\xa6\n");
    CHECK_STRING(table_within(3, "0123456789"), "POS\n1\n");
}

/* Whatever the width, and with characters of two columns. */
static void no_line_of_a_table_is_too_long(void) {
    for (size_t width = 1; width < 60; width++) {
        const char *text = table_within(width, "a\xe4\xb8\xad\033\\\xc3\xa9 long enough to cut");
        char lines[sizeof(Kept)];
        (void)snprintf(lines, sizeof(lines), "%s", text);
        char *rest = lines;
        for (char *line; (line = strsep(&rest, "\n")) != NULL && *line != '\0';) {
            size_t escapes = 0;
            for (const char *c = line; *c != '\0'; c++)
                escapes += *c == '\\' ? 1 : 0; /* a backslash that is shown is counted as two */
            CHECK(cli_escaped_columns(line, true) - escapes <= width);
        }
    }
}

static void json_is_ascii_and_valid_for_any_bytes(void) {
    for (int byte = 1; byte < 256; byte++) {
        char s[] = {'a', (char)byte, 'b', '\0'};
        const char *text = json(s);
        for (const char *c = text; *c != '\0'; c++)
            CHECK_RANGE((unsigned char)*c, 0x20, 0x7e);
        CHECK(byte >= 0x80 ? strcmp(text, "\"a\\ufffdb\"") == 0 : text[0] == '"');
    }
    CHECK_STRING(json("a\"b\\c/"), "\"a\\\"b\\\\c/\"");
    CHECK_STRING(json("\033\n\177"), "\"\\u001b\\u000a\\u007f\"");
    CHECK_STRING(json("\xc3\xa9\xf0\x9f\x98\x80"), "\"\\u00e9\\ud83d\\ude00\"");
    CHECK_STRING(json("\xe4\xb8z"), "\"\\ufffd\\ufffdz\"");
}

static const char *prometheus(const char *s) {
    FILE *out = keep();
    cli_prometheus_string(out, s);
    fclose(out);
    return Kept;
}

static void a_label_of_prometheus_is_escaped_by_its_rules(void) {
    CHECK_STRING(prometheus("a/b c\xc3\xa9"), "\"a/b c\xc3\xa9\"");
    CHECK_STRING(prometheus("a\"b\\c\nd"), "\"a\\\"b\\\\c\\nd\"");
    CHECK_STRING(prometheus("\033[m\177"), "\"\\\\x1B[m\\\\x7F\"");
    CHECK_STRING(prometheus("\xff\xe4\xb8"), "\"\\\\xFF\\\\xE4\\\\xB8\"");
    CHECK_STRING(prometheus("\xe2\x80\xae"), "\"\\\\xE2\\\\x80\\\\xAE\"");
    CHECK_STRING(prometheus("\xc2\x9b"), "\"\\\\xC2\\\\x9B\"");
    CHECK_STRING(prometheus(""), "\"\"");
}

static void seconds_are_read_exactly(void) {
    static const struct {
        const char *text;
        int64_t ms; /* -1: refused */
    } cases[] = {
        {"0", 0},           {"1", 1000},
        {"0.5", 500},       {".25", 250},
        {"2.", 2000},       {"0.0004", 1},
        {"0.001", 1},       {"1.0010", 1001},
        {"1.0019", 1002},   {"1000000000", INT64_C(1000000000000)},
        {"1000000001", -1}, {"99999999999999999999", -1},
        {"", -1},           {".", -1},
        {"-1", -1},         {"+1", -1},
        {" 1", -1},         {"1 ", -1},
        {"1e3", -1},        {"0x1", -1},
        {"1.2.3", -1},      {"1,5", -1},
        {"nan", -1},        {"inf", -1},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t ms = -1;
        bool read = cli_number_seconds(cases[i].text, &ms);
        CHECK_INT(read, cases[i].ms >= 0);
        CHECK_INT(ms, cases[i].ms);
    }
}

static void the_default_grace_is_a_quarter_and_leaves_a_safety(void) {
    cli_grace grace;
    int64_t most;
    REQUIRE(cli_grace_plan(&grace, 10000, -1, &most));
    CHECK_INT(grace.over_ms, 400);
    CHECK_INT(grace.term_ms, 2900);
    REQUIRE(cli_grace_plan(&grace, 1000, -1, &most));
    CHECK_INT(grace.over_ms, 100);
    CHECK_INT(grace.term_ms, 350);
}

static void without_sigkill_the_hold_lasts_to_its_end(void) {
    cli_grace kill;
    int64_t most;
    REQUIRE(cli_grace_plan(&kill, 10000, -1, &most));
    cli_grace term = kill, ignore = kill;
    cli_grace_adapt(&kill, CLI_ON_LOST_KILL);
    CHECK_INT(kill.over_ms, 400);
    CHECK_INT(kill.guard_ms, 300);
    cli_grace_adapt(&term, CLI_ON_LOST_TERM);
    CHECK_INT(term.over_ms, 0);
    CHECK_INT(term.term_ms, 2900);
    CHECK_INT(term.guard_ms, 2800);
    cli_grace_adapt(&ignore, CLI_ON_LOST_IGNORE);
    CHECK_INT(cli_grace_stage(&ignore, CLI_STAGE_RUNNING, 1), CLI_STAGE_RUNNING);
    CHECK_INT(cli_grace_stage(&ignore, CLI_STAGE_RUNNING, 0), CLI_STAGE_OVER);
}

static void a_grace_fits_or_is_refused_with_what_would_fit(void) {
    for (int timeout_ms = 100; timeout_ms < 70000; timeout_ms += 37) {
        cli_grace grace;
        int64_t most = -1;
        REQUIRE(cli_grace_plan(&grace, timeout_ms, -1, &most));
        CHECK(grace.over_ms > 0 && grace.over_ms <= grace.term_ms);
        CHECK(grace.term_ms <= timeout_ms * 2 / 5);
        CHECK(!cli_grace_plan(&grace, timeout_ms, timeout_ms, &most));
        CHECK(cli_grace_plan(&grace, timeout_ms, most, &most));
        CHECK(!cli_grace_plan(&grace, timeout_ms, most + 1, &most));
    }
}

static void stages_follow_the_remaining_certainty_and_never_go_back(void) {
    const cli_grace grace = {.term_ms = 300, .over_ms = 50};
    const cli_stage all[] = {CLI_STAGE_RUNNING, CLI_STAGE_TERMINATED, CLI_STAGE_OVER};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        for (int64_t remaining = 0; remaining < 1000; remaining++) {
            cli_stage asked = remaining <= 50    ? CLI_STAGE_OVER
                              : remaining <= 300 ? CLI_STAGE_TERMINATED
                                                 : CLI_STAGE_RUNNING;
            cli_stage expected = asked > all[i] ? asked : all[i];
            CHECK_INT(cli_grace_stage(&grace, all[i], remaining), expected);
        }
    }
}

static void the_next_look_is_never_after_the_next_stage(void) {
    const cli_grace grace = {.term_ms = 300, .over_ms = 50};
    for (int64_t remaining = 51; remaining < 1000; remaining++) {
        cli_stage stage = cli_grace_stage(&grace, CLI_STAGE_RUNNING, remaining);
        int64_t wait = cli_grace_wait_ms(&grace, stage, remaining);
        CHECK_RANGE(wait, 1, remaining);
        CHECK(cli_grace_stage(&grace, stage, remaining - wait) > stage);
    }
    CHECK_INT(cli_grace_wait_ms(&grace, CLI_STAGE_OVER, 500), -1);
}

/* ---- Lines of the ZooKeeper client ---- */

#define CLIENT_LINE(time, text) time ",532:24937(0x7f41):ZOO_ERROR@check_events@2985: " text

static void a_line_of_the_client_is_repeated_after_a_pause_with_a_count(void) {
    size_t held_back = 1;
    int64_t now_ms = 1000;
    CHECK(cli_repeats_allow(CLIENT_LINE("12:00:01", "refused"), now_ms, &held_back));
    CHECK_INT(held_back, 0);
    for (int i = 0; i < 5; i++)
        CHECK(!cli_repeats_allow(CLIENT_LINE("12:00:02", "refused"), ++now_ms, &held_back));
    CHECK(cli_repeats_allow(CLIENT_LINE("12:00:02", "timed out"), now_ms, &held_back));
    CHECK(cli_repeats_allow("the library's own", now_ms, &held_back));
    CHECK(cli_repeats_allow("the library's own", now_ms, &held_back));
    now_ms = 1000 + CLI_REPEATS_PAUSE_MS;
    CHECK(cli_repeats_allow(CLIENT_LINE("12:00:31", "refused"), now_ms, &held_back));
    CHECK_INT(held_back, 5);
    CHECK(!cli_repeats_allow(CLIENT_LINE("12:00:31", "refused"), now_ms + 1, &held_back));
}

/* However many servers there are, a line that is printed now is held back next. */
static void many_lines_of_the_client_push_the_oldest_out(void) {
    size_t held_back;
    char line[300];
    for (int i = 0; i < 1000; i++) {
        (void)snprintf(line, sizeof(line), CLIENT_LINE("12:00:01", "%0100d"), i);
        (void)cli_repeats_allow(line, 100000 + i, &held_back);
        CHECK(!cli_repeats_allow(line, 100000 + i, &held_back));
    }
}

static const char *live(const char *before, const char *middle, const char *after, size_t columns) {
    static char line[512];
    const char *const texts[3] = {before, middle, after};
    REQUIRE(cli_status_line_make(line, sizeof(line), texts, columns));
    return line;
}

static void a_live_line_is_shorter_than_the_terminal(void) {
    CHECK_STRING(live("a: ", "held by db3", "; 2", 18), "a: held by db3; 2");
    CHECK_STRING(live("a: ", "held by db3", "; 2", 17), "a: held by d"
                                                        "\xe2\x80\xa6"
                                                        "; 2");
    CHECK_STRING(live("a: ", "held by db3", "; 2", 8), "a: "
                                                       "\xe2\x80\xa6"
                                                       "; 2");
    CHECK_STRING(live("a: ", "held by db3", "; 2", 7), "a: ; 2");
    CHECK_STRING(live("abcdef", "held", "; 2", 8), "abc"
                                                   "\xe2\x80\xa6"
                                                   "; 2");
    CHECK_STRING(live("abc", "held", "; 2345", 4), "; "
                                                   "\xe2\x80\xa6");
    CHECK_STRING(live("abc", "held", "; 2", 1), "");
    CHECK_STRING(live("abc", "held", "; 2", 0), "");
}

static void a_live_line_is_cut_between_characters(void) {
    CHECK_STRING(live("", "\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad", "!", 8),
                 "\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad!");
    CHECK_STRING(live("", "\xe4\xb8\xad\xe4\xb8\xad\xe4\xb8\xad", "!", 6), "\xe4\xb8\xad"
                                                                           "\xe2\x80\xa6"
                                                                           "!");
    CHECK_STRING(live("\033[2J", "x", "", 80), "\\x1B[2Jx");
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"no byte that a terminal acts on passes", no_byte_that_a_terminal_acts_on_passes},
        {"escapes are readable and unambiguous", escapes_are_readable_and_unambiguous},
        {"printable UTF-8 passes and the rest does not",
         printable_utf8_passes_and_the_rest_does_not},
        {"a terminal of bytes gets ASCII", a_terminal_of_bytes_gets_ascii},
        {"columns are those of the terminal", columns_are_those_of_the_terminal},
        {"a cut leaves escapes and characters whole", a_cut_leaves_escapes_and_characters_whole},
        {"a table gives way step by step", a_table_gives_way_step_by_step},
        {"no line of a table is too long", no_line_of_a_table_is_too_long},
        {"JSON is ASCII and valid for any bytes", json_is_ascii_and_valid_for_any_bytes},
        {"a label of Prometheus is escaped by its rules",
         a_label_of_prometheus_is_escaped_by_its_rules},
        {"seconds are read exactly", seconds_are_read_exactly},
        {"the default grace is a quarter and leaves a safety",
         the_default_grace_is_a_quarter_and_leaves_a_safety},
        {"without SIGKILL the hold lasts to its end", without_sigkill_the_hold_lasts_to_its_end},
        {"a grace fits or is refused with what would fit",
         a_grace_fits_or_is_refused_with_what_would_fit},
        {"stages follow the remaining certainty and never go back",
         stages_follow_the_remaining_certainty_and_never_go_back},
        {"the next look is never after the next stage",
         the_next_look_is_never_after_the_next_stage},
        {"a line of the client is repeated after a pause, with a count",
         a_line_of_the_client_is_repeated_after_a_pause_with_a_count},
        {"a live line is shorter than the terminal", a_live_line_is_shorter_than_the_terminal},
        {"a live line is cut between characters", a_live_line_is_cut_between_characters},
        {"many lines of the client push the oldest out",
         many_lines_of_the_client_push_the_oldest_out},
    };
    (void)setlocale(LC_CTYPE, "C.UTF-8"); /* always there on Debian; wcwidth needs it */
    return TEST_MAIN(argc, argv, "text", cases);
}
