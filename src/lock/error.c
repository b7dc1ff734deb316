/* error - texts and classes of errors, from the list in the public header; names of events. */
#include "zklock.h"

const char *zkl_strerror(zkl_err err) {
    switch (err) {
#define ERROR_TEXT(name, value, class_, text)                                                      \
    case ZKL_##name:                                                                               \
        return text;
        ZKL_ERRORS(ERROR_TEXT)
    case ZKL_ERR_MAX_:
        break;
    }
    return "unknown error";
}

const char *zkl_errname(zkl_err err) {
    switch (err) {
#define ERROR_NAME(name, value, class_, text)                                                      \
    case ZKL_##name:                                                                               \
        return #name;
        ZKL_ERRORS(ERROR_NAME)
    case ZKL_ERR_MAX_:
        break;
    }
    return "UNKNOWN";
}

zkl_class zkl_errclass(zkl_err err) {
    switch (err) {
#define ERROR_CLASS(name, value, class_, text)                                                     \
    case ZKL_##name:                                                                               \
        return ZKL_CLASS_##class_;
        ZKL_ERRORS(ERROR_CLASS)
    case ZKL_ERR_MAX_:
        break;
    }
    return ZKL_CLASS_LOCAL;
}

const char *zkl_event_name(zkl_event_type type) {
    switch (type) {
#define EVENT_NAME(name)                                                                           \
    case ZKL_EVENT_##name:                                                                         \
        return #name;
        EVENT_NAME(QUEUED)
        EVENT_NAME(HELD)
        EVENT_NAME(LOST)
        EVENT_NAME(SUSPENDED)
        EVENT_NAME(RESUMED)
        EVENT_NAME(WANTED)
        EVENT_NAME(REQUEUED)
    }
    return "UNKNOWN";
}

#define TEXT_OF(number) #number
#define VERSION(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *zkl_version(void) {
    return VERSION(ZKL_VERSION_MAJOR, ZKL_VERSION_MINOR, ZKL_VERSION_PATCH);
}
