/* host - what the engine's files ask of the host: lines of the log, and random uuids. */
#include "engine/engine_internal.h"

#include <stdarg.h>
#include <stdio.h>

void zkli_engine_log(struct zkli_engine *e, zkl_log_level level, const char *format, ...) {
    char text[ZKLI_PATH_MAX + 256];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof(text), format, args); /* a longer line is cut */
    va_end(args);
    e->host->log(e->host_arg, level, text);
}

void zkli_engine_refresh_uuid(struct zkli_engine *e) {
    uint8_t random[10];
    e->host->random(e->host_arg, random, sizeof(random));
    zkli_uuid_format(e->fresh_uuid, e->tag, random);
}

void zkli_engine_refresh_tag(struct zkli_engine *e) {
    uint8_t random[6];
    e->host->random(e->host_arg, random, sizeof(random));
    zkli_tag_format(e->tag, random);
    zkli_engine_refresh_uuid(e);
}
