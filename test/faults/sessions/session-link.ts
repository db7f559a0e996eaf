import { credentials, Metadata, type ClientDuplexStream, type StatusObject } from '@grpc/grpc-js';
import {
  SessionServiceClient,
  type OpenSessionRequest,
  type OpenSessionResponse,
  type SessionCommand,
  type SessionStart,
} from '../../../generated/typescript/holdfast/v1/session_service';
import { type Ending, endingOf, OWN_CONNECTION } from '../../support/clients/calls';
import { ms } from '../../support/clients/lease-client';
import type { Micros } from '../../support/history';
import { monotonicMicros } from '../../support/history-recorder';
import { microsOf } from '../held';
import type { HeartbeatGate } from './heartbeat-gate';
import { Heartbeats } from './heartbeats';
import type { LinkCommand, Told } from './link-command';

type CommandBody = NonNullable<SessionCommand['command']>;

export interface LinkOptions {
  readonly address: string;
  readonly start: SessionStart;
  readonly gate: HeartbeatGate;
  /** The shortest ttl of the client's leases. Infinity without leases. */
  readonly shortestTtlUs: () => Micros;
}

export interface LinkOwner {
  /** The server has accepted the session. */
  started(link: SessionLink): void;
  /** The server asks for the next session. */
  leaving(link: SessionLink, retryDelayMs: number): void;
  /** The server has not answered a heartbeat in time. */
  unanswered(link: SessionLink): void;
  /** The stream has ended. Not called after `close`. */
  ended(link: SessionLink, ending: Ending): void;
  /** The server has sent a message that the contract forbids. */
  broken(link: SessionLink, what: string): void;
}

const CHANNEL = {
  ...OWN_CONNECTION,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 500,
} as const;
const USUAL_COMMAND_COUNT = 1000;

/** One stream of OpenSession, with a connection of its own: heartbeats, and the commands of one turn in one message. */
export class SessionLink {
  isOver = false;
  /** The server has asked the client to open the next session. */
  isLeaving = false;
  readonly number: number;
  /** The session in the history. */
  readonly session: string;
  private readonly stub: SessionServiceClient;
  private readonly stream: ClientDuplexStream<OpenSessionRequest, OpenSessionResponse>;
  private readonly heartbeats: Heartbeats;
  private readonly commands = new Map<number, LinkCommand>();
  private readonly unsent: SessionCommand[] = [];
  private lastCommandId = 0;
  private maxCommandCount = USUAL_COMMAND_COUNT;
  private isStarted = false;
  private isFlushDue = false;

  constructor(
    options: LinkOptions,
    private readonly owner: LinkOwner,
  ) {
    const { address, start, gate, shortestTtlUs } = options;
    this.number = Number(start.sessionNumber);
    this.session = `${start.clientId} ${start.sessionNumber}`;
    this.stub = new SessionServiceClient(address, credentials.createInsecure(), CHANNEL);
    this.stream = this.stub.openSession(new Metadata());
    this.stream.on('data', (response: OpenSessionResponse) => this.receive(response));
    // An unhandled event 'error' ends the process. The event 'status' has the same information.
    this.stream.on('error', () => undefined);
    const status = new Promise<StatusObject>((resolve) => this.stream.on('status', resolve));
    const lastRead = new Promise<void>((resolve) => this.stream.on('end', resolve));
    void Promise.all([status, lastRead]).then(([object]) => this.end(object));
    this.heartbeats = new Heartbeats({
      gate,
      shortestTtlUs,
      send: (heartbeatId) => this.write({ heartbeatId: BigInt(heartbeatId) }),
      unanswered: () => this.owner.unanswered(this),
    });
    this.write({ start, heartbeatId: BigInt(this.heartbeats.first()) });
  }

  /** Sends a command with the other commands of this turn. Returns its id. */
  run(body: CommandBody, command: LinkCommand | undefined): number {
    this.lastCommandId += 1;
    const commandId = this.lastCommandId;
    if (command !== undefined) this.commands.set(commandId, command);
    this.unsent.push({ commandId: BigInt(commandId), command: body });
    if (!this.isFlushDue) {
      this.isFlushDue = true;
      setImmediate(() => this.flush());
    }
    return commandId;
  }

  /** Closes the stream. The leases live on to their ends. */
  close(): void {
    this.finish();
    this.stream.cancel();
  }

  /** True while a command has no last event, or a lease has not ended. */
  get isBusy(): boolean {
    return this.commands.size > 0;
  }

  /** The commands without a last event, and then no more. */
  takeOpen(): LinkCommand[] {
    const open = [...this.commands.values()];
    this.commands.clear();
    return open;
  }

  private flush(): void {
    this.isFlushDue = false;
    while (this.unsent.length > 0) this.write({ commands: this.unsent.splice(0, this.maxCommandCount) });
  }

  private write(message: Partial<OpenSessionRequest>): void {
    if (!this.isOver) this.stream.write({ start: undefined, heartbeatId: 0n, commands: [], ...message });
  }

  private receive(response: OpenSessionResponse): void {
    const at = monotonicMicros();
    if (this.isOver) return;
    const heartbeat = Number(response.heartbeatId);
    const t0 = this.heartbeats.named(heartbeat);
    const wrong = t0 === undefined ? `names heartbeat ${heartbeat}` : this.start(response);
    if (t0 === undefined || wrong !== undefined) {
      this.owner.broken(this, `a response ${wrong}`);
      return;
    }
    const told: Told = { at, t0, heartbeat };
    for (const { commandId, event } of response.events) {
      if (event !== undefined) this.pass(Number(commandId), told, (command) => command.receive(event, told));
    }
    for (const { leaseNumber, expireOffset, ttl } of response.renewals) {
      const ttlUs = ttl === undefined ? undefined : microsOf(ttl);
      // A renewal of a lease that has ended is skipped.
      this.commands.get(Number(leaseNumber))?.renewed(microsOf(expireOffset), ttlUs, told);
    }
    if (response.leaving !== undefined) {
      this.isLeaving = true;
      this.owner.leaving(this, ms(response.leaving.retryDelay));
    }
  }

  /** Reads the bounds of the first response. Returns what is wrong. */
  private start({ started, heartbeatInterval }: OpenSessionResponse): string | undefined {
    if ((started !== undefined) === this.isStarted) return 'has `started`, and is not the first, or lacks it';
    if (heartbeatInterval !== undefined) this.heartbeats.intervalUs = microsOf(heartbeatInterval);
    else if (!this.isStarted) return 'is the first, and lacks `heartbeat_interval`';
    if (started === undefined) return undefined;
    this.isStarted = true;
    this.heartbeats.timeoutUs = microsOf(started.heartbeatTimeout);
    this.maxCommandCount = started.maxCommandCount;
    this.owner.started(this);
    return undefined;
  }

  private pass(commandId: number, { at }: Told, receive: (command: LinkCommand) => string | undefined): void {
    const command = this.commands.get(commandId);
    const wrong =
      command === undefined
        ? `${at}: an event names command ${commandId}, which has ended or was never sent`
        : receive(command);
    if (command?.isFinished === true) this.commands.delete(commandId);
    if (wrong !== undefined) this.owner.broken(this, wrong);
  }

  private end(status: StatusObject): void {
    if (this.isOver) return;
    this.finish();
    this.owner.ended(this, endingOf(Object.assign(new Error(), status)));
  }

  private finish(): void {
    this.isOver = true;
    this.heartbeats.stop();
    this.stub.close();
  }
}
