package dev.holdfast.examples;

import dev.holdfast.client.Holdfast;
import dev.holdfast.client.Lease;
import dev.holdfast.client.LeaseLostException;
import dev.holdfast.client.LockRequest;
import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;

/**
 * Holds a lock, and works in steps. Each step is a write to a protected store, with the fencing
 * token of the lease.
 */
public final class WorkerExample {
  private final Arguments given;
  private final String holder;
  private final Duration pause;

  private WorkerExample(Arguments given) {
    this.given = given;
    holder = given.text("holder", "worker-" + ProcessHandle.current().pid());
    pause = given.millis("step-ms", 1000);
  }

  public static void main(String[] args) {
    Arguments given = new Arguments(args, "servers", "holder", "ledger", "ttl-ms", "step-ms");
    Program.runUntilSignal(stop -> new WorkerExample(given).run(stop));
  }

  private int run(CompletableFuture<Void> stop) throws Exception {
    Ledger ledger = new Ledger(given.text("ledger", "http://127.0.0.1:8080"), given.name());
    try (Holdfast hf = Holdfast.builder(given.servers()).holderId(holder).connect()) {
      LockRequest lock = hf.lock(given.name()).ttl(given.millis("ttl-ms", 10_000));
      lock = lock.onQueued(place -> System.out.println("queued: " + place)).stopWaitingAt(stop);
      try (Lease lease = lock.acquire()) {
        System.out.println("granted: token " + lease.fencingToken());
        if (!work(lease, ledger, stop)) {
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
  private boolean work(Lease lease, Ledger ledger, CompletableFuture<Void> stop) throws Exception {
    CompletableFuture<Object> end = CompletableFuture.anyOf(stop, lease.lost());
    for (int step = 1; !stop.isDone(); step++) {
      long token = lease.fencingToken(); // compares the clock: this process may have been stopped
      try {
        if (!ledger.write(token, holder + ": step " + step)) {
          return false;
        }
      } catch (IOException e) {
        lease.check(); // a loss explains a late answer
        throw e;
      }
      System.out.println("step " + step + " under token " + token);
      Program.pause(end, pause);
    }
    return true;
  }
}
