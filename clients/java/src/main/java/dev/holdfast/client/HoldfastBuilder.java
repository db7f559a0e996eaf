package dev.holdfast.client;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The options of a connection. Each method changes the builder and returns it. */
public final class HoldfastBuilder {
  /** The longest time of a failed connect beyond its timeout. */
  private static final long CLOSE_WAIT_MS = 100;

  final List<String> addresses;
  @Nullable Tls tls;
  @Nullable TokenSource token;
  String holderId = "";
  Map<String, String> metadata = Map.of();
  Tracing tracing = Tracing.NONE;
  private boolean isTokenInsecure;
  private long connectNanos = Durations.millis(Numbers.Limits.CONNECT_MS);

  HoldfastBuilder(String... addresses) {
    this.addresses = Addresses.of(addresses);
  }

  /** Default: no TLS. */
  public HoldfastBuilder tls(Tls tls) {
    this.tls = tls;
    return this;
  }

  /** A fixed bearer token for sessions and calls. Default: none. */
  public HoldfastBuilder token(String token) {
    Token fixed = Token.of(token);
    return token(() -> fixed);
  }

  /** A file with the bearer token, which is read again for each session and each call. */
  public HoldfastBuilder tokenFile(Path file) {
    return token(TokenSource.file(file));
  }

  /** A source of bearer tokens. Several threads may ask at once. */
  public HoldfastBuilder token(TokenSource source) {
    this.token = source;
    return this;
  }

  /**
   * Allows a token without TLS to other machines. Anybody on the way can then use the token.
   * Default: {@link #connect} refuses this.
   */
  public HoldfastBuilder allowInsecureToken() {
    this.isTokenInsecure = true;
    return this;
  }

  /** A label of this process that others see beside its leases. Default: empty. */
  public HoldfastBuilder holderId(String holderId) {
    this.holderId = Texts.checked(holderId, "holderId");
    return this;
  }

  /** The metadata of each lease without metadata of its own. Default: none. */
  public HoldfastBuilder metadata(Map<String, String> metadata) {
    this.metadata = Texts.checkedMetadata(metadata);
    return this;
  }

  /**
   * The longest wait of {@link #connect}, with the load of classes at the first one. Default: 10 s.
   */
  public HoldfastBuilder connectTimeout(Duration timeout) {
    this.connectNanos = Durations.checked(timeout, "connectTimeout");
    return this;
  }

  /** Spans of acquires and calls. Default: none. */
  public HoldfastBuilder tracing(Tracing tracing) {
    this.tracing = tracing;
    return this;
  }

  /**
   * Connects, and waits for the first answer of a server.
   *
   * @throws UnavailableException if no server answers in time
   * @throws CredentialException if the servers refuse the credential, or if a token would go to
   *     another machine without TLS
   * @throws HoldfastException if the servers refuse this client, for example its credential
   */
  public Holdfast connect() {
    if (token != null && tls == null && !isTokenInsecure) {
      Addresses.refuseTokenBeyondLoopback(addresses);
    }
    // The first connect of a process loads classes, which counts too.
    long begin = System.nanoTime();
    Client client = new Client(this);
    try {
      client.connect(connectNanos - (System.nanoTime() - begin));
    } catch (RuntimeException e) {
      closeBriefly(client);
      throw e;
    }
    return new Holdfast(client);
  }

  /**
   * The close goes on in the background if it takes long, for example while classes are loaded. If
   * it fails too, it does not hide why the connect failed.
   */
  private static void closeBriefly(Client client) {
    Thread closing =
        new Thread(
            () -> {
              try {
                client.close(0);
              } catch (RuntimeException e) {
                Log.warning("{0}", e.getMessage());
              }
            },
            "holdfast-close");
    closing.setDaemon(true);
    closing.start();
    try {
      closing.join(CLOSE_WAIT_MS);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
