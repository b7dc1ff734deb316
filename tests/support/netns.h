/*
 * A network of the test program's own for an ensemble of three: a bridge, on which the program
 * itself is, and on it a namespace for each server. One server can be cut off from the other two
 * while the clients go on reaching all three.
 *
 * Nothing of it is seen by the rest of the machine, and nothing needs removing: namespaces, bridge
 * and rules end with the last process in them, however that ends. Needs root. Failing here ends the
 * program: a test of what a cut does is worth nothing without the cut.
 */
#ifndef SUPPORT_NETNS_H
#define SUPPORT_NETNS_H

#define NETNS_SERVERS 3

typedef enum netns_cut {
    NETNS_SILENT = 1, /* packets between it and the other two vanish */
    NETNS_TOLD = 2    /* and the other two lose their connections to it; it does not notice */
} netns_cut;

/* To be called first thing in main, before there are threads. */
void netns_enter(void);
/* What makes "zk.sh start" put its servers there: two options with their values. */
#define NETNS_OPTIONS "--netns", "zk1,zk2,zk3", "--addr", "10.0.0.1,10.0.0.2,10.0.0.3"
/* The "host:port" of a server, counted from 0. */
const char *netns_hosts(unsigned server);

/* One server at a time; done when the call returns. */
void netns_isolate(unsigned server, netns_cut cut);
/* No packet passes between it and anything: as if its power had gone. Counts as isolated. */
void netns_darken(unsigned server);
/* If one is isolated, it is reached again, over new connections. */
void netns_heal(void);

#endif
