import type { Call } from '../../base/call';
import type { Timer } from '../../base/clock';
import type { HoldfastError } from '../../base/errors';
import type { Runtime } from '../../base/runtime';
import { inTurns } from '../../flow/turns';
import { NameTurns } from '../../flow/waiting';
import { type Resource, resourceKey, type Service } from '../lease';
import * as errors from '../lease-errors';
import { type LeaseId, parseLeaseId } from '../lease-id';
import type { HoldStart, OwnedLease, Renewal } from '../lease-requests';
import { Heartbeats, type SessionLeases } from '../life';
import { CommandCall, type CommandOrigin, type CommandSession, LeaseCommand } from './command';
import type {
  CommandRights,
  SessionCommand,
  SessionEvent,
  SessionLimits,
  SessionSink,
  SessionStart,
} from './session-requests';

/** The revoked leases of a session. The client may release each of them by its number, until the last end of the lease. */
export class RevokedLeases {
  private readonly leases = new Map<number, OwnedLease>();

  constructor(private readonly maxCount: number) {}

  get(leaseNumber: number): OwnedLease | undefined {
    return this.leases.get(leaseNumber);
  }

  /** Also forgets the oldest leases, if they have ended or if there are too many. */
  add(leaseNumber: number, lease: OwnedLease, now: number): void {
    for (const [number, oldest] of this.leases) {
      if (oldest.lastEnd > now && this.leases.size < this.maxCount) break;
      this.leases.delete(number);
    }
    this.leases.set(leaseNumber, lease);
  }
}

export interface SessionOptions {
  readonly runtime: Runtime;
  readonly engine: SessionLeases;
  readonly limits: SessionLimits;
  /** The call of the session's stream. */
  readonly stream: Call;
  readonly start: SessionStart;
  readonly sink: SessionSink;
}

/** The terms of a request to end a session. */
export interface Leaving {
  /** The client opens its next session after this delay (ms). */
  readonly retryDelayMs: number;
  /** The longest time that the session still works (ms). */
  readonly withinMs: number;
  readonly error: HoldfastError;
}

/** The leases that are abandoned in one turn of the event loop when a session ends. */
const ENDS_PER_TURN = 200;

/**
 * One session: the commands and leases of one client process on one stream.
 *
 * ```
 * open ──no heartbeat for heartbeat_timeout──▶ ended (SESSION_SILENT)
 *      ──the client reads nothing (session-conversation.ts)──▶ ended (SESSION_SILENT)
 *      ──the stream breaks, or its caller may not call any more──▶ ended
 *      ──leave──▶ leaving ──the leases have moved, or the time is over──▶ ended (DRAINING, REATTACH)
 * ```
 *
 * The end of a session ends no lease. The engine of leases holds each lease as it holds the lease of a hold stream.
 * Each command is a call for the engine.
 */
export class Session implements CommandOrigin, CommandSession {
  readonly heartbeats: Heartbeats;
  /** `<client process>/<session number>` */
  readonly speaker: string;
  /** Resolves when the client is gone. Rejects with the error that ends the stream. */
  readonly done: Promise<void>;
  /** The acquires and attaches without an answer, and the held leases. */
  private readonly commands = new Map<number, LeaseCommand>();
  private readonly revokedLeases: RevokedLeases;
  private readonly turns = new NameTurns();
  /** The acquires and updates without an end. */
  private unfinishedCount = 0;
  private releaseCount = 0;
  private isEnded = false;
  private timer: Timer | undefined;
  private leaving: Leaving | undefined;
  private leavingTimer: Timer | undefined;
  private settle: (error: HoldfastError | undefined) => void = () => undefined;

  constructor(private readonly options: SessionOptions) {
    const { limits, start, stream } = options;
    this.heartbeats = new Heartbeats(start.heartbeatId, start.receivedAt, limits.heartbeatTimeoutMs);
    this.revokedLeases = new RevokedLeases(limits.maxLeaseCount);
    this.speaker = `${shortText(start.clientId)}/${start.sessionNumber}`;
    this.done = new Promise((resolve, reject) => {
      this.settle = (error) => (error === undefined ? resolve() : reject(error));
    });
    this.checkSilenceAfter(limits.heartbeatTimeoutMs);
    stream.onCancelled(() => this.end(undefined));
  }

  get stream(): Call {
    return this.options.stream;
  }

  get isOver(): boolean {
    return this.isEnded;
  }

  get isLeaving(): boolean {
    return this.leaving !== undefined;
  }

  /** Undefined: the session neither holds the lease nor has lost the lease by a revocation. */
  lease(leaseNumber: number): LeaseId | undefined {
    const lease = this.commands.get(leaseNumber)?.lease ?? this.revokedLeases.get(leaseNumber);
    return lease?.id;
  }

  /** @param id above the id of the last heartbeat */
  heartbeat(id: number, receivedAt: number): void {
    if (!this.isEnded) this.heartbeats.receive(id, receivedAt);
  }

  /**
   * Begins a command. Its end is an event.
   * @param commandId above the id of the command before
   * @param receivedAt the receipt of the command's message (ms)
   */
  run(commandId: number, command: SessionCommand, rights: CommandRights, receivedAt: number): void {
    if (this.isEnded) return;
    const call = new CommandCall(this, commandId, rights, receivedAt);
    try {
      this.begin(commandId, command, call);
    } catch (error) {
      this.fail(commandId, call, error);
    }
  }

  /**
   * Asks the client to open the next session. This session continues until it has no lease and no command, and at
   * most for `withinMs`. A second call replaces the first call.
   */
  leave(leaving: Leaving): void {
    if (this.isEnded) return;
    this.leaving = leaving;
    this.options.sink.leave(leaving.retryDelayMs);
    this.leavingTimer?.cancel();
    this.leavingTimer = this.options.runtime.clock.after(leaving.withinMs, () => this.end(leaving.error));
    this.endIfMoved();
  }

  private endIfMoved(): void {
    if (this.leaving === undefined) return;
    if (this.commands.size + this.unfinishedCount + this.releaseCount === 0) this.end(this.leaving.error);
  }

  /** Ends the stream. The leases continue to their ends. */
  end(error: HoldfastError | undefined): void {
    if (this.isEnded) return;
    this.isEnded = true;
    this.timer?.cancel();
    this.leavingTimer?.cancel();
    this.settle(error);
    inTurns([...this.commands.values()], ENDS_PER_TURN, (command) => command.abandon());
  }

  private fail(commandId: number, call: CommandCall, error: unknown): void {
    call.close();
    this.send({ commandId, kind: 'failed', error });
  }

  private begin(commandId: number, command: SessionCommand, call: CommandCall): void {
    const { limits } = this.options;
    switch (command.kind) {
      case 'cancel':
        call.close();
        return this.commands.get(command.commandId)?.giveUp();
      case 'acquire': {
        const { service, request } = command;
        if (this.unfinishedCount >= limits.maxUnfinishedCount)
          throw errors.tooManyUnfinished(limits.maxUnfinishedCount);
        return this.hold(commandId, call, service, request.name, { kind: 'acquire', request });
      }
      case 'attach': {
        const { service, leaseId } = command;
        const { resource } = parseLeaseId(service, leaseId);
        return this.hold(commandId, call, service, resource.name, { kind: 'attach', leaseId });
      }
      case 'release':
        return this.release(commandId, call, command.lease);
      case 'release-number':
        return this.release(commandId, call, this.leaseOf(command.leaseNumber));
      case 'update': {
        const renewal = { ttlMs: undefined, metadata: command.metadata };
        return this.update(commandId, call, this.leaseOf(command.leaseNumber), renewal);
      }
    }
  }

  private leaseOf(leaseNumber: number): LeaseId {
    const lease = this.lease(leaseNumber);
    if (lease === undefined) throw errors.notInSession(leaseNumber);
    return lease;
  }

  private hold(commandId: number, call: CommandCall, service: Service, name: string, start: HoldStart): void {
    const { engine, limits } = this.options;
    if (this.commands.size >= limits.maxLeaseCount) throw errors.tooManyLeases(limits.maxLeaseCount);
    const command = new LeaseCommand(this, commandId, start.kind, call);
    this.commands.set(commandId, command);
    if (start.kind === 'acquire') this.unfinishedCount += 1;
    this.turns.run(resourceKey({ service, name }), (answered) => {
      void command.run(engine, service, start, answered);
    });
  }

  granted({ kind }: LeaseCommand): void {
    if (kind === 'acquire') this.unfinishedCount -= 1;
  }

  revoked({ id, lease }: LeaseCommand): void {
    if (lease !== undefined) this.revokedLeases.add(id, lease, this.options.runtime.clock.now());
  }

  ended({ id, kind, lease }: LeaseCommand): void {
    this.commands.delete(id);
    if (kind === 'acquire' && lease === undefined) this.unfinishedCount -= 1;
    this.endIfMoved();
  }

  private release(commandId: number, call: CommandCall, lease: LeaseId): void {
    const { engine, limits } = this.options;
    if (this.releaseCount >= limits.maxLeaseCount) throw errors.tooManyUnfinished(limits.maxLeaseCount);
    this.releaseCount += 1;
    this.inTurn(lease.resource, commandId, call, async () => {
      try {
        const { released, lossCause } = await engine.releaseLease(call, lease);
        this.send({ commandId, kind: 'released', released, lossCause });
      } finally {
        this.releaseCount -= 1;
      }
    });
  }

  private update(commandId: number, call: CommandCall, lease: LeaseId, renewal: Renewal): void {
    const { engine, limits } = this.options;
    if (this.unfinishedCount >= limits.maxUnfinishedCount)
      throw errors.tooManyUnfinished(limits.maxUnfinishedCount);
    this.unfinishedCount += 1;
    this.inTurn(lease.resource, commandId, call, async () => {
      try {
        await engine.renewLease(call, lease, renewal);
        this.send({ commandId, kind: 'updated' });
      } finally {
        this.unfinishedCount -= 1;
      }
    });
  }

  private inTurn(resource: Resource, commandId: number, call: CommandCall, work: () => Promise<void>): void {
    const end = async (answered: () => void): Promise<void> => {
      try {
        await work();
        call.close();
      } catch (error) {
        this.fail(commandId, call, error);
      }
      answered();
      this.endIfMoved();
    };
    this.turns.run(resourceKey(resource), (answered) => void end(answered));
  }

  send(event: SessionEvent): void {
    if (!this.isEnded) this.options.sink.send(event);
  }

  private checkSilence(expectedAt: number): void {
    const { runtime, limits } = this.options;
    const now = runtime.clock.now();
    // After a suspension, this process first reads the heartbeats that have arrived meanwhile.
    if (now - expectedAt > limits.heartbeatIntervalMs)
      return this.checkSilenceAfter(limits.heartbeatIntervalMs);
    const leftMs = this.heartbeats.lastAt + limits.heartbeatTimeoutMs - now;
    if (leftMs <= 0) this.end(errors.sessionSilent(limits.heartbeatTimeoutMs));
    else this.checkSilenceAfter(leftMs);
  }

  private checkSilenceAfter(delayMs: number): void {
    const { clock } = this.options.runtime;
    const expectedAt = clock.now() + delayMs;
    this.timer = clock.after(delayMs, () => this.checkSilence(expectedAt));
  }
}

/** The 16 bytes of a UUID in 22 characters. */
function shortText(uuid: string): string {
  return Buffer.from(uuid.replaceAll('-', ''), 'hex').toString('base64url');
}
