/*
 * Curator under the workloads of bench/peers.sh, as bench_peers.c for other services.
 *
 * usage: java Curator HOSTS
 */
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.retry.RetryOneTime;

public final class Curator {
    private static final int TIMEOUT_MS = 10000;
    private static final int CLIENTS_MAX = 8;
    private static final int PERMITS = 4;
    private static final int SEVERAL = 4;
    private static final int PATIENCE_MS = 15;
    private static final int FOR_EVER = -1;
    private static final long SETTLE_MS = 10;
    private static final long SETTLE_EACH_MS = 5;

    private static final CuratorFramework[] clients = new CuratorFramework[CLIENTS_MAX];
    private static String hosts;
    private static int runs;

    private interface Contender {
        boolean acquire(int patienceMs) throws Exception;

        void release() throws Exception;
    }

    private interface Work {
        void run(Contender contender) throws Exception;
    }

    private static final class Locked implements Contender {
        private final InterProcessLock lock;

        Locked(InterProcessLock lock) {
            this.lock = lock;
        }

        public boolean acquire(int patienceMs) throws Exception {
            if (patienceMs != FOR_EVER)
                return lock.acquire(patienceMs, TimeUnit.MILLISECONDS);
            lock.acquire();
            return true;
        }

        public void release() throws Exception {
            lock.release();
        }
    }

    private static final class Permitted implements Contender {
        private final InterProcessSemaphoreV2 semaphore;
        private Lease lease;

        Permitted(InterProcessSemaphoreV2 semaphore) {
            this.semaphore = semaphore;
        }

        public boolean acquire(int patienceMs) throws Exception {
            lease = semaphore.acquire();
            return true;
        }

        public void release() {
            semaphore.returnLease(lease);
        }
    }

    private static CuratorFramework client(int index) {
        if (clients[index] == null) {
            clients[index] = CuratorFrameworkFactory.newClient(
                hosts, TIMEOUT_MS, TIMEOUT_MS, new RetryOneTime(TIMEOUT_MS));
            clients[index].start();
        }
        return clients[index];
    }

    /* null: no such locks. */
    private static Contender contend(String workload, CuratorFramework client, String path) {
        switch (workload) {
        case "read":
            return new Locked(new InterProcessReadWriteLock(client, path).readLock());
        case "write":
            return new Locked(new InterProcessReadWriteLock(client, path).writeLock());
        case "semaphore":
            return new Permitted(new InterProcessSemaphoreV2(client, path, PERMITS));
        case "several":
            String[] paths = new String[SEVERAL];
            Arrays.setAll(paths, i -> path + "-" + i);
            return new Locked(new InterProcessMultiLock(client, Arrays.asList(paths)));
        case "lingering":
            return null;
        default:
            return new Locked(new InterProcessMutex(client, path));
        }
    }

    private static List<Contender> contend(String workload, int count, int clientCount) {
        String path = "/locks/bench/curator-" + workload + "-" + ++runs;
        List<Contender> contenders = new ArrayList<>();
        for (int i = 0; i < count; i++)
            contenders.add(contend(workload, client(i % clientCount), path));
        return contenders;
    }

    private static List<Thread> start(List<Contender> contenders, Work work) {
        List<Thread> threads = new ArrayList<>();
        for (Contender contender : contenders) {
            Thread thread = new Thread(() -> {
                try {
                    work.run(contender);
                } catch (Exception e) {
                    e.printStackTrace();
                    System.exit(1);
                }
            });
            thread.start();
            threads.add(thread);
        }
        return threads;
    }

    private static void join(List<Thread> threads) throws InterruptedException {
        for (Thread thread : threads)
            thread.join();
    }

    private static double median(List<Long> times) {
        times.sort(null);
        return times.get(times.size() / 2) / 1000.0;
    }

    private static double free(Contender contender, long windowNs) throws Exception {
        List<Long> times = new ArrayList<>();
        long now = System.nanoTime();
        for (long end = now + windowNs; now < end;) {
            contender.acquire(FOR_EVER);
            contender.release();
            long done = System.nanoTime();
            times.add(done - now);
            now = done;
        }
        return median(times);
    }

    /* The lock that is measured guards them. */
    private static long releasedAt;
    private static List<Long> handOffs;

    private static void releaseTimed(Contender contender) throws Exception {
        releasedAt = System.nanoTime();
        contender.release();
    }

    private static double handOff(List<Contender> contenders, long windowNs) throws Exception {
        Contender first = contenders.get(0);
        List<Contender> waiters = contenders.subList(1, contenders.size());
        handOffs = new ArrayList<>();
        for (long end = System.nanoTime() + windowNs; System.nanoTime() < end;) {
            first.acquire(FOR_EVER);
            List<Thread> threads = start(waiters, contender -> {
                contender.acquire(FOR_EVER);
                handOffs.add(System.nanoTime() - releasedAt);
                releaseTimed(contender);
            });
            Thread.sleep(waiters.size() == 1 ? SETTLE_MS : SETTLE_EACH_MS * waiters.size());
            releaseTimed(first);
            join(threads);
        }
        return median(handOffs);
    }

    private static volatile boolean isOver;

    private static double turns(List<Contender> contenders, int patienceMs, long windowNs,
                                long holdUs) throws Exception {
        AtomicInteger grants = new AtomicInteger();
        isOver = false;
        List<Thread> threads = start(contenders, contender -> {
            while (!isOver) {
                if (!contender.acquire(patienceMs))
                    continue;
                grants.incrementAndGet();
                if (holdUs > 0)
                    TimeUnit.MICROSECONDS.sleep(holdUs);
                contender.release();
            }
        });
        TimeUnit.NANOSECONDS.sleep(windowNs / 4);
        int before = grants.get();
        long begun = System.nanoTime();
        TimeUnit.NANOSECONDS.sleep(windowNs);
        double rate = (grants.get() - before) * 1e9 / (System.nanoTime() - begun);
        isOver = true;
        join(threads);
        return rate;
    }

    private static double answer(String workload, long windowNs, long holdUs) throws Exception {
        switch (workload) {
        case "hand-off":
            return handOff(contend(workload, 2, 2), windowNs);
        case "hand-off-100":
            return handOff(contend(workload, 101, 4), windowNs);
        case "turns":
            return turns(contend(workload, 8, 8), FOR_EVER, windowNs, holdUs);
        case "patient":
            return turns(contend(workload, 24, 4), FOR_EVER, windowNs, holdUs);
        case "impatient":
            return turns(contend(workload, 24, 4), PATIENCE_MS, windowNs, holdUs);
        default:
            Contender contender = contend(workload, 1, 1).get(0);
            return contender == null ? -1 : free(contender, windowNs);
        }
    }

    public static void main(String[] args) throws Exception {
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        hosts = args[0];
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            String[] words = line.split(" ");
            double figure = answer(words[0], Long.parseLong(words[1]) * 1000000L,
                                   Long.parseLong(words[2]));
            System.out.println(figure < 0 ? "-" : String.format("%.2f", figure));
        }
        for (CuratorFramework client : clients)
            if (client != null)
                client.close();
    }
}
