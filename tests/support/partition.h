/*
 * Cuts an ensemble of three in two, again and again, and looks at who holds a lock on either side.
 * Failing here fails the test: what holds too long is told with the figures of all cuts.
 */
#ifndef SUPPORT_PARTITION_H
#define SUPPORT_PARTITION_H

#include <stddef.h>

#include "support/netns.h"

/*
 * A server that is cut off answers its clients for 8 ticks, 4 s, longer than any holder's session
 * lives. The rest shortens a run: above all initLimit, for which an election may stand still
 * (ZOOKEEPER-4685: a follower that lacks a transaction acknowledges it before NEWLEADER).
 */
#define PARTITION_OPTIONS                                                                          \
    "--tick", "500", "--min-session", "1000", "--prop", "syncLimit=8", "--prop", "initLimit=4",    \
        "--prop", "cnxTimeout=500", "--prop", "fastleader.maxNotificationInterval=400"

/* Which server is cut off, by what it says of itself. */
#define PARTITION_LEADER "Mode: leader"
#define PARTITION_FOLLOWER "Mode: follower"

/* So many cuts, with ten holders each, whose sessions have timeouts from two ticks to four. */
void partition_cut_all(size_t cuts, const char *mode, netns_cut cut);

#endif
