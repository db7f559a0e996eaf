import type { ServiceError } from '@grpc/grpc-js';
import {
  SessionCommand,
  type LeaseRenewal,
  type OpenSessionResponse,
  type SessionEvent,
  type SessionStart,
} from '../../../generated/typescript/holdfast/v1/session_service';
import { now } from '../clock';
import { textOf, type Server } from '../connection/servers';
import { durationToMs } from '../duration';
import { NUMBERS } from '../numbers';
import type { OpenWire, Wire } from './grpc-wire';
import { HeartbeatPlan } from './heartbeat-plan';
import { HeartbeatRecord } from './heartbeat-record';

export type Command = NonNullable<SessionCommand['command']>;
export type Event = NonNullable<SessionEvent['event']>;

/** The times of a response, on the own clock. */
export interface Receipt {
  /** The send of the heartbeat that the response names. */
  readonly t0: number;
  readonly at: number;
}

/** The owner of a command, and later of its lease. */
export interface CommandOwner {
  /** True: the command is not sent any more, if it waits. */
  readonly isOver?: boolean;
  /** Returns the owner of the lease after `granted`. Without one the session forgets the command at its last event. */
  event(event: Event, receipt: Receipt, session: OpenSession, commandId: number): CommandOwner | void;
  renewed?(renewal: LeaseRenewal, receipt: Receipt, session: OpenSession): void;
}

/** The client that opened the session. */
export interface SessionKeeper {
  readonly shortestTtlMs: number;
  started(session: OpenSession): void;
  leaving(session: OpenSession, delayMs: number): void;
  /** Every command has its answer, and every lease has ended here. */
  quiet(session: OpenSession): void;
  /** Called once. The session has left by itself if `error` is undefined and `silent` is true. */
  ended(session: OpenSession, error: ServiceError | undefined, silent: boolean): void;
}

const { maxCommandsInMessage, maxMessageBytes, maxAttachesUnanswered, commandsShareOfMessage, halfCloseMs } =
  NUMBERS.session;

/** One stream: heartbeats, the order of commands, and whom an event concerns. */
export class OpenSession {
  readonly number: number;
  /** For logs and errors. */
  readonly address: string;
  isStarted = false;
  /** The server has asked the client to leave, so new acquires go to the next session. */
  isLeaving = false;
  private readonly record = new HeartbeatRecord();
  private readonly plan: HeartbeatPlan;
  private readonly wire: Wire;
  private readonly owners = new Map<number, CommandOwner>();
  private readonly attaches = new Set<number>();
  private queue: SessionCommand[] = [];
  private lastCommandId = 0;
  private start: SessionStart | undefined;
  private maxCommands = maxCommandsInMessage;
  private maxBytes = maxMessageBytes;
  private timer: NodeJS.Timeout | undefined;
  private isWriting = false;
  private isFlushDue = false;
  private isHalfClosed = false;
  private isClosed = false;

  constructor(
    server: Server,
    token: string | undefined,
    start: SessionStart,
    open: OpenWire,
    private readonly keeper: SessionKeeper,
    firstAnswerMs: number,
  ) {
    this.plan = new HeartbeatPlan(firstAnswerMs);
    this.start = start;
    this.address = textOf(server);
    this.number = Number(start.sessionNumber);
    this.wire = open(server, token, {
      response: (response) => this.read(response),
      ended: (error) => this.finish(error, false),
    });
    this.flushSoon();
  }

  /** The number of commands without an answer, and of leases that have not ended here. */
  get openCount(): number {
    return this.owners.size;
  }

  /** Sends a command with the other commands of this moment. Returns its id. */
  run(command: Command, owner: CommandOwner | undefined): number {
    this.lastCommandId += 1;
    const commandId = this.lastCommandId;
    if (this.isClosed || this.isHalfClosed) return commandId;
    this.queue.push({ commandId: BigInt(commandId), command });
    if (owner) this.owners.set(commandId, owner);
    this.flushSoon();
    return commandId;
  }

  /** A shorter ttl needs earlier heartbeats. */
  planHeartbeat(): void {
    if (this.isClosed || this.isHalfClosed || this.start) return;
    clearTimeout(this.timer);
    const { lastSentAt, unansweredSince } = this.record;
    const plannedAt = this.plan.wakeAt(lastSentAt, unansweredSince, this.keeper.shortestTtlMs);
    this.timer = setTimeout(() => this.wake(plannedAt), Math.max(0, plannedAt - now()));
  }

  /** Ends the stream in order. The server answers with the end of the stream. */
  halfClose(): void {
    if (this.isClosed || this.isHalfClosed) return;
    this.isHalfClosed = true;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.leave(), halfCloseMs);
    this.wire.halfClose();
  }

  /** Ends the stream without a word. The leases continue to the ends of their ttl. */
  leave(): void {
    this.finish(undefined, true);
  }

  private wake(plannedAt: number): void {
    const time = now();
    const ttlMs = this.keeper.shortestTtlMs;
    this.plan.woke(plannedAt, time, ttlMs);
    if (this.plan.isSilent(time, this.record.unansweredSince, ttlMs)) return this.leave();
    if (time >= this.record.lastSentAt + this.plan.periodMs(ttlMs)) this.heartbeat([]);
    this.planHeartbeat();
  }

  private heartbeat(commands: SessionCommand[]): void {
    const { start } = this;
    this.start = undefined;
    const heartbeatId = BigInt(this.record.send(now()));
    this.wire.write({ start, heartbeatId, commands }, () => undefined);
  }

  /** After the other commands of this moment. */
  private flushSoon(): void {
    if (this.isFlushDue) return;
    this.isFlushDue = true;
    void Promise.resolve().then(() => {
      this.isFlushDue = false;
      this.flush();
    });
  }

  /** The next message waits until the stream has taken the one before, so that few messages lie in memory. */
  private flush(): void {
    if (this.isClosed || this.isHalfClosed) return;
    if (this.start) {
      this.heartbeat(this.nextCommands());
      this.planHeartbeat();
    }
    if (this.isWriting) return;
    const commands = this.nextCommands();
    if (commands.length === 0) return;
    this.isWriting = true;
    this.wire.write({ start: undefined, heartbeatId: 0n, commands }, () => {
      this.isWriting = false;
      this.flush();
    });
  }

  private nextCommands(): SessionCommand[] {
    const commands: SessionCommand[] = [];
    let bytes = 0;
    let takenCount = 0;
    for (const command of this.queue) {
      if (commands.length >= this.maxCommands) break;
      const id = Number(command.commandId);
      const isAttach = command.command?.$case === 'attach';
      if (this.owners.get(id)?.isOver) {
        this.owners.delete(id);
      } else {
        if (isAttach && this.attaches.size >= maxAttachesUnanswered) break;
        bytes += SessionCommand.encode(command).finish().length + 8;
        if (commands.length > 0 && bytes > this.maxBytes * commandsShareOfMessage) break;
        if (isAttach) this.attaches.add(id);
        commands.push(command);
      }
      takenCount += 1;
    }
    this.queue.splice(0, takenCount);
    return commands;
  }

  private read(response: OpenSessionResponse): void {
    if (this.isClosed) return;
    const t0 = this.record.answer(Number(response.heartbeatId));
    if (t0 === undefined) return this.leave();
    const { started, heartbeatInterval, events, renewals, leaving } = response;
    if (started) {
      this.isStarted = true;
      this.plan.started(started.heartbeatTimeout && durationToMs(started.heartbeatTimeout));
      this.maxCommands = Math.min(maxCommandsInMessage, started.maxCommandCount || maxCommandsInMessage);
      this.maxBytes = Math.min(maxMessageBytes, started.maxMessageBytes || maxMessageBytes);
      this.keeper.started(this);
    }
    this.plan.interval(heartbeatInterval && durationToMs(heartbeatInterval));
    const receipt = { t0, at: now() };
    for (const event of events) this.tell(event, receipt);
    for (const renewal of renewals) {
      this.owners.get(Number(renewal.leaseNumber))?.renewed?.(renewal, receipt, this);
    }
    if (leaving && !this.isLeaving) {
      this.isLeaving = true;
      this.keeper.leaving(this, (leaving.retryDelay && durationToMs(leaving.retryDelay)) ?? 0);
    }
    this.planHeartbeat();
    if (this.owners.size === 0) this.keeper.quiet(this);
  }

  private tell({ commandId, event }: SessionEvent, receipt: Receipt): void {
    const id = Number(commandId);
    const owner = this.owners.get(id);
    // A kind of event that this client does not know ends no command and no lease.
    if (owner === undefined || event === undefined) return;
    const isLast = event.$case !== 'queued' && event.$case !== 'renewalFailed';
    if (isLast) this.owners.delete(id);
    if (isLast && this.attaches.delete(id)) this.flushSoon();
    const next = owner.event(event, receipt, this, id);
    if (next) this.owners.set(id, next);
  }

  private finish(error: ServiceError | undefined, silent: boolean): void {
    if (this.isClosed) return;
    this.isClosed = true;
    clearTimeout(this.timer);
    this.queue = [];
    this.owners.clear();
    this.wire.destroy();
    this.keeper.ended(this, error, silent);
  }
}
