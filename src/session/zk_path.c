/* zk_path - see zk_path.h. */
#include "session/zk_path.h"

#include <string.h>

bool zkli_path_is_valid(const char *path, bool is_sequence) {
    if (path == NULL || path[0] != '/')
        return false;
    if (path[1] == '\0')
        return true;
    size_t length = 0;
    for (const char *part = path; *part == '/'; part += length) {
        part++;
        length = strcspn(part, "/");
        if (length == 0 && (*part != '\0' || !is_sequence))
            return false;
        if ((length == 1 && part[0] == '.') || (length == 2 && part[0] == '.' && part[1] == '.'))
            return false;
    }
    for (const char *c = path; *c != '\0'; c++)
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            return false;
    return true;
}
