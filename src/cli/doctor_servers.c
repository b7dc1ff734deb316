/* What doctor says of the servers. See probe.h for what they were asked. */
#include "cli/doctor.h"

#include "cli/clock.h"

#include <inttypes.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How long a server may take to be as far as another was before. */
#define CATCH_UP_MS 2000
#define LOOK_AGAIN_MS 100
#define LOOK_AGAIN_LIMIT_MS 1000
#define TICKS_MIN 2 /* of minSessionTimeout, see docs/guarantees.md */
/* The first release that the library works with. */
#define VERSION_LEAST 30503

static const char HowToStart[] = "start the server, or correct --hosts and the firewalls between";

/* ---- Names ---- */

static void judge_name(cli_findings *f, const cli_server *server) {
    if (server->is_timeout)
        cli_findings_add(f, CLI_FINDING_WRONG, "name", server->name, "mend the resolver",
                         "the name was not looked up within %d s", CLI_RESOLVE_LIMIT_MS / 1000);
    else if (server->error != 0 || server->count == 0)
        cli_findings_add(f, CLI_FINDING_WRONG, "name", server->name,
                         "correct --hosts, or the name service", "the name has no address: %s",
                         server->error == 0 ? "none of IPv4 or IPv6" : gai_strerror(server->error));
    else if (!server->is_numeric)
        cli_findings_add(f, CLI_FINDING_OK, "name", server->name, NULL,
                         "the name has %zu address%s", server->count,
                         server->count == 1 ? "" : "es");
}

/* ---- One server ---- */

static bool is_reached(const cli_probe *p) {
    return p->srvr == CLI_ANSWER_GIVEN || p->srvr == CLI_ANSWER_REFUSED ||
           p->srvr == CLI_ANSWER_IDLE;
}

static bool has_sibling(const cli_servers *s, const cli_probe *probes, const cli_probe *p) {
    for (size_t i = 0; i < s->address_count; i++)
        if (probes[i].address->server == p->address->server && is_reached(&probes[i]))
            return true;
    return false;
}

static void judge_unreachable(cli_findings *f, const cli_probe *p, bool has_other) {
    if (p->srvr == CLI_ANSWER_SILENT)
        cli_findings_add(f, CLI_FINDING_WRONG, "reachable", p->address->text,
                         "see whether its process is stopped or pauses, and its disk",
                         "it takes connections, but answers nothing within %d s",
                         CLI_ANSWER_LIMIT_MS / 1000);
    else if (p->srvr == CLI_ANSWER_CLOSED)
        cli_findings_add(f, CLI_FINDING_WRONG, "reachable", p->address->text,
                         "see its log: is maxClientCnxns reached, or is this a port for TLS?",
                         "it closes connections without an answer");
    else if (p->srvr == CLI_ANSWER_STRANGE)
        cli_findings_add(f, CLI_FINDING_WRONG, "reachable", p->address->text,
                         "correct the port in --hosts: this is another program's",
                         "it answers, but not as ZooKeeper does");
    else
        cli_findings_add(f, has_other ? CLI_FINDING_WARNING : CLI_FINDING_WRONG, "reachable",
                         p->address->text,
                         has_other ? "leave out this address, if no server is there" : HowToStart,
                         "no connection: %s", p->error == 0 ? "no answer" : strerror(p->error));
}

static void judge_session(cli_findings *f, const cli_probe *p, const char *what) {
    if (p->session == CLI_ANSWER_GIVEN)
        cli_findings_add(f, CLI_FINDING_OK, "serves", p->address->text, NULL,
                         "%s, serves; session timeouts from %d to %d ms", what, p->session_min_ms,
                         p->session_max_ms);
    else
        cli_findings_add(f, CLI_FINDING_WRONG, "serves", p->address->text,
                         "see the leader's log and disk, and the settings for clients",
                         "%s, but opens no session: it %s", what,
                         p->session == CLI_ANSWER_SILENT    ? "does not answer in time"
                         : p->session == CLI_ANSWER_STRANGE ? "answers as no ZooKeeper does"
                                                            : "closes the connection");
}

/* "3.8.0" and what may stand behind it; -1: it is no such number. */
static int version_number(const char *version) {
    int number = 0;
    for (int i = 0; i < 3; i++) {
        char *end;
        const long part = strtol(version, &end, 10);
        if (end == version || part < 0 || part > 99 || (i < 2 && *end != '.'))
            return -1;
        number = number * 100 + (int)part;
        version = end + 1;
    }
    return number;
}

static void judge_answer(cli_findings *f, const cli_probe *p) {
    char what[128];
    if (p->srvr == CLI_ANSWER_IDLE) {
        cli_findings_add(f, CLI_FINDING_WRONG, "serves", p->address->text,
                         "start the servers that are down, or mend the network between them",
                         "it runs, but does not serve: it has no quorum, or is just starting");
        return;
    }
    if (p->srvr == CLI_ANSWER_REFUSED) {
        judge_session(f, p, "it answers");
        cli_findings_add(f, CLI_FINDING_NOTE, "version", p->address->text,
                         "4lw.commands.whitelist=srvr in its zoo.cfg would tell",
                         "version, mode and zxid are not known");
        return;
    }
    if (strcmp(p->mode, "read-only") == 0) {
        cli_findings_add(f, CLI_FINDING_WRONG, "serves", p->address->text,
                         "mend the network between the servers, or start the others",
                         "version %s, read-only: it is cut off from its quorum", p->version);
        return;
    }
    (void)snprintf(what, sizeof(what), "version %s, %s", p->version, p->mode);
    judge_session(f, p, what);
    const int version = version_number(p->version);
    if (version >= 0 && version < VERSION_LEAST)
        cli_findings_add(f, CLI_FINDING_WRONG, "version", p->address->text, "upgrade it",
                         "version %s: zklock needs 3.5.3 or later", p->version);
}

/* By the rule of docs/operations.md: more than half of it is too much when a server is gone. */
static void judge_connections(cli_findings *f, const cli_probe *p) {
    const bool is_known = p->conf == CLI_ANSWER_GIVEN && p->connections_max >= 0;
    if (is_known && p->connections_max == 0)
        cli_findings_add(f, CLI_FINDING_OK, "connections", p->address->text, NULL,
                         "maxClientCnxns is 0: there is no limit");
    else if (!is_known || p->cons != CLI_ANSWER_GIVEN)
        cli_findings_add(f, CLI_FINDING_NOTE, "connections", p->address->text,
                         "4lw.commands.whitelist=srvr,conf,cons in its zoo.cfg would tell",
                         "how many of maxClientCnxns connections this machine has is not known");
    else if (p->connections * 2 > (size_t)p->connections_max)
        cli_findings_add(f, CLI_FINDING_WARNING, "connections", p->address->text,
                         "raise maxClientCnxns above twice the number of sessions of a machine",
                         "this machine has %zu connections of %d (maxClientCnxns)", p->connections,
                         p->connections_max);
    else
        cli_findings_add(f, CLI_FINDING_OK, "connections", p->address->text, NULL,
                         "this machine has %zu connections of %d (maxClientCnxns)", p->connections,
                         p->connections_max);
}

/* ---- All of them beside each other ---- */

/* Asks those that are behind once more; how many still are. One that is silent is left out. */
static size_t look_again(const cli_probe *probes, int64_t *zxids, size_t count, int64_t highest,
                         int64_t deadline_ms) {
    size_t behind = 0;
    for (size_t i = 0; i < count; i++) {
        if (zxids[i] >= 0 && zxids[i] < highest)
            zxids[i] = cli_probe_zxid(probes[i].address, deadline_ms);
        behind += zxids[i] >= 0 && zxids[i] < highest;
    }
    return behind;
}

/* Servers are asked one after the other, so one is behind if it is so after a while. */
static void judge_lags(cli_findings *f, const cli_probe *probes, size_t count) {
    const int64_t deadline_ms = cli_clock_ms() + CATCH_UP_MS;
    int64_t highest = -1, zxids[CLI_ADDRESSES_MAX];
    for (size_t i = 0; i < count; i++) {
        zxids[i] = probes[i].zxid;
        highest = zxids[i] > highest ? zxids[i] : highest;
    }
    while (look_again(probes, zxids, count, highest, deadline_ms + LOOK_AGAIN_LIMIT_MS) > 0 &&
           cli_clock_ms() < deadline_ms)
        (void)poll(NULL, 0, LOOK_AGAIN_MS); /* the loop looks at the clock */
    for (size_t i = 0; i < count; i++)
        if (zxids[i] >= 0 && zxids[i] < highest)
            cli_findings_add(f, CLI_FINDING_WARNING, "lag", probes[i].address->text,
                             "see its disk, its network and its pauses; it may still be starting",
                             "it is behind: zxid 0x%" PRIx64 ", where another server had 0x%" PRIx64
                             " %d s before",
                             (uint64_t)zxids[i], (uint64_t)highest, CATCH_UP_MS / 1000);
}

static size_t larger(const size_t pair[2]) {
    return pair[0] > pair[1] ? pair[0] : pair[1];
}

/* The addresses of IPv4 and those of IPv6 are taken to be the same servers'. */
static void judge_ensemble(cli_findings *f, const cli_servers *s, const cli_probe *probes) {
    size_t all[2] = {0}, heads[2] = {0}, alone[2] = {0}, members = 0;
    for (size_t i = 0; i < s->address_count; i++) {
        const cli_probe *p = &probes[i];
        const bool is_6 = p->address->address.ss_family == AF_INET6;
        all[is_6]++;
        alone[is_6] += strcmp(p->mode, "standalone") == 0;
        heads[is_6] += strcmp(p->mode, "standalone") == 0 || strcmp(p->mode, "leader") == 0;
        members = p->members > members ? p->members : members;
    }
    if (larger(heads) > 1 || (larger(alone) > 0 && members > 0))
        cli_findings_add(f, CLI_FINDING_WRONG, "ensemble", "--hosts",
                         "name the servers of one ensemble, each once",
                         "these servers are not one ensemble: %zu lead or stand alone",
                         larger(heads));
    else if (members > larger(all))
        cli_findings_add(f, CLI_FINDING_WARNING, "ensemble", "--hosts", "name all servers",
                         "%zu servers of an ensemble of %zu are named", larger(all), members);
}

/* The values of one property, over all servers that say it. */
typedef struct range {
    size_t known;
    int least, most;
    const char *least_at, *most_at;
} range;

static void add_to_range(range *r, int value, const char *where) {
    if (r->known == 0 || value < r->least) {
        r->least = value;
        r->least_at = where;
    }
    if (r->known == 0 || value > r->most) {
        r->most = value;
        r->most_at = where;
    }
    r->known++;
}

/* Whether they differ. */
static bool judge_range(cli_findings *f, const range *r, const char *check, const char *what) {
    if (r->known == 0 || r->least == r->most)
        return false;
    cli_findings_add(f, CLI_FINDING_WRONG, check, what,
                     "set it to one value on all servers: with a server that grants less, two "
                     "clients may hold at a time",
                     "the servers differ: %d ms at %s, %d ms at %s", r->least, r->least_at, r->most,
                     r->most_at);
    return true;
}

static void judge_bounds(cli_findings *f, const cli_probe *probes, size_t count) {
    range least = {0}, most = {0}, tick = {0};
    size_t served = 0;
    for (size_t i = 0; i < count; i++) {
        const cli_probe *p = &probes[i];
        served += p->session == CLI_ANSWER_GIVEN;
        if (p->session == CLI_ANSWER_GIVEN) {
            add_to_range(&least, p->session_min_ms, p->address->text);
            add_to_range(&most, p->session_max_ms, p->address->text);
        }
        if (p->tick_ms > 0)
            add_to_range(&tick, p->tick_ms, p->address->text);
    }
    bool differs = judge_range(f, &least, "bounds", "minSessionTimeout");
    differs = judge_range(f, &most, "bounds", "maxSessionTimeout") || differs;
    differs = judge_range(f, &tick, "tick", "tickTime") || differs;
    if (least.known > 1 && !differs)
        cli_findings_add(f, CLI_FINDING_OK, "bounds", "servers", NULL,
                         "all grant the same session timeouts");
    if (tick.known > 0 && least.known > 0 && least.least < TICKS_MIN * tick.most)
        cli_findings_add(f, CLI_FINDING_WRONG, "tick", "minSessionTimeout",
                         "set it to two ticks or more: below that two clients may hold at a time",
                         "%d ms is less than two ticks of %d ms", least.least, tick.most);
    if (tick.known < served)
        cli_findings_add(f, CLI_FINDING_NOTE, "tick", "tickTime",
                         "4lw.commands.whitelist=srvr,conf in each zoo.cfg would tell",
                         "the tick of %zu of %zu servers is not known", served - tick.known,
                         served);
    else if (tick.known > 0 && !differs)
        cli_findings_add(f, CLI_FINDING_OK, "tick", "tickTime", NULL, "%d ms", tick.least);
}

size_t cli_doctor_servers(cli_findings *findings, const cli_servers *servers,
                          const cli_probe *probes) {
    size_t serving = 0;
    for (size_t i = 0; i < servers->count; i++)
        judge_name(findings, &servers->servers[i]);
    for (size_t i = 0; i < servers->address_count; i++) {
        const cli_probe *p = &probes[i];
        if (is_reached(p))
            judge_answer(findings, p);
        else
            judge_unreachable(findings, p, has_sibling(servers, probes, p));
        if (p->session == CLI_ANSWER_GIVEN)
            judge_connections(findings, p);
        serving += p->session == CLI_ANSWER_GIVEN;
    }
    if (servers->left_out > 0)
        cli_findings_add(findings, CLI_FINDING_NOTE, "name", "--hosts",
                         "call it with a part of the list", "%zu servers or addresses are left out",
                         servers->left_out);
    judge_ensemble(findings, servers, probes);
    judge_bounds(findings, probes, servers->address_count);
    judge_lags(findings, probes, servers->address_count);
    return serving;
}
