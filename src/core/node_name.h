/*
 * node_name - the names under a lock's directory: what they mean, and how ours are made.
 *
 * Not here: the order of the contenders (admission.h), what a node's data says (node_data.h).
 */
#ifndef ZKLI_CORE_NODE_NAME_H
#define ZKLI_CORE_NODE_NAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A uuid in text: five groups of hex digits with dashes, as Curator's GUIDs. */
#define ZKLI_UUID_LENGTH 36
/* The leading characters of a uuid, which all nodes of one session share: 48 bits. The chance that
 * any two among a million sessions have the same tag is 1 in 500. */
#define ZKLI_TAG_LENGTH 13
/* Longest child name that is looked at as a contender. Every library's names have at most 70
 * characters; a node with a longer name is no contender's. */
#define ZKLI_CHILD_MAX 128
/* Longest name of a node that we have made: the longest prefix, and a sequence of eleven
 * characters. A longer one is not ours, whatever uuid it bears. */
#define ZKLI_OWN_CHILD_MAX 59
/* Longest lock name, so that root (255) + name + node fit any path buffer of 1 KiB. */
#define ZKLI_LOCK_NAME_MAX 255

enum zkli_kind {
    ZKLI_KIND_NONE,   /* not a contender: ignored */
    ZKLI_KIND_MUTEX,  /* ours, Curator's InterProcessMutex, go-zookeeper's Lock */
    ZKLI_KIND_WRITE,  /* Curator's -__WRIT__ */
    ZKLI_KIND_READ,   /* Curator's -__READ__ */
    ZKLI_KIND_LEASE,  /* a semaphore's */
    ZKLI_KIND_FOREIGN /* another library's contender: exclusive */
};

struct zkli_node_name {
    enum zkli_kind kind;
    int64_t sequence; /* as printed; any client can make names with more than 32 bits */
};

/* What the child name says. kind NONE (and sequence 0) when it is no contender's. */
struct zkli_node_name zkli_node_name_parse(const char *child);

/* Whether the child carries this uuid, "_c_<uuid>-...". */
bool zkli_node_name_has_uuid(const char *child, const char *uuid);
/* Whether the child carries a uuid that begins with this tag of ZKLI_TAG_LENGTH characters. */
bool zkli_node_name_has_tag(const char *child, const char *tag);

/* Writes a uuid of the given tag and 10 random bytes, without a mark. */
void zkli_uuid_format(char ret_uuid[ZKLI_UUID_LENGTH + 1], const char *tag,
                      const uint8_t random[10]);
/* Writes a tag of 6 random bytes. */
void zkli_tag_format(char ret_tag[ZKLI_TAG_LENGTH + 1], const uint8_t random[6]);

/* Marks a uuid that is ours: its node may stay while nobody holds by it (see contender.h). */
void zkli_uuid_mark_kept(char uuid[ZKLI_UUID_LENGTH + 1]);
/* Whether the child carries a uuid with that mark. */
bool zkli_node_name_may_be_kept(const char *child);
/* Whether they differ in nothing but the mark. */
bool zkli_uuid_is_same(const char *a, const char *b);

/* Longest prefix. */
#define ZKLI_PREFIX_MAX (3 + ZKLI_UUID_LENGTH + 9)
_Static_assert(ZKLI_PREFIX_MAX + 11 <= ZKLI_OWN_CHILD_MAX, "our names have room");
/* Writes "_c_<uuid>-lock-", or another kind's, to which the server appends the sequence. Of a kind
 * that we make: not NONE, not FOREIGN. */
void zkli_node_prefix_format(char ret_prefix[ZKLI_PREFIX_MAX + 1], enum zkli_kind kind,
                             const char *uuid);
/* Whether it is a writer's name as we make them. */
bool zkli_node_name_may_turn(const char *child);
/* Writes the name of the reader's node that takes the place of such a writer's. */
void zkli_node_name_turn(char ret_child[ZKLI_OWN_CHILD_MAX + 1], const char *child);
/* How long a node's name of that kind is, with a sequence of ten characters. */
size_t zkli_node_name_length(enum zkli_kind kind);

/* Whether <name> may be a lock's name; see zkl_lock_open. */
bool zkli_lock_name_is_valid(const char *name);
/* Whether a path may be the root of locks: a lock name after its '/', or "/" itself. */
bool zkli_root_is_valid(const char *root);

#endif
