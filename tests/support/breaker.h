/*
 * Faults in the ensemble of scripts/docker.sh, one after the other: a server is paused, killed, or
 * cut off from the others and from its clients, and after some seconds brought back; the leader and
 * followers by turns. The script does it while the caller goes on with what it has to do.
 *
 * For the thread that runs the test, which it leaves if the script fails, or if the servers do not
 * serve again. What is broken then stays broken.
 */
#ifndef REGISTER_BREAKER_H
#define REGISTER_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

/* directory: what docker.sh calls --dir; server_hosts are its three servers, in their order. */
void breaker_begin(const char *directory, uint64_t seed);
/* Goes on with what is due. To be called all the time; takes a fraction of a second at most. */
void breaker_step(void);
/* Whether all servers serve, as far as this one has to do with it. */
bool breaker_rests(void);
/* Whether each fault has struck a leader and a follower. */
bool breaker_has_done_all(void);
/* Undoes what is broken, and waits until all serve. */
void breaker_end(void);
/* Prints how many there were of each. */
void breaker_report(void);

#endif
