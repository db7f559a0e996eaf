package dev.holdfast.examples;

import dev.holdfast.client.Election;
import dev.holdfast.client.Holdfast;
import dev.holdfast.client.Leader;
import dev.holdfast.client.Lease;
import dev.holdfast.client.LeaseLostException;
import dev.holdfast.client.LockRequest;
import dev.holdfast.client.Observation;
import java.util.Optional;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CompletableFuture;

/** Shows the leaders of an election. With a value the program also leads until a signal. */
public final class LeaderExample {
  public static void main(String[] args) {
    Arguments given = new Arguments(args, "servers", "value", "ttl-ms");
    String value = given.text("value", "");
    Program.runUntilSignal(
        stop -> {
          try (Holdfast hf = Holdfast.builder(given.servers()).holderId(value).connect()) {
            Election election = hf.election(given.name());
            try (Observation observed =
                election.observe(leader -> System.out.println(text(leader)))) {
              // The end of an observation that cannot go on ends the program too.
              CompletableFuture<Object> end = CompletableFuture.anyOf(stop, observed.ended());
              if (!value.isEmpty()) {
                lead(election.campaign(value).ttl(given.millis("ttl-ms", 10_000)), end);
              }
              end.join();
              return 0;
            } catch (LeaseLostException lost) {
              return Program.told(lost);
            }
          }
        });
  }

  private static void lead(LockRequest candidacy, CompletableFuture<Object> end)
      throws InterruptedException {
    try (Lease lease = candidacy.stopWaitingAt(end).acquire()) {
      System.out.println("elected under token " + lease.fencingToken());
      CompletableFuture.anyOf(lease.lost(), end).join();
      lease.check();
    } catch (CancellationException e) {
      return; // stopped while it waited
    }
    System.out.println("resigned");
  }

  private static String text(Optional<Leader> leader) {
    return leader
        .map(one -> "leader: " + one.value() + " under token " + one.fencingToken())
        .orElse("leader: none");
  }
}
