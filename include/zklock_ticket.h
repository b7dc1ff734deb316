/*
 * zklock_ticket.h - the end of a session from outside: zklock.h includes it.
 *
 * A process that dies leaves its session on the servers, and its locks taken, until the session
 * times out. Who sees it die can end that session at once: a supervisor, or a parent. For that it
 * needs a ticket, which the process has taken while its session was good and handed over, by a pipe
 * for example.
 */
#ifndef ZKLOCK_TICKET_H
#define ZKLOCK_TICKET_H

#include "zklock.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The bytes that a ticket takes, with its NUL. */
#define ZKL_TICKET_SIZE 80

/*
 * Writes what it takes to end the present session into buf, which has size bytes: one line of
 * letters, digits and colons, NUL-terminated. Whoever has it can take the session over, and its
 * locks with it, so treat it as a password.
 *
 * From now on the session is kept while it rests, as with .keep_session. If it is lost all the
 * same, ZKL_EVENT_RESUMED says is_new_session, and another ticket is needed. The session of
 * zkl_session_attach is the program's, which is ended with all that is in it.
 * **Returns:** ZKL_OK; ZKL_CLOSED; ZKL_EXPIRED; ZKL_FORKED.
 * ZKL_UNREACHABLE: there is no connection at the moment.
 * ZKL_INVALID: a NULL, or too small a buffer.
 */
ZKL_API ZKL_MUST_USE zkl_err zkl_session_ticket(zkl_session *s, char *buf, size_t size);

/*
 * Ends the session of a ticket, so that its locks are free. **Only when its process is dead, or
 * will not go on:** a live one believes that it holds until it hears of the end.
 *
 * hosts is as for zkl_session_open; a chroot does not matter. The servers are asked until they say
 * that there is no such session any more, for timeout_ms milliseconds, 1 to 3,600,000. The call
 * blocks. Looking names up is not counted, and where a server stands still it takes 5 s more. It
 * needs no session of its own. It never ends another session than the ticket's. (A ticket whose
 * password is wrong costs the session of its id a connection: so the servers do it.)
 * **Returns:** ZKL_OK: the session was there, and is over.
 * ZKL_CLOSED: these servers have no such session: it was over before.
 * ZKL_UNREACHABLE: no server could be reached in time; the session has not been ended.
 * ZKL_UNSURE: a server was reached, but did not confirm the end in time. Call again.
 * ZKL_INVALID: a NULL, not a ticket, hosts that are not valid, a timeout out of range.
 * ZKL_IN_CALLBACK; ZKL_NOMEM.
 */
ZKL_API ZKL_MUST_USE zkl_err zkl_session_end(const char *hosts, const char *ticket, int timeout_ms);

#ifdef __cplusplus
}
#endif

#endif /* ZKLOCK_TICKET_H */
