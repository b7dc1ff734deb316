"""kazoo under the workloads of bench/peers.sh, as bench_peers.c for other services.

usage: kazoo_peer.py HOSTS
"""

import statistics
import sys
import threading
import time

from kazoo.client import KazooClient
from kazoo.exceptions import LockTimeout

TIMEOUT_S = 10
PERMITS = 4
PATIENCE_S = 0.015
SETTLE_S = 0.01
SETTLE_EACH_S = 0.005

clients = []
runs = 0


def client(index):
    while len(clients) <= index:
        clients.append(KazooClient(hosts=sys.argv[1], timeout=TIMEOUT_S))
        clients[-1].start()
    return clients[index]


def contend(workload, count, client_count):
    """Contenders for one lock, whose name no other run has."""
    global runs
    runs += 1
    path = f"/locks/bench/kazoo-{workload}-{runs}"

    def one(zk):
        if workload == "read":
            return zk.ReadLock(path)
        if workload == "write":
            return zk.WriteLock(path)
        if workload == "semaphore":
            return zk.Semaphore(path, max_leases=PERMITS)
        return zk.Lock(path)

    return [one(client(i % client_count)) for i in range(count)]


def start(contenders, work):
    threads = [threading.Thread(target=work, args=(lock,)) for lock in contenders]
    for thread in threads:
        thread.start()
    return threads


def join(threads):
    for thread in threads:
        thread.join()


def median_us(times):
    return statistics.median_low(times) / 1000


def free(lock, window_ns):
    times = []
    now = time.monotonic_ns()
    end = now + window_ns
    while now < end:
        lock.acquire()
        lock.release()
        done = time.monotonic_ns()
        times.append(done - now)
        now = done
    return median_us(times)


def hand_off(contenders, window_ns):
    first, waiters = contenders[0], contenders[1:]
    times = []
    released_at = 0  # the lock guards both

    def release_timed(lock):
        nonlocal released_at
        released_at = time.monotonic_ns()
        lock.release()

    def wait_once(lock):
        lock.acquire()
        times.append(time.monotonic_ns() - released_at)
        release_timed(lock)

    end = time.monotonic_ns() + window_ns
    while time.monotonic_ns() < end:
        first.acquire()
        threads = start(waiters, wait_once)
        time.sleep(SETTLE_S if len(waiters) == 1 else SETTLE_EACH_S * len(waiters))
        release_timed(first)
        join(threads)
    return median_us(times)


def turns(contenders, patience_s, window_ns, hold_us):
    grants = 0  # the lock guards it
    is_over = False

    def take_turns(lock):
        nonlocal grants
        while not is_over:
            try:
                lock.acquire(timeout=patience_s)
            except LockTimeout:
                continue
            grants += 1
            if hold_us > 0:
                time.sleep(hold_us / 1e6)
            lock.release()

    threads = start(contenders, take_turns)
    time.sleep(window_ns / 4e9)
    before, begun = grants, time.monotonic_ns()
    time.sleep(window_ns / 1e9)
    rate = (grants - before) * 1e9 / (time.monotonic_ns() - begun)
    is_over = True
    join(threads)
    return rate


def answer(workload, window_ns, hold_us):
    """None: no such locks."""
    if workload in ("lingering", "several"):
        return None
    if workload == "hand-off":
        return hand_off(contend(workload, 2, 2), window_ns)
    if workload == "hand-off-100":
        return hand_off(contend(workload, 101, 4), window_ns)
    if workload == "turns":
        return turns(contend(workload, 8, 8), None, window_ns, hold_us)
    if workload == "patient":
        return turns(contend(workload, 24, 4), None, window_ns, hold_us)
    if workload == "impatient":
        return turns(contend(workload, 24, 4), PATIENCE_S, window_ns, hold_us)
    return free(contend(workload, 1, 1)[0], window_ns)


for line in sys.stdin:
    name, window_ms, hold = line.split()
    figure = answer(name, int(window_ms) * 1000000, int(hold))
    print("-" if figure is None else f"{figure:.2f}", flush=True)
for zk in clients:
    zk.stop()
