/*
 * znode_path - which paths of znodes ZooKeeper takes: what its servers check (validatePath of 3.8's
 * PathUtils.java), which is more than its client library does.
 *
 * Not here: what names mean to us (node_name.h), how long they may be.
 */
#ifndef ZKLI_CORE_ZNODE_PATH_H
#define ZKLI_CORE_ZNODE_PATH_H

#include <stdbool.h>

/* A '/' alone, or with names; not NULL. With a sequence number behind it, it may end in '/'. */
bool zkli_path_is_valid(const char *path, bool is_sequence);
/* What follows the first '/' of a valid path: one name, or several with '/' between them. */
bool zkli_names_are_valid(const char *names);

#endif
