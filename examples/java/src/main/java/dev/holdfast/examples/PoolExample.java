package dev.holdfast.examples;

import dev.holdfast.client.Holdfast;
import dev.holdfast.client.LeaseLostException;
import dev.holdfast.client.PermitsRequest;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Runs jobs, each under one permit of a semaphore that several processes share. */
public final class PoolExample {
  public static void main(String[] args) {
    Arguments given = new Arguments(args, "servers", "holder", "jobs", "limit", "ttl-ms", "job-ms");
    Program.run(() -> run(given));
  }

  private static int run(Arguments given) throws Exception {
    String holder = given.holder("pool");
    int count = given.number("jobs", 6);
    int done = 0;
    try (Holdfast hf = Holdfast.builder(given.servers()).holderId(holder).connect()) {
      PermitsRequest permits =
          hf.permits(given.name())
              .limit(given.number("limit", 2))
              .ttl(given.millis("ttl-ms", 10_000));
      List<Callable<Boolean>> jobs = new ArrayList<>();
      for (int number = 1; number <= count; number++) {
        String job = holder + ": job " + number;
        jobs.add(() -> runJob(permits, job, given.number("job-ms", 1000)));
      }
      for (Future<Boolean> job : Executors.newFixedThreadPool(count).invokeAll(jobs)) {
        done += job.get() ? 1 : 0;
      }
    }
    System.out.println(holder + ": " + done + " jobs done");
    return done == count ? 0 : 3;
  }

  /** Returns false if the job lost its permit. */
  private static boolean runJob(PermitsRequest permits, String job, long millis)
      throws InterruptedException {
    try {
      permits.run(
          lease -> {
            System.out.println(job + " begins under token " + lease.fencingToken());
            Thread.sleep(millis); // a loss of the permit interrupts this thread
            lease.check(); // compares the clock: this process may have been stopped
            System.out.println(job + " ends");
          });
      return true;
    } catch (LeaseLostException lost) {
      System.out.println(job + " lost its permit: " + lost.lossCause());
      return false;
    }
  }
}
