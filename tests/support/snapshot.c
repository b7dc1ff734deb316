/*
 * See snapshot.h. The format is that of ZooKeeper 3.5 to 3.9: a header, the sessions, the ACLs, the
 * nodes with each parent before its children, and a checksum. Numbers are big-endian, a string or a
 * buffer is its length and its bytes.
 */
#include "support/snapshot.h"

#include <stdio.h>
#include <string.h>

#define MAGIC 0x5a4b534e /* ZKSN */
#define FORMAT_VERSION 2
#define NO_DATABASE_ID (-1)
#define OPEN_TO_EVERYBODY (-1) /* in the place of a number in the table of ACLs */
#define ADLER_BASE 65521

typedef struct writer {
    FILE *file;
    uint32_t low, high; /* Adler-32 of what has been written */
} writer;

static void put_bytes(writer *w, const void *bytes, size_t size) {
    const unsigned char *at = bytes;

    for (size_t i = 0; i < size; i++) {
        w->low = (w->low + at[i]) % ADLER_BASE;
        w->high = (w->high + w->low) % ADLER_BASE;
    }
    (void)fwrite(bytes, 1, size, w->file); /* ferror is asked in the end */
}

static void put_number(writer *w, int64_t value, size_t size) {
    unsigned char bytes[8];

    for (size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char)((uint64_t)value >> (8 * (size - 1 - i)));
    put_bytes(w, bytes, size);
}

static void put_int(writer *w, int32_t value) {
    put_number(w, value, 4);
}

static void put_long(writer *w, int64_t value) {
    put_number(w, value, 8);
}

static void put_string(writer *w, const char *text) {
    put_int(w, (int32_t)strlen(text));
    put_bytes(w, text, strlen(text));
}

static void put_node(writer *w, const char *path, int32_t counter) {
    put_string(w, path);
    put_int(w, 0); /* bytes of data */
    put_long(w, OPEN_TO_EVERYBODY);
    put_long(w, 0); /* czxid */
    put_long(w, 0); /* mzxid */
    put_long(w, 0); /* ctime */
    put_long(w, 0); /* mtime */
    put_int(w, 0);  /* version */
    put_int(w, counter);
    put_int(w, 0);  /* version of the ACL */
    put_long(w, 0); /* ephemeralOwner */
    put_long(w, 0); /* pzxid */
}

static void put_checksum(writer *w) {
    put_long(w, (int64_t)w->high << 16 | w->low);
    put_string(w, "/");
}

bool snapshot_write(const char *version_dir, int64_t zxid, const snapshot_node *nodes,
                    size_t count) {
    char path[512];
    writer w = {.low = 1};
    bool is_written;

    (void)snprintf(path, sizeof(path), "%s/snapshot.%llx", version_dir, (unsigned long long)zxid);
    w.file = fopen(path, "we");
    if (!w.file)
        return false;
    put_int(&w, MAGIC);
    put_int(&w, FORMAT_VERSION);
    put_long(&w, NO_DATABASE_ID);
    put_int(&w, 0); /* sessions */
    put_int(&w, 0); /* ACLs */
    put_node(&w, "", 0);
    put_node(&w, "/zookeeper", 0);
    put_node(&w, "/zookeeper/quota", 0);
    put_node(&w, "/zookeeper/config", 0);
    for (size_t i = 0; i < count; i++)
        put_node(&w, nodes[i].path, nodes[i].counter);
    put_string(&w, "/"); /* the end of the nodes */
    put_checksum(&w);
    is_written = !ferror(w.file);
    return fclose(w.file) == 0 && is_written;
}
