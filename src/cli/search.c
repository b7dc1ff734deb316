/* Searches PATH for CMD's file as execvp does. */
#include "cli/search.h"

#include "cli/exit_status.h"
#include "cli/message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What execvp searches when there is no PATH. */
#define DEFAULT_PATH "/bin:/usr/bin"

/* An empty element of PATH is the working directory. */
static void print_candidates(FILE *out, const char *name) {
    const char *path = getenv("PATH");
    path = path == NULL ? DEFAULT_PATH : path;
    for (;;) {
        size_t length = strcspn(path, ":");
        fprintf(out, "%.*s%s%s%c", (int)length, path, length == 0 ? "" : "/", name, '\0');
        if (path[length] == '\0')
            return;
        path += length + 1;
    }
}

char *cli_search_paths(const char *command) {
    char *paths = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&paths, &size);
    if (out == NULL)
        return NULL;
    if (strchr(command, '/') != NULL)
        fprintf(out, "%s%c", command, '\0'); /* a path already */
    else if (*command != '\0')
        print_candidates(out, command);
    fputc('\0', out);
    bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed) {
        free(paths);
        return NULL;
    }
    return paths;
}

/* 0, or the errno that execve would give. It refuses what is no regular file with EACCES. */
static int check_file(const char *path) {
    struct stat status;
    if (stat(path, &status) != 0)
        return errno;
    if (!S_ISREG(status.st_mode))
        return EACCES;
    return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

int cli_search_check(const char *paths) {
    int result = ENOENT;
    bool is_last = false;
    for (const char *path = paths; *path != '\0' && !is_last; path += strlen(path) + 1) {
        int error = check_file(path);
        if (error == 0)
            return 0;
        result = cli_search_error(result, error, &is_last);
    }
    return result;
}

int cli_search_error(int before, int error, bool *ret_is_last) {
    bool is_missing = error == ENOENT || error == ENOTDIR;
    *ret_is_last = !is_missing && error != EACCES;
    return is_missing ? before : error;
}

int cli_search_explain(const char *command, int error) {
    if (error == ENOENT || error == ENOTDIR) {
        cli_message("%s: command not found", command);
        return CLI_EXIT_NOT_FOUND;
    }
    cli_message("%s: cannot be executed: %s", command, strerror(error));
    return CLI_EXIT_NOT_EXECUTABLE;
}
