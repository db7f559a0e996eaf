import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Phaser;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;

/** Makes load on the locks of Java libraries. bench/locks/driver.ts describes the arguments and the lines. */
public final class Driver {
    /** The locks of each client. */
    private static final int LOCKS_EACH = 100;

    /** The time between two writes of a holder. */
    private static final long WORK_EVERY_MS = 5;

    /** A granted lock. All methods are called by the thread that acquired the lock, because the libraries require this. */
    interface Held {
        void release() throws Exception;

        /** Whether the library says that the lock is still held. */
        boolean isHeld() throws Exception;
    }

    interface Locks {
        /** Waits until the lock is granted. */
        Held acquire(String name) throws Exception;
    }

    /** Threads never end, because the CPU time of an ended thread would not be counted. */
    private static final ExecutorService THREADS =
            new ThreadPoolExecutor(0, 10_000, Long.MAX_VALUE, TimeUnit.NANOSECONDS, new SynchronousQueue<>());

    private final Locks locks;

    private Driver(Locks locks) {
        this.locks = locks;
    }

    /** The machine's monotonic clock, which is the same for all processes (ms). */
    private static double monotonicMs() {
        return System.nanoTime() / 1e6;
    }

    private static String decimals(double ms) {
        return String.format(Locale.ROOT, "%.4f", ms);
    }

    /** Runs work in a thread of its own. Ends the process if the work fails. */
    private static void start(Callable<?> work) {
        THREADS.execute(() -> {
            try {
                work.call();
            } catch (Throwable error) {
                error.printStackTrace();
                Runtime.getRuntime().halt(1);
            }
        });
    }

    private static void start(Phaser all, Callable<?> work) {
        all.register();
        start(() -> {
            work.call();
            return all.arriveAndDeregister();
        });
    }

    /** Answers the time of each acquire. Each client acquires and releases locks of its own in turn. */
    private String alone(int clients, long forMs) {
        List<String> times = Collections.synchronizedList(new ArrayList<>());
        double end = monotonicMs() + forMs;
        Phaser all = new Phaser(1);
        for (int client = 0; client < clients; client += 1) {
            String prefix = "alone-" + ProcessHandle.current().pid() + "-" + client + "-";
            start(all, () -> {
                StringBuilder own = new StringBuilder();
                for (int turn = 0; monotonicMs() < end; turn += 1) {
                    String name = prefix + turn % LOCKS_EACH;
                    double askedAt = monotonicMs();
                    Held held = locks.acquire(name);
                    own.append(decimals(monotonicMs() - askedAt)).append(' ');
                    held.release();
                }
                return times.add(own.toString());
            });
        }
        all.arriveAndAwaitAdvance();
        return String.join("", times);
    }

    /** Answers the times of each grant. A new waiter takes the place of a holder before the holder releases. */
    private String contend(String name, int waiters, long forMs, long holdMs) throws InterruptedException {
        List<String> grants = Collections.synchronizedList(new ArrayList<>());
        double end = monotonicMs() + forMs;
        Phaser all = new Phaser(1);
        for (int waiter = 0; waiter < waiters; waiter += 1) {
            start(all, () -> wait(all, name, end, holdMs, grants));
            Thread.sleep(holdMs);
        }
        all.arriveAndAwaitAdvance();
        return String.join(" ", grants);
    }

    private boolean wait(Phaser all, String name, double end, long holdMs, List<String> grants) throws Exception {
        double askedAt = monotonicMs();
        Held held = locks.acquire(name);
        double grantedAt = monotonicMs();
        if (grantedAt < end) {
            start(all, () -> wait(all, name, end, holdMs, grants));
            Thread.sleep(holdMs);
        }
        double releasedAt = monotonicMs();
        held.release();
        return grants.add(decimals(askedAt) + "," + decimals(grantedAt) + "," + decimals(releasedAt));
    }

    /** Acquires locks and holds them until the process ends. A holder writes every 5 ms without a look at the clock. */
    private void hold(String name, int count) {
        for (int index = 0; index < count; index += 1) {
            int own = index;
            start(() -> {
                Held held = locks.acquire(name + "-" + own);
                for (;;) {
                    System.out.println("write " + own + " " + held.isHeld() + " -");
                    Thread.sleep(WORK_EVERY_MS);
                }
            });
        }
    }

    private void obey(String[] words) throws InterruptedException {
        if (words[0].equals("alone")) {
            System.out.println("done " + alone(Integer.parseInt(words[1]), Long.parseLong(words[2])));
        } else if (words[0].equals("contend")) {
            int waiters = Integer.parseInt(words[2]);
            String grants = contend(words[1], waiters, Long.parseLong(words[3]), Long.parseLong(words[4]));
            System.out.println("done " + grants);
        } else if (words[0].equals("hold")) {
            hold(words[1], Integer.parseInt(words[2]));
        }
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        String system = args[0];
        Driver driver = new Driver(Systems.open(system, args[1], Integer.parseInt(args[2])));
        System.out.println("ready " + ProcessHandle.current().pid() + " " + Systems.version(system));
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            driver.obey(line.split(" "));
        }
        Runtime.getRuntime().halt(0);
    }
}
