/* The texts of --help; zklock(1) is the long form. None has more lines than a terminal of 24. */
#include "cli/help.h"

#include <stdio.h>
#include <zklock.h>

static const char Overview[] =
    "usage: zklock [OPTION]... SUBCOMMAND ...  ('zklock SUBCOMMAND --help' says more)\n"
    "  run NAME -- CMD [ARG]...  hold the lock NAME while CMD runs\n"
    "  ls [PREFIX]               list the locks that are held or waited for\n"
    "  show NAME                 list who holds NAME and who waits, in order\n"
    "  held NAME                 say by the exit status whether NAME is held\n"
    "  ask NAME                  ask those who hold NAME to let go\n"
    "  break NAME [NODE]         end the hold of NAME, or the wait of NODE\n"
    "  end FILE                  end the session of a dead run, by its ticket\n"
    "  deadlocks [PREFIX]        list clients that wait for each other in a circle\n"
    "  config                    print the settings in force, and from where they are\n"
    "  set PATH [FILE]           write a znode while the run around this one holds\n"
    "  get PATH                  print the data of a znode\n"
    "  fence FILE [-- CMD]       run CMD behind a fence that refuses late holders\n"
    "  doctor                    check the servers, and what we may do there\n"
    "  bench [NAME]              measure how fast locks are on these servers\n"
    "Options of every subcommand, before or after its name:\n"
    "      --hosts LIST          the servers, HOST[:PORT],...[/CHROOT] [ZKLOCK_HOSTS]\n"
    "      --root PATH           where the locks live [/locks]\n"
    "      --timeout SECS        session timeout to ask for [10]\n"
    "      --auth-file FILE      a line SCHEME:CREDENTIALS, as digest:user:password\n"
    "      --label TEXT          shown in the list of the queue\n"
    "  -v, --verbose             say what happens; -vv: what the client library logs\n"
    "  -h, --help                print this\n"
    "  -V, --version             print the version\n";

static const char Run[] =
    "usage: zklock run [OPTION]... NAME [--] CMD [ARG]...\n"
    "       zklock run [OPTION]... NAME -c 'SHELL COMMAND'\n"
    "       zklock run [OPTION]... --all NAME... -- CMD [ARG]...\n"
    "Waits for the lock NAME, runs CMD, releases the lock. CMD is stopped before\n"
    "another can get the lock. It finds ZKLOCK_NAME, ZKLOCK_TOKEN and ZKLOCK_NODE.\n"
    "  -n, --nonblock            do not wait: fail if another client holds the lock\n"
    "  -w, --wait SECS           wait no longer than this; 0 is -n\n"
    "  -s, --shared              hold it together with others that do so\n"
    "  -x, --exclusive           hold it alone [the default]\n"
    "      --permits N           hold it with N - 1 others that say the same N\n"
    "      --all                 hold several locks, taken in one step\n"
    "  -E, --conflict-exit-code N  exit status when it was not acquired [1]\n"
    "      --grace SECS          from SIGTERM to SIGKILL [a quarter of the timeout]\n"
    "      --cgroup              CMD's processes cannot escape by a new session\n"
    "      --on-lost WORD        what CMD gets then: kill, term, ignore [kill]\n"
    "      --ticket FILE         keep the session's ticket there, for 'zklock end'\n"
    "      --metrics-file FILE   keep figures there, for Prometheus' node_exporter\n"
    "  -c, --command TEXT        CMD is /bin/sh -c TEXT\n"
    "      --show-command        CMD and its arguments are the label\n"
    "  -q, --quiet               do not say who holds the lock while waiting for it\n"
    "Exit status: CMD's, 128+N if signal N ended it; 1 not acquired (-E); 69 no\n"
    "server; 75 the hold was not kept; 77 denied; 126, 127 no CMD; others: zklock(1).\n";

static const char Ls[] =
    "usage: zklock ls [OPTION]... [PREFIX]\n"
    "\n"
    "Lists the locks at or below PREFIX that are held or waited for. HOLDER is who\n"
    "holds it, DEPTH counts the holders and those who wait, OLDEST WAIT is how long\n"
    "the first one waits. On a terminal what does not fit its width is cut.\n"
    "\n"
    "      --sort KEY            by name, depth or wait [name]\n"
    "      --watch               print it again and again; on a terminal in place\n"
    "      --interval SECS       of --watch: the pause in between [1]\n"
    "      --names               print names only, one a line; no queue is read\n"
    "      --json                print JSON\n"
    "      --prometheus          print metrics in Prometheus' text format\n";

static const char Show[] =
    "usage: zklock show [OPTION]... NAME\n"
    "\n"
    "Lists who holds the lock NAME and who waits for whom, in the order of the queue.\n"
    "A number in STATE is the POS of the one that is waited for. On a terminal what\n"
    "does not fit its width is cut.\n"
    "\n"
    "      --watch               print it again and again; on a terminal in place\n"
    "      --interval SECS       of --watch: the pause in between [1]\n"
    "  -l, --long                all columns, uncut: node, session, token, times\n"
    "      --json                print JSON\n";

static const char Held[] =
    "usage: zklock held [OPTION]... NAME\n"
    "\n"
    "Exits with 0 if a client holds the lock NAME. Under a 'zklock run' of that lock:\n"
    "if that run still holds it. Prints nothing; with -v it says who holds it.\n"
    "\n"
    "Exit status: 0 held; 1 not held; 64, 69, 70, 77 as for run.\n";

static const char Ask[] =
    "usage: zklock ask [OPTION]... NAME\n"
    "\n"
    "Asks those who hold the lock NAME to let go. Programs that want to be told are\n"
    "told (ZKL_EVENT_WANTED) and decide for themselves. Nobody loses a hold by this.\n"
    "\n"
    "Exit status: 0 asked; 1 there is none to ask; 64, 69, 70, 77 as for run.\n";

static const char Break[] =
    "usage: zklock break [OPTION]... NAME [NODE]\n"
    "\n"
    "Ends the hold of who holds the lock NAME, or the hold or wait of the contender\n"
    "NODE ('zklock show -l'). Its owner is told first. If it does not answer, its\n"
    "node is deleted when its session timeout has passed, so that no two clients are\n"
    "sure of the lock.\n"
    "\n"
    "  -y, --yes                 do not ask whether that is wanted\n"
    "  -w, --wait SECS           wait no longer than this until the node is gone\n"
    "\n"
    "Exit status: 0 the node is gone; 1 there is none, or it is not gone in time;\n"
    "64 also if it was not wanted; 69, 70, 77 as for run.\n";

static const char End[] =
    "usage: zklock end [OPTION]... FILE\n"
    "\n"
    "Ends the session whose ticket 'zklock run --ticket FILE' has left, so that its\n"
    "locks are free at once. Only for a run whose processes are dead: a service\n"
    "manager may kill the run, its guardian and the command together. Without FILE\n"
    "there is nothing to end.\n"
    "\n"
    "Exit status: 0 the session is over; 64, 69, 70, 77 as for run.\n";

static const char Deadlocks[] =
    "usage: zklock deadlocks [OPTION]... [PREFIX]\n"
    "\n"
    "Lists threads that wait for each other in a circle, by locks at or below PREFIX:\n"
    "none of them goes on until a wait or a process of the circle ends. Each blocks\n"
    "the one in the line before it, the first of a circle the last one.\n"
    "\n"
    "      --json                print JSON\n"
    "\n"
    "Exit status: 0 none is found; 1 there are circles; 64, 69, 70, 77 as for run.\n";

static const char Config[] =
    "usage: zklock config [OPTION]...\n"
    "\n"
    "Prints where the servers are and how zklock goes there, and from where it knows:\n"
    "an option, ZKLOCK_HOSTS, or a file. That is $XDG_CONFIG_HOME/zklock.conf\n"
    "(~/.config/zklock.conf), or if there is none /etc/zklock.conf. Its lines are\n"
    "SETTING = VALUE, or a comment behind '#'. The settings: hosts, root, timeout,\n"
    "auth (SCHEME:CREDENTIALS), auth-file.\n"
    "\n"
    "Exit status: 0; 78 the file is wrong.\n";

static const char Set[] =
    "usage: zklock set [OPTION]... PATH [FILE]\n"
    "\n"
    "Writes FILE, or standard input, into the znode PATH, on condition that the\n"
    "'zklock run' around this command holds its locks: the servers check that in the\n"
    "transaction that writes. PATH is absolute, from the chroot of the servers.\n"
    "\n"
    "      --if-version N        only if the node has this version ('zklock get')\n"
    "      --create              create the node if it is missing\n"
    "      --unguarded           write whether or not a lock is held\n"
    "\n"
    "Exit status: 0 written; 1 there is no such node, or it has another version; 74\n"
    "written or not: read it; 75 the hold is over; 64, 69, 70, 77 as for run.\n";

static const char Get[] =
    "usage: zklock get [OPTION]... PATH\n"
    "\n"
    "Prints the data of the znode PATH as they are: escape them before a terminal\n"
    "sees them. They are no older than the call, whichever server answers.\n"
    "\n"
    "      --print-version       print the node's version instead\n"
    "\n"
    "Exit status: 0; 1 there is no such node; 64, 69, 70, 77 as for run.\n";

static const char Fence[] =
    "usage: zklock fence [OPTION]... FILE [[--] CMD [ARG]...]\n"
    "\n"
    "Shows the token of the 'zklock run' around this command to the fence in FILE. If\n"
    "a later holder has been there, CMD is not run. Else no other passes the fence\n"
    "until CMD has ended. Without CMD the token is checked only. FILE is made if it\n"
    "is missing. It is for the processes of one user on one machine.\n"
    "\n"
    "      --name NAME           of the lock, if the run has several (--all)\n"
    "\n"
    "Exit status: CMD's, or 0; 128+N if signal N ended it; 75 a later holder has been\n"
    "there; 64 not inside a run; 70 the fence cannot be used; 126, 127 no CMD.\n";
static const char Doctor[] =
    "usage: zklock doctor [OPTION]...\n"
    "\n"
    "Looks at each server of --hosts by itself, at the settings that locks rely on,\n"
    "and at the locks below the root. It tries there what a lock needs: it creates a\n"
    "directory and a node in it, and removes them. It takes 45 seconds at most.\n"
    "\n"
    "Each finding is a line, with 'ok', 'note', 'warning' or 'wrong' in front. Where\n"
    "it is not ok, the next line says what to do. Servers tell more if their\n"
    "4lw.commands.whitelist has srvr, conf and cons.\n"
    "\n"
    "      --json                print JSON\n"
    "\n"
    "Exit status: 0 nothing is wrong; 1 something is; 69 no server serves; 77 denied;\n"
    "64, 70, 78 as for run.\n";

static const char Bench[] =
    "usage: zklock bench [OPTION]... [NAME]\n"
    "\n"
    "Measures the lock NAME, which should be in use by no one: its acquires and\n"
    "releases, and how long it takes from one session's release to the acquire of\n"
    "another that waits. Beside them it measures a plain read and a plain write.\n"
    "Without NAME it is zklock-bench-NUMBER below the root. Nothing is left there.\n"
    "\n"
    "      --count N             so many times each [200]\n"
    "      --json                print JSON\n"
    "\n"
    "Exit status: 0; 1 another client holds NAME; 64, 69, 70, 77 as for run.\n";

static const char More[] = "\nOptions of every subcommand: 'zklock --help'.\n";

void cli_help_print(cli_subcommand subcommand) {
    static const char *const texts[CLI_SUBCOMMANDS] = {
        [CLI_NONE] = Overview, [CLI_RUN] = Run,       [CLI_LS] = Ls,
        [CLI_SHOW] = Show,     [CLI_HELD] = Held,     [CLI_ASK] = Ask,
        [CLI_BREAK] = Break,   [CLI_END] = End,       [CLI_DEADLOCKS] = Deadlocks,
        [CLI_CONFIG] = Config, [CLI_DOCTOR] = Doctor, [CLI_BENCH] = Bench,
        [CLI_SET] = Set,       [CLI_GET] = Get,       [CLI_FENCE] = Fence};
    fputs(texts[subcommand], stdout);
    if (subcommand != CLI_NONE && subcommand != CLI_RUN)
        fputs(More, stdout);
}

void cli_version_print(void) {
    printf("zklock %s\n", zkl_version());
}
