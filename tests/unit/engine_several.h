/*
 * engine_several - several contenders at once on the engine bench: mutexes of three names, for one
 * thread. Not here: the server's part of their transaction (engine_bench.h).
 */
#ifndef UNIT_ENGINE_SEVERAL_H
#define UNIT_ENGINE_SEVERAL_H

#include "unit/engine_bench.h"

#define SEVERAL 3

extern const char *const Names[SEVERAL];
extern struct owner *Owners; /* of the group that was begun last */

/* ---- Groups ---- */

/* The owners stand in the order of the wishes. Not ZKL_OK: there are none. */
zkl_err enter_all_by(const struct zkli_wish *wishes, size_t count, struct owner **ret_owners);
/* Mutexes of these names, SEVERAL at most. */
zkl_err enter_all(const char *const *names, size_t count, bool is_try, struct owner **ret_owners);

/* ---- The beginning ---- */

/* Of the locks of those names. */
void plant_directories(void);
/* What is in flight begins with their first request. */
void begin_several(bool is_try);
/* On a new bench; their directories are there, and their transaction is under way. */
void begin_all(void);
/* The same, and they wait: another client's node is the first of the first one's queue. */
void begin_behind_another(void);
/* On a new bench: another client's nodes are first in all queues but one, which is free. */
void begin_behind_two(size_t free_one, char ret_paths[SEVERAL][NODE_PATH_MAX]);

/* ---- What has come of it ---- */

/* Nodes in those directories. */
size_t nodes(void);
size_t grants(void);
size_t in_flight(enum kind kind);
/* Whether all are in this state. */
bool are(enum zkli_contender_state state);
/* All hold, by nodes of one attempt. */
void check_granted(void);
/* All were told this, and nothing is left of them. */
void check_failed(zkl_err error);

/* ---- Their transaction ---- */

/* Takes it, when all that was asked for before is served. */
struct request await_multi(void);
/* One operation was refused. */
void refuse(const struct request *request, size_t place, enum zkli_result result);

#endif
