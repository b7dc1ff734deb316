/* The parts of doctor, in the order in which it looks. Each adds findings. */
#ifndef CLI_DOCTOR_H
#define CLI_DOCTOR_H

#include "cli/findings.h"
#include "cli/probe.h"
#include "cli/servers.h"
#include "cli/znodes.h"

#include <stdbool.h>

/* The servers, each by itself, and beside each other; how many of probes would have us. */
size_t cli_doctor_servers(cli_findings *findings, const cli_servers *servers,
                          const cli_probe *probes);

typedef struct cli_doctor_place {
    cli_findings *findings;
    cli_znodes *znodes;
    const char *chroot;
    const char *root;
    bool is_denied; /* something was */
    bool has_gone;  /* there is no use in looking on: no answer, or no chroot */
} cli_doctor_place;

/* The chroot, the root, and what we may do there, tried and tidied up again. */
void cli_doctor_rights(cli_doctor_place *place);

/* The directories of locks below the root. */
void cli_doctor_locks(cli_doctor_place *place);

#endif
