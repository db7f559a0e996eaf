package dev.holdfast.examples;

import dev.holdfast.client.LeaseLostException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** What the programs share: the end by a signal, and the exit codes. */
final class Program {
  /** Work that ends at a signal. */
  interface StoppableWork {
    /**
     * Returns the exit code.
     *
     * @param stop completes at Ctrl-C and SIGTERM
     */
    int run(CompletableFuture<Void> stop) throws Exception;
  }

  private Program() {}

  /** Runs the work, and ends this process with the exit code of the work. */
  static void run(Callable<Integer> work) {
    System.exit(exitCode(work));
  }

  /**
   * As {@link #run}. At a signal, the work gives its leases back before the process ends. A second
   * signal ends the process at once, because the last work may hang.
   */
  static void runUntilSignal(StoppableWork work) {
    CompletableFuture<Void> stop = new CompletableFuture<>();
    CompletableFuture<Integer> ended = new CompletableFuture<>();
    Runnable onExit =
        () -> {
          if (!ended.isDone()) { // a signal has come
            endAtNextSignal();
            stop.complete(null);
            Runtime.getRuntime().halt(ended.join());
          }
        };
    Runtime.getRuntime().addShutdownHook(new Thread(onExit));
    ended.complete(exitCode(() -> work.run(stop)));
    System.exit(ended.join());
  }

  /**
   * Gives the signals their default action back. Only sun.misc.Signal of the JDK can, and the
   * compiler has a warning for each direct use.
   */
  private static void endAtNextSignal() {
    try {
      Class<?> signal = Class.forName("sun.misc.Signal");
      Class<?> handler = Class.forName("sun.misc.SignalHandler");
      Object byDefault = handler.getField("SIG_DFL").get(null);
      for (String name : List.of("INT", "TERM")) {
        Object named = signal.getConstructor(String.class).newInstance(name);
        signal.getMethod("handle", signal, handler).invoke(null, named, byDefault);
      }
    } catch (ReflectiveOperationException e) {
      // This runtime has no signals, so only the end of the work ends the process.
    }
  }

  /**
   * Prints the loss of a lease, and returns the exit code. Call this before the client is closed:
   * {@code close} may wait 5 s for a server that does not answer.
   */
  static int told(LeaseLostException lost) {
    System.out.println("lease lost: " + lost.lossCause() + ", stopping");
    return 3;
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

  private static int exitCode(Callable<Integer> work) {
    try {
      return work.call();
    } catch (CompletionException | ExecutionException e) {
      System.err.println("failed: " + e.getCause());
      return 1;
    } catch (Exception | Error e) {
      System.err.println("failed: " + e);
      return 1;
    }
  }
}
