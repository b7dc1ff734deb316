/* port_seen - a port over the fake client library, by hand, and what the port was heard to say. */
#ifndef UNIT_PORT_SEEN_H
#define UNIT_PORT_SEEN_H

#include "unit/fake_zoo.h"

#define NO_STATE (-1)

extern struct seen {
    int state; /* the last */
    size_t states, replies, watches, lines;
    int state_at_reply;
    unsigned slot;
    struct zkli_reply reply;
    enum zkli_watch_type watch;
    char path[ZKLI_PATH_MAX], line[2048];
    zkl_log_level level;
    void (*look_at)(const struct zkli_reply *reply); /* while it is delivered; or NULL */
} Seen;

/* Begins anew. */
struct zkli_port *new_port(const char *auth_scheme, bool is_creator_acl);
struct zkli_port *open_port(const char *auth_scheme);
struct zkli_port *open_port_to(const char *hosts);
/* The last reply. If it says that the session is over, the port has said so first. */
void check_reply(unsigned slot, int code, enum zkli_result result);

#endif
