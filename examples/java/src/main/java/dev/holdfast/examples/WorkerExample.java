package dev.holdfast.examples;

import dev.holdfast.client.Holdfast;
import dev.holdfast.client.Lease;
import dev.holdfast.client.LeaseLostException;
import dev.holdfast.client.LockRequest;
import java.io.IOException;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;

/** Works under a lock. Each step writes to a store that checks the fencing token of the lease. */
public final class WorkerExample {
  public static void main(String[] args) {
    Arguments given = new Arguments(args, "servers", "holder", "ledger", "ttl-ms", "step-ms");
    Program.runUntilSignal(stop -> run(given, stop));
  }

  private static int run(Arguments given, CompletableFuture<Void> stop) throws Exception {
    String holder = given.holder("worker");
    try (Holdfast hf = Holdfast.builder(given.servers()).holderId(holder).connect()) {
      LockRequest lock = hf.lock(given.name()).ttl(given.millis("ttl-ms", 10_000));
      lock = lock.onQueued(place -> System.out.println("queued: " + place)).stopWaitingAt(stop);
      try (Lease lease = lock.acquire()) {
        System.out.println("granted: token " + lease.fencingToken());
        if (!work(lease, given, stop)) {
          return 3;
        }
      } catch (CancellationException e) {
        return 0; // stopped while it waited
      } catch (LeaseLostException lost) {
        return Program.told(lost);
      }
      System.out.println("released");
      return 0;
    }
  }

  /** Takes steps until a signal comes. Returns false if the ledger refuses a write. */
  private static boolean work(Lease lease, Arguments given, CompletableFuture<Void> stop)
      throws Exception {
    Ledger ledger = new Ledger(given.text("ledger", "http://127.0.0.1:8080"), given.name());
    CompletableFuture<Object> end = CompletableFuture.anyOf(stop, lease.lost());
    for (int step = 1; !stop.isDone(); step++) {
      long token = lease.fencingToken(); // compares the clock: this process may have been stopped
      try {
        if (!ledger.write(token, given.holder("worker") + ": step " + step)) {
          return false;
        }
      } catch (IOException e) {
        lease.check(); // a loss explains a late answer
        throw e;
      }
      System.out.println("step " + step + " under token " + token);
      Program.pause(end, given.millis("step-ms", 1000));
    }
    return true;
  }
}
