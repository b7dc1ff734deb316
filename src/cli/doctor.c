/* zklock doctor: what an operator should know of the ensemble, and of our rights there. */
#include "cli/doctor.h"

#include "cli/clock.h"
#include "cli/commands.h"
#include "cli/exit_status.h"
#include "cli/interrupt.h"
#include "cli/message.h"
#include "cli/session.h"
#include "cli/settings.h"
#include "cli/signals.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SESSION_LIMIT_MS 5000
#define LOOK_LIMIT_MS 10000

typedef struct doctor {
    const cli_options *options;
    cli_findings *findings;
    cli_interrupt *interrupt;
    cli_servers servers;
    cli_probe probes[CLI_ADDRESSES_MAX];
    int status; /* of what was not a finding */
} doctor;

/* The servers that would have us, by address: neither a name nor a silent server is waited for. */
static char *working_hosts(const doctor *d) {
    char *hosts = NULL;
    size_t size;
    FILE *out = open_memstream(&hosts, &size);
    if (out == NULL)
        return NULL;
    const char *separator = "";
    for (size_t i = 0; i < d->servers.address_count; i++)
        if (d->probes[i].session == CLI_ANSWER_GIVEN) {
            fprintf(out, "%s%s", separator, d->servers.addresses[i].text);
            separator = ",";
        }
    fputs(d->servers.chroot, out);
    const bool failed = ferror(out) != 0;
    if (fclose(out) == 0 && !failed)
        return hosts;
    free(hosts);
    return NULL;
}

/* The bounds are those of the servers that were asked, whichever of them has the session. */
static void judge_timeout(doctor *d, const zkl_session *session) {
    const int asked = d->options->session_timeout_ms == 0 ? CLI_TIMEOUT_DEFAULT_MS
                                                          : d->options->session_timeout_ms;
    const int granted = zkl_session_timeout_ms((zkl_session *)session);
    if (granted == asked)
        cli_findings_add(d->findings, CLI_FINDING_OK, "timeout", "session", NULL,
                         "the session timeout is %d ms, as asked for", granted);
    else
        cli_findings_add(d->findings, CLI_FINDING_WARNING, "timeout", "session",
                         "ask for another with --timeout, or change the servers' bounds",
                         "the session timeout is %d ms, not %d ms: %s bounds it", granted, asked,
                         granted < asked ? "maxSessionTimeout (20 ticks by default)"
                                         : "minSessionTimeout (2 ticks by default)");
}

static void look_inside(doctor *d, zkl_session *session) {
    cli_doctor_place place = {.findings = d->findings,
                              .znodes = cli_znodes_open(session, d->interrupt),
                              .chroot = d->servers.chroot,
                              .root = d->options->root == NULL ? CLI_ROOT_DEFAULT
                                                               : d->options->root};
    judge_timeout(d, session);
    if (place.znodes == NULL) {
        cli_findings_add(d->findings, CLI_FINDING_WRONG, "session", "session", "try again",
                         "the session has ended meanwhile");
        (void)zkl_session_close(session); /* nothing was held */
        return;
    }
    cli_interrupt_keep(d->interrupt);
    const int64_t deadline_ms = cli_clock_ms() + LOOK_LIMIT_MS;
    cli_znodes_limit(place.znodes, deadline_ms, true);
    cli_doctor_rights(&place);
    cli_znodes_limit(place.znodes, deadline_ms, true);
    if (!place.has_gone)
        cli_doctor_locks(&place);
    cli_znodes_return(place.znodes);
    (void)zkl_session_close(session); /* nothing was held */
    cli_znodes_free(place.znodes);
    if (place.is_denied)
        d->status = CLI_EXIT_DENIED;
}

static void look_from_inside(doctor *d) {
    cli_options options = *d->options;
    const cli_session_request request = {.connect_timeout_ms = SESSION_LIMIT_MS};
    zkl_session *session;
    char *hosts = working_hosts(d);
    options.hosts = hosts;
    d->status = hosts == NULL ? CLI_EXIT_INTERNAL : cli_session_open(&session, &options, &request);
    free(hosts);
    if (d->status == CLI_EXIT_OK)
        look_inside(d, session);
    else if (d->status == CLI_EXIT_NO_SERVER || d->status == CLI_EXIT_DENIED)
        cli_findings_add(d->findings, CLI_FINDING_WRONG, "session", "session",
                         d->status == CLI_EXIT_DENIED ? "correct --auth-file"
                                                      : "see the servers' logs",
                         d->status == CLI_EXIT_DENIED ? "the servers reject the credentials"
                                                      : "no server grants a session in time");
}

static void examine(doctor *d) {
    if (!cli_servers_resolve(&d->servers) || !cli_probe_all(d->probes, &d->servers)) {
        cli_message_error("doctor", ZKL_NOMEM);
        d->status = CLI_EXIT_INTERNAL;
        return;
    }
    if (cli_doctor_servers(d->findings, &d->servers, d->probes) > 0) {
        look_from_inside(d);
        return;
    }
    cli_findings_add(d->findings, CLI_FINDING_WRONG, "session", "session",
                     "mend one of the servers first", "no server serves");
    d->status = CLI_EXIT_NO_SERVER;
}

static int conclude(doctor *d) {
    const bool has_findings = d->status == CLI_EXIT_OK || d->status == CLI_EXIT_NO_SERVER ||
                              d->status == CLI_EXIT_DENIED;
    if (has_findings && !cli_findings_print(d->findings)) {
        cli_message_error("doctor", ZKL_NOMEM);
        return CLI_EXIT_INTERNAL;
    }
    if (d->status == CLI_EXIT_OK && cli_findings_count(d->findings, CLI_FINDING_WRONG) > 0)
        return CLI_EXIT_WRONG;
    return d->status;
}

/* Ends by the signal that came, if there was one. */
static int end(doctor *d, int status) {
    const int came = cli_interrupt_stop(d->interrupt);
    cli_findings_free(d->findings);
    free(d);
    if (came == SIGINT) {
        cli_signals_allow_interrupt();
        (void)kill(getpid(), SIGINT);
    }
    return came == 0 ? status : CLI_EXIT_SIGNAL_BASE + came;
}

int cli_doctor(const cli_options *options) {
    cli_signals signals;
    doctor *d = calloc(1, sizeof(*d));
    if (d == NULL || (d->findings = cli_findings_new(options->is_json)) == NULL) {
        free(d);
        cli_message_error("doctor", ZKL_NOMEM);
        return CLI_EXIT_INTERNAL;
    }
    d->options = options;
    if (!cli_servers_parse(&d->servers, options->hosts))
        return end(d, cli_session_refuse_hosts(options));
    cli_signals_take(&signals);
    cli_signals_allow_stop(&signals, true);
    d->interrupt = cli_interrupt_start(&signals);
    if (d->interrupt == NULL) {
        cli_message_error("doctor", ZKL_NOMEM);
        return end(d, CLI_EXIT_INTERNAL);
    }
    examine(d);
    return end(d, conclude(d));
}
