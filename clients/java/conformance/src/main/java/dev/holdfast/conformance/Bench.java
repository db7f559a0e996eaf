package dev.holdfast.conformance;

import com.google.gson.JsonObject;
import dev.holdfast.client.Holdfast;
import dev.holdfast.client.Lease;
import dev.holdfast.v1.AcquireLockRequest;
import dev.holdfast.v1.LockServiceGrpc;
import dev.holdfast.v1.ReleaseLockRequest;
import io.grpc.CallOptions;
import io.grpc.Channel;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.stub.ClientCalls;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/** The commands of the benchmarks. No case uses them. */
final class Bench {
  private static final int MOST_IN_FLIGHT = 64;

  private final Queue<Lease> held = new ConcurrentLinkedQueue<>();

  /** The threads stay, because the CPU time of an ended thread is not counted. */
  private ExecutorService threads;

  private Channel channel;

  private interface Work {
    void run(int index, int worker) throws InterruptedException;
  }

  private Bench() {}

  static Map<String, Command> all() {
    Bench bench = new Bench();
    Map<String, Command> all = new HashMap<>();
    all.put("bench_pairs", bench::pairs);
    all.put("bench_stub_pairs", bench::stubPairs);
    all.put("bench_hold", bench::hold);
    all.put("bench_settle", bench::settle);
    return all;
  }

  /** Acquires and releases. Each worker has a lock of its own. */
  private JsonObject pairs(Desk desk, Fields fields) throws Exception {
    Holdfast client = desk.client(fields);
    String name = fields.text("name");
    return inFlight(
        fields, (index, worker) -> client.lock(name + "-" + worker).acquire().release());
  }

  /** The same with the bare generated stub over one connection. */
  private JsonObject stubPairs(Desk desk, Fields fields) throws Exception {
    if (channel == null) {
      String target = "dns:///" + fields.texts("addresses").get(0);
      channel = Grpc.newChannelBuilder(target, InsecureChannelCredentials.create()).build();
    }
    String name = fields.text("name");
    return inFlight(fields, (index, worker) -> stubPair(name + "-" + worker));
  }

  private void stubPair(String name) {
    String leaseId =
        ClientCalls.blockingUnaryCall(
                channel,
                LockServiceGrpc.getAcquireLockMethod(),
                CallOptions.DEFAULT,
                AcquireLockRequest.newBuilder().setName(name).build())
            .getLease()
            .getLeaseId();
    ClientCalls.blockingUnaryCall(
        channel,
        LockServiceGrpc.getReleaseLockMethod(),
        CallOptions.DEFAULT,
        ReleaseLockRequest.newBuilder().setLeaseId(leaseId).build());
  }

  /** Acquires locks, and keeps the leases. */
  private JsonObject hold(Desk desk, Fields fields) throws Exception {
    Holdfast client = desk.client(fields);
    String name = fields.text("name");
    return inFlight(
        fields, (index, worker) -> held.add(client.lock(name + "-" + index).acquire()));
  }

  /** Collects garbage, and counts the leases that are valid. */
  private JsonObject settle(Desk desk, Fields fields) {
    System.gc();
    JsonObject result = new JsonObject();
    result.addProperty("held", held.stream().filter(Lease::isValid).count());
    return result;
  }

  /** Runs the work for each index below the count of the command, with in_flight runs at once. */
  private JsonObject inFlight(Fields fields, Work work) throws Exception {
    if (threads == null) {
      threads = Executors.newFixedThreadPool(MOST_IN_FLIGHT);
    }
    int count = fields.number("count");
    AtomicInteger next = new AtomicInteger();
    List<Future<?>> workers = new ArrayList<>();
    for (int worker = 0; worker < fields.number("in_flight"); worker++) {
      int own = worker;
      workers.add(
          threads.submit(
              () -> {
                for (int i = next.getAndIncrement(); i < count; i = next.getAndIncrement()) {
                  work.run(i, own);
                }
                return null;
              }));
    }
    for (Future<?> worker : workers) {
      try {
        worker.get();
      } catch (ExecutionException e) {
        throw e.getCause() instanceof Exception ? (Exception) e.getCause() : e;
      }
    }
    return Output.flag("ok");
  }
}
