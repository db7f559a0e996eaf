package dev.holdfast.client;

import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import org.jspecify.annotations.Nullable;

/**
 * Opens one session after the other. A broken session ends no lease: the next session attaches to
 * the leases, and their deadlines decide how long the process may believe in them. Belongs to the
 * loop, except the methods that say otherwise.
 */
final class Engine implements Session.Keeper {
  final Tasks tasks;

  /** Completed by the first response of a server, or by a refusal. */
  final CompletableFuture<Void> ready = new CompletableFuture<>();

  private final CompletableFuture<Void> closed = new CompletableFuture<>();
  private final SessionStarts starts;
  private final Preparation preparation;
  private final SessionFailures failures;
  private final Wire.Opener opener;
  private final Loop loop;
  private final TokenWatch tokenWatch;

  /** The earlier sessions that still renew leases. */
  private final Set<Session> retired = new HashSet<>();

  private @Nullable Session current;
  private Loop.@Nullable Timer openTimer;
  private long connectUntil;
  private boolean isClosing;
  private boolean isClosed;

  /** The servers have refused the first session, so connect fails with this error. */
  private @Nullable HoldfastException refusal;

  private volatile @Nullable HoldfastException lastError;

  /** The server of the latest session. Null: no session was opened yet. */
  private volatile @Nullable String asked;

  private @Nullable Runnable onSessionEnded;

  /**
   * @param prepare finds token, certificates and server; may block
   * @param callbacks runs {@code prepare} and the code of the user
   */
  Engine(
      Servers servers,
      String holderId,
      Map<String, String> metadata,
      Callable<Opening> prepare,
      Wire.Opener opener,
      Loop loop,
      Executor callbacks) {
    this.starts = new SessionStarts(holderId, metadata);
    this.failures = new SessionFailures(servers::count);
    this.preparation = new Preparation(prepare, loop, callbacks);
    this.opener = opener;
    this.loop = loop;
    this.tokenWatch = new TokenWatch(loop);
    this.tasks = new Tasks(loop, callbacks);
  }

  /**
   * Any thread may call.
   *
   * @param limitNanos how long connect waits for the first answer
   */
  void start(long limitNanos) {
    long until = Durations.plus(loop.now(), limitNanos);
    loop.execute(
        () -> {
          connectUntil = until;
          openNext();
        });
  }

  /** Why no session has started yet. Any thread may ask. */
  HoldfastException whyNotStarted() {
    HoldfastException last = lastError;
    String address = asked;
    if (last != null) {
      return last;
    }
    return Errors.noAnswer(
        address == null ? "the first connection was not ready" : address + " has not answered",
        null);
  }

  /** Any thread may call. */
  Intent acquire(Wanted wanted) {
    Intent intent = new Intent(wanted, tasks, loop.now());
    if (!loop.execute(() -> begin(intent))) {
      intent.fail(new ClosedException());
    } else if (wanted.stop != null) {
      intent.stopAt(wanted.stop, loop);
    }
    return intent;
  }

  private void begin(Intent intent) {
    if (isClosing) {
      intent.fail(new ClosedException());
    } else if (refusal != null) {
      intent.fail(refusal);
    } else if (!intent.isAbandoned) {
      tasks.acquires.acquire(intent);
    }
  }

  /** The caller does not want the lease any more. Any thread may call. */
  void abandon(Intent intent, Throwable error) {
    loop.execute(() -> tasks.acquires.abandon(intent, error));
  }

  /**
   * Releases all leases, ends all waits, waits for the answers, and ends the session. Any thread
   * may call. The future is completed when nothing is left to do, or after the time limit.
   */
  CompletableFuture<Void> close(long limitNanos) {
    loop.execute(() -> beginClose(limitNanos));
    return closed;
  }

  private void beginClose(long limitNanos) {
    if (isClosing) {
      return;
    }
    isClosing = true;
    Loop.Timer timer = loop.schedule(limitNanos, this::shutDown);
    tasks.finish(
        () -> {
          Session session = current;
          if (session == null || !session.isStarted) {
            timer.cancel();
            shutDown();
            return;
          }
          onSessionEnded =
              () -> {
                timer.cancel();
                shutDown();
              };
          session.halfClose();
        });
  }

  private void shutDown() {
    if (isClosed) {
      return;
    }
    isClosed = true;
    onSessionEnded = null;
    preparation.cancel();
    tokenWatch.cancel();
    if (openTimer != null) {
      openTimer.cancel();
    }
    if (current != null) {
      current.leave();
    }
    for (Session session : List.copyOf(retired)) {
      session.leave();
    }
    tasks.close();
    ready.completeExceptionally(new ClosedException());
    closed.complete(null);
  }

  @Override
  public long shortestTtl() {
    return tasks.leases.shortestTtl();
  }

  @Override
  public void started(Session session) {
    failures.reset();
    tasks.sessionError = null;
    ready.complete(null);
    Log.info("a session with {0} has started", session.address);
  }

  @Override
  public void leaving(Session session, long delayNanos) {
    Log.info("{0} asks to leave, the next session follows", session.address);
    if (session == current) {
      openAfter(delayNanos);
    }
  }

  @Override
  public void quiet(Session session) {
    if (retired.contains(session)) {
      session.halfClose();
    }
  }

  @Override
  public void wasStopped() {
    tasks.leases.byDeadline();
  }

  @Override
  public void ended(Session session, @Nullable HoldfastException reported) {
    retired.remove(session);
    if (session != current || isClosed) {
      return;
    }
    current = null;
    tasks.current = null;
    if (onSessionEnded != null) {
      onSessionEnded.run();
      return;
    }
    HoldfastException error =
        reported == null ? Errors.noAnswer(session.address + " is silent", null) : reported;
    lastError = error;
    tasks.sessionError = error;
    Log.warning("the session with {0} has ended: {1}", session.address, error.getMessage());
    if (!session.isStarted) {
      failures.count();
    }
    if (failures.isRefused(error)) {
      refused(error);
    } else {
      openAfter(pause(error.retryAfterNanos()));
    }
  }

  private void refused(HoldfastException error) {
    Log.warning("the servers refuse this client: {0}", error.getMessage());
    refusal = error;
    tasks.acquires.failAll(error);
    ready.completeExceptionally(error);
  }

  private long pause(long advised) {
    return failures.pause(advised, Durations.until(tasks.leases.nearestDeadline(), loop.now()));
  }

  private void openAfter(long delay) {
    if (openTimer != null) {
      openTimer.cancel();
    }
    if (!preparation.isRunning() && !isEnding()) {
      openTimer = loop.schedule(delay, this::openNext);
    }
  }

  /** Opens the next session after token and certificates were read. */
  private void openNext() {
    if (!isEnding()) {
      preparation.begin(this::prepared, this::notOpened);
    }
  }

  /** All work has ended, so no further session is opened. */
  private boolean isEnding() {
    return isClosed || onSessionEnded != null;
  }

  private void prepared(Opening opening) {
    if (isEnding()) {
      return;
    }
    try {
      open(opening);
    } catch (IllegalArgumentException e) {
      notOpened(Preparation.failure(e));
    }
  }

  private void open(Opening opening) {
    Session previous = current;
    Session next = new Session(starts.next(), opening, firstAnswer(opening), opener, loop, this);
    current = next;
    asked = next.address;
    tokenWatch.begin(opening.token, () -> renewToken(next));
    // The previous session renews the leases until the next one has them.
    if (previous != null) {
      retired.add(previous);
    }
    tasks.moveTo(next);
    if (previous != null && previous.openCount() == 0) {
      previous.halfClose();
    }
  }

  private long firstAnswer(Opening opening) {
    long left =
        failures.hasStarted() ? Durations.NEVER : Durations.until(connectUntil, loop.now());
    return HeartbeatPlan.shareOfConnect(left, opening.turn.left);
  }

  /** The next attempt may find the token or the certificate. */
  private void notOpened(HoldfastException error) {
    if (isEnding()) {
      return;
    }
    failures.count();
    lastError = error;
    tasks.sessionError = error;
    Log.warning("{0}", error.getMessage());
    openAfter(pause(0));
  }

  /**
   * Opens the next session before the token ends. The session takes new acquires until then,
   * because the next token may be late.
   */
  private void renewToken(Session session) {
    if (session == current) {
      openAfter(0);
    }
  }
}
