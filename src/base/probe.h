/*
 * probe - places in the library that perf, bpftrace and gdb can stop at or count, by the names
 * zklock:<name> (USDT). Until one does, each is a nop; without <sys/sdt.h> at build time, nothing.
 * docs/operations.md lists them with their arguments.
 */
#ifndef ZKLI_BASE_PROBE_H
#define ZKLI_BASE_PROBE_H

#ifdef ZKLI_HAS_PROBES
#include <sys/sdt.h>

#define ZKLI_PROBE2(name, a, b) DTRACE_PROBE2(zklock, name, a, b)
#define ZKLI_PROBE3(name, a, b, c) DTRACE_PROBE3(zklock, name, a, b, c)
#define ZKLI_PROBE4(name, a, b, c, d) DTRACE_PROBE4(zklock, name, a, b, c, d)
#else
#define ZKLI_PROBE2(name, a, b) ((void)(a), (void)(b))
#define ZKLI_PROBE3(name, a, b, c) ((void)(a), (void)(b), (void)(c))
#define ZKLI_PROBE4(name, a, b, c, d) ((void)(a), (void)(b), (void)(c), (void)(d))
#endif

#endif
