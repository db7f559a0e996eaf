package dev.holdfast.client;

import dev.holdfast.v1.LeaseRenewal;
import dev.holdfast.v1.OpenSessionRequest;
import dev.holdfast.v1.OpenSessionResponse;
import dev.holdfast.v1.SessionCommand;
import dev.holdfast.v1.SessionEvent;
import dev.holdfast.v1.SessionStart;
import dev.holdfast.v1.SessionStarted;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** One stream: heartbeats, and whom an event concerns. Belongs to the loop. */
final class Session implements Wire.Listener {
  /** The client that opened the session. */
  interface Keeper {
    /** NEVER without a lease. */
    long shortestTtl();

    void started(Session session);

    void leaving(Session session, long delayNanos);

    /** Every command has its answer, and every lease has ended here. */
    void quiet(Session session);

    /** This process was stopped for a while. */
    void wasStopped();

    /** Called once. Null: the session has left by itself. */
    void ended(Session session, @Nullable HoldfastException error);
  }

  final long number;
  final String address;

  /** Whether the first response has come. */
  boolean isStarted;

  /** Whether new acquires go to the next session, because this one ends soon. */
  boolean isLeaving;

  private final Loop loop;
  private final Keeper keeper;
  private final Wire wire;
  private final HeartbeatRecord record = new HeartbeatRecord();
  private final HeartbeatPlan plan;
  private final Map<Long, CommandOwner> owners = new HashMap<>();
  private final CommandQueue queue = new CommandQueue(owners);
  private @Nullable SessionStart start;
  private long lastCommandId;
  private Loop.@Nullable Timer timer;
  private boolean isFlushDue;
  private boolean isHalfClosed;
  private boolean isClosed;

  /**
   * @param firstAnswer the longest wait for the first response, nanoseconds
   */
  Session(
      SessionStart start,
      Opening opening,
      long firstAnswer,
      Wire.Opener opener,
      Loop loop,
      Keeper keeper) {
    this.address = opening.turn.server.toString();
    this.plan = new HeartbeatPlan(firstAnswer);
    this.start = start;
    this.number = start.getSessionNumber();
    this.loop = loop;
    this.keeper = keeper;
    this.wire = opener.open(opening.turn.server, opening, loop, this);
    flushSoon();
  }

  /** The number of commands without an answer, and of leases that have not ended here. */
  int openCount() {
    return owners.size();
  }

  /** Sends a command with the other commands of this moment. Returns the id of the command. */
  long run(SessionCommand.Builder command, @Nullable CommandOwner owner) {
    lastCommandId++;
    if (isClosed || isHalfClosed) {
      return lastCommandId;
    }
    queue.add(command.setCommandId(lastCommandId).build());
    if (owner != null) {
      owners.put(lastCommandId, owner);
    }
    flushSoon();
    return lastCommandId;
  }

  /** Ends the stream in order. The server answers with the end of the stream. */
  void halfClose() {
    if (isClosed || isHalfClosed) {
      return;
    }
    flush();
    isHalfClosed = true;
    setTimer(Durations.millis(Numbers.Session.HALF_CLOSE_MS), this::leave);
    wire.halfClose();
  }

  /** Ends the stream without a word. The leases continue to the ends of their ttl. */
  void leave() {
    finish(null);
  }

  @Override
  public void ended(HoldfastException error) {
    finish(error);
  }

  @Override
  public void ready() {
    flush();
  }

  @Override
  public void response(OpenSessionResponse response) {
    if (isClosed) {
      return;
    }
    Long sentAt = record.answer(response.getHeartbeatId());
    if (sentAt == null) {
      leave();
      return;
    }
    if (response.hasStarted()) {
      started(response.getStarted());
    }
    plan.interval(Durations.nanos(response.getHeartbeatInterval()));
    Receipt receipt = new Receipt(sentAt, loop.now());
    for (SessionEvent event : response.getEventsList()) {
      tell(event, receipt);
    }
    for (LeaseRenewal renewal : response.getRenewalsList()) {
      CommandOwner owner = owners.get(renewal.getLeaseNumber());
      if (owner != null) {
        owner.renewed(renewal, receipt);
      }
    }
    if (response.hasLeaving() && !isLeaving) {
      isLeaving = true;
      keeper.leaving(this, Durations.nanos(response.getLeaving().getRetryDelay()));
    }
    planHeartbeat();
    if (owners.isEmpty()) {
      keeper.quiet(this);
    }
  }

  private void started(SessionStarted started) {
    isStarted = true;
    plan.started(Durations.nanos(started.getHeartbeatTimeout()));
    queue.bound(started.getMaxCommandCount(), started.getMaxMessageBytes());
    keeper.started(this);
  }

  private void tell(SessionEvent event, Receipt receipt) {
    long id = event.getCommandId();
    CommandOwner owner = owners.get(id);
    SessionEvent.EventCase kind = event.getEventCase();
    // A kind of event that this client does not know ends no command and no lease.
    if (owner == null || kind == SessionEvent.EventCase.EVENT_NOT_SET) {
      return;
    }
    if (kind != SessionEvent.EventCase.QUEUED && kind != SessionEvent.EventCase.RENEWAL_FAILED) {
      owners.remove(id);
      if (queue.answered(id)) {
        flushSoon();
      }
    }
    CommandOwner next = owner.event(event, receipt, this);
    if (next != null && !isClosed) {
      owners.put(id, next);
    }
  }

  /** A shorter ttl needs earlier heartbeats. */
  void planHeartbeat() {
    if (isClosed || isHalfClosed || start != null) {
      return;
    }
    long plannedAt =
        plan.wakeAt(record.lastSentAt(), record.unansweredSince(), keeper.shortestTtl());
    setTimer(Durations.until(plannedAt, loop.now()), () -> wake(plannedAt));
  }

  private void wake(long plannedAt) {
    if (isClosed) {
      return;
    }
    long now = loop.now();
    if (plan.woke(plannedAt, now, keeper.shortestTtl())) {
      keeper.wasStopped();
    }
    long ttl = keeper.shortestTtl();
    if (plan.isSilent(now, record.unansweredSince(), ttl)) {
      leave();
      return;
    }
    if (now >= Durations.plus(record.lastSentAt(), plan.period(ttl))) {
      heartbeat(List.of());
    }
    planHeartbeat();
  }

  /** Heartbeats do not wait for the stream, because the server is left soon if it takes none. */
  private void heartbeat(List<SessionCommand> commands) {
    OpenSessionRequest.Builder request = OpenSessionRequest.newBuilder().addAllCommands(commands);
    if (start != null) {
      request.setStart(start);
      start = null;
    }
    wire.send(request.setHeartbeatId(record.send(loop.now())).build());
  }

  /** After the other commands of this moment. */
  private void flushSoon() {
    if (!isFlushDue) {
      isFlushDue = true;
      loop.execute(
          () -> {
            isFlushDue = false;
            flush();
          });
    }
  }

  /**
   * The next message waits until the stream has taken the one before, so that few lie in memory.
   */
  private void flush() {
    if (isClosed || isHalfClosed) {
      return;
    }
    if (start != null) {
      heartbeat(queue.next());
      planHeartbeat();
    }
    while (wire.isReady()) {
      List<SessionCommand> commands = queue.next();
      if (commands.isEmpty()) {
        return;
      }
      wire.send(OpenSessionRequest.newBuilder().addAllCommands(commands).build());
    }
  }

  private void setTimer(long delay, Runnable task) {
    if (timer != null) {
      timer.cancel();
    }
    timer = loop.schedule(delay, task);
  }

  private void finish(@Nullable HoldfastException error) {
    if (isClosed) {
      return;
    }
    isClosed = true;
    if (timer != null) {
      timer.cancel();
    }
    queue.clear();
    owners.clear();
    wire.destroy();
    keeper.ended(this, error);
  }
}
