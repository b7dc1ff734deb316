/*
 * sim - an ensemble of three ZooKeeper servers, their clients and the network between them, in one
 * thread, on virtual time, from one seed. The clients run the library's own core, session and lock
 * code; simulated are the client library (port.c), the servers (quorum.c, server.c), and the
 * session's threads (client.c). What the servers do is what ZooKeeper 3.8.0 was seen or read to do.
 *
 * Files: state.h what all of it goes by; world.c time, randomness, names, data, trees, trace;
 * quorum.c the log, election.c who leads; server.c connections, requests; watches.c both ends'
 * watches; port.c the client library; client.c processes with their sessions; handles.c their
 * locks; actor.c, told.c, together.c and writer.c threads that use these; permits.c semaphores;
 * schedule.c one seed from its settings to its end; faults.c and scenes.c what befalls it;
 * checks*.c what must hold at every step; report.c figures; many.c many seeds; main.c the command.
 */
#ifndef SIM_H
#define SIM_H

#include <stdio.h>

#include "sim/state.h"

/* The thread that is calling the library now. */
extern uint64_t sim_thread;

/* ---- world.c ---- */

struct world *world_new(void);
void world_free(struct world *w);
void world_reset(struct world *w, uint64_t seed);
uint64_t world_random(struct world *w);
/* From 0 to n - 1. */
unsigned world_below(struct world *w, unsigned n);
int64_t world_between(struct world *w, int64_t low, int64_t high);
bool world_chance(struct world *w, unsigned percent);
void world_at(struct world *w, int64_t at, enum event_kind kind, unsigned a, unsigned b);
bool world_next(struct world *w, struct event *ret);
/* The simulation prints what happens, if the seed is being replayed. */
#define TRACE(w, ...)                                                                              \
    do {                                                                                           \
        if ((w)->is_traced)                                                                        \
            world_trace((w), __VA_ARGS__);                                                         \
    } while (0)
__attribute__((format(printf, 2, 3))) void world_trace(const struct world *w, const char *format,
                                                       ...);
/* The first one counts; the schedule ends. */
__attribute__((format(printf, 3, 4))) void world_violate(struct world *w, enum checker checker,
                                                         const char *format, ...);
/* The number of a path, new if it must be. */
int world_name(struct world *w, const char *path);
/* Whether a node of that name has a text as its data; else it has the number of a write. */
bool world_has_text(const struct world *w, int name);
/* By what number such a node has this data: a text's, which is new if it must be, or a write's. */
int world_data(struct world *w, int name, const void *bytes, int length);
const char *world_data_read(const struct world *w, int name, int data, size_t *ret_length);
struct znode *tree_find(struct tree *tree, int name);
void tree_apply(struct world *w, struct tree *tree, const struct txn *txn, int index);
/* What one part of a transaction of several does, as a transaction of its own. */
struct txn txn_part(const struct txn *txn, int index);
/* Whether a writer becomes a reader by these: a set, a create and a delete. */
bool parts_turn(const struct world *w, const struct part *parts, int count);
int message_new(struct world *w, int kind);
void message_free(struct world *w, int message);
void list_init(struct list *list);
void list_push(struct world *w, struct list *list, int message);
int list_pop(struct world *w, struct list *list);
void list_clear(struct world *w, struct list *list);
/* Clocks that run too fast or slow by so many millionths. */
int64_t clock_local(int64_t now_ns, int ppm, int64_t offset_ns);
int64_t clock_real(int64_t local_ns, int ppm, int64_t offset_ns);

/* ---- quorum.c ---- */

/* Whether it is the leader of the present epoch; a deposed one only thinks so. */
bool quorum_leads(const struct world *w, int server);
bool quorum_can_talk(const struct world *w, int a, int b);
/* Whether any two can agree on anything. */
bool quorum_is_possible(const struct world *w);
void quorum_commit(struct world *w, int index);
/* Commits what a quorum has logged. */
void quorum_acked(struct world *w, int leader);
void quorum_ping(struct world *w, int leader, int follower);
void quorum_link(struct world *w, unsigned from, unsigned to);
/* What followers have logged while the log stalled is acknowledged. */
void quorum_end_stall(struct world *w);
/* A follower has logged an entry that took some time. */
void quorum_logged(struct world *w, unsigned server_and_life, unsigned index);
void quorum_apply(struct world *w, unsigned server_and_life, unsigned index);
/* A write, from a connection of that server (NONE: from nowhere). Nothing comes of it if nobody
 * leads. request is kept by the caller. */
void quorum_write(struct world *w, int server, int conn, const struct message *request);
void quorum_validate(struct world *w, int server, int conn, int session);
/* The leader has heard of a session. */
void quorum_track(struct world *w, int leader, int session);
void quorum_touch(struct world *w, int server, int session);
bool server_is_serving(const struct world *w, int server);

/* ---- election.c ---- */

void quorum_start(struct world *w);
void quorum_leader(struct world *w, unsigned server, unsigned life);
void quorum_follower(struct world *w, unsigned server, unsigned life);
void quorum_expiry(struct world *w, unsigned server, unsigned life);
void quorum_end_due(struct world *w, unsigned server, unsigned session);
void quorum_elect(struct world *w);
void server_isolate(struct world *w, int server, bool is_isolated);
bool server_is_isolated(const struct world *w, int server);
/* One link, one way. */
void link_stall(struct world *w, int from, int to, bool is_stalled);
bool link_is_stalled(const struct world *w, int from, int to);
void server_abandon(struct world *w, int server);
void server_crash(struct world *w, int server);
void server_look(struct world *w, int server);
int64_t server_clock(const struct world *w, int server);

/* ---- server.c ---- */

/* The client's end: NONE if nobody listens. */
int conn_open(struct world *w, int client, int port, int server);
void conn_send(struct world *w, int conn, int message);
/* From the server. */
void conn_tell(struct world *w, int conn, int message);
/* The client closes its end; with is_reset what it sent and has not arrived never will. */
void conn_leave(struct world *w, int conn, bool is_reset);
/* What a server had read and not yet queued when it closed the connection. */
void server_late(struct world *w, unsigned server, unsigned message);
void conn_up(struct world *w, unsigned conn, unsigned life);
void conn_down(struct world *w, unsigned conn, unsigned life);
/* The link between a client and a server carries again. */
void conn_resume(struct world *w, int client);
void server_close_conns(struct world *w, int server, int session);
/* A ping, with what it has heard since the last one. */
void server_answered(struct world *w, int server);
void server_applied(struct world *w, int server, const struct txn *txn, const struct tree *before);
void server_validated(struct world *w, int server, int conn, uint32_t life, bool is_valid);
void server_synced(struct world *w, int server, int conn, uint32_t life, int index);

/* ---- watches.c ---- */

/* By a request that was answered: of the server's end of a connection, or of a client library. */
void watches_set(struct watches watches[WATCH_KINDS], enum op request, int name);
void watches_forget(struct watches watches[WATCH_KINDS], enum watch_kind kind, int name);
/* Takes away those that this fires. False: there are none. */
bool watches_take(struct watches watches[WATCH_KINDS], int name, enum zkli_watch_type type);
/* Tells of those that a transaction fires, on a server that has just applied it. before: the tree,
 * if the transaction ends a session. */
void watches_fire(struct world *w, int server, const struct txn *txn, const struct tree *before);
/* All that a client library has, to be sent on a new connection; NONE: it has none. */
int watches_message(struct world *w, const struct watches watches[WATCH_KINDS]);
/* The server sets them, or tells at once what has happened to them. */
void watches_resend(struct world *w, int conn, const struct message *request);

/* ---- port.c ---- */

struct zkli_port *port_new(struct world *w, int client, bool is_attached);
/* Of an attached one: sets the watch by which the engine hears of its session. */
#define ARMING_SLOT ZKLI_SLOTS
void port_arm(struct world *w, struct port *p);
/* How it is, as far as that watch tells. */
enum zkli_port_state port_heard(const struct port *p);
/* The engine leaves it, and it goes on. */
void port_detach(struct world *w, struct port *p);
void port_begin(struct world *w, unsigned port, unsigned unused);
void port_io(struct world *w, unsigned port, unsigned stamp);
void port_receive(struct world *w, int port, int message);
/* After a pause. */
void port_wake(struct world *w, int port);
void port_close(struct world *w, unsigned port, unsigned unused);
void port_cut(struct world *w, int port);
/* The client library knows that its session is over. */
void port_over(struct world *w, struct port *p);
int64_t port_session_id(int session);
int port_number(const struct port *p);

/* ---- delivery.c ---- */

void port_deliver(struct world *w, unsigned port, unsigned unused);
/* The next thing in line is told at its time. */
void delivery_soon(struct world *w, struct port *p);
int delivery_new(struct world *w, struct port *p, enum to_engine kind);
void delivery_of_state(struct world *w, struct port *p, enum zkli_port_state state);
void delivery_of_reply(struct world *w, struct port *p, const struct message *reply);
/* Of a new session: by the network, or else by the thread that tells. */
bool delivery_is_late(const struct world *w, const struct port *p);
bool delivery_is_loss_untold(const struct world *w, const struct port *p);
/* That the reply to a delete was lost with its connection. */
bool delivery_is_delete_untold(const struct world *w, const struct port *p);

/* ---- client.c ---- */

void client_open(struct world *w, unsigned client, unsigned has_handle);
/* The session of its handle is over. */
void client_leave(struct world *w, unsigned client, unsigned stamp);
void client_tick(struct world *w, unsigned client, unsigned stamp);
void client_pause(struct world *w, int client, int64_t ns);
void client_wake(struct world *w, unsigned client, unsigned pause);
/* The session is closed and the process ends; if killed, nothing of that reaches the server. */
void client_close(struct world *w, int client, bool is_killed);
void client_shut(struct world *w, unsigned client, unsigned stamp);
bool client_has_members(const struct world *w, int client);
int64_t client_clock(const struct client *c);
const struct zkli_port_receiver *client_receiver(void);

/* ---- handles.c ---- */

/* False: the session is closing. */
bool handle_open(struct client *c, int number);
/* Every write by it has been told. */
void handle_close(struct client *c, int number);
/* Whoever waits by one of a client's locks does so no longer. */
void handle_cancel(struct world *w, int client);
/* Whether all are told whose callers go on. */
bool handles_are_told(const struct client *c);

/* ---- actor.c ---- */

/* The threads of a client begin to use its locks. */
void actors_start(struct world *w, int client);
/* The session is shut: every wait has failed. */
void actors_end(struct world *w, int client);
void actor_act(struct world *w, unsigned actor, unsigned stamp);
void actor_deadline(struct world *w, unsigned actor, unsigned attempt);
/* A guarded write of the lock's register, by a thread that holds or thinks so (writer.c). */
void actor_write(struct world *w, unsigned actor);
/* One or several, which it does not wait for. */
void actor_write_on(struct world *w, unsigned actor);
/* All of a client's that hold something. */
void actors_write_on(struct world *w, int client);
/* The next look at the hold; the next acquire. */
void actor_look_again(struct world *w, unsigned actor);
void actor_rest(struct world *w, unsigned actor);
/* Whether it is done. */
bool actor_has_written(struct world *w, unsigned actor);
/* Something happened in this client's session. */
void actors_look(struct world *w, int client);
bool actors_are_idle(const struct world *w, int client);
void actor_close_lock(struct world *w, int client);

/* With the session's lock: what it says may be so. */
void actor_check_outcome(struct world *w, unsigned actor, zkl_err err);
/* This is what its acquire came to. */
void actor_come_to(struct world *w, unsigned actor, zkl_err err);

/* ---- told.c ---- */

/* An acquire whose caller goes on. Takes the session's lock. */
void told_begin(struct actor *a, int64_t timeout_ms);
void told_next(struct world *w, unsigned client, unsigned stamp);
/* The session is shut: all are told. */
void told_end(struct client *c);

/* ---- together.c ---- */

/* An acquire of this handle's lock and of others at once. False: not now. */
bool together_begin(struct world *w, unsigned actor, int64_t timeout_ms);
/* With the session's lock, which it releases: what it came to. */
zkl_err together_finish(struct world *w, unsigned actor);
/* The other holds, if there are any: a look at each; their end, before the thread rests. */
void together_look(struct world *w, unsigned actor);
/* Another thread gives up one of them, if it is by this lock. False: none is. */
bool together_give_up(struct world *w, unsigned actor, const struct zkl_lock *lock);
void together_release(struct world *w, unsigned actor);
/* Without a call: of this lock, or all if it is NULL. */
void together_forget(struct actor *a, const struct zkl_lock *lock);

/* ---- checks.c ---- */

/* The node of the handle's hold; 0 if it has none. */
int checks_node(struct world *w, struct handle *h);
/* Of the actor's hold; 0: it is lost. */
int checks_node_of(struct world *w, const struct actor *a);
/* Whether one of this kind may hold beside another of it. */
bool checks_is_shared(enum zkli_kind kind);
/* Whether the other node is one behind which this one has to wait. */
bool checks_keeps_out(const struct world *w, const struct znode *other, const struct name *own);
void checks_note_latest(struct latest *latest, int64_t czxid, bool is_shared);
/* (checks_writes.c) The set of the register, under the guard that comes first. */
void checks_write_committed(struct world *w, const struct txn *txn, int guard_name);
/* (checks_linger.c) A hold by a node that may linger. */
void checks_lingered(struct world *w, int client, struct handle *h, const struct zkli_member *m);
/* (checks_wanted.c) A hold is said to be wanted; and what it is by, that is certain. */
void checks_wanted(struct world *w, int client, struct handle *h, const zkl_event *event);
void checks_awaited(struct world *w, int client, struct handle *h, const struct zkli_hold *hold,
                    const struct name *own);
/* (checks_since.c) The set of a contender's data; whether it says since when it has held. And what
 * a hold is by, that is certain. */
bool checks_said_since(struct world *w, const struct txn *txn);
void checks_since(struct world *w, int client, const struct zkli_hold *hold, struct name *own);
/* (checks_owners.c) This thread is about to acquire. A contender's node with these data is asked
 * for, and made. */
void checks_given_up(struct world *w, unsigned actor);
void checks_asked_to_make(struct world *w, const struct port *p, int data);
void checks_owner(struct world *w, const struct txn *txn);
/* After every event: a node that nobody holds by. */
void checks_idle(struct world *w, int client, struct handle *h);
/* The set of a contender's data, which may ask the node's owner to let go. */
void checks_asked(struct world *w, const struct txn *txn);
/* A try has begun, and asks the servers; it has an outcome. */
void checks_try(const struct world *w, int client, struct actor *a);
void checks_tried(struct world *w, int client, const struct actor *a, zkl_err err);
/* When all is quiet. */
void checks_places(struct world *w, int client);
/* A guarded write has an outcome. */
void checks_written(struct world *w, const struct writing *writing, zkl_err result);
/* After every event. */
void checks_step(struct world *w);
void checks_event(struct world *w, struct handle *handle, const zkl_event *event);
/* A release says OK. */
void checks_released(struct handle *h, zkl_hold hold);
void checks_hold(struct world *w, int client, int handle, zkl_hold hold);
/* (checks_several.c) When all is quiet. */
void checks_group(struct world *w, int client, const struct zkli_group *group);
/* An acquire of several locks has come to its end, for a thread that is about to wake up. */
void checks_together(struct world *w, const struct zkli_several *all);
void checks_committed(struct world *w, const struct txn *txn, const struct tree *before);
/* (checks_wakes.c) A client is told of a watch. */
void checks_watch_told(struct world *w, int client, int name, enum zkli_watch_type type);
void checks_frozen(struct world *w);
void checks_drained(struct world *w);
void checks_end(struct world *w);

/* ---- permits.c ---- */

/* A directory has these data since this entry of the log; or it has gone, and they are empty. */
void permits_committed(struct world *w, int dir, int64_t zxid, int data);
/* Whether a handle that asks for so many (0: as recorded) may have found another number. */
bool permits_ever_differed(const struct world *w, int lock, int permits);
void permits_resize(struct world *w, unsigned lock, unsigned unused);
/* Whether as many are out as there are now; of a contender of another kind: no. */
bool permits_are_out(const struct world *w, const struct name *own);
/* The greatest number since its node was made: its listing, by which it is granted, came later. */
int permits_limit(const struct world *w, int lock, int64_t czxid);
/* By this node of a semaphore's, or of another kind. */
void permits_check_grant(struct world *w, const struct handle *h, const struct name *node);
/* After every event. */
void permits_check_holders(struct world *w);

/* ---- breaks.c ---- */

/* One of the nodes that there are, at least one; NONE: it is no contender's. */
int breaks_draw(struct world *w);
/* An operator ends the hold of somebody, or a place in a queue. Or the owner of the node stops, in
 * a scene of breaks_delay. */
void breaks_begin(struct world *w, unsigned is_scene, unsigned client);
/* Something happened in this client's session; or it is shut. */
void breaks_look(struct world *w, int client);
/* A follower is about to send this to the leader. If it marks a node, it may be late. */
void breaks_delay(struct world *w, int follower, const struct message *request);
/* A set of a contender's data. */
void breaks_committed(struct world *w, const struct txn *txn);
/* A hold that is certain. */
void breaks_check_hold(struct world *w, int client, struct handle *h, const struct zkli_hold *hold,
                       const struct name *node);

/* ---- asks.c ---- */

bool asks_are_made(const struct world *w);
/* An operator asks somebody to let go, most often who holds. */
void asks_begin(struct world *w, unsigned unused, unsigned unused_too);
/* A set of a contender's data. */
void asks_committed(struct world *w, const struct txn *txn);
/* As breaks_look. */
void asks_look(struct world *w, int client);

/* ---- faults.c ---- */

/* One of the faults, if one is possible now, or later. */
void fault_strike(struct world *w, unsigned unused, unsigned unused_too);
void fault_heal(struct world *w, unsigned fault, unsigned what);
void fault_heal_later(struct world *w, enum fault fault, int what, int64_t longest_ns);
void fault_heal_all(struct world *w);
/* Client libraries refuse the next mark of who is admitted to a semaphore. Just before all comes to
 * rest: if it is not made then, its follower waits on, while a permit is free. */
void fault_last_touches(struct world *w);
/* A reply to this client will be lost. */
void fault_doom(struct world *w, unsigned client, unsigned unused);
/* A third party's write. */
void operate(struct world *w, enum op op, int name);
/* Mostly one fault of servers at a time; with a second one there may be no quorum for a while. */
bool fault_may_be(struct world *w);
/* Whether nothing is amiss, anywhere. */
bool fault_is_none(const struct world *w);
void fault_count(struct world *w);

/* ---- scenes.c ---- */

/* Added to the follower whose stall does not turn, but end. */
#define STALL_ENDS SERVERS
/* Several acts, timed so that something rare happens to one client. False: not now. */
bool scene_turning_stall(struct world *w);
bool scene_late_pings(struct world *w);
bool scene_lost_touch(struct world *w);
/* A hold is lost. */
void scene_check_kept(struct world *w, int client, const struct handle *h, zkl_hold hold);
/* The scenes after which a hold has to be there still. False: this is not the time. */
bool scene_silent_server(struct world *w);
bool scene_stalled_log(struct world *w);
void scene_turn(struct world *w, int follower);
void scene_end_stall(struct world *w, int follower);
void scene_act(struct world *w, unsigned client, unsigned act);
/* The follower has lost this client's heartbeat. */
void scene_touch_lost(struct world *w, int client);
/* The client is told of a session that it has had for long. */
void scene_told_late(struct world *w, int client);

/* ---- schedule.c ---- */

/* An actor has begun something; faults come with the operations. */
void schedule_operation(struct world *w);
/* Runs one seed; false: violated. */
bool schedule_run(struct world *w, uint64_t seed, bool is_traced, struct figures *figures);

#endif
