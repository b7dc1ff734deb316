/*
 * engine_internal - what the engine's own files share, and its tests look at; see engine.h.
 *
 * The files stand here in the order in which they may call each other, the lowest first. engine.c
 * is their parent. The test package.structure finds a call that goes up.
 */
#ifndef ZKLI_ENGINE_ENGINE_INTERNAL_H
#define ZKLI_ENGINE_ENGINE_INTERNAL_H

#include "engine/engine_state.h"

static inline bool zkli_is_connected(const struct zkli_engine *e) {
    return e->state == ZKL_STATE_CONNECTED;
}

static inline bool zkli_engine_is_certain(const struct zkli_engine *e) {
    return zkli_lease_is_certain(&e->lease, e->now_ns);
}

/* A contender that queues now can be granted the lock when its place is known. */
static inline bool zkli_lease_is_fit(const struct zkli_engine *e) {
    return zkli_engine_is_certain(e) &&
           e->now_ns + zkli_lease_quickest_ns(&e->lease) < e->ample_until_ns;
}

static inline bool zkli_session_is_lent(const struct zkli_engine *e) {
    return e->port != NULL && e->port->loans > 0;
}

static inline bool zkli_session_is_kept(const struct zkli_engine *e) {
    return e->keeps_session || e->bears_nodes || zkli_session_is_lent(e) || e->is_kept ||
           e->now_ns < e->late_until_ns;
}

/* Nothing would be lost with this session, and another may have a better lease. */
static inline bool zkli_is_to_be_replaced(const struct zkli_engine *e) {
    return e->standing == 0 && !zkli_session_is_kept(e) && !zkli_lease_is_fit(e);
}

static inline bool zkli_heartbeat_is_in_flight(const struct zkli_engine *e) {
    return e->slots[ZKLI_SLOT_HEARTBEAT].use == ZKLI_USE_HEARTBEAT;
}

static inline size_t zkli_bucket_of(const char *path, size_t length) {
    return (size_t)(zkli_path_hash(path, length) % ZKLI_BUCKETS);
}

/* What a path takes in either: the servers' whole path, with its length in front. */
static inline size_t zkli_path_bytes(const struct zkli_engine *e, size_t length) {
    return 4 + e->chroot_length + length;
}

/* ---- The host (host.c) ---- */

/* The fresh uuid was used: makes another. */
void zkli_engine_refresh_uuid(struct zkli_engine *e);
/* Another tag: nodes of an earlier session are not taken for nodes of this one. */
void zkli_engine_refresh_tag(struct zkli_engine *e);

/* ---- Slots (slots.c) ---- */

void zkli_slots_init(struct zkli_engine *e);
/* At the end of the line, unless it is in there. */
void zkli_line_join(struct zkli_engine *e, struct zkli_work *work);
/* At its head. */
void zkli_line_lead(struct zkli_engine *e, struct zkli_work *work);
/* There is a free one. */
unsigned zkli_slot_reserve(struct zkli_engine *e, enum zkli_slot_use use);
void zkli_slot_release(struct zkli_engine *e, unsigned number);
/* Replies to this use of this member's mean nothing any more. */
void zkli_slots_void(struct zkli_engine *e, enum zkli_slot_use use, const struct zkli_member *m);
/* The port is gone, and no reply will come. Adds the queries that were in flight to the list. */
void zkli_slots_reset(struct zkli_engine *e, struct zkli_list *ret_queries);

/* ---- Watches (watches.c) ---- */

void zkli_watches_init(struct zkli_engine *e);
/* Points the watcher at a path. False: out of memory. */
bool zkli_watcher_point_to(struct zkli_engine *e, struct zkli_watcher *watcher, const char *path);
void zkli_watcher_drop(struct zkli_engine *e, struct zkli_watcher *watcher);
/* A read that sets the watch was sent, and was answered. */
void zkli_watch_asked(struct zkli_watch *watch);
void zkli_watch_answered(struct zkli_engine *e, struct zkli_watch *watch, bool is_set);
/* The port is to forget every watch: it lives on. */
void zkli_watches_leave(struct zkli_port *port, struct zkli_engine *e);
/* The port is gone, and with it every watch. */
void zkli_watches_reset(struct zkli_engine *e);
/* A watch fired: its watchers are handed out by next_fired, unless they are dropped before. */
void zkli_watches_fire(struct zkli_engine *e, const char *path, enum zkli_watch_type type);
/* It is not known which one fired: all of them, as CHANGED. */
void zkli_watches_fire_all(struct zkli_engine *e);
struct zkli_watcher *zkli_watches_next_fired(struct zkli_engine *e);
static inline struct zkli_member *zkli_watcher_member(struct zkli_watcher *watcher) {
    return ZKLI_CONTAINER(watcher - watcher->what, struct zkli_member, watchers);
}

/* ---- Queries (queries.c) ---- */

void zkli_queries_init(struct zkli_engine *e);
/* The replies to these are lost. */
void zkli_queries_lost(struct zkli_engine *e, struct zkli_list *queries);
/* No session will come: every query is done, without a reply. */
void zkli_queries_end(struct zkli_engine *e);
/* Its turn has come: sends it. One with data is deferred, until there is room. */
void zkli_query_send(struct zkli_engine *e, struct zkli_query *query);
/* Sends the first of those that were deferred. False: there is none, or no room yet. */
bool zkli_queries_send_deferred(struct zkli_engine *e);
/* Tells the caller who waits; reply as in .done. */
void zkli_query_done(struct zkli_engine *e, struct zkli_query *query,
                     const struct zkli_reply *reply);

/* ---- Sight (sight.c) ---- */

/* Whether the watch on its node would tell of a mark. While a writer becomes a reader it would not:
 * its own transaction fires it. */
bool zkli_sight_is_clear(const struct zkli_member *m);
/* After each step: whether it has become blind, or sees again. */
void zkli_sight_note(struct zkli_member *m);
/* There is another connection, or there may be. */
void zkli_sights_doubt(struct zkli_engine *e);
/* Whether it holds, and has so little time to look that it does not wait for a heartbeat. */
bool zkli_sight_is_short(const struct zkli_member *m);
/* Its node is closed to us since it was watched. zkl_break deletes none whose ACL has been changed.
 */
void zkli_sight_close(struct zkli_member *m);
/* Whether a hold that begins blind would have less time than others. */
bool zkli_sight_is_needed(const struct zkli_member *m);

/* ---- Directories (directories.c) ---- */

/* The directory of a lock's name; made if no member stands in it. NULL: out of memory. */
struct zkli_dir *zkli_dir_get(struct zkli_engine *e, const char *name);
/* Those of another session may be of another ensemble's data. */
void zkli_dirs_forget_permits(struct zkli_engine *e);
/* Frees it if no member stands in it any more, and no visit is due. */
void zkli_dir_release(struct zkli_dir *dir);
/* What the path of a node takes whose name has this length. */
size_t zkli_dir_node_bytes(const struct zkli_dir *dir, size_t length);
void zkli_dir_child_path(char ret_path[ZKLI_PATH_MAX], const struct zkli_dir *dir,
                         const char *child);
/* Level 1: the directory itself, 2: its parent, and so on. */
void zkli_dir_ancestor_path(char ret_path[ZKLI_PATH_MAX], const struct zkli_dir *dir,
                            unsigned level);
/* The member whose hold has ended with the node of this path. NULL: none. */
struct zkli_member *zkli_dir_holder_by(struct zkli_engine *e, const char *path);
/* The holder after this one, or the first after NULL. NULL: there are no more. */
struct zkli_member *zkli_dir_next_holder(const struct zkli_dir *dir, const struct zkli_member *m);
/* Finds the contenders among the children; they stand in e->siblings. False: out of memory. */
bool zkli_listing_parse(struct zkli_listing *ret_listing, struct zkli_engine *e,
                        const struct zkli_reply *reply);
bool zkli_listing_has(const struct zkli_listing *listing, const char *child);
/* Which of the children are members' nodes that are being deleted. They will be gone soon, and a
 * try does not call the lock taken for them. */
void zkli_dir_mark_leaving(const struct zkli_dir *dir, struct zkli_sibling *siblings, size_t count);

/* ---- Requests (requests.c) ---- */

/* The member is to watch this one from now on. Without memory for that its next read of it fails.
 */
void zkli_requests_note_predecessor(struct zkli_member *m, const char *child);
/* Asks for a member's flight. */
void zkli_requests_ask(struct zkli_member *m, const struct zkli_actions *actions);
/* Takes back what is not sent yet, and listings. Returns the ZKLI_ASK_ bits: no reply to these will
 * come. */
unsigned zkli_requests_withdraw(struct zkli_member *m);
/* The reply to a member's mark; *result is its result. True: *result is what the contender is told.
 * False: the mark goes on. It is set by version, and what others have written into the node
 * meanwhile stays. */
bool zkli_requests_note_mark(struct zkli_member *m, unsigned ask, const struct zkli_reply *reply,
                             enum zkli_result *result);
/* The member goes: replies to it are void. */
void zkli_requests_forget(struct zkli_member *m);
/* The port is gone: forgets what was in flight and to be sent on it. Queries: as in slots_reset. */
void zkli_requests_reset(struct zkli_engine *e, struct zkli_list *ret_queries);
/* Whether there are slots for the next request of this one. */
bool zkli_requests_have_slots(const struct zkli_engine *e, struct zkli_work *work);
/* What its create consists of. */
struct zkli_create {
    char path[ZKLI_PATH_MAX]; /* without the number */
    char data[ZKLI_NODE_DATA_MAX];
    size_t length; /* of the data */
};
void zkli_requests_format_create(struct zkli_create *ret_create, const struct zkli_member *m);
/* Whether its next request is a create that is sent with those of its group, or the directory's
 * before that. */
bool zkli_requests_await_group(const struct zkli_member *m);
/* That was sent, or was taken back. */
void zkli_requests_skip_create(struct zkli_member *m);
/* Sends the member's next request. False: this one could not be sent, and that is its answer. */
bool zkli_requests_send_next(struct zkli_member *m, unsigned *ret_ask,
                             enum zkli_result *ret_result);
/* Sends the directory's listing. False: it could not be sent; these members asked for it. */
bool zkli_requests_send_listing(struct zkli_dir *dir, struct zkli_list *ret_askers);
/* Whether the last member has left without a node, and has made a directory for it; and the removal
 * of that, which is asked for once. The directory's record goes, too. */
bool zkli_requests_may_tidy(const struct zkli_dir *dir);
void zkli_requests_tidy(struct zkli_dir *dir);
/* The answer to one read. True: it was the last one. */
bool zkli_ordering_note(struct zkli_ordering *ordering, size_t index, enum zkli_result result,
                        int64_t czxid);
/* By czxid, without the nodes that have gone; it lies in the ordering. */
struct zkli_listing zkli_ordering_listing(struct zkli_ordering *ordering);
void zkli_ordering_free(struct zkli_ordering *ordering);

/* ---- Owners (owners.c) ---- */

/* Whether it may not make a node yet. */
bool zkli_owner_holds_back(const struct zkli_member *m);
/* In line, for this request. Since a delete was first sent, what its owner wants next may stand
 * there: one that is repeated goes to the head. */
void zkli_owner_line_up(struct zkli_member *m, unsigned ask);
/* After each step: whether it holds its owner's next one back, or does so no longer; or was held
 * back itself. */
void zkli_owner_note(struct zkli_member *m, bool is_held_back);

/* ---- Members (members.c) ---- */

/* In this memory, or NULL. */
struct zkli_member *zkli_member_init(struct zkli_member *m, struct zkli_engine *e,
                                     struct zkli_dir *dir);
/* As zkli_member_new, in a session that is not over. One of a group is not connected yet. */
zkl_err zkli_members_add(struct zkli_member **ret_member, struct zkli_engine *e,
                         const struct zkli_wish *wish, struct zkli_group *group);
/* What it needs of the budgets of nodes and of watches. */
void zkli_member_set_budget(struct zkli_member *m, size_t node_bytes, size_t watches);
/* Tells a new one that there is a connection, if there is. */
void zkli_member_connect(struct zkli_member *m);
/* A member whose node a heartbeat may check: it is known, and no release has asked to delete it.
 * NULL: none. */
struct zkli_member *zkli_members_witness(struct zkli_engine *e);
/* One of its members has moved, or it is over. */
void zkli_group_note_change(struct zkli_group *group);
/* Begins anew with its group: replies to what is under way mean nothing any more. */
void zkli_member_begin_anew(struct zkli_member *m);
/* Whether a hold may begin on the lease as it is now. */
bool zkli_lease_is_ample(const struct zkli_engine *e);
/* An event for the contender, with what every event carries filled in here. */
void zkli_member_step(struct zkli_member *m, struct zkli_contender_event *event);
void zkli_members_step_all(struct zkli_engine *e, enum zkli_contender_event_type type);
void zkli_members_abandon_all(struct zkli_engine *e, zkl_err error);
/* A watch or a read says that no node has this path: ends the hold that a member has by it. (A
 * member that waits hears of its node's end by its own watch.) */
void zkli_members_end_hold(struct zkli_engine *e, const char *path);
/* It may not be looked at any more: nothing tells of its end but a read. */
void zkli_member_unwatch(struct zkli_member *m);
/* The same, by a listing of the directory. Replies come in order, so a listing that does not show a
 * node that is known is later than that node's end. */
void zkli_members_were_listed(struct zkli_dir *dir, const struct zkli_listing *listing);
void zkli_members_hand_out(struct zkli_engine *e);

/* Whether a lock is held by one of them. */
bool zkli_members_hold(const struct zkli_engine *e);

/* ---- A silent server (silence.c) ---- */

void zkli_silence_init(struct zkli_engine *e);
/* A heartbeat was sent. */
void zkli_silence_listen(struct zkli_engine *e);
/* It was answered, or is lost. */
void zkli_silence_broken(struct zkli_engine *e, bool is_answered);
/* There is no connection any more. */
void zkli_silence_end(struct zkli_engine *e);

/* ---- Groups (groups.c) ---- */

/* Grants those that are ready, and frees those that are over. One that has lost a node begins
 * anew. */
void zkli_groups_go_on(struct zkli_engine *e);
/* All are; they are granted as soon as the lease is ample. */
bool zkli_group_is_admitted(const struct zkli_group *group);
/* Whether every member's create is to be sent now; if need be, behind that of its directory. */
bool zkli_group_is_gathered(const struct zkli_group *group);
/* Sends them; the directories' are sent. False: that could not be done, and *ret_result is the
 * answer. */
bool zkli_group_send(struct zkli_group *group, enum zkli_result *ret_result);
/* What the reply to the transaction means for the member in this place. */
struct zkli_reply zkli_group_reply_for(const struct zkli_group *group, size_t place,
                                       const struct zkli_reply *reply);

/* ---- Heartbeats and the lease (heartbeat.c) ---- */

void zkli_heartbeat_init(struct zkli_engine *e);
/* What begins with a connection. */
enum zkli_beginning {
    ZKLI_BEGINS_SESSION,
    ZKLI_BEGINS_CONNECTION, /* of the same session, which the servers have resumed */
    ZKLI_BEGINS_PERHAPS     /* or it is the connection of before */
};

/* There is a connection: the first heartbeat. */
void zkli_heartbeat_begin(struct zkli_engine *e, enum zkli_beginning beginning);
/* There is no connection any more. */
void zkli_heartbeat_suspend(struct zkli_engine *e);
/* The session is over. */
void zkli_heartbeat_end(struct zkli_engine *e);
/* A member is about to be added, or a visit has begun. */
void zkli_heartbeat_want(struct zkli_engine *e);
/* Sends one at once, if one is wanted and the pace would have it later. */
void zkli_heartbeat_hasten(struct zkli_engine *e);
/* m: whose node it checked, or NULL. */
void zkli_heartbeat_answered(struct zkli_engine *e, struct zkli_member *m,
                             const struct zkli_reply *reply);
/* A connection that was not reported may have another timeout, a shorter one. Called before an
 * answer is counted, so that none of that connection was counted yet. */
void zkli_heartbeat_note_timeout(struct zkli_engine *e);
/* An answer was lost, and perhaps a connection with it. */
void zkli_heartbeat_doubt(struct zkli_engine *e);
/* Ends the holds if the lease has run out since the last check; grants if it has become ample. */
void zkli_lease_check(struct zkli_engine *e);
/* A look that is due is not put off: heartbeats that are refused come more often than looks. */
void zkli_look_later(struct zkli_engine *e);

/* ---- Orphans (orphans.c) ---- */

/* The reply to a create in this directory was lost with its connection. */
void zkli_orphans_expect(struct zkli_dir *dir);
/* Looks through the listing if it may show orphans, and has members delete those of the session. */
void zkli_orphans_find(struct zkli_dir *dir, const struct zkli_listing *listing);
/* The session is over, and so are all nodes of it. */
void zkli_orphans_forget(struct zkli_engine *e);

/* ---- Succession (succession.c) ---- */

/* Opens a session to take this one's place, if a member waits for that; or goes without. Whether
 * one is to take that place now. */
bool zkli_succession_is_due(struct zkli_engine *e);
/* The best of them, which becomes the session; the others are closed. Without a port: there was
 * none. The next session is not kept, unless it is late. */
struct zkli_successor zkli_succession_take(struct zkli_engine *e);
/* All are closed. Contenders go on here, if they may. */
void zkli_succession_end(struct zkli_engine *e);
/* One of their ports is in this state. */
void zkli_succession_note_state(struct zkli_engine *e, const struct zkli_port *port,
                                enum zkli_port_state state);

/* ---- Life (life.c) ---- */

/* Lets another session take this one's place, if it is time. */
void zkli_life_go_on(struct zkli_engine *e);

#endif
