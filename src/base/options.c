/* options - see options.h. */
#include "base/options.h"

#include <string.h>

bool zkli_options_copy(void *ret_options, size_t size, const void *options) {
    const unsigned char *bytes = options;
    size_t given = size;
    memset(ret_options, 0, size);
    if (options != NULL)
        memcpy(&given, options, sizeof(given));
    if (given < sizeof(given) || given > ZKLI_OPTIONS_SIZE_MAX)
        return false;
    for (size_t i = size; i < given; i++)
        if (bytes[i] != 0)
            return false;
    if (options != NULL)
        memcpy(ret_options, options, given < size ? given : size);
    memcpy(ret_options, &size, sizeof(size));
    return true;
}
