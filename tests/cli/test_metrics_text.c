/* The text of run's metrics, from numbers that the test makes up. */
#include "cli/metrics_text.h"

#include "support/main.h"
#include "support/wait.h"

#include <stdio.h>
#include <string.h>

static cli_metrics_values Values;
static char Text[65536];

static void begin(void) {
    memset(&Values, 0, sizeof(Values));
    Values.run = "nightly";
    Values.count = 1;
    Values.locks[0].name = "a/b";
    Values.session.least_certain_ms = INT64_MAX;
}

static void print(void) {
    FILE *out = fmemopen(Text, sizeof(Text), "w");
    REQUIRE(out != NULL);
    cli_metrics_print(out, &Values);
    REQUIRE(fclose(out) == 0);
}

/* Whether one line of the text is this one. */
static bool has(const char *line) {
    const size_t length = strlen(line);
    for (const char *at = Text; (at = strstr(at, line)) != NULL; at++)
        if ((at == Text || at[-1] == '\n') && at[length] == '\n')
            return true;
    return false;
}

static const char *label_of(const char *name) {
    static char value[256];
    begin();
    Values.locks[0].name = name;
    print();
    const char *at = strstr(Text, ",name=\"");
    REQUIRE(at != NULL);
    at += strlen(",name=\"");
    (void)snprintf(value, sizeof(value), "%.*s", (int)(strstr(at, "\"} ") - at), at);
    return value;
}

static void labels_are_escaped_as_prometheus_wants_them(void) {
    CHECK_STRING(label_of("plain/name"), "plain/name");
    CHECK_STRING(label_of("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    CHECK_STRING(label_of("\xc3\xa9\t\xf0\x9f\x98\x80"), "\xc3\xa9\t\xf0\x9f\x98\x80");
    CHECK_STRING(label_of("\xff\xc0\x9b"), "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
}

static void without_a_session_there_is_only_what_is_known_of_the_run(void) {
    begin();
    Values.is_active = true;
    Values.started_ms = 1795844601007;
    print();
    CHECK(has("zklock_run_active{run=\"nightly\"} 1"));
    CHECK(has("zklock_run_start_timestamp_seconds{run=\"nightly\"} 1795844601.007"));
    CHECK(has("zklock_held{run=\"nightly\",name=\"a/b\"} 0"));
    CHECK(strstr(Text, "_total") == NULL);
    CHECK(strstr(Text, "run_last") == NULL);
}

static void all_errors_and_losses_are_counted_by_their_names(void) {
    begin();
    Values.has_session = true;
    Values.locks[0].stats.acquires[ZKL_OK] = 2;
    Values.locks[0].stats.acquires[ZKL_CANCELED] = UINT64_MAX;
    Values.locks[0].stats.lost[ZKL_LOSS_BROKEN] = 3;
    print();
    CHECK(has("zklock_acquires_total{run=\"nightly\",name=\"a/b\",result=\"OK\"} 2"));
    CHECK(has("zklock_acquires_total{run=\"nightly\",name=\"a/b\",result=\"BUSY\"} 0"));
    CHECK(has("zklock_acquires_total{run=\"nightly\",name=\"a/b\",result=\"CANCELED\"} "
              "18446744073709551615"));
    CHECK(strstr(Text, "result=\"DENIED\"") == NULL);
    CHECK(has("zklock_losses_total{run=\"nightly\",name=\"a/b\",reason=\"BROKEN\"} 3"));
    CHECK(has("zklock_losses_total{run=\"nightly\",name=\"a/b\",reason=\"SESSION\"} 0"));
}

static void a_histogram_is_cumulative_in_seconds(void) {
#define BUCKET(le) "zklock_wait_seconds_bucket{run=\"nightly\",name=\"a/b\",le=\"" le "\"} "
    begin();
    Values.has_session = true;
    zkl_histogram *waited = &Values.locks[0].stats.waited;
    waited->at[0] = 1;                       /* less than 1 us */
    waited->at[10] = 2;                      /* 512 to 1023 us */
    waited->at[11] = 4;                      /* 1024 to 2047 us */
    waited->at[12] = 8;                      /* 2048 to 4095 us */
    waited->at[30] = 16;                     /* 536 to 1073 s */
    waited->at[ZKL_HISTOGRAM_SIZE - 1] = 32; /* more */
    waited->total_us = 60000000042;
    print();
    CHECK(has(BUCKET("0.001024") "3"));
    CHECK(has(BUCKET("0.004096") "15"));
    CHECK(has(BUCKET("268.435456") "15"));
    CHECK(has(BUCKET("1073.741824") "31"));
    CHECK(has(BUCKET("+Inf") "63"));
    CHECK(has("zklock_wait_seconds_sum{run=\"nightly\",name=\"a/b\"} 60000.000042"));
    CHECK(has("zklock_wait_seconds_count{run=\"nightly\",name=\"a/b\"} 63"));
    CHECK(has("zklock_hold_seconds_count{run=\"nightly\",name=\"a/b\"} 0"));
}

static void a_hold_that_needed_no_heartbeat_has_no_least_certainty(void) {
    begin();
    Values.has_session = true;
    print();
    CHECK(strstr(Text, "zklock_least_certain") == NULL);
    Values.session.least_certain_ms = 0;
    print();
    CHECK(has("zklock_least_certain_seconds{run=\"nightly\"} 0.000"));
}

static cli_metrics_last scanned(const char *text) {
    static char kept[sizeof(Text)];
    cli_metrics_last last;
    (void)snprintf(kept, sizeof(kept), "%s", text);
    FILE *in = fmemopen(kept, strlen(kept) + 1, "r");
    REQUIRE(in != NULL);
    cli_metrics_scan(in, &last);
    (void)fclose(in);
    return last;
}

static void what_is_printed_of_the_last_run_is_read_again(void) {
    begin();
    Values.run = "x} 7";
    Values.last = (cli_metrics_last){
        .exit_status = 137, .ended_ms = 1795844602021, .succeeded_ms = 1795844001999};
    print();
    cli_metrics_last last = scanned(Text);
    CHECK_INT(last.exit_status, 137);
    CHECK_INT(last.ended_ms, 1795844602021);
    CHECK_INT(last.succeeded_ms, 1795844001999);
}

static void a_file_of_something_else_says_nothing_of_a_last_run(void) {
    static const char *const texts[] = {
        "x",
        "zklock_run_last_end_timestamp_seconds 5\n",
        "zklock_run_last_end_timestamp_seconds{",
        "zklock_run_last_end_timestamp_seconds{} nan\n",
        "zklock_run_last_end_timestamp_seconds{} -1\n",
        "zklock_run_last_end_timestamp_seconds{} 1e300\n",
        "# zklock_run_last_end_timestamp_seconds{} 5\n",
    };
    for (size_t i = 0; i < COUNT(texts); i++) {
        cli_metrics_last last = scanned(texts[i]);
        CHECK_INT(last.ended_ms, 0);
        CHECK_INT(last.succeeded_ms, 0);
    }
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"labels are escaped as Prometheus wants them",
         labels_are_escaped_as_prometheus_wants_them},
        {"without a session there is only what is known of the run",
         without_a_session_there_is_only_what_is_known_of_the_run},
        {"all errors and losses are counted by their names",
         all_errors_and_losses_are_counted_by_their_names},
        {"a histogram is cumulative, in seconds", a_histogram_is_cumulative_in_seconds},
        {"a hold that needed no heartbeat has no least certainty",
         a_hold_that_needed_no_heartbeat_has_no_least_certainty},
        {"what is printed of the last run is read again",
         what_is_printed_of_the_last_run_is_read_again},
        {"a file of something else says nothing of a last run",
         a_file_of_something_else_says_nothing_of_a_last_run},
    };
    return TEST_MAIN(argc, argv, "metrics_text", cases);
}
