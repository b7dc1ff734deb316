/*
 * The ticket of run's session in a file, for who has to end that session when run and its guardian
 * are dead: a service manager that kills all processes of a service, for example.
 */
#ifndef CLI_TICKET_H
#define CLI_TICKET_H

#include <stdbool.h>
#include <zklock.h>

/* Writes the present session's ticket into the file, which appears as a whole and is only its
 * user's to read. Without a ticket the file stays as it is. False with errno: it cannot be written.
 */
bool cli_ticket_write(const char *file, zkl_session *session);

/* The session is over. */
void cli_ticket_remove(const char *file);

#endif
