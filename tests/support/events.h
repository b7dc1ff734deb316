/*
 * A recorder of what a session or a lock tells: events in their order with the time they came, and
 * lines of log. Pass events_on as on_event, events_log as log and the recorder as arg.
 */
#ifndef SUPPORT_EVENTS_H
#define SUPPORT_EVENTS_H

#include <zklock.h>

typedef struct events events;

events *events_new(void);
/* Only after whatever it was given to is closed. */
void events_free(events *e);
void events_on(const zkl_event *event, void *recorder);
void events_log(zkl_log_level level, const char *text, void *recorder);

size_t events_count(events *e, zkl_event_type type);
/* The nth (from 0) event of that type; false: there are fewer. ret and ret_ns may be NULL. */
bool events_get(events *e, zkl_event_type type, size_t nth, zkl_event *ret, int64_t *ret_ns);
/* All types in their order, as digits: "12" is QUEUED, HELD. */
void events_order(events *e, char *buf, size_t size);
/* Whether a line of the log contains that text. */
bool events_logged(events *e, const char *text);
size_t events_log_lines(events *e);
/* Prints the end of the log, for a test that failed. */
void events_print_log(events *e);
void events_forget(events *e);

#endif
