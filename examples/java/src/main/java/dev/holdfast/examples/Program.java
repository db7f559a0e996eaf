package dev.holdfast.examples;

import dev.holdfast.client.LeaseLostException;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** What the programs share: the end by a signal, and the exit codes. */
final class Program {
  /** The work of a program. */
  interface Body {
    /**
     * Returns the exit code.
     *
     * @param stop completes at Ctrl-C and SIGTERM
     */
    int run(CompletableFuture<Void> stop) throws Exception;
  }

  private Program() {}

  /** Runs the work, and ends this process with the exit code. */
  static void run(Body body) {
    CompletableFuture<Void> stop = new CompletableFuture<>();
    CompletableFuture<Integer> ended = new CompletableFuture<>();
    Runnable onExit =
        () -> {
          if (!ended.isDone()) { // a signal: the work gives its leases back before the process ends
            stop.complete(null);
            Runtime.getRuntime().halt(ended.join());
          }
        };
    Runtime.getRuntime().addShutdownHook(new Thread(onExit));
    ended.complete(exitCode(body, stop));
    System.exit(ended.join());
  }

  /** Waits for the time, and at most for the end. */
  static void pause(CompletableFuture<?> end, Duration time)
      throws ExecutionException, InterruptedException {
    try {
      end.get(time.toMillis(), TimeUnit.MILLISECONDS);
    } catch (TimeoutException e) {
      // The time has passed.
    }
  }

  private static int exitCode(Body body, CompletableFuture<Void> stop) {
    try {
      return body.run(stop);
    } catch (LeaseLostException e) {
      System.out.println("lease lost: " + e.lossCause() + ", stopping");
      return 3;
    } catch (CompletionException e) {
      System.err.println("failed: " + e.getCause());
      return 1;
    } catch (Exception | Error e) {
      System.err.println("failed: " + e);
      return 1;
    }
  }
}
