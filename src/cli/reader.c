/* reader - see reader.h. */
#include "cli/reader.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>

struct cli_reader {
    pthread_t thread;
    zkl_session *session;
    const cli_options *options;
    cli_view_fn look;
    int wake_fd;
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    /* Under the mutex: */
    bool is_asked, is_ready, is_over;
    cli_view view;
    zkl_err err;
};

/* With the mutex, which it leaves to look. */
static void look(cli_reader *r) {
    cli_view view = {0};
    pthread_mutex_unlock(&r->mutex);
    zkl_err err = r->look(&view, r->session, r->options, false);
    pthread_mutex_lock(&r->mutex);
    r->view = view;
    r->err = err;
    r->is_asked = false;
    r->is_ready = true;
    (void)eventfd_write(r->wake_fd, 1); /* a counter near 0 takes a 1 */
}

static void *reader_main(void *arg) {
    cli_reader *r = (cli_reader *)arg;
    pthread_mutex_lock(&r->mutex);
    while (!r->is_over)
        if (r->is_asked)
            look(r);
        else
            pthread_cond_wait(&r->changed, &r->mutex);
    pthread_mutex_unlock(&r->mutex);
    return NULL;
}

static void reader_free(cli_reader *r) {
    cli_view_free(&r->view);
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->mutex);
    free(r);
}

cli_reader *cli_reader_start(zkl_session *session, const cli_options *options, cli_view_fn look_fn,
                             int wake_fd) {
    cli_reader *r = calloc(1, sizeof(*r));
    if (r == NULL)
        return NULL;
    r->session = session;
    r->options = options;
    r->look = look_fn;
    r->wake_fd = wake_fd;
    pthread_mutex_init(&r->mutex, NULL);
    pthread_cond_init(&r->changed, NULL);
    if (pthread_create(&r->thread, NULL, reader_main, r) == 0)
        return r;
    reader_free(r);
    return NULL;
}

void cli_reader_ask(cli_reader *reader) {
    pthread_mutex_lock(&reader->mutex);
    reader->is_asked = true;
    pthread_cond_broadcast(&reader->changed);
    pthread_mutex_unlock(&reader->mutex);
}

bool cli_reader_take(cli_reader *reader, cli_view *ret_view, zkl_err *ret_err) {
    pthread_mutex_lock(&reader->mutex);
    bool is_ready = reader->is_ready;
    if (is_ready) {
        *ret_view = reader->view;
        *ret_err = reader->err;
        reader->view = (cli_view){0};
        reader->is_ready = false;
    }
    pthread_mutex_unlock(&reader->mutex);
    return is_ready;
}

void cli_reader_end(cli_reader *reader) {
    if (reader == NULL)
        return;
    pthread_mutex_lock(&reader->mutex);
    reader->is_over = true;
    pthread_cond_broadcast(&reader->changed);
    pthread_mutex_unlock(&reader->mutex);
    pthread_join(reader->thread, NULL);
    reader_free(reader);
}
