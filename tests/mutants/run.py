"""Runs the tests against each mutant and says which mutants no test finds.

Usage, from scripts/mutate.sh only:
    run.py list BUILD PATH...
    run.py write BUILD PATH...
    run.py run BUILD JOBS AGAIN ONLY_UNIT PATH...
PATH: the .c files whose mutants count. Below BUILD are code (a copy of the project with all mutants
in it), plain (the tests as they are) and checked (most unit tests, with sanitizers).

Not here: what a mutant is (schemata.py), building (scripts/mutate.sh).
"""
import collections
import concurrent.futures
import filecmp
import glob
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

import schemata

LAYERS = ("core", "engine")
PARTS = ("CMakeLists.txt", "cmake", "include", "src", "tests")
EQUIVALENT = "tests/mutants/equivalent.txt"
PARSED_WITH = ["-Isrc", "-Iinclude", "-std=c11", "-D_GNU_SOURCE", "-DNDEBUG"]
# These have threads, processes or files, and with them a timing of their own: a mutant that they
# alone find would be found now and then.
LEFT_OUT = ("unit_fence", "unit_hand_on", "unit_lock", "unit_overlap", "unit_places", "unit_reads",
            "unit_session", "unit_set_permits", "unit_several")
# Long reckonings, for which sanitizers take several times as long: not with them.
UNCHECKED = ("unit_contender_walks", "unit_engine_latency", "unit_lease_ample", "unit_lease_leader")
# Schedules of the simulation. Most mutants that it finds at all it finds in the first few.
SCHEDULES = (300, 3000)
# What may be: a mutant that needs more processor time hangs. Waiting is no test's business here.
CPU_FACTOR, CPU_LEAST_S, WALL_S = 4, 2, 600
MEMORY_MB = 2048
QUICK_S = 0.2

HEADER = """\
extern unsigned zkli_mutant;
extern unsigned char *zkli_reached;
#define ZKLI_M(number) (zkli_reached[number] = 1, zkli_mutant == (number))
"""
# The map of what was reached is a file, so that it outlives fork and _exit. A program of the unit
# tests ends with its first failed check: the linker puts our function in place of CUnit's.
SOURCE = """\
#include "zkli_mutant.h"
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
static unsigned char nowhere[MUTANTS + 1];
unsigned zkli_mutant;
unsigned char *zkli_reached = nowhere;
__attribute__((constructor)) static void choose(void) {
    const char *number = getenv("ZKLI_MUTANT"), *path = getenv("ZKLI_REACHED");
    zkli_mutant = number == NULL ? 0 : (unsigned)strtoul(number, NULL, 10);
    if (path == NULL)
        return;
    int fd = open(path, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, MUTANTS + 1) != 0)
        abort();
    zkli_reached = mmap(NULL, MUTANTS + 1, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (zkli_reached == MAP_FAILED)
        abort();
    (void)close(fd);
}
int __wrap_CU_assertImplementation(int is_true);
int __wrap_CU_assertImplementation(int is_true) {
    if (!is_true)
        _exit(1);
    return is_true;
}
"""


def sources():
    return sorted(path for layer in LAYERS for path in glob.glob(f"src/{layer}/*.c"))


def say(text):
    print(f"mutate.sh: {text}", file=sys.stderr, flush=True)


# ---- the code with the mutants in it ----

def write_if_other(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.exists(path):
        with open(path, encoding="utf-8") as old:
            if old.read() == text:
                return
    with open(path, "w", encoding="utf-8") as new:
        new.write(text)


def copy_if_other(source, target):
    if not os.path.exists(target) or not filecmp.cmp(source, target, shallow=False):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(source, target)


def write_code(build):
    """Touches only what differs, so that little is built again."""
    mutants, files = schemata.mutate(sources(), PARSED_WITH)
    wanted = {"src/base/zkli_mutant.c"}
    for part in PARTS:
        names = [part] if os.path.isfile(part) else \
            [os.path.join(at, name) for at, _, found in os.walk(part) for name in found]
        for name in names:
            wanted.add(name)
            if name not in files:
                copy_if_other(name, f"{build}/code/{name}")
    for name, file in files.items():
        write_if_other(f"{build}/code/{name}", file.text)
    write_if_other(f"{build}/code/src/zkli_mutant.h", HEADER)
    write_if_other(f"{build}/code/src/base/zkli_mutant.c",
                   f"#define MUTANTS {len(mutants)}\n{SOURCE}")
    for at, _, found in os.walk(f"{build}/code"):
        for name in found:
            path = os.path.relpath(os.path.join(at, name), f"{build}/code")
            if path.endswith(".c") and path not in wanted:
                os.remove(f"{build}/code/{path}")
    left_out = sum(file.constants_left_out for file in files.values())
    return mutants, left_out


# ---- running a test ----

class Test:
    """A program, what it takes, and which mutants it reaches."""

    def __init__(self, name, command, directory):
        self.name = name
        self.command = command
        self.directory = directory
        self.cpu_s = 0.0
        self.limit_s = 60
        self.reached = set()

    def environment(self, extra):
        options = f"symbolize=0:hard_rss_limit_mb={MEMORY_MB}:detect_leaks=1:" \
                  "detect_stack_use_after_return=1"
        own = {
            "ASAN_OPTIONS": options,
            "LSAN_OPTIONS": f"suppressions={os.getcwd()}/tests/lsan.supp:print_suppressions=0",
            "UBSAN_OPTIONS": "symbolize=0",
            "ZKLOCK_SOURCE_DIR": os.getcwd(),
            "ZKLOCK_BUILD_DIR": self.directory,
        }
        return {**os.environ, **own, **extra}

    def passes(self, extra):
        limited = ["sh", "-c", 'ulimit -t "$0" && exec "$@"', str(self.limit_s), *self.command]
        with subprocess.Popen(limited, cwd=self.directory, env=self.environment(extra),
                              stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                              stderr=subprocess.DEVNULL, start_new_session=True) as process:
            try:
                return process.wait(WALL_S) == 0
            except subprocess.TimeoutExpired:
                return False
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass

    def finds(self, mutant):
        return not self.passes({"ZKLI_MUTANT": str(mutant.number)})

    def try_unchanged(self):
        """Without a mutant: how long it takes, and what it reaches."""
        reached = f"{self.directory}/reached"
        if os.path.exists(reached):
            os.remove(reached)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        if not self.passes({"ZKLI_REACHED": reached}):
            sys.exit(f"mutate.sh: {self.name} fails without a mutant")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        self.cpu_s = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        self.limit_s = int(CPU_LEAST_S + CPU_FACTOR * self.cpu_s)
        if os.path.exists(reached):
            with open(reached, "rb") as found:
                self.reached = {i for i, byte in enumerate(found.read()) if byte}


def unit_tests(build):
    """Each as it is, which is quick and finds the most, and with sanitizers."""
    tests = []
    for source in sorted(glob.glob("tests/unit/test_*.c")):
        name = os.path.basename(source)[:-2].replace("test_", "unit_", 1)
        for kind in ("plain", "checked"):
            program = f"{build}/{kind}/tests/{name}"
            is_wanted = not name.startswith(LEFT_OUT) and \
                (kind == "plain" or name not in UNCHECKED)
            if is_wanted:
                tests.append(Test(name, [program], f"{build}/{kind}"))
    for test in tests:
        test.try_unchanged()
    return [test for test in tests if test.reached]


def simulations(build):
    tests = []
    for count in SCHEDULES:
        program = f"{build}/plain/tests/simulate"
        tests.append(Test(f"simulate 1 {count}", [program, "1", str(count)], f"{build}/plain"))
    for test in tests:
        test.try_unchanged()
    return tests


# ---- all mutants ----

class Search:
    """Who finds which mutant. A quick test that found the last one of a function comes first. The
    others come by the time they take, of which those may take more that are named after the file,
    and those that have found many of its mutants. What is listed as equivalent sees the quick tests
    only: nothing else takes as long as a change that no test finds."""

    def __init__(self, unit, simulation, build):
        self.unit = unit
        self.simulation = simulation
        self.found = {}
        self.last = {}
        self.finds = collections.Counter()
        self.done = 0
        self.lock = threading.Lock()
        self.results = open(f"{build}/results.tsv", "a", encoding="utf-8")

    def finder(self, mutant, is_equivalent):
        place = (mutant.path, mutant.function)
        first = self.last.get(place)
        own = "_" + os.path.basename(mutant.path).split(".")[0]
        tests = sorted(self.unit, key=lambda test:
                       (test is not first, test.cpu_s / ((5 if own in test.name else 1) +
                                                         self.finds[mutant.path, test])))
        if is_equivalent:
            tests = [test for test in tests if test.cpu_s < QUICK_S]
        else:
            tests += self.simulation
        for test in tests:
            if mutant.number in test.reached and test.finds(mutant):
                if test.cpu_s < QUICK_S:
                    self.last[place] = test
                self.finds[mutant.path, test] += 1
                return test.name
        return ""

    def search(self, mutant, is_equivalent, count):
        name = self.finder(mutant, is_equivalent)
        with self.lock:
            self.found[mutant.key] = name
            self.results.write(f"{mutant.key}\t{name}\n")
            self.results.flush()
            self.done += 1
            if self.done % 200 == 0:
                say(f"{self.done} of {count}")


def read_results(build):
    """Of an earlier run: which mutants were found, and by what."""
    found = {}
    if os.path.exists(f"{build}/results.tsv"):
        with open(f"{build}/results.tsv", encoding="utf-8") as results:
            for line in results:
                key, name = line.rstrip("\n").split("\t")
                found[key] = name
    return {key: name for key, name in found.items() if name}


def read_equivalent():
    """The listed keys. Below one or a few lies their reason, in lines that begin with blanks."""
    keys, without_reason = set(), {}
    if os.path.exists(EQUIVALENT):
        with open(EQUIVALENT, encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                if line.startswith(LAYERS):
                    keys.add(line.strip())
                    without_reason[line.strip()] = number
                elif line.startswith(" "):
                    without_reason.clear()
    for key, number in without_reason.items():
        sys.exit(f"mutate.sh: {EQUIVALENT}:{number}: without a reason: {key}")
    return keys


# ---- the report ----

def percent(part, whole):
    return f"{100 * part / whole:.1f} %" if whole else "-"


def row(name, mutants, found, equivalent):
    keys = [mutant.key for mutant in mutants]
    by_unit = sum(found[key].startswith("unit") for key in keys)
    by_sim = sum(found[key].startswith("sim") for key in keys)
    listed = sum(key in equivalent and not found[key] for key in keys)
    survived = len(keys) - by_unit - by_sim - listed
    print(f"{name} | {len(keys)} | {by_unit} | {by_sim} | {survived} | {listed} | "
          f"{percent(by_unit + by_sim, len(keys) - listed)}")


def report(mutants, found, equivalent, left_out, seconds):
    print("file | mutants | found by unit tests | by the simulation | survived | equivalent | "
          "found of the others")
    for path in sorted({mutant.path for mutant in mutants}):
        row(path, [mutant for mutant in mutants if mutant.path == path], found, equivalent)
    for layer in LAYERS:
        of_layer = [mutant for mutant in mutants if mutant.path.startswith(f"src/{layer}/")]
        if of_layer:
            row(f"src/{layer}", of_layer, found, equivalent)
    print(f"\nnumbers in macros' definitions and static tables, left out: {left_out}")
    print(f"time: {seconds:.0f} s")
    survived = [mutant for mutant in mutants
                if not found[mutant.key] and mutant.key not in equivalent]
    if survived:
        print()
    for mutant in survived:
        print(f"survived: {mutant.path}:{mutant.line}: {mutant.key}")
    return bool(survived)


def wrong_listings(mutants, paths, found, equivalent):
    keys = {mutant.key for mutant in mutants}
    whole_layers = {layer for layer in LAYERS
                    if all(path in paths for path in sources() if path.startswith(f"src/{layer}/"))}
    wrong = [f"listed as equivalent, but {found[key]} finds it: {key}"
             for key in sorted(equivalent) if found.get(key)]
    wrong += [f"listed as equivalent, but there is no such mutant: {key}"
              for key in sorted(equivalent) if key.split("/")[0] in whole_layers and key not in keys]
    if wrong:
        print()
    for line in wrong:
        print(line)
    return bool(wrong)


def run(build, jobs, is_again, is_unit_only, paths):
    begun = time.monotonic()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    mutants, left_out = write_code(build)
    headers = {mutant.path for mutant in mutants if mutant.path.endswith(".h")}
    layers = {path.rsplit("/", 1)[0] for path in paths}
    paths = set(paths) | {path for path in headers if path.rsplit("/", 1)[0] in layers}
    mutants = [mutant for mutant in mutants if mutant.path in paths]
    equivalent = read_equivalent()
    earlier = read_results(build) if is_again else {}
    if not is_again and os.path.exists(f"{build}/results.tsv"):
        os.remove(f"{build}/results.tsv")
    search = Search(unit_tests(build), [] if is_unit_only else simulations(build), build)
    todo = [mutant for mutant in mutants if mutant.key not in earlier]
    search.found = {mutant.key: earlier.get(mutant.key, "") for mutant in mutants}
    say(f"{len(todo)} of {len(mutants)} mutants, {len({test.name for test in search.unit})} unit programs")
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for result in [pool.submit(search.search, mutant, mutant.key in equivalent, len(todo))
                       for mutant in todo]:
            result.result()
    search.results.close()
    has_survivors = report(mutants, search.found, equivalent, left_out, time.monotonic() - begun)
    return wrong_listings(mutants, paths, search.found, equivalent) or has_survivors


def main(arguments):
    command, build, rest = arguments[0], os.path.abspath(arguments[1]), arguments[2:]
    if command == "write":
        write_code(build)
        return False
    if command == "list":
        for mutant in schemata.mutate(sources(), PARSED_WITH)[0]:
            if mutant.path in rest:
                print(f"{mutant.path}:{mutant.line}: {mutant.key}")
        return False
    return run(build, int(rest[0]), rest[1] == "yes", rest[2] == "yes", rest[3:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
