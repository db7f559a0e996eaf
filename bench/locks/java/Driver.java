import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.StringJoiner;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Phaser;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.ToIntFunction;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Makes load on the locks of Java libraries. bench/locks/driver.ts describes the tasks. */
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

    /** A field of a call. The values are numbers, and texts without special characters. */
    private static final Pattern FIELD = Pattern.compile("\"(\\w+)\":\"?([^\",{}]*)");

    private Locks locks;

    /** The machine's monotonic clock, which is the same for all processes (ms). */
    private static double monotonicMs() {
        return System.nanoTime() / 1e6;
    }

    private static String decimals(double ms) {
        return String.format(Locale.ROOT, "%.4f", ms);
    }

    /** The fields of a line of JSON, including the fields of its input. */
    private static Map<String, String> fieldsOf(String line) {
        Map<String, String> fields = new HashMap<>();
        for (Matcher found = FIELD.matcher(line); found.find(); ) fields.put(found.group(1), found.group(2));
        return fields;
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

    private String alone(int clients, long forMs) {
        List<String> times = Collections.synchronizedList(new ArrayList<>());
        double end = monotonicMs() + forMs;
        Phaser all = new Phaser(1);
        for (int client = 0; client < clients; client += 1) {
            String prefix = "alone-" + ProcessHandle.current().pid() + "-" + client + "-";
            start(all, () -> {
                StringJoiner own = new StringJoiner(",");
                for (int turn = 0; monotonicMs() < end; turn += 1) {
                    String name = prefix + turn % LOCKS_EACH;
                    double askedAt = monotonicMs();
                    Held held = locks.acquire(name);
                    own.add(decimals(monotonicMs() - askedAt));
                    held.release();
                }
                return own.length() == 0 || times.add(own.toString());
            });
        }
        all.arriveAndAwaitAdvance();
        return "[" + String.join(",", times) + "]";
    }

    private String contend(String name, int waiters, long forMs, long holdMs) throws InterruptedException {
        List<String> grants = Collections.synchronizedList(new ArrayList<>());
        double end = monotonicMs() + forMs;
        Phaser all = new Phaser(1);
        for (int waiter = 0; waiter < waiters; waiter += 1) {
            start(all, () -> wait(all, name, end, holdMs, grants));
            Thread.sleep(holdMs);
        }
        all.arriveAndAwaitAdvance();
        return "[" + String.join(",", grants) + "]";
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
        return grants.add("{\"askedAt\":" + decimals(askedAt) + ",\"grantedAt\":" + decimals(grantedAt)
                + ",\"releasedAt\":" + decimals(releasedAt) + "}");
    }

    /** A holder writes every 5 ms without a look at the clock. */
    private void hold(String name, int count) {
        for (int index = 0; index < count; index += 1) {
            int own = index;
            start(() -> {
                Held held = locks.acquire(name + "-" + own);
                for (;;) {
                    System.out.println("{\"event\":{\"lock\":" + own + ",\"isHeld\":" + held.isHeld() + "}}");
                    Thread.sleep(WORK_EVERY_MS);
                }
            });
        }
    }

    private String obey(Map<String, String> call) throws IOException, InterruptedException {
        ToIntFunction<String> number = field -> Integer.parseInt(call.get(field));
        switch (call.get("task")) {
            case "open":
                locks = Systems.open(call.get("system"), call.get("address"), number.applyAsInt("ttlMs"));
                return "{\"pid\":" + ProcessHandle.current().pid()
                        + ",\"version\":\"" + Systems.version(call.get("system")) + "\"}";
            case "alone":
                return alone(number.applyAsInt("clients"), number.applyAsInt("forMs"));
            case "contend":
                return contend(call.get("name"), number.applyAsInt("waiters"), number.applyAsInt("forMs"),
                        number.applyAsInt("holdMs"));
            case "hold":
                hold(call.get("name"), number.applyAsInt("count"));
                return "null";
            default:
                throw new IllegalArgumentException("no such task: " + call.get("task"));
        }
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        Driver driver = new Driver();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            Map<String, String> call = fieldsOf(line);
            System.out.println("{\"id\":" + call.get("id") + ",\"output\":" + driver.obey(call) + "}");
        }
        Runtime.getRuntime().halt(0);
    }
}
