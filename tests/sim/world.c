/* world - time, randomness, names, data and trees, messages; see sim.h. */
#include "sim/sim.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *const fault_names[FAULT_KINDS] = {
    [FAULT_DISCONNECT] = "disconnect",
    [FAULT_LOST_REPLY] = "lost reply",
    [FAULT_LOST_REQUEST] = "lost request",
    [FAULT_EXPIRY] = "expiry",
    [FAULT_SILENCE] = "silent connection",
    [FAULT_CUT_OFF_FOLLOWER] = "cut-off follower",
    [FAULT_DEPOSED_LEADER] = "deposed leader",
    [FAULT_STALLED_SERVER] = "stalled server",
    [FAULT_TURNING_STALL] = "stall that turns round",
    [FAULT_STALLED_LOG] = "stalled log",
    [FAULT_SILENT_SERVER] = "silent server",
    [FAULT_CRASHED_SERVER] = "crashed server",
    [FAULT_LAGGING_FOLLOWER] = "lagging follower",
    [FAULT_PAUSE] = "paused client",
    [FAULT_OPERATOR] = "node deleted by an operator",
    [FAULT_PARENT_REAPED] = "parent reaped",
    [FAULT_CANCEL] = "cancel",
    [FAULT_CLOSE] = "session closed",
    [FAULT_LOCK_CLOSE] = "lock closed",
    [FAULT_KILL] = "client killed",
    [FAULT_THROTTLE] = "request throttled",
    [FAULT_DENIAL] = "heartbeats denied",
    [FAULT_REFUSAL] = "sends refused",
    [FAULT_FORGOTTEN_STATE] = "state not told",
    [FAULT_LATE_PINGS] = "late pings",
    [FAULT_LOST_TOUCH] = "heartbeat lost by a server",
    [FAULT_TOLD_LATE] = "session told of late",
};

const char *const checker_names[CHECKERS] = {
    [CHECK_EXCLUSION] = "exclusion", [CHECK_BACKING] = "backing",
    [CHECK_LEASE] = "lease",         [CHECK_TOKENS] = "tokens",
    [CHECK_ORDER] = "order",         [CHECK_GHOSTS] = "ghosts",
    [CHECK_WATCHES] = "watches",     [CHECK_WAKES] = "wakes",
    [CHECK_DEADLINES] = "deadlines", [CHECK_LIVENESS] = "liveness",
    [CHECK_ADMISSION] = "admission", [CHECK_LOSS] = "loss",
    [CHECK_DELETES] = "deletes",     [CHECK_WRITES] = "writes",
    [CHECK_KEPT] = "kept",           [CHECK_TURNS] = "turns",
    [CHECK_PERMITS] = "permits",     [CHECK_LINGER] = "linger",
    [CHECK_TOGETHER] = "together",   [CHECK_WANTED] = "wanted",
    [CHECK_SINCE] = "since",         [CHECK_BREAKS] = "breaks",
    [CHECK_ASKS] = "asks",           [CHECK_ATTACHED] = "attached",
    [CHECK_OWNERS] = "owners",
};

/* ---- Randomness and time ---- */

uint64_t world_random(struct world *w) {
    w->random += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = w->random;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

unsigned world_below(struct world *w, unsigned n) {
    return (unsigned)(((world_random(w) >> 32) * n) >> 32);
}

int64_t world_between(struct world *w, int64_t low, int64_t high) {
    return low + (int64_t)(world_random(w) % (uint64_t)(high - low + 1));
}

bool world_chance(struct world *w, unsigned percent) {
    return world_below(w, 100) < percent;
}

int64_t clock_local(int64_t now_ns, int ppm, int64_t offset_ns) {
    return offset_ns + now_ns + now_ns / 1000000 * ppm;
}

int64_t clock_real(int64_t local_ns, int ppm, int64_t offset_ns) {
    int64_t real_ns = (local_ns - offset_ns) / (1000000 + ppm) * 1000000;
    while (clock_local(real_ns, ppm, offset_ns) < local_ns)
        real_ns += 1000000;
    return real_ns;
}

/* ---- Events: a binary heap ---- */

static bool is_before(const struct event *a, const struct event *b) {
    return a->at != b->at ? a->at < b->at : a->order < b->order;
}

void world_at(struct world *w, int64_t at, enum event_kind kind, unsigned a, unsigned b) {
    if (w->heap_count == w->heap_max) {
        w->heap_max = w->heap_max == 0 ? 1024 : 2 * w->heap_max;
        w->heap = realloc(w->heap, w->heap_max * sizeof(*w->heap));
        if (w->heap == NULL)
            abort();
    }
    struct event event = {at < w->now_ns ? w->now_ns : at, w->order++, (uint16_t)kind, (uint16_t)a,
                          b};
    size_t i = w->heap_count++;
    while (i > 0 && is_before(&event, &w->heap[(i - 1) / 2])) {
        w->heap[i] = w->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    w->heap[i] = event;
}

bool world_next(struct world *w, struct event *ret) {
    if (w->heap_count == 0)
        return false;
    *ret = w->heap[0];
    struct event last = w->heap[--w->heap_count];
    size_t i = 0;
    for (;;) {
        size_t child = 2 * i + 1;
        if (child >= w->heap_count)
            break;
        if (child + 1 < w->heap_count && is_before(&w->heap[child + 1], &w->heap[child]))
            child++;
        if (!is_before(&w->heap[child], &last))
            break;
        w->heap[i] = w->heap[child];
        i = child;
    }
    w->heap[i] = last;
    return true;
}

/* ---- Telling ---- */

void world_trace(const struct world *w, const char *format, ...) {
    va_list args;
    printf("[%10.4f] ", (double)w->now_ns / 1e9);
    va_start(args, format);
    (void)vprintf(format, args);
    va_end(args);
    (void)putchar('\n');
}

void world_violate(struct world *w, enum checker checker, const char *format, ...) {
    if (w->is_violated)
        return;
    va_list args;
    va_start(args, format);
    (void)vsnprintf(w->violation, sizeof(w->violation), format, args);
    va_end(args);
    w->is_violated = true;
    w->checker = checker;
    TRACE(w, "VIOLATION of %s: %s", checker_names[checker], w->violation);
}

/* ---- Names ---- */

static unsigned hash_of(const char *text, size_t length) {
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 16777619u;
    return hash ^ (hash >> 15);
}

static int name_of(struct world *w, const char *text, size_t length) {
    unsigned size = NAMES_MAX * 2;
    unsigned at = hash_of(text, length) % size;
    for (; w->name_table[at] != 0; at = (at + 1) % size) {
        const struct name *name = &w->names[w->name_table[at]];
        if (strncmp(name->text, text, length) == 0 && name->text[length] == '\0')
            return w->name_table[at];
    }
    int number = w->name_count++;
    assert(number < NAMES_MAX && length < sizeof(w->names[0].text));
    w->name_table[at] = (int16_t)number;
    struct name *name = &w->names[number];
    *name = (struct name){.parent = NONE, .lock = NONE, .client = NONE};
    memcpy(name->text, text, length);
    name->text[length] = '\0';
    size_t end = length - 1;
    while (end > 0 && text[end] != '/')
        end--;
    if (end > 0)
        name->parent = name_of(w, text, end);
    for (int i = 0; i < LOCKS_MAX; i++)
        if (w->dirs[i] != 0 && name->parent == w->dirs[i])
            name->lock = i;
    if (name->lock != NONE)
        name->kind = zkli_node_name_parse(name->text + end + 1).kind;
    return number;
}

int world_name(struct world *w, const char *path) {
    return name_of(w, path, strlen(path));
}

/* ---- Data ---- */

static int text_of(struct world *w, const char *bytes, size_t length) {
    unsigned size = TEXTS_MAX * 2;
    unsigned at = hash_of(bytes, length) % size;
    for (; w->text_table[at] != 0; at = (at + 1) % size) {
        const struct text *text = &w->texts[w->text_table[at]];
        if ((size_t)text->length == length && memcmp(text->bytes, bytes, length) == 0)
            return w->text_table[at];
    }
    int number = w->text_count++;
    assert(number < TEXTS_MAX && length < sizeof(w->texts[0].bytes));
    w->text_table[at] = (int16_t)number;
    struct text *text = &w->texts[number];
    text->length = (int)length;
    memcpy(text->bytes, bytes, length);
    text->bytes[length] = '\0';
    return number;
}

bool world_has_text(const struct world *w, int name) {
    for (int i = 0; i < LOCKS_MAX; i++)
        if (name == w->registers[i] || name == w->marks[i])
            return false;
    return true;
}

int world_data(struct world *w, int name, const void *bytes, int length) {
    int number = 0;
    if (length <= 0)
        return 0;
    if (world_has_text(w, name))
        return text_of(w, bytes, (size_t)length);
    memcpy(&number, bytes, sizeof(number));
    return number;
}

const char *world_data_read(const struct world *w, int name, int data, size_t *ret_length) {
    static char written[ZKL_GUARDED_SET_MAX]; /* as a writer has written it */
    if (world_has_text(w, name)) {
        *ret_length = (size_t)w->texts[data].length;
        return w->texts[data].bytes;
    }
    memcpy(written, &data, sizeof(data));
    *ret_length = w->writes[data].size;
    return written;
}

/* ---- Trees ---- */

struct znode *tree_find(struct tree *tree, int name) {
    for (int i = 0; i < tree->count; i++)
        if (tree->nodes[i].name == name)
            return &tree->nodes[i];
    return NULL;
}

static void tree_remove(struct world *w, struct tree *tree, struct znode *node, int64_t zxid) {
    struct znode *parent = tree_find(tree, w->names[node->name].parent);
    if (parent != NULL)
        parent->pzxid = zxid;
    *node = tree->nodes[--tree->count];
}

/* A number that would be smaller is not taken over: so the counter stays at its end, and pzxid as
 * it was (DataTree.createNode). */
static void note_child(struct znode *parent, const struct txn *txn, int index, bool is_prepared) {
    if (is_prepared || txn->counter > parent->counter) {
        parent->counter = txn->counter;
        parent->pzxid = txn->zxid;
    }
    parent->touched_by = index;
}

struct txn txn_part(const struct txn *txn, int index) {
    static const enum txn_type types[] = {
        [ZKLI_OP_CHECK] = TXN_ERROR,
        [ZKLI_OP_CREATE] = TXN_CREATE,
        [ZKLI_OP_SET] = TXN_SET,
        [ZKLI_OP_DELETE] = TXN_DELETE,
    };
    const struct part *part = &txn->parts[index];
    struct txn one = *txn;
    one.type = (uint8_t)types[part->type];
    one.name = part->name;
    one.data = part->data;
    one.counter = part->counter;
    if (part->type == ZKLI_OP_CREATE && !part->is_ephemeral)
        one.session = 0;
    return one;
}

bool parts_turn(const struct world *w, const struct part *parts, int count) {
    return count == 3 && parts[0].type == ZKLI_OP_SET && w->names[parts[0].name].lock != NONE;
}

void tree_apply(struct world *w, struct tree *tree, const struct txn *txn, int index) {
    struct znode *node;
    switch ((enum txn_type)txn->type) {
    case TXN_CREATE: {
        struct znode *parent = tree_find(tree, w->names[txn->name].parent);
        if (parent != NULL)
            note_child(parent, txn, index, tree == &w->prepared);
        assert(tree->count < NODES_MAX);
        bool is_lock_dir = txn->name == w->dirs[0] || txn->name == w->dirs[1];
        tree->nodes[tree->count++] = (struct znode){
            .name = txn->name,
            .session = txn->session,
            .is_container = txn->is_container,
            .data = txn->data,
            .czxid = txn->zxid,
            .mzxid = txn->zxid,
            .pzxid = txn->zxid,
            .counter = is_lock_dir ? w->counter_start : 0,
            .touched_by = index,
        };
        break;
    }
    case TXN_DELETE:
        node = tree_find(tree, txn->name);
        assert(node != NULL);
        tree_remove(w, tree, node, txn->zxid);
        break;
    case TXN_SET:
        node = tree_find(tree, txn->name);
        assert(node != NULL);
        node->data = txn->data;
        node->version++;
        node->mzxid = txn->zxid;
        break;
    case TXN_MULTI:
        for (int i = 0; i < txn->part_count; i++) {
            struct txn one = txn_part(txn, i);
            tree_apply(w, tree, &one, index);
        }
        break;
    case TXN_OPEN:
        tree->is_alive[txn->session] = true;
        break;
    case TXN_CLOSE:
        for (int i = tree->count - 1; i >= 0; i--)
            if (tree->nodes[i].session == txn->session)
                tree_remove(w, tree, &tree->nodes[i], txn->zxid);
        tree->is_alive[txn->session] = false;
        break;
    case TXN_ERROR:
        break;
    }
}

/* ---- Messages ---- */

int message_new(struct world *w, int kind) {
    int number = w->free_message;
    if (number == NONE)
        number = w->messages_used++;
    else
        w->free_message = w->messages[number].next;
    assert(number < MESSAGES_MAX);
    struct message *message = &w->messages[number];
    memset(message, 0, offsetof(struct message, list));
    message->next = NONE;
    message->kind = (uint8_t)kind;
    message->conn = NONE;
    return number;
}

void message_free(struct world *w, int message) {
    w->messages[message].stands_at = 0;
    w->messages[message].next = w->free_message;
    w->free_message = message;
}

void list_init(struct list *list) {
    list->first = list->last = NONE;
}

void list_push(struct world *w, struct list *list, int message) {
    w->messages[message].next = NONE;
    if (list->first == NONE)
        list->first = message;
    else
        w->messages[list->last].next = message;
    list->last = message;
}

int list_pop(struct world *w, struct list *list) {
    int message = list->first;
    if (message == NONE)
        return NONE;
    list->first = w->messages[message].next;
    if (list->first == NONE)
        list->last = NONE;
    return message;
}

void list_clear(struct world *w, struct list *list) {
    int message;
    while ((message = list_pop(w, list)) != NONE)
        message_free(w, message);
}

/* ---- Life ---- */

struct world *world_new(void) {
    struct world *w = calloc(1, sizeof(*w));
    if (w == NULL)
        abort();
    w->names = calloc(NAMES_MAX, sizeof(*w->names));
    w->texts = calloc(TEXTS_MAX, sizeof(*w->texts));
    w->log = calloc(LOG_MAX, sizeof(*w->log));
    w->messages = calloc(MESSAGES_MAX, sizeof(*w->messages));
    if (w->names == NULL || w->texts == NULL || w->log == NULL || w->messages == NULL)
        abort();
    return w;
}

void world_free(struct world *w) {
    free(w->names);
    free(w->texts);
    free(w->log);
    free(w->messages);
    free(w->heap);
    free(w);
}

void world_reset(struct world *w, uint64_t seed) {
    struct event *heap = w->heap;
    size_t heap_max = w->heap_max;
    struct name *names = w->names;
    struct text *texts = w->texts;
    struct txn *log = w->log;
    struct message *messages = w->messages;
    memset(w, 0, sizeof(*w));
    w->heap = heap;
    w->heap_max = heap_max;
    w->names = names;
    w->texts = texts;
    w->log = log;
    w->messages = messages;
    w->free_message = NONE;
    w->seed = w->random = seed;
    w->name_count = w->text_count = 1;
    w->leader = NONE;
    w->keeper = NONE;
    for (unsigned i = 0; i < SERVERS; i++)
        for (unsigned j = 0; j < SERVERS; j++)
            list_init(&w->links[i][j].list);
}
