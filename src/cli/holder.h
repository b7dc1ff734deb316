/* Who holds a lock, in words, for who waits for it or is turned away. */
#ifndef CLI_HOLDER_H
#define CLI_HOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <zklock.h>

#define CLI_HOLDER_NAME_BYTES 500
#define CLI_HOLDER_AGE_BYTES 40
#define CLI_HOLDER_TEXT_BYTES 600

/* As: db3 pid 17147 "pg_dump shop". Not escaped; cut where there is no room. */
void cli_holder_name(char *ret_text, size_t size, const zkl_contender *contender);
/* " for 12m05s", as long as it holds, or waits; "" where that is not known. */
void cli_holder_age(char *ret_text, size_t size, const zkl_contender *contender);

#define CLI_HOLDER_UNKNOWN SIZE_MAX
/* Of one that holds, whether another does; and one of these may be our own, which waits. */
#define CLI_HOLDER_LOOK 3

typedef struct cli_holder {
    char node[256];
    char who[CLI_HOLDER_NAME_BYTES];
    int64_t since_ms; /* 0: it is not known */
    bool is_alone;    /* else others hold it, too */
    size_t before;    /* how many stand before us; CLI_HOLDER_UNKNOWN: more than were looked at */
} cli_holder;

/* As: held by db3 pid 17147 "pg_dump shop" for 12m05s, and by others. */
void cli_holder_says(char *ret_text, size_t size, const cli_holder *holder);

/*
 * The texts are not escaped, and cut where there is no room. Looks at so many at the head of the
 * queue, from CLI_HOLDER_LOOK, whatever its length: a list and as many reads. False: nobody but the
 * session with that id holds it, or it cannot be read. One call on the session.
 */
bool cli_holder_find(cli_holder *ret_holder, zkl_session *session, int64_t session_id,
                     const char *name, size_t many);

#endif
