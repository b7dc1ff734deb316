/* Who holds a lock, in words, for who waits for it or is turned away. */
#ifndef CLI_HOLDER_H
#define CLI_HOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zklock.h>

#define CLI_HOLDER_NAME_BYTES 500
#define CLI_HOLDER_AGE_BYTES 40

/* As: db3 pid 17147 "pg_dump shop". Not escaped; cut where there is no room. */
void cli_holder_name(char *ret_text, size_t size, const zkl_contender *contender);
/* " for 12m05s", as long as it holds, or waits; "" where that is not known. */
void cli_holder_age(char *ret_text, size_t size, const zkl_contender *contender);

typedef struct cli_holder {
    char node[256];
    char text[600]; /* held by db3 pid 17147 "pg_dump shop" for 12m05s, and by others */
} cli_holder;

/*
 * The text is not escaped, and cut where there is no room. Looks at the head of the queue only,
 * whatever its length: a list and a few reads. False: nobody but the session with that id holds it,
 * or it cannot be read. One call on the session.
 */
bool cli_holder_find(cli_holder *ret_holder, zkl_session *session, int64_t session_id,
                     const char *name);

#endif
