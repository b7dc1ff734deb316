/*
 * hosts - a list of servers as the client library has to be given it, so that it tries all of them;
 * and what it makes of the chroot behind it.
 */
#ifndef ZKLI_ZK_HOSTS_H
#define ZKLI_ZK_HOSTS_H

#include <stdbool.h>
#include <stddef.h>

/* A list of servers for an ensemble of hundreds. */
#define ZKLI_HOSTS_MAX 8192
/* Each node costs so much of the session's budget. */
#define ZKLI_CHROOT_MAX 255

/* A copy without spaces around the servers and brackets around addresses, and with ZooKeeper's port
 * where a server has none. NULL: out of memory. To be freed. */
char *zkli_hosts_complete(const char *hosts);
/* Whether a complete list has the form that zkl_session_open describes. */
bool zkli_hosts_are_valid(const char *hosts);

/* How many bytes the client library puts before each path: "/" alone is no chroot to it. */
size_t zkli_hosts_chroot_length(const char *hosts);

/*
 * A copy of "host:port[,host:port...][/chroot]" with an odd number of addresses: with one of them
 * twice if need be. After a connection that failed, the library goes on by two places in its list
 * of addresses instead of one (ZOOKEEPER-2466). Where their number is even, it tries half of them
 * again and again, without a pause where that is the half without the last, and never the others.
 *
 * Names are looked up, which may block. One with other addresses later may bring an even number
 * again, until the next list. ret_servers: how many there are. A name's addresses of IPv4 and those
 * of IPv6 are taken to be the same servers'. NULL: out of memory. To be freed.
 */
char *zkli_hosts_make_odd(const char *hosts, size_t *ret_servers);

#endif
