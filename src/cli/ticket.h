/*
 * The ticket of run's session in a file, for who has to end that session when run and its guardian
 * are dead: a service manager that kills all processes of a service, for example.
 */
#ifndef CLI_TICKET_H
#define CLI_TICKET_H

#include <pthread.h>
#include <stdbool.h>
#include <zklock.h>

typedef struct cli_ticket {
    const char *file;
    pthread_mutex_t mutex; /* RESUMED comes on another thread */
    int fd;                /* at first -1; the file that we have put there: locked, as we live */
} cli_ticket;

/*
 * Writes the present session's ticket into the file, which appears as a whole and is only its
 * user's to read. Without a ticket the file stays as it is. False with errno: it cannot be written;
 * EBUSY: it is that of another run, which lives.
 */
bool cli_ticket_write(cli_ticket *t, zkl_session *session);

/* The session is over, and calls nobody back. The file is removed, if it is ours. */
void cli_ticket_remove(cli_ticket *t);

#endif
