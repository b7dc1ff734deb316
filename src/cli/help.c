/* The texts of --help; zklock(1) is the long form. */
#include "cli/help.h"

#include <stdio.h>
#include <zklock.h>

static const char Overview[] =
    "usage: zklock [OPTION]... SUBCOMMAND [ARGUMENT]...\n"
    "\n"
    "Distributed locks on ZooKeeper.\n"
    "\n"
    "  run NAME -- CMD [ARG]...  hold the lock NAME while CMD runs\n"
    "  ls [PREFIX]               list the locks that are held or waited for\n"
    "  show NAME                 list who holds NAME and who waits, in order\n"
    "  held NAME                 say by the exit status whether NAME is held\n"
    "  ask NAME                  ask those who hold NAME to let go\n"
    "  break NAME [NODE]         end the hold of NAME, or the wait of NODE\n"
    "  end FILE                  end the session of a run that is dead, by its ticket\n"
    "  deadlocks [PREFIX]        list clients that wait for each other in a circle\n"
    "\n"
    "'zklock SUBCOMMAND --help' says more; zklock(1) says all.\n";

static const char Run[] =
    "usage: zklock run [OPTION]... NAME [--] CMD [ARG]...\n"
    "       zklock run [OPTION]... NAME -c 'SHELL COMMAND'\n"
    "       zklock run [OPTION]... --all NAME... -- CMD [ARG]...\n"
    "\n"
    "Waits for the lock NAME, runs CMD and releases the lock when CMD ends. If the hold cannot\n"
    "be kept, CMD and its process group are stopped before another client can get the lock.\n"
    "CMD finds ZKLOCK_NAME, ZKLOCK_TOKEN (the fencing token) and ZKLOCK_NODE in its environment.\n"
    "\n"
    "  -n, --nonblock            do not wait: fail if another client holds the lock\n"
    "  -w, --wait SECS           wait no longer than this; 0 is -n\n"
    "  -s, --shared              hold it together with others that do so\n"
    "  -x, --exclusive           hold it alone [the default]\n"
    "      --permits N           hold it together with N - 1 others that say the same N\n"
    "      --all                 hold several locks, taken in one step: all of them or none\n"
    "  -E, --conflict-exit-code N\n"
    "                            exit status when the lock was not acquired [1]\n"
    "      --grace SECS          from SIGTERM to SIGKILL when the hold runs out\n"
    "                            [a quarter of the session timeout]\n"
    "      --ticket FILE         keep the session's ticket there, for 'zklock end'\n"
    "  -c, --command TEXT        CMD is /bin/sh -c TEXT\n"
    "      --show-command        CMD and its arguments are the label\n"
    "  -q, --quiet               do not say who holds the lock while waiting for it\n";

static const char Ls[] =
    "usage: zklock ls [OPTION]... [PREFIX]\n"
    "\n"
    "Lists the locks at or below PREFIX that are held or waited for, with the number of\n"
    "contenders (the holder and those who wait).\n"
    "\n"
    "      --json                print JSON\n";

static const char Show[] =
    "usage: zklock show [OPTION]... NAME\n"
    "\n"
    "Lists who holds the lock NAME and who waits for whom, in the order of the queue.\n"
    "\n"
    "      --json                print JSON\n";

static const char Held[] =
    "usage: zklock held [OPTION]... NAME\n"
    "\n"
    "Exits with 0 if a client holds the lock NAME. Under a 'zklock run' of that lock: if that run\n"
    "still holds it. Prints nothing; with -v it says who holds it.\n";

static const char Ask[] =
    "usage: zklock ask [OPTION]... NAME\n"
    "\n"
    "Asks those who hold the lock NAME to let go. Programs that want to be told are told\n"
    "(ZKL_EVENT_WANTED) and decide for themselves. Nobody loses a hold by this.\n";

static const char Break[] =
    "usage: zklock break [OPTION]... NAME [NODE]\n"
    "\n"
    "Ends the hold of who holds the lock NAME, or of the contender NODE ('zklock show'), or its\n"
    "wait. Its owner is told first. If it does not answer, its node is deleted when its session\n"
    "timeout has passed, so that no two clients are sure of the lock.\n"
    "\n"
    "  -y, --yes                 do not ask whether that is wanted\n"
    "  -w, --wait SECS           wait no longer than this until the node is gone\n";

static const char End[] =
    "usage: zklock end [OPTION]... FILE\n"
    "\n"
    "Ends the session whose ticket 'zklock run --ticket FILE' has left, so that its locks are "
    "free\n"
    "at once. Only for a run whose processes are dead: a service manager may kill the run, its\n"
    "guardian and the command together. Without FILE there is nothing to end.\n";

static const char Deadlocks[] =
    "usage: zklock deadlocks [OPTION]... [PREFIX]\n"
    "\n"
    "Lists threads that wait for each other in a circle, by locks at or below PREFIX: none of "
    "them\n"
    "goes on until a wait or a process of the circle ends. Each blocks the one in the line before\n"
    "it, the first of a circle the last one.\n"
    "\n"
    "      --json                print JSON\n";

static const char Common[] =
    "\n"
    "options of every subcommand, before or after its name:\n"
    "      --hosts LIST          the servers, HOST[:PORT],...[/CHROOT] [ZKLOCK_HOSTS]\n"
    "      --root PATH           where the locks live [/locks]\n"
    "      --timeout SECS        session timeout to ask for [10]\n"
    "      --auth-file FILE      a line SCHEME:CREDENTIALS, such as digest:user:password\n"
    "      --label TEXT          shown in the list of the queue\n"
    "  -v, --verbose             say on standard error what happens\n"
    "  -h, --help                print this\n"
    "  -V, --version             print the version\n";

static const char Statuses[] =
    "\n"
    "exit status: that of CMD, or 128+N if signal N ended it; 1 not acquired (see -E);\n"
    "64 wrong usage; 69 no server answers; 70 internal error; 75 the lock could not be kept;\n"
    "77 access denied; 126 CMD cannot be executed; 127 CMD not found.\n";

void cli_help_print(cli_subcommand subcommand) {
    switch (subcommand) {
    case CLI_RUN:
        fputs(Run, stdout);
        break;
    case CLI_LS:
        fputs(Ls, stdout);
        break;
    case CLI_SHOW:
        fputs(Show, stdout);
        break;
    case CLI_HELD:
        fputs(Held, stdout);
        break;
    case CLI_ASK:
        fputs(Ask, stdout);
        break;
    case CLI_BREAK:
        fputs(Break, stdout);
        break;
    case CLI_END:
        fputs(End, stdout);
        break;
    case CLI_DEADLOCKS:
        fputs(Deadlocks, stdout);
        break;
    case CLI_NONE:
        fputs(Overview, stdout);
        break;
    }
    fputs(Common, stdout);
    if (subcommand == CLI_RUN)
        fputs(Statuses, stdout);
    if (subcommand == CLI_HELD)
        fputs("\nexit status: 0 held; 1 not held; 64, 69, 70, 77 as for run.\n", stdout);
    if (subcommand == CLI_ASK)
        fputs("\nexit status: 0 asked; 1 there is none to ask; 64, 69, 70, 77 as for run.\n",
              stdout);
    if (subcommand == CLI_BREAK)
        fputs("\nexit status: 0 the node is gone; 1 there is none, or it is not gone in time;\n"
              "64 also if it was not wanted; 69, 70, 77 as for run.\n",
              stdout);
    if (subcommand == CLI_END)
        fputs("\nexit status: 0 the session is over; 64, 69, 70, 77 as for run.\n", stdout);
    if (subcommand == CLI_DEADLOCKS)
        fputs("\nexit status: 0 none is found; 1 there are circles; 64, 69, 70, 77 as for run.\n",
              stdout);
}

void cli_version_print(void) {
    printf("zklock %s\n", zkl_version());
}
