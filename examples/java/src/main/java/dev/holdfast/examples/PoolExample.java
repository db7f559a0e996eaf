package dev.holdfast.examples;

import dev.holdfast.client.Holdfast;
import dev.holdfast.client.LeaseLostException;
import dev.holdfast.client.PermitsRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Runs jobs, each under one permit of a semaphore. Several processes share the permits. Those of a
 * killed process come back after the ttl.
 */
public final class PoolExample {
  private final String holder;
  private final long jobMillis;
  private final PermitsRequest permits;

  private PoolExample(String holder, long jobMillis, PermitsRequest permits) {
    this.holder = holder;
    this.jobMillis = jobMillis;
    this.permits = permits;
  }

  public static void main(String[] args) {
    Arguments given = new Arguments(args, "servers", "holder", "jobs", "limit", "ttl-ms", "job-ms");
    Program.run(() -> run(given));
  }

  private static int run(Arguments given) throws Exception {
    String holder = given.text("holder", "pool-" + ProcessHandle.current().pid());
    int count = given.number("jobs", 6);
    int done = 0;
    ExecutorService threads = Executors.newFixedThreadPool(count);
    try (Holdfast hf = Holdfast.builder(given.servers()).holderId(holder).connect()) {
      PermitsRequest permits = hf.permits(given.name()).limit(given.number("limit", 2));
      permits = permits.ttl(given.millis("ttl-ms", 10_000));
      PoolExample pool = new PoolExample(holder, given.number("job-ms", 1000), permits);
      List<Callable<Boolean>> jobs = new ArrayList<>();
      for (int number = 1; number <= count; number++) {
        String job = "job " + number;
        jobs.add(() -> pool.run(job));
      }
      for (Future<Boolean> job : threads.invokeAll(jobs)) {
        done += job.get() ? 1 : 0;
      }
    }
    System.out.println(holder + ": " + done + " jobs done");
    return done == count ? 0 : 3;
  }

  /** Returns false if the job lost its permit. */
  private boolean run(String job) throws InterruptedException {
    try {
      permits.run(
          lease -> {
            say(job + " begins under token " + lease.fencingToken());
            Thread.sleep(jobMillis); // a loss of the permit interrupts this thread
            lease.check(); // compares the clock: this process may have been stopped
            say(job + " ends");
          });
      return true;
    } catch (LeaseLostException lost) {
      say(job + " lost its permit: " + lost.lossCause());
      return false;
    }
  }

  private void say(String text) {
    System.out.println(holder + ": " + text);
  }
}
