/*
 * One case of the matrix: a protagonist, whose session goes through a proxy of its own in which one
 * fault strikes at one frame; a holder, a waiter and perhaps one more, whose session goes straight
 * to the server. All use one lock that nobody else has.
 *
 * Cases run in many threads at once, so nothing of CUnit is in here: a step returns false when the
 * case is over, and the first play_fail says why.
 */
#ifndef FAULT_PLAY_H
#define FAULT_PLAY_H

#include <stdatomic.h>

#include "support/fixture.h"

typedef enum fault_mode {
    FAULT_NONE, /* to see which frames there are */
    FAULT_CUT_BEFORE,
    FAULT_CUT_AFTER,
    FAULT_STALL_SHORT, /* T/3 */
    FAULT_STALL_LONG,  /* 5T/6 */
    FAULT_HALF_OPEN,
    FAULT_BLACKOUT,     /* 2T without anything either way */
    FAULT_SERVER_SHORT, /* the server stops, with the frame under way, for less than T/3 */
    FAULT_SERVER_LONG,  /* it stops or dies */
    FAULT_MODES
} fault_mode;

/* Which frame: the nth of its kind in a direction. */
typedef struct frame_point {
    proxy_direction direction;
    proxy_kind kind;
    size_t nth;
} frame_point;

typedef enum role {
    PROTAGONIST,
    HOLDER,     /* before it, where the lock is taken */
    FORERUNNER, /* behind that, and before it: a semaphore's */
    WAITER,     /* behind it */
    ROLES
} role;

typedef struct play play;

typedef struct scenario {
    const char *name;
    bool (*run)(play *p);
    bool (*enter)(play *p); /* opens the session; NULL: one of the library's */
    void (*leave)(play *p); /* after its close, in the end; or NULL */
    zkl_kind kinds[ROLES];  /* [mutexes] */
    bool is_taken;          /* the holder holds when the protagonist comes */
    int permits;            /* of a semaphore's; 0: of another kind */
    bool is_resized;        /* by the holder; then the protagonist says no number */
    bool has_forerunner;    /* holds, too, as a reader or by a second permit; else it waits */
    int linger_ms;          /* of the protagonist's handle */
    bool wants_to_know;     /* the protagonist, that others wait for it */
    bool takes_several;     /* the protagonist, at once: that lock, and MORE that nobody wants */
    bool has_no_directory;  /* the protagonist has to make it */
    bool is_close;          /* its end is the session's */
    bool loses_its_place;   /* by itself, without a fault */
    bool loses_its_hold;    /* likewise */
    size_t beats;           /* heartbeats that are frames of it; later ones come by time */
    size_t pings;           /* the client's own, likewise; then the session beats lazily */
} scenario;

/* What a worker uses for one case after the other. */
typedef struct crew {
    zkl_session *session; /* of all but the protagonist */
    zkl_lock *kept;       /* by that session, which so has a good lease whenever a case begins */
    raw *raw;             /* to look at nodes with; all crews have the same */
    actor *actors[ROLES];
} crew;

typedef struct part {
    play *play;
    actor *actor;
    zkl_lock *lock;
    int64_t timeout_ms;
    _Atomic zkl_hold hold;      /* the newest */
    _Atomic int64_t token;      /* of that */
    _Atomic int64_t granted_ns; /* when it was first held with that token */
} part;

enum {
    TRACE_MAX = 128,
    MORE = 2 /* locks, where several are acquired at once */
};

struct play {
    const scenario *scenario;
    fault_mode mode;
    frame_point point;
    crew *crew;
    int timeout_ms, stall_ms;
    char title[160], name[64], dir[RAW_PATH_MAX];
    proxy *proxy;
    zkl_session *session;
    struct _zhandle *handle; /* of the protagonist's program; or NULL */
    int64_t handle_ms;       /* CLOCK_BOOTTIME, before it was made */
    events *events;
    part parts[ROLES];
    size_t more_count;           /* 0: the protagonist acquires the one lock alone */
    zkl_lock *several[1 + MORE]; /* that it acquires at once; the first is its part's */
    char more_dirs[MORE][RAW_PATH_MAX];
    const atomic_bool *server_is_back; /* for FAULT_SERVER_ */
    int64_t given_up_ns;               /* by whoever had the lock last */
    bool has_waiter;                   /* one that has not been served yet */
    atomic_size_t holders_max;         /* so many may hold together */
    atomic_bool had_too_many;
    bool is_missed;               /* the frame of the fault never came */
    char failure[512];            /* "": none */
    proxy_frame trace[TRACE_MAX]; /* FAULT_NONE: the scenario's frames */
    size_t trace_count;
};

/* Ours and the client library's calls come back by then, whatever happens. */
#define LIMIT_MS 40000
/* What a busy machine may take beyond what a figure allows for. */
#define SLACK_MS 5000

/* Printed in tables: "cut before". */
const char *fault_mode_name(fault_mode mode);
/* Whether nobody may notice it but by the time it takes: no hold and no place is lost. */
bool play_is_gentle(const play *p);

void play_init(play *p);
void play_fini(play *p);
/*
 * scenario, mode, point, crew, timeout_ms, stall_ms, title and name are set. Runs the scenario from
 * the first frame to the last check.
 */
void play_run(play *p);
/* Lets a frame that was held for a FAULT_SERVER_ go on. */
void play_let_go(play *p);

/* ---- for scenarios ---- */

/* The protagonist's, on its session. */
bool play_open_lock(play *p);
void play_close_lock(play *p);

__attribute__((format(printf, 2, 3))) bool play_fail(play *p, const char *format, ...);
/* False, and the case has failed, if the condition is not met within ms. */
bool play_await(play *p, bool (*is_met)(play *), int64_t ms, const char *what);
/*
 * The same, where the fault may come before. If neither comes, because a busy machine has cost the
 * session its connection, or because of a defect, the case is missed and will be repeated.
 */
bool play_await_frame(play *p, bool (*is_met)(play *), const char *what);
/* From here on frames are not the scenario's. */
void play_frames_end(play *p);

bool play_has_struck(play *p);
/* The fault has struck; if it never does, the case is missed. */
bool play_await_strike(play *p);
/* It has struck and is over, and the protagonist's session is connected again. */
bool play_await_fault(play *p);

/* Begins an acquire; its result. */
void play_bid(play *p, role who, int64_t timeout_ms);
zkl_err play_result(play *p, role who, int64_t wait_ms);
bool play_is_valid(play *p, role who);
/* By the protagonist, of all that it holds. */
zkl_err play_release(play *p);
zkl_err play_release_wait(play *p);
bool play_waiter_joins(play *p);
/* The waiter gets the lock in time after it was given up, and gives it up. */
bool play_waiter_is_served(play *p);
/* The holder comes after the protagonist, whose node is idle, and has the lock in time. It waits,
 * or with a timeout of 0 it tries again and again. */
bool play_holder_comes(play *p, int64_t timeout_ms);
bool play_holder_leaves(play *p);
/* It waits for the forerunner's grant first. */
bool play_forerunner_leaves(play *p);
/* The protagonist's bid succeeds in time, and the lock is really its own. */
bool play_await_grant(play *p);
bool play_check_ours(play *p);

size_t play_nodes(play *p); /* in the directory */
/* Of the protagonist's session: in each directory, or PLAY_TORN. */
size_t play_ours(play *p);
#define PLAY_TORN 1000 /* not as many in each */
/* How soon the next must have the lock, whatever has become of its holder. */
int64_t play_in_time_ms(const play *p);

#endif
