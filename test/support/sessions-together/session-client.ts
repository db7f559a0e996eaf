import type { Duration } from '../../../generated/typescript/google/protobuf/duration';
import {
  type OpenSessionRequest,
  type OpenSessionResponse,
  type SessionCommand,
  SessionEndCause,
  type SessionEvent,
} from '../../../generated/typescript/holdfast/v1/session_service';
import type { Timer } from '../../../src/base/clock';
import { durationToMs } from '../../../src/rpc/wire';
import type { FakeCall } from '../fake-call';
import { FakeSessionStream } from '../leases/fake-session-stream';
import { type AskedRequest, type CommandKind, CommandRecord, expectSuperseded } from './beliefs';
import type { ClientProcess } from './client-process';
import type { SessionServer } from './session-server';

/** A stream of a client that acts on each message at once. */
class HeardStream extends FakeSessionStream {
  constructor(private readonly hear: (message: OpenSessionResponse) => void) {
    super();
  }

  override write(message: OpenSessionResponse): boolean {
    this.hear(message);
    return this.reads;
  }
}

type Command = NonNullable<SessionCommand['command']>;
type Granted = Extract<NonNullable<SessionEvent['event']>, { $case: 'granted' }>['value'];

/** Less than a third of the short ttl. */
const BEAT_MS = 450;

/** One session, as its client sees it. */
export class SessionClient {
  readonly commands = new Map<number, CommandRecord>();
  /** The receipt of the latest heartbeat by the server (ms, world's clock). */
  lastBeatAt = 0;
  /** True: the client sends no heartbeats. */
  isSilent = false;
  /** True: the client's messages do not arrive for now. */
  isStalled = false;
  /** The end of the stream. */
  isOver = false;
  private readonly stream = new HeardStream((message) => this.hear(message));
  private readonly call: FakeCall;
  private readonly stalled: (() => void)[] = [];
  /** The receipts of the heartbeats by the server, by id (ms, world's clock). */
  private readonly beats = new Map<number, number>();
  private lastBeatId = 0;
  private lastNamedBeat = 0;
  private lastCommandId = 0;
  private timer: Timer | undefined;

  constructor(
    readonly process: ClientProcess,
    readonly server: SessionServer,
    readonly number: number,
  ) {
    this.call = server.call();
    const end = (): void => {
      this.isOver = true;
      this.timer?.cancel();
    };
    server.serve(this.stream, this.call).then(end, (error: unknown) => {
      end();
      if ((error as { reason?: string }).reason !== 'SESSION_SILENT')
        this.report(`ended with ${String(error)}`);
    });
    const start = {
      clientId: process.id,
      sessionNumber: BigInt(number),
      holderId: '',
      metadata: new Map<string, string>(),
    };
    this.beat({ start });
    this.beatLater();
  }

  get name(): string {
    return `${this.process.name}/${this.number}`;
  }

  /** True: the client reads what the server sends, and the server reads what the client sends. */
  get isFlowing(): boolean {
    return !this.isOver && !this.isStalled && this.stream.reads;
  }

  get held(): CommandRecord[] {
    return [...this.commands.values()].filter((command) => command.holds);
  }

  send(kind: CommandKind, message: Command, request?: AskedRequest): CommandRecord {
    this.lastCommandId += 1;
    const record = new CommandRecord(this, this.lastCommandId, kind, request, this.process.violations);
    this.commands.set(record.id, record);
    request?.askers.add(this.process.name);
    const commands = [{ commandId: BigInt(record.id), command: message }];
    this.deliver({ commands }, () => (record.receivedAt = this.process.next()));
    return record;
  }

  /** Lets the messages of the client arrive again, with all that has waited. */
  flow(): void {
    this.isStalled = false;
    for (const deliver of this.stalled.splice(0)) deliver();
  }

  stopReading(): void {
    this.stream.reads = false;
  }

  read(): void {
    this.stream.read();
  }

  /** The stream breaks. */
  break(): void {
    this.call.cancel();
  }

  halfClose(): void {
    this.stream.emit('end');
  }

  private deliver(message: Partial<OpenSessionRequest>, received: () => void): void {
    const deliver = (): void => {
      received();
      this.stream.deliver(message);
    };
    if (this.isStalled) this.stalled.push(deliver);
    else deliver();
  }

  private beat(fields: Partial<OpenSessionRequest> = {}): void {
    this.lastBeatId += 1;
    const id = this.lastBeatId;
    this.deliver({ ...fields, heartbeatId: BigInt(id) }, () => {
      this.lastBeatAt = this.process.now();
      this.beats.set(id, this.lastBeatAt);
    });
  }

  private beatLater(): void {
    this.timer = this.process.clock.after(BEAT_MS, () => {
      if (!this.isSilent) this.beat();
      this.beatLater();
    });
  }

  private hear({ heartbeatId, events, renewals }: OpenSessionResponse): void {
    const named = Number(heartbeatId);
    const receivedAt = this.beats.get(named);
    if (receivedAt === undefined) return this.report(`named the unknown heartbeat ${named}`);
    if (named < this.lastNamedBeat) this.report(`named the heartbeats ${this.lastNamedBeat} and ${named}`);
    this.lastNamedBeat = named;
    for (const event of events) this.hearEvent(event, receivedAt);
    for (const { leaseNumber, expireOffset } of renewals) {
      const command = this.command(leaseNumber);
      command?.expectLease('a renewal');
      this.believe(command, receivedAt, expireOffset);
    }
  }

  private hearEvent({ commandId, event }: SessionEvent, receivedAt: number): void {
    const command = this.command(commandId);
    if (command === undefined || event === undefined) return;
    switch (event.$case) {
      case 'queued':
        return command.expectWait();
      case 'granted':
        return this.granted(command, event.value, receivedAt);
      case 'renewalFailed':
        command.expectLease('of a failed renewal');
        return this.believe(command, receivedAt, event.value.expireOffset);
      case 'ended':
        return this.ended(command, event.value.cause);
      case 'released':
        command.endWith('released');
        if (event.value.released) this.expectEndBefore(command);
        return;
      case 'failed':
        if (event.value.reasonText === 'SUPERSEDED') this.expectSuperseded(command);
        return command.endWith('failed', event.value.reasonText);
      default:
        return command.endWith(event.$case);
    }
  }

  private granted(command: CommandRecord, { lease }: Granted, receivedAt: number): void {
    command.endWith('granted');
    const { request } = command;
    if (lease === undefined || request === undefined) return command.report('was granted without a lease');
    const { requests, beliefs } = this.process.parts;
    command.lease = requests.granted(lease.leaseId, lease.fencingToken, request);
    command.belief = beliefs.begin(request.resource, lease.fencingToken);
    command.grantedAt = this.process.next();
    command.grantedTime = this.process.now();
    this.believe(command, receivedAt, lease.expireOffset);
    this.process.expectNotTakenBack(command);
  }

  private ended(command: CommandRecord, cause: SessionEndCause): void {
    command.expectLease('of the end');
    if (cause === SessionEndCause.SESSION_END_CAUSE_SUPERSEDED) this.expectSuperseded(command);
    command.hasLeaseEnded = true;
    // The permits of a revoked lease stay taken, and the client may stop its work until the end of the lease.
    const isRevoked = cause === SessionEndCause.SESSION_END_CAUSE_REVOKED;
    if (command.belief && !isRevoked) command.belief.isOver = true;
  }

  private expectSuperseded(command: CommandRecord): void {
    const { shortId, parts } = this.process;
    const attach = `/${shortId}/${this.number}.${command.id}s`;
    if (command.request) expectSuperseded(parts, command.request, attach);
  }

  /** The client was told that its release has ended the lease. The end of the lease itself comes first. */
  private expectEndBefore({ request }: CommandRecord): void {
    for (const held of this.held) {
      if (held.request?.fields.requestId === request?.fields.requestId) {
        held.report('was not told of the end of its lease before the answer to the release');
      }
    }
  }

  private believe(
    command: CommandRecord | undefined,
    receivedAt: number,
    offset: Duration | undefined,
  ): void {
    const offsetMs = offset && durationToMs(offset);
    if (offsetMs === undefined) return this.report('sent no offset');
    if (command?.belief === undefined) return;
    this.process.parts.beliefs.tell(command.belief, receivedAt + offsetMs / this.process.clock.rate);
  }

  private command(id: bigint): CommandRecord | undefined {
    const command = this.commands.get(Number(id));
    if (command === undefined) this.report(`told of the unknown command ${id}`);
    return command;
  }

  private report(what: string): void {
    this.process.violations.push(`session ${this.name} ${what}`);
  }
}
