package dev.holdfast.client;

import dev.holdfast.v1.GetServerInfoRequest;
import dev.holdfast.v1.GetServerInfoResponse;
import dev.holdfast.v1.ServerServiceGrpc;
import io.grpc.MethodDescriptor;
import java.util.stream.Stream;

/**
 * A client of the servers of one store. Thread-safe. Close the client before the process ends.
 *
 * <pre>{@code
 * Holdfast hf = Holdfast.connect("127.0.0.1:50051");
 * try (Lease lease = hf.lock("report").waitFor(Duration.ofMinutes(5)).acquire()) {
 *   lease.onLost(lost -> job.cancel());
 *   job.run(lease.fencingToken());
 * }
 * }</pre>
 *
 * <p>All calls throw a {@link HoldfastException}.
 */
public final class Holdfast implements AutoCloseable {
  private final Client client;

  Holdfast(Client client) {
    this.client = client;
  }

  /**
   * Connects without TLS and without a credential to one of several servers of the same store.
   * Waits up to 10 s for the first answer.
   *
   * @param addresses "host:port", several as arguments or separated by commas
   */
  public static Holdfast connect(String... addresses) {
    return builder(addresses).connect();
  }

  /**
   * Options of a connection.
   *
   * @param addresses "host:port", several as arguments or separated by commas
   */
  public static HoldfastBuilder builder(String... addresses) {
    return new HoldfastBuilder(addresses);
  }

  /** A request for the lock of this name. */
  public LockRequest lock(String name) {
    return new LockRequest(client, new Wanted(name, true));
  }

  /** A request for one permit of the semaphore of this name. */
  public PermitsRequest permits(String name) {
    return new PermitsRequest(client, new Wanted(name, false));
  }

  /** A request for permits of the semaphore of this name. */
  public PermitsRequest permits(String name, int count) {
    Wanted wanted = new Wanted(name, false);
    wanted.permits = count;
    return new PermitsRequest(client, wanted);
  }

  /** An election: the holder of the lock with this name is the leader. */
  public Election election(String name) {
    return new Election(client, name);
  }

  /** The latest choices of one user. */
  public Recents recents(String list) {
    return new Recents(client.calls, list);
  }

  /** A set of entries that all callers share. */
  public Dictionary dictionary(String name) {
    return new Dictionary(client, name);
  }

  /** The names of all dictionaries, in order. */
  public Stream<String> dictionaryNames() {
    return Pages.dictionaryNames(client.calls);
  }

  /** The version and the features of the server. */
  public ServerInfo serverInfo() {
    GetServerInfoResponse answer =
        client.calls.unary(
            ServerServiceGrpc.getGetServerInfoMethod(), GetServerInfoRequest.getDefaultInstance());
    return new ServerInfo(answer);
  }

  /**
   * Any idempotent unary call of the contract, for what this class does not offer: {@code
   * hf.call(LockServiceGrpc.getGetLockMethod(), request)}. Repeated for up to 10 s.
   */
  public <Q, R> R call(MethodDescriptor<Q, R> method, Q request) {
    return client.calls.unary(method, request);
  }

  /** The number of leases that this process holds. */
  public int leaseCount() {
    return client.engine.tasks.leases.count();
  }

  /**
   * Ends all waits, releases all leases, and waits up to 5 s for the answers. A lease that is held
   * then is lost with the cause CLOSED, so end the work first. The work of {@code run} and {@code
   * call} is interrupted, and its lease is released after its end; the lease of work that goes on
   * is left to the end of its ttl. Does not wait for work that has lost its lease already. Leaves
   * no thread, no timer and no socket of its own; the threads that gRPC shares between its channels
   * end a second later. A process that ends without {@code close} leaves its leases to the ends of
   * their ttl.
   */
  @Override
  public void close() {
    client.close();
  }
}
