/* zk_path - which paths of znodes ZooKeeper takes. */
#ifndef ZKLI_SESSION_ZK_PATH_H
#define ZKLI_SESSION_ZK_PATH_H

#include <stdbool.h>

/* As the client library and the server see it, but for the control characters that only the server
 * minds. With a sequence number behind it, a path may end in '/'. */
bool zkli_path_is_valid(const char *path, bool is_sequence);

#endif
