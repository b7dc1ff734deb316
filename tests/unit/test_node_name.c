/* Names under a lock's directory: every library's, nobody's, and those meant to do harm. */
#include "core/node_name.h"

#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/main.h"
#include "support/wait.h"

#define UUID "0a1b2c3d-4e5f-4061-8273-8495a6b7c8d9"
#define HEX32 "0a1b2c3d4e5f406182738495a6b7c8d9"

struct sample {
    const char *name;
    enum zkli_kind kind;
    int64_t sequence;
};

static const struct sample contenders[] = {
    /* Ours and Curator's InterProcessMutex. */
    {"_c_" UUID "-lock-0000000000", ZKLI_KIND_MUTEX, 0},
    {"_c_" UUID "-lock-0000000042", ZKLI_KIND_MUTEX, 42},
    {"_c_" UUID "-lock-2147483647", ZKLI_KIND_MUTEX, 2147483647},
    {"_c_" UUID "-lock--2147483648", ZKLI_KIND_MUTEX, -INT64_C(2147483648)},
    {"_c_" UUID "-lock--000000001", ZKLI_KIND_MUTEX, -1},
    /* go-zookeeper's, both of them. */
    {"_c_" HEX32 "-lock-0000000007", ZKLI_KIND_MUTEX, 7},
    {"_c_" HEX32 "-lock--000000007", ZKLI_KIND_MUTEX, -7},
    /* Curator's other recipes. */
    {"_c_" UUID "-__READ__0000000003", ZKLI_KIND_READ, 3},
    {"_c_" UUID "-__READ__-000000003", ZKLI_KIND_READ, -3},
    {"_c_" UUID "-__WRIT__0000000004", ZKLI_KIND_WRITE, 4},
    {"_c_" UUID "-__WRIT__-2147483648", ZKLI_KIND_WRITE, -INT64_C(2147483648)},
    {"_c_" UUID "-lease-0000000005", ZKLI_KIND_LEASE, 5},
    {"_c_" UUID "-lease--000000005", ZKLI_KIND_LEASE, -5},
    {"lock-0000000006", ZKLI_KIND_FOREIGN, 6}, /* without protection */
    {"lock--000000006", ZKLI_KIND_FOREIGN, -6},
    /* kazoo's Lock, WriteLock, ReadLock. */
    {HEX32 "__lock__0000000008", ZKLI_KIND_FOREIGN, 8},
    {HEX32 "__lock__-000000008", ZKLI_KIND_FOREIGN, -8},
    {HEX32 "__lock__-2147483648", ZKLI_KIND_FOREIGN, -INT64_C(2147483648)},
    {HEX32 "__rlock__0000000009", ZKLI_KIND_FOREIGN, 9},
    {HEX32 "__rlock__-000000009", ZKLI_KIND_FOREIGN, -9},
    /* ZooKeeper's own recipes: Java prints the session in decimal, C in hex. */
    {"x-72057594037927936-0000000010", ZKLI_KIND_FOREIGN, 10},
    {"x--8070450532247928832-0000000011", ZKLI_KIND_FOREIGN, 11},
    {"x-010000000000000a-0000000012", ZKLI_KIND_FOREIGN, 12},
    {"x-010000000000000A--000000012", ZKLI_KIND_FOREIGN, -12},
    /* Nobody's, yet contenders to whoever reads the end of the name only. */
    {"x-1-9999999999", ZKLI_KIND_FOREIGN, INT64_C(9999999999)},
    {"x-1--9999999999", ZKLI_KIND_FOREIGN, -INT64_C(9999999999)},
    {"_c_lock-0000000001", ZKLI_KIND_MUTEX, 1},
    {"\xff\xfelock-0000000001", ZKLI_KIND_FOREIGN, 1},
    {"\xd0\xb7\xd0\xb0\xd0\xbclock-0000000001", ZKLI_KIND_FOREIGN, 1},
    {"\x01\n\x1block-0000000001", ZKLI_KIND_FOREIGN, 1},
};

static const char *const others[] = {
    "",
    "-",
    "_",
    "x",
    "x-",
    "_c_",
    "0",
    "0000000001",
    "-0000000001",
    "--000000001",
    "00000000000000000001",
    "9999999999999999999999999999999999999999",
    "lock",
    "lock-",
    "readme",
    "config.json",
    "locks",
    "leases",
    "lock-1",
    "lock-000000001",   /* nine digits and no sign */
    "lock--00000001",   /* eight after a sign */
    "lock-00000000001", /* eleven */
    "lock--00000000001",
    "lock---000000001",
    "lock-+000000001",
    "lock- 000000001",
    "lock-0x00000001",
    "lock-000000000a",
    "lock-0000000001 ",
    "lock-0000000001\n",
    "lock0000000001",
    "LOCK-0000000001",
    "lock_-000000001",
    "_c_" UUID "-lock-000000001",
    "_c_" UUID "-lock-",
    "_c_" UUID "-0000000001",
    "_c_" UUID "-__READ_0000000001",
    "__READ__0000000001", /* Curator's always follow a '-' */
    "-__read__0000000001",
    "lease-0000000001",
    HEX32, /* kazoo's semaphore: no sequence */
    "0a1b2c3d4e5f40618273840123456789",
    HEX32 "__wlock__0000000001",
    HEX32 "_lock_0000000001",
    HEX32 "__lock__000000001",
    "x-0000000001",
    "x--0000000001",
    "x--000000001",
    "y-12-0000000001",
    "x_12-0000000001",
    "xx12-0000000001",
    "x-12g-0000000001",
    "x-12_0000000001",
    "x-12-00000000001",
    "zklock-barrier-of-no-node",
    "\xff",
    "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80",
    "lock-\xd9\xa0\xd9\xa1\xd9\xa2\xd9\xa3\xd9\xa4", /* digits, though not ASCII's */
};

/* On the heap without a byte to spare, so that a sanitizer sees a look behind the end. */
static char *exactly(const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = malloc(size);
    if (copy == NULL)
        abort();
    memcpy(copy, text, size);
    return copy;
}

static struct zkli_node_name parse(const char *name) {
    char *copy = exactly(name);
    struct zkli_node_name parsed = zkli_node_name_parse(copy);
    free(copy);
    return parsed;
}

static void expect(const char *name, enum zkli_kind kind, int64_t sequence) {
    struct zkli_node_name parsed = parse(name);
    if (parsed.kind != kind || parsed.sequence != sequence)
        test_note("\"%.60s\" is kind %d with %" PRId64, name, parsed.kind, parsed.sequence);
    CHECK(parsed.kind == kind);
    CHECK(parsed.sequence == sequence);
}

/* T33, T37 */
static void every_library_s_contenders_are_told_with_kind_and_sequence(void) {
    for (size_t i = 0; i < COUNT(contenders); i++)
        expect(contenders[i].name, contenders[i].kind, contenders[i].sequence);
}

/* T32 */
static void any_other_child_is_no_contender(void) {
    for (size_t i = 0; i < COUNT(others); i++)
        expect(others[i], ZKLI_KIND_NONE, 0);
}

static void a_name_longer_than_any_library_s_is_no_contender(void) {
    static const char end[] = "lock-0000000001";
    static const size_t lengths[] = {ZKLI_CHILD_MAX, ZKLI_CHILD_MAX + 1, 10000};
    for (size_t i = 0; i < COUNT(lengths); i++) {
        char name[10001];
        memset(name, 'a', lengths[i]);
        memcpy(name + lengths[i] - strlen(end), end, sizeof(end));
        bool is_short = lengths[i] <= ZKLI_CHILD_MAX;
        expect(name, is_short ? ZKLI_KIND_FOREIGN : ZKLI_KIND_NONE, is_short ? 1 : 0);
    }
    char digits[10001];
    memset(digits, '1', 10000);
    digits[10000] = '\0';
    expect(digits, ZKLI_KIND_NONE, 0);
    digits[ZKLI_CHILD_MAX] = '\0';
    expect(digits, ZKLI_KIND_NONE, 0);
}

/* ---- The parser against the same rules as regular expressions ---- */

#define NUMBER "([0-9]{10}|-[0-9]{9,10})$"

static const struct {
    const char *expression;
    enum zkli_kind kind;
} rules[] = {
    {"^_c_.*lock-" NUMBER, ZKLI_KIND_MUTEX},
    {"lock-" NUMBER, ZKLI_KIND_FOREIGN},
    {"-__WRIT__" NUMBER, ZKLI_KIND_WRITE},
    {"-__READ__" NUMBER, ZKLI_KIND_READ},
    {"-lease-" NUMBER, ZKLI_KIND_LEASE},
    {"__r?lock__" NUMBER, ZKLI_KIND_FOREIGN},
    {"^x-[-0-9a-fA-F]+-(-[0-9]{9,10})$", ZKLI_KIND_FOREIGN},
    {"^x-[-0-9a-fA-F]*[0-9a-fA-F]-([0-9]{10})$", ZKLI_KIND_FOREIGN},
};

static struct zkli_node_name read_by_rules(regex_t *expressions, const char *name) {
    struct zkli_node_name result = {ZKLI_KIND_NONE, 0};
    regmatch_t match[2];
    if (strlen(name) > ZKLI_CHILD_MAX)
        return result;
    for (size_t i = 0; i < COUNT(rules); i++)
        if (regexec(&expressions[i], name, 2, match, 0) == 0) {
            result.kind = rules[i].kind;
            result.sequence = strtoll(name + match[1].rm_so, NULL, 10);
            return result;
        }
    return result;
}

static uint64_t next_random(uint64_t *state) {
    *state += UINT64_C(0x9e3779b97f4a7c15);
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    return z ^ (z >> 27);
}

/* Replaces, inserts or removes one byte; keeps it a string. */
static void damage(char *name, size_t size, uint64_t *random) {
    static const char bytes[] = "0123456789--__xcaflockREADWITes\xff\x01 ";
    size_t length = strlen(name);
    size_t at = length == 0 ? 0 : next_random(random) % length;
    char byte = bytes[next_random(random) % (sizeof(bytes) - 1)];
    if (next_random(random) % 2 == 0) /* where the rules look */
        at = length - (length < 14 ? length : next_random(random) % 14);
    switch (next_random(random) % 3) {
    case 0:
        if (at < length)
            name[at] = byte;
        break;
    case 1:
        if (length + 2 <= size) {
            memmove(name + at + 1, name + at, length - at + 1);
            name[at] = byte;
        }
        break;
    default:
        if (at < length)
            memmove(name + at, name + at + 1, length - at);
    }
}

static void damaged_names_are_read_as_the_rules_say(void) {
    regex_t expressions[COUNT(rules)];
    for (size_t i = 0; i < COUNT(rules); i++)
        REQUIRE(regcomp(&expressions[i], rules[i].expression, REG_EXTENDED) == 0);
    uint64_t random = 1;
    size_t kinds[ZKLI_KIND_FOREIGN + 1] = {0};
    for (size_t i = 0; i < 3000; i++) {
        char name[160];
        size_t sample = i % COUNT(contenders);
        memcpy(name, contenders[sample].name, strlen(contenders[sample].name) + 1);
        for (size_t n = next_random(&random) % 4; n > 0; n--)
            damage(name, sizeof(name), &random);
        struct zkli_node_name rule = read_by_rules(expressions, name);
        kinds[rule.kind]++;
        expect(name, rule.kind, rule.sequence);
    }
    for (size_t i = 0; i <= ZKLI_KIND_FOREIGN; i++)
        CHECK(kinds[i] > 50);
    for (size_t i = 0; i < COUNT(rules); i++)
        regfree(&expressions[i]);
}

/* ---- Our own names ---- */

static void a_tag_is_six_bytes_and_a_uuid_sixteen(void) {
    static const uint8_t tag_bytes[6] = {0x00, 0x12, 0xab, 0xff, 0x80, 0x7f};
    static const uint8_t bytes[10] = {0x01, 0x23, 0x45, 0x67, 0x89, 0xab, 0xcd, 0xef, 0x00, 0xff};
    static const struct {
        enum zkli_kind kind;
        const char *prefix;
    } kinds[] = {
        {ZKLI_KIND_MUTEX, "_c_0012abff-807f-4123-4567-89abcdef00ff-lock-"},
        {ZKLI_KIND_WRITE, "_c_0012abff-807f-4123-4567-89abcdef00ff-__WRIT__"},
        {ZKLI_KIND_READ, "_c_0012abff-807f-4123-4567-89abcdef00ff-__READ__"},
        {ZKLI_KIND_LEASE, "_c_0012abff-807f-4123-4567-89abcdef00ff-lease-"},
    };
    char tag[ZKLI_TAG_LENGTH + 2], uuid[ZKLI_UUID_LENGTH + 2], prefix[ZKLI_PREFIX_MAX + 2];
    tag[ZKLI_TAG_LENGTH + 1] = uuid[ZKLI_UUID_LENGTH + 1] = prefix[ZKLI_PREFIX_MAX + 1] = '#';

    zkli_tag_format(tag, tag_bytes);
    CHECK_STRING(tag, "0012abff-807f");
    zkli_uuid_format(uuid, tag, bytes);
    CHECK_STRING(uuid, "0012abff-807f-4123-4567-89abcdef00ff");
    for (size_t i = 0; i < COUNT(kinds); i++) {
        zkli_node_prefix_format(prefix, kinds[i].kind, uuid);
        CHECK_STRING(prefix, kinds[i].prefix);
        CHECK_INT(zkli_node_name_length(kinds[i].kind), strlen(prefix) + 10);
    }
    CHECK(tag[ZKLI_TAG_LENGTH + 1] == '#' && uuid[ZKLI_UUID_LENGTH + 1] == '#' &&
          prefix[ZKLI_PREFIX_MAX + 1] == '#');
}

static void a_node_of_ours_carries_its_uuid_and_its_session_s_tag(void) {
    static const uint8_t tag_bytes[6] = {1, 2, 3, 4, 5, 6}, bytes[10] = {7, 8, 9};
    char tag[ZKLI_TAG_LENGTH + 1], uuid[ZKLI_UUID_LENGTH + 1], prefix[ZKLI_PREFIX_MAX + 1];
    char name[ZKLI_PREFIX_MAX + 12];
    zkli_tag_format(tag, tag_bytes);
    zkli_uuid_format(uuid, tag, bytes);
    for (enum zkli_kind kind = ZKLI_KIND_MUTEX; kind <= ZKLI_KIND_LEASE; kind++) {
        zkli_node_prefix_format(prefix, kind, uuid);
        (void)snprintf(name, sizeof(name), "%s%010d", prefix, 77);
        expect(name, kind, 77);
    }
    CHECK(zkli_node_name_has_uuid(name, uuid));
    CHECK(zkli_node_name_has_tag(name, tag));
    /* As soon as one character differs, it is somebody else's. */
    for (size_t i = 0; i < 3 + ZKLI_UUID_LENGTH + 1; i++) {
        char kept = name[i];
        name[i] = 'z';
        CHECK(!zkli_node_name_has_uuid(name, uuid));
        CHECK(zkli_node_name_has_tag(name, tag) == (i >= 3 + ZKLI_TAG_LENGTH));
        name[i] = kept;
    }
}

static void a_name_cut_short_carries_no_uuid(void) {
    static const char whole[] = "_c_" UUID "-lock-0000000001";
    char tag[ZKLI_TAG_LENGTH + 1] = {0};
    memcpy(tag, UUID, ZKLI_TAG_LENGTH);
    for (size_t length = 0; length < sizeof(whole); length++) {
        char cut[sizeof(whole)];
        memcpy(cut, whole, length);
        cut[length] = '\0';
        char *name = exactly(cut);
        CHECK(zkli_node_name_has_uuid(name, UUID) == (length > 3 + ZKLI_UUID_LENGTH));
        CHECK(zkli_node_name_has_tag(name, tag) == (length >= 3 + ZKLI_TAG_LENGTH));
        free(name);
    }
}

/* With eleven characters for the sequence it has 59. Whoever has put more behind our uuid is
 * another client. */
static void a_name_longer_than_ours_is_not_ours(void) {
    char tag[ZKLI_TAG_LENGTH + 1] = {0};
    memcpy(tag, UUID, ZKLI_TAG_LENGTH);
    for (size_t length = 58; length <= ZKLI_CHILD_MAX; length++) {
        char name[ZKLI_CHILD_MAX + 1];
        (void)snprintf(name, sizeof(name), "_c_%s-__WRIT__%0*d", UUID,
                       (int)(length - strlen("_c_" UUID "-__WRIT__")), 1);
        name[3 + ZKLI_TAG_LENGTH + 1] = '8'; /* marked as one that may be kept */
        const bool may_be_ours = length <= 59;
        CHECK_INT(strlen(name), length);
        CHECK(zkli_node_name_has_tag(name, tag) == may_be_ours);
        CHECK(zkli_node_name_may_be_kept(name) == may_be_ours);
        CHECK(zkli_node_name_may_turn(name) == may_be_ours);
        name[3 + ZKLI_TAG_LENGTH + 1] = UUID[ZKLI_TAG_LENGTH + 1];
        CHECK(zkli_node_name_has_uuid(name, UUID) == may_be_ours);
    }
}

/* ---- Names of locks ---- */

static const char *const lock_names[] = {
    "a",
    "billing/close-month",
    "a/b/c/d/e/f",
    "...",
    ".a",
    "..a",
    "a..b/c.",
    "a b",
    " ",
    "-",
    "%",
    "lock-1",
    "lock-000000001",
    "x-lock",
    ("\xc3\xbc"
     "n\xc3\xaf"),              /* two bytes */
    "\xe6\x97\xa5\xe6\x9c\xac", /* three */
    "\xc2\xa0",                 /* U+00A0, the first above the control characters */
    "\xdf\xbf",                 /* U+07FF */
    "\xe0\xa0\x80",             /* U+0800 */
    "\xed\x9f\xbf",             /* U+D7FF */
    "\xef\xa4\x80",             /* U+F900 */
    "\xef\xbf\xaf",             /* U+FFEF */
};

static const char *const no_lock_names[] = {
    "",
    "/",
    "/a",
    "a/",
    "a//b",
    "//",
    ".",
    "..",
    "a/.",
    "a/..",
    "./a",
    "../a",
    "a/./b",
    "a/../b",
    "\x01",
    "a\nb",
    "a/\x1f",
    "\x7f",
    "a\x7f",
    "\xc2\x80", /* U+0080 */
    "\xc2\x9f", /* U+009F */
    "\xc0\x80", /* overlong */
    "\xc1\xbf",
    "\xe0\x80\x80",
    "\xe0\x9f\xbf",
    "\x80", /* a continuation of nothing */
    "a\xbf",
    "\xc3", /* cut short */
    "\xc3(",
    "\xe2\x82",
    "\xe2(\xac",
    "\xe2\x82(",
    "\xed\xa0\x80", /* surrogates */
    "\xed\xbf\xbf",
    "\xee\x80\x80", /* private use */
    "\xef\xa3\xbf",
    "\xef\xbf\xb0", /* U+FFF0 */
    "\xef\xbf\xbf",
    "\xf0\x9f\x98\x80", /* above the basic plane */
    "\xf8\x88\x80\x80\x80",
    "\xfe",
    "\xff",
    "lock-0000000001",
    "a/lock-0000000001",
    "lock-0000000001/a",
    "a/_c_" UUID "-lock-0000000001/b",
    "x-12-0000000001",
    HEX32 "__lock__0000000001",
};

static bool lock_name_is_valid(const char *name) {
    char *copy = exactly(name);
    bool is_valid = zkli_lock_name_is_valid(copy);
    free(copy);
    return is_valid;
}

static bool root_is_valid(const char *root) {
    char *copy = exactly(root);
    bool is_valid = zkli_root_is_valid(copy);
    free(copy);
    return is_valid;
}

static void a_lock_s_name_is_what_the_server_takes_and_no_contender_has(void) {
    for (size_t i = 0; i < COUNT(lock_names); i++) {
        if (!lock_name_is_valid(lock_names[i]))
            test_note("\"%s\"", lock_names[i]);
        CHECK(lock_name_is_valid(lock_names[i]));
    }
    for (size_t i = 0; i < COUNT(no_lock_names); i++) {
        if (lock_name_is_valid(no_lock_names[i]))
            test_note("\"%s\"", no_lock_names[i]);
        CHECK(!lock_name_is_valid(no_lock_names[i]));
    }
}

static void a_lock_s_name_has_at_most_255_bytes(void) {
    char name[ZKLI_LOCK_NAME_MAX + 2];
    memset(name, 'a', sizeof(name));
    name[ZKLI_LOCK_NAME_MAX + 1] = '\0';
    CHECK(!lock_name_is_valid(name));
    name[100] = '/';
    CHECK(!lock_name_is_valid(name));
    name[ZKLI_LOCK_NAME_MAX] = '\0';
    CHECK(lock_name_is_valid(name));
    name[100] = 'a';
    CHECK(lock_name_is_valid(name));
}

static void a_root_is_a_lock_s_name_after_a_slash_or_the_slash_alone(void) {
    CHECK(root_is_valid("/"));
    CHECK(!root_is_valid(""));
    for (size_t i = 0; i < COUNT(lock_names); i++) {
        char root[64];
        (void)snprintf(root, sizeof(root), "/%s", lock_names[i]);
        CHECK(root_is_valid(root));
        CHECK(!root_is_valid(root + 1));
    }
    for (size_t i = 1; i < COUNT(no_lock_names); i++) {
        char root[80];
        (void)snprintf(root, sizeof(root), "/%s", no_lock_names[i]);
        CHECK(!root_is_valid(root));
    }
}

static void a_uuid_may_have_a_mark(void) {
    const uint8_t random[10] = {0xab, 0xcd, 3, 4, 5, 6, 7, 8, 9, 10};
    char plain[ZKLI_UUID_LENGTH + 1], kept[ZKLI_UUID_LENGTH + 1], other[ZKLI_UUID_LENGTH + 1];
    char name[ZKLI_PREFIX_MAX + 1];
    zkli_uuid_format(plain, "01234567-89ab", random);
    CHECK_STRING(plain, "01234567-89ab-4bcd-0304-05060708090a");
    memcpy(kept, plain, sizeof(kept));
    zkli_uuid_mark_kept(kept);
    CHECK_STRING(kept, "01234567-89ab-8bcd-0304-05060708090a");
    CHECK(zkli_uuid_is_same(plain, kept) && zkli_uuid_is_same(kept, plain));
    for (size_t i = 0; i < ZKLI_UUID_LENGTH; i++) {
        memcpy(other, kept, sizeof(other));
        other[i] = 'x';
        CHECK(zkli_uuid_is_same(other, kept) == (i == ZKLI_TAG_LENGTH + 1));
    }
    zkli_node_prefix_format(name, ZKLI_KIND_READ, kept);
    CHECK(zkli_node_name_may_be_kept(name));
    zkli_node_prefix_format(name, ZKLI_KIND_READ, plain);
    CHECK(!zkli_node_name_may_be_kept(name));
    CHECK(!zkli_node_name_may_be_kept("_c_01234567-89ab-"));
    CHECK(!zkli_node_name_may_be_kept("_d_01234567-89ab-8bcd-0304-05060708090a-lock-0000000001"));
    CHECK(!zkli_node_name_may_be_kept("_cd01234567-89ab-8bcd-0304-05060708090a-lock-0000000001"));
    CHECK(!zkli_node_name_may_be_kept(""));
    CHECK(zkli_node_name_may_be_kept("_c_01234567-89ab-8bcd-0304-05060708090a"));
    CHECK(!zkli_node_name_may_be_kept("_c_01234567-89ab-8bcd-0304-05060708090"));
}

static void only_a_writers_name_of_ours_turns(void) {
    CHECK(zkli_node_name_may_turn("_c_01234567-89ab-4bcd-0304-05060708090a-__WRIT__0000000017"));
    CHECK(!zkli_node_name_may_turn("_c_01234567-89ab-4bcd-0304-05060708090a-__READ__0000000017"));
    CHECK(!zkli_node_name_may_turn("_c_01234567-89ab-4bcd-0304-05060708090-__WRIT__0000000017"));
    CHECK(!zkli_node_name_may_turn("aaaaaaaaaaaaaaaaaaaaaaaa-__WRIT__0000000001"));
    CHECK(!zkli_node_name_may_turn("-__WRIT__0000000001"));
    CHECK(!zkli_node_name_may_turn("_c_01234567-89ab-4bcd-0304-05060708090a"));
}

static void a_turned_name_is_the_same_but_for_its_kind(void) {
    char turned[ZKLI_CHILD_MAX + 1];
    memset(turned, 'x', sizeof(turned));
    zkli_node_name_turn(turned, "_c_01234567-89ab-4bcd-0304-05060708090a-__WRIT__0000000017");
    CHECK_STRING(turned, "_c_01234567-89ab-4bcd-0304-05060708090a-__READ__0000000017");
}

int main(int argc, char **argv) {
    static const test_case cases[] = {
        {"only a writer's name of ours turns", only_a_writers_name_of_ours_turns},
        {"a uuid may have a mark", a_uuid_may_have_a_mark},
        {"a turned name is the same but for its kind", a_turned_name_is_the_same_but_for_its_kind},
        {"every library's contenders are told with kind and sequence",
         every_library_s_contenders_are_told_with_kind_and_sequence},
        {"any other child is no contender", any_other_child_is_no_contender},
        {"a name longer than any library's is no contender",
         a_name_longer_than_any_library_s_is_no_contender},
        {"damaged names are read as the rules say", damaged_names_are_read_as_the_rules_say},
        {"a tag is six bytes and a uuid sixteen", a_tag_is_six_bytes_and_a_uuid_sixteen},
        {"a node of ours carries its uuid and its session's tag",
         a_node_of_ours_carries_its_uuid_and_its_session_s_tag},
        {"a name cut short carries no uuid", a_name_cut_short_carries_no_uuid},
        {"a name longer than ours is not ours", a_name_longer_than_ours_is_not_ours},
        {"a lock's name is what the server takes and no contender has",
         a_lock_s_name_is_what_the_server_takes_and_no_contender_has},
        {"a lock's name has at most 255 bytes", a_lock_s_name_has_at_most_255_bytes},
        {"a root is a lock's name after a slash, or the slash alone",
         a_root_is_a_lock_s_name_after_a_slash_or_the_slash_alone},
    };
    return TEST_MAIN(argc, argv, "node_name", cases);
}
