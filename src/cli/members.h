/* The processes of a process group, as /proc shows them. */
#ifndef CLI_MEMBERS_H
#define CLI_MEMBERS_H

#include <stdbool.h>
#include <sys/types.h>

/*
 * Whether a process of the group runs, or may run. A dead one that its parent has not reaped does
 * not, though it is in the group: some first processes of containers reap none.
 */
bool cli_members_run(pid_t group);

#endif
