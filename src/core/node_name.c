/* node_name - see node_name.h. */
#include "core/node_name.h"

#include <assert.h>
#include <string.h>

#include "core/znode_path.h"

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_hex(char c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/*
 * Cuts the sequence off the end of the name: the server prints it with "%010d", so ten digits, or
 * a '-' and nine or ten. A '-' is a sign only where another separator stands before it, else it is
 * the separator. Returns the length of what is left, or 0 if there is no sequence.
 */
static size_t cut_sequence(const char *name, size_t length, int64_t *ret_sequence) {
    size_t digits = 0;
    while (digits < 10 && digits < length && is_digit(name[length - 1 - digits]))
        digits++;
    if (digits < 9)
        return 0;
    size_t left = length - digits;
    bool is_negative = left >= 2 && name[left - 1] == '-' &&
                       (name[left - 2] == '-' || name[left - 2] == '_');
    if (digits == 9 && !is_negative)
        return 0;
    int64_t value = 0;
    for (size_t i = left; i < length; i++)
        value = value * 10 + (name[i] - '0');
    *ret_sequence = is_negative ? -value : value;
    return is_negative ? left - 1 : left;
}

static bool ends_with(const char *text, size_t length, const char *end) {
    size_t end_length = strlen(end);
    return length >= end_length && memcmp(text + length - end_length, end, end_length) == 0;
}

/* "x-<session id in decimal or hex>-", the names of ZooKeeper's own lock recipes. */
static bool is_recipe_prefix(const char *name, size_t length) {
    if (length < 4 || name[0] != 'x' || name[1] != '-' || name[length - 1] != '-')
        return false;
    for (size_t i = 2; i < length - 1; i++)
        if (!is_hex(name[i]) && name[i] != '-') /* a decimal id may be negative */
            return false;
    return true;
}

/* What stands before the sequence in the names that we make, by kind. */
static const char *const ends[] = {
    [ZKLI_KIND_MUTEX] = "-lock-",
    [ZKLI_KIND_WRITE] = "-__WRIT__",
    [ZKLI_KIND_READ] = "-__READ__",
    [ZKLI_KIND_LEASE] = "-lease-",
};

static enum zkli_kind kind_of_prefix(const char *name, size_t length) {
    /* Curator and go-zookeeper take every name with "lock-" before the digits for a contender. */
    if (ends_with(name, length, "lock-"))
        return strncmp(name, "_c_", 3) == 0 ? ZKLI_KIND_MUTEX : ZKLI_KIND_FOREIGN;
    for (enum zkli_kind kind = ZKLI_KIND_WRITE; kind <= ZKLI_KIND_LEASE; kind++)
        if (ends_with(name, length, ends[kind]))
            return kind;
    bool is_foreign = ends_with(name, length, "__lock__") || ends_with(name, length, "__rlock__") ||
                      is_recipe_prefix(name, length);
    return is_foreign ? ZKLI_KIND_FOREIGN : ZKLI_KIND_NONE;
}

struct zkli_node_name zkli_node_name_parse(const char *child) {
    struct zkli_node_name parsed = {ZKLI_KIND_NONE, 0};
    size_t length = strlen(child);
    if (length > ZKLI_CHILD_MAX)
        return parsed;
    int64_t sequence = 0;
    size_t left = cut_sequence(child, length, &sequence);
    if (left == 0)
        return parsed;
    parsed.kind = kind_of_prefix(child, left);
    if (parsed.kind != ZKLI_KIND_NONE)
        parsed.sequence = sequence;
    return parsed;
}

/* What each name of a listing is asked for comes first, and the length of a few last. */
static bool begins_like_ours(const char *child) {
    return strncmp(child, "_c_", 3) == 0;
}

static bool is_as_short_as_ours(const char *child) {
    return strlen(child) <= ZKLI_OWN_CHILD_MAX;
}

bool zkli_node_name_has_uuid(const char *child, const char *uuid) {
    return begins_like_ours(child) && strncmp(child + 3, uuid, ZKLI_UUID_LENGTH) == 0 &&
           child[3 + ZKLI_UUID_LENGTH] == '-' && is_as_short_as_ours(child);
}

bool zkli_node_name_has_tag(const char *child, const char *tag) {
    return begins_like_ours(child) && strncmp(child + 3, tag, ZKLI_TAG_LENGTH) == 0 &&
           is_as_short_as_ours(child);
}

static char *put_hex(char *out, uint8_t byte) {
    static const char digits[] = "0123456789abcdef";
    *out++ = digits[byte >> 4];
    *out++ = digits[byte & 15];
    return out;
}

void zkli_tag_format(char ret_tag[ZKLI_TAG_LENGTH + 1], const uint8_t random[6]) {
    char *out = ret_tag;
    for (int i = 0; i < 6; i++) {
        if (i == 4)
            *out++ = '-';
        out = put_hex(out, random[i]);
    }
    *out = '\0';
}

/* The digit that says which version of uuids it is: 4, random, as Curator's; or 8, with a meaning
 * of our own. */
#define VERSION_AT (ZKLI_TAG_LENGTH + 1)
#define VERSION_RANDOM '4'
#define VERSION_KEPT '8'

void zkli_uuid_format(char ret_uuid[ZKLI_UUID_LENGTH + 1], const char *tag,
                      const uint8_t random[10]) {
    memcpy(ret_uuid, tag, ZKLI_TAG_LENGTH);
    char *out = ret_uuid + ZKLI_TAG_LENGTH;
    for (int i = 0; i < 10; i++) {
        if (i == 0 || i == 2 || i == 4)
            *out++ = '-';
        out = put_hex(out, random[i]);
    }
    *out = '\0';
    ret_uuid[VERSION_AT] = VERSION_RANDOM;
}

void zkli_uuid_mark_kept(char uuid[ZKLI_UUID_LENGTH + 1]) {
    uuid[VERSION_AT] = VERSION_KEPT;
}

bool zkli_node_name_may_be_kept(const char *child) {
    return begins_like_ours(child) && is_as_short_as_ours(child) &&
           strlen(child) >= 3 + ZKLI_UUID_LENGTH && child[3 + VERSION_AT] == VERSION_KEPT;
}

bool zkli_uuid_is_same(const char *a, const char *b) {
    return strncmp(a, b, VERSION_AT) == 0 && strcmp(a + VERSION_AT + 1, b + VERSION_AT + 1) == 0;
}

void zkli_node_prefix_format(char ret_prefix[ZKLI_PREFIX_MAX + 1], enum zkli_kind kind,
                             const char *uuid) {
    memcpy(ret_prefix, "_c_", 3);
    memcpy(ret_prefix + 3, uuid, ZKLI_UUID_LENGTH);
    memcpy(ret_prefix + 3 + ZKLI_UUID_LENGTH, ends[kind], strlen(ends[kind]) + 1);
}

bool zkli_node_name_may_turn(const char *child) {
    const size_t at = 3 + ZKLI_UUID_LENGTH;
    const char *writer = ends[ZKLI_KIND_WRITE];
    return is_as_short_as_ours(child) && strlen(child) > at &&
           strncmp(child + at, writer, strlen(writer)) == 0;
}

void zkli_node_name_turn(char ret_child[ZKLI_OWN_CHILD_MAX + 1], const char *child) {
    const size_t at = 3 + ZKLI_UUID_LENGTH;
    const char *reader = ends[ZKLI_KIND_READ];
    assert(zkli_node_name_may_turn(child));
    memcpy(ret_child, child, strlen(child) + 1);
    memcpy(ret_child + at, reader, strlen(reader)); /* as long as a writer's */
}

size_t zkli_node_name_length(enum zkli_kind kind) {
    return 3 + ZKLI_UUID_LENGTH + strlen(ends[kind]) + 10;
}

static bool is_contender(const char *name, size_t length) {
    char child[ZKLI_LOCK_NAME_MAX + 1];
    memcpy(child, name, length);
    child[length] = '\0';
    return zkli_node_name_parse(child).kind != ZKLI_KIND_NONE;
}

bool zkli_lock_name_is_valid(const char *name) {
    if (strlen(name) > ZKLI_LOCK_NAME_MAX || !zkli_names_are_valid(name))
        return false;
    for (const char *slash; (slash = strchr(name, '/')) != NULL; name = slash + 1)
        if (is_contender(name, (size_t)(slash - name)))
            return false;
    return !is_contender(name, strlen(name));
}

bool zkli_root_is_valid(const char *root) {
    if (root[0] != '/')
        return false;
    return root[1] == '\0' || zkli_lock_name_is_valid(root + 1);
}
