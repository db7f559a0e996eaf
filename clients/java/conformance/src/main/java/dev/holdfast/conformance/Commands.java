package dev.holdfast.conformance;

import com.google.gson.JsonArray;
import com.google.gson.JsonObject;
import dev.holdfast.client.AcquireRequest;
import dev.holdfast.client.Holdfast;
import dev.holdfast.client.HoldfastBuilder;
import dev.holdfast.client.Lease;
import dev.holdfast.client.LockRequest;
import dev.holdfast.client.PermitsRequest;
import dev.holdfast.client.ServerInfo;
import dev.holdfast.client.Tls;
import dev.holdfast.client.Token;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

/** The commands about clients and leases. */
final class Commands {
  private Commands() {}

  static Map<String, Command> all() {
    Map<String, Command> all = new HashMap<>(Products.all());
    all.putAll(Bench.all());
    all.put("connect", Commands::connect);
    all.put("lock", (desk, fields) -> acquire(desk, fields, lock(desk, fields)));
    all.put("try_lock", (desk, fields) -> tryAcquire(desk, fields, lock(desk, fields)));
    all.put("permits", (desk, fields) -> acquire(desk, fields, permits(desk, fields)));
    all.put("try_permits", (desk, fields) -> tryAcquire(desk, fields, permits(desk, fields)));
    all.put("with_lock", WithLock::serve);
    all.put("check", Commands::check);
    all.put("release", Commands::release);
    all.put("update", Commands::update);
    all.put("end_work", Commands::endWork);
    all.put("cancel", Commands::cancel);
    all.put("server_info", Commands::serverInfo);
    all.put("close", Commands::close);
    all.put("leaks", Commands::leaks);
    return all;
  }

  private static JsonObject connect(Desk desk, Fields fields) {
    HoldfastBuilder builder = Holdfast.builder(fields.texts("addresses").toArray(new String[0]));
    fields.duration("connect_ms", builder::connectTimeout);
    if (fields.has("holder_id")) {
      builder.holderId(fields.text("holder_id"));
    }
    if (fields.has("metadata")) {
      builder.metadata(fields.map("metadata"));
    }
    if (fields.has("tls")) {
      builder.tls(tls(fields.part("tls")));
    }
    if (fields.has("token")) {
      builder.token(fields.text("token"));
    }
    if (fields.has("token_file")) {
      builder.tokenFile(Path.of(fields.text("token_file")));
    }
    if (fields.has("tokens")) {
      addTokens(builder, fields);
    }
    desk.clients.put(fields.text("client"), builder.connect());
    return Output.flag("connected");
  }

  private static Tls tls(Fields fields) {
    Tls tls = Tls.system();
    if (fields.has("ca")) {
      tls = tls.authorities(Path.of(fields.text("ca")));
    }
    if (fields.has("cert")) {
      tls = tls.clientCertificate(Path.of(fields.text("cert")), Path.of(fields.text("key")));
    }
    return fields.has("server_name") ? tls.serverName(fields.text("server_name")) : tls;
  }

  private static void addTokens(HoldfastBuilder builder, Fields fields) {
    List<Optional<String>> tokens = fields.optionalTexts("tokens");
    AtomicInteger count = new AtomicInteger();
    Duration[] life = new Duration[1];
    fields.duration("token_expires_in_ms", span -> life[0] = span);
    builder.token(
        () -> {
          Optional<String> next = tokens.get(Math.min(count.getAndIncrement(), tokens.size() - 1));
          while (next.isEmpty()) {
            hang();
          }
          String token = next.get();
          return life[0] == null ? Token.of(token) : Token.of(token, life[0]);
        });
  }

  private static void hang() {
    try {
      Thread.sleep(Long.MAX_VALUE);
    } catch (InterruptedException e) {
      // A callback that hangs ignores its interrupt.
    }
  }

  static LockRequest lock(Desk desk, Fields fields) {
    LockRequest request = options(desk.client(fields).lock(fields.text("name")), fields);
    return fields.text("mode").equals("shared") ? request.shared() : request;
  }

  private static PermitsRequest permits(Desk desk, Fields fields) {
    Holdfast client = desk.client(fields);
    String name = fields.text("name");
    PermitsRequest request =
        fields.has("permits")
            ? client.permits(name, fields.number("permits"))
            : client.permits(name);
    request = options(request, fields);
    if (fields.has("limit")) {
      request = request.limit(fields.number("limit"));
    }
    return fields.has("exact_limit") ? request.exactLimit(true) : request;
  }

  static <R extends AcquireRequest<R>> R options(R request, Fields fields) {
    AtomicRequest<R> changed = new AtomicRequest<>(request);
    fields.duration("ttl_ms", span -> changed.request = changed.request.ttl(span));
    fields.duration("wait_ms", span -> changed.request = changed.request.waitFor(span));
    fields.duration("max_hold_ms", span -> changed.request = changed.request.maxHold(span));
    return fields.has("metadata")
        ? changed.request.metadata(fields.map("metadata"))
        : changed.request;
  }

  private static final class AtomicRequest<R> {
    R request;

    AtomicRequest(R request) {
      this.request = request;
    }
  }

  static JsonObject acquire(Desk desk, Fields fields, AcquireRequest<?> request)
      throws InterruptedException {
    return granted(desk, fields, request.acquire());
  }

  private static JsonObject tryAcquire(Desk desk, Fields fields, AcquireRequest<?> request)
      throws InterruptedException {
    Optional<Lease> lease = request.tryAcquire();
    return lease.isPresent() ? granted(desk, fields, lease.get()) : Output.flag("contended");
  }

  private static JsonObject granted(Desk desk, Fields fields, Lease lease) {
    return desk.keep(fields.text("lease"), lease);
  }

  private static JsonObject check(Desk desk, Fields fields) {
    Lease lease = desk.held(fields).lease;
    lease.check();
    JsonObject result = Output.flag("valid");
    result.addProperty("remaining_ms", lease.remaining().toMillis());
    return result;
  }

  private static JsonObject release(Desk desk, Fields fields) {
    Desk.Held held = desk.held(fields);
    held.isReleased = true;
    JsonObject result = new JsonObject();
    result.addProperty("released", held.lease.release());
    return result;
  }

  static <T> T await(CompletableFuture<T> future) throws Exception {
    try {
      return future.get();
    } catch (ExecutionException e) {
      throw e.getCause() instanceof Exception ? (Exception) e.getCause() : e;
    }
  }

  private static JsonObject update(Desk desk, Fields fields) {
    desk.held(fields).lease.updateMetadata(fields.map("metadata"));
    return Output.flag("updated");
  }

  private static JsonObject endWork(Desk desk, Fields fields) {
    CompletableFuture<String> work = desk.works.get((long) fields.number("of"));
    if (work != null) {
      work.complete(fields.text("fail"));
    }
    return Output.flag("ended");
  }

  private static JsonObject cancel(Desk desk, Fields fields) {
    desk.cancel(fields.number("of"));
    return Output.flag("cancelled");
  }

  private static JsonObject serverInfo(Desk desk, Fields fields) {
    ServerInfo info = desk.client(fields).serverInfo();
    JsonObject result = new JsonObject();
    result.addProperty("version", info.version());
    JsonArray features = new JsonArray();
    info.features().forEach(features::add);
    result.add("features", features);
    return result;
  }

  private static JsonObject close(Desk desk, Fields fields) {
    desk.client(fields).close();
    return Output.flag("closed");
  }

  private static JsonObject leaks(Desk desk, Fields fields) throws Exception {
    // A thread without work ends after a second.
    for (int i = 0; i < 30 && desk.newThreads() > 0; i++) {
      Thread.sleep(100);
    }
    JsonObject result = new JsonObject();
    result.addProperty("threads", desk.newThreads());
    long sockets = sockets();
    if (sockets >= 0) {
      result.addProperty("sockets", sockets);
    }
    return result;
  }

  /** -1: the platform cannot count them. */
  private static long sockets() {
    Path folder = Path.of("/proc/self/fd");
    try (Stream<Path> descriptors = Files.list(folder)) {
      return descriptors.filter(Commands::isSocket).count();
    } catch (IOException e) {
      return -1;
    }
  }

  private static boolean isSocket(Path descriptor) {
    try {
      return Files.readSymbolicLink(descriptor).toString().startsWith("socket:");
    } catch (IOException e) {
      return false;
    }
  }
}
