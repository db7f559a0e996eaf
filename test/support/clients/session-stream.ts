import { randomUUID } from 'node:crypto';
import { type ClientDuplexStream, credentials, Metadata, type StatusObject } from '@grpc/grpc-js';
import { duration } from '../../../clients/typescript';
import { AcquireLockRequest } from '../../../generated/typescript/holdfast/v1/lock_service';
import { AcquirePermitsRequest } from '../../../generated/typescript/holdfast/v1/semaphore_service';
import {
  type OpenSessionRequest,
  type OpenSessionResponse,
  type SessionCommand,
  type SessionEvent,
  SessionServiceClient,
  type SessionStart,
} from '../../../generated/typescript/holdfast/v1/session_service';
import { eventually } from '../eventually';
import { type Ending, endingOf } from './calls';

type Command = NonNullable<SessionCommand['command']>;
type Event = NonNullable<SessionEvent['event']>;
type EventKind = Event['$case'];
type EventValue<Kind extends EventKind> = Extract<Event, { $case: Kind }>['value'];

export interface ReceivedEvent {
  readonly commandId: number;
  readonly event: Event;
  /** The heartbeat that the event's message names. */
  readonly heartbeatId: number;
}

export interface SessionStreamOptions {
  readonly start?: Partial<SessionStart>;
  /** The metadata of the call, such as a credential. */
  readonly metadata?: Metadata;
  /** Default: a heartbeat every 200 ms. 0: none after the first. */
  readonly heartbeatMs?: number;
}

/** One stream of OpenSession, message by message. */
export class SessionStream {
  readonly responses: OpenSessionResponse[] = [];
  readonly events: ReceivedEvent[] = [];
  readonly ending: Promise<Ending>;
  /** `performance.now()` before the send, by heartbeat. */
  readonly sentAt = new Map<number, number>();
  private readonly client: SessionServiceClient;
  private readonly call: ClientDuplexStream<OpenSessionRequest, OpenSessionResponse>;
  private readonly timer: NodeJS.Timeout | undefined;
  private heartbeatId = 0;
  private commandId = 0;
  private isOver = false;

  constructor(
    address: string,
    { start = {}, metadata = new Metadata(), heartbeatMs = 200 }: SessionStreamOptions = {},
  ) {
    this.client = new SessionServiceClient(address, credentials.createInsecure(), {
      'grpc.use_local_subchannel_pool': 1,
    });
    this.call = this.client.openSession(metadata);
    this.call.on('data', (response: OpenSessionResponse) => {
      this.responses.push(response);
      const heartbeatId = Number(response.heartbeatId);
      for (const { commandId, event } of response.events) {
        if (event) this.events.push({ commandId: Number(commandId), event, heartbeatId });
      }
    });
    this.call.on('error', () => undefined);
    this.ending = new Promise<StatusObject>((resolve) => this.call.on('status', resolve)).then((status) => {
      this.isOver = true;
      clearInterval(this.timer);
      return endingOf(Object.assign(new Error(), status));
    });
    this.heartbeat({
      start: { clientId: randomUUID(), sessionNumber: 1n, holderId: '', metadata: new Map(), ...start },
    });
    if (heartbeatMs > 0) this.timer = setInterval(() => this.heartbeat(), heartbeatMs);
  }

  /** Sends the next heartbeat, with the rest of its message. */
  heartbeat(rest: Partial<OpenSessionRequest> = {}): number {
    this.heartbeatId += 1;
    this.sentAt.set(this.heartbeatId, performance.now());
    this.send({ heartbeatId: BigInt(this.heartbeatId), ...rest });
    return this.heartbeatId;
  }

  send(message: Partial<OpenSessionRequest>): void {
    if (!this.isOver) this.call.write({ start: undefined, heartbeatId: 0n, commands: [], ...message });
  }

  /** Sends commands in one message. Returns the id of the first command. */
  run(...commands: Command[]): number {
    const first = this.commandId + 1;
    this.commandId += commands.length;
    this.send({
      commands: commands.map((command, index) => ({ commandId: BigInt(first + index), command })),
    });
    return first;
  }

  /** The first event of this kind about a command, or about the lease of the command. */
  async event<Kind extends EventKind>(commandId: number, kind: Kind): Promise<EventValue<Kind>> {
    const find = () =>
      this.events.find((one) => one.commandId === commandId && one.event.$case === kind)?.event;
    await eventually(`${kind} of command ${commandId}`, () => find() !== undefined || this.isOver);
    const event = find();
    if (event === undefined) throw new Error(`the session ended without ${kind} of command ${commandId}`);
    return event.value as EventValue<Kind>;
  }

  /** The kinds of all events about a command and its lease. */
  kinds(commandId: number): EventKind[] {
    return this.events.filter((one) => one.commandId === commandId).map(({ event }) => event.$case);
  }

  /** Stops the heartbeats, and keeps the stream open. */
  fallSilent(): void {
    clearInterval(this.timer);
  }

  pause(): void {
    this.call.pause();
  }

  halfClose(): void {
    clearInterval(this.timer);
    this.call.end();
  }

  close(): void {
    clearInterval(this.timer);
    this.call.cancel();
    this.client.close();
  }
}

/** Commands for SessionStream. */

export function lock(name: string, fields: Partial<AcquireLockRequest> & { ttlMs?: number } = {}) {
  const { ttlMs = 5000, ...rest } = fields;
  const value = AcquireLockRequest.create({ name, requestId: randomUUID(), ttl: duration(ttlMs), ...rest });
  return { $case: 'acquireLock', value } as const;
}

export function permits(name: string, fields: Partial<AcquirePermitsRequest> = {}) {
  const value = AcquirePermitsRequest.create({ name, requestId: randomUUID(), initialLimit: 2, ...fields });
  return { $case: 'acquirePermits', value } as const;
}

export const attach = (leaseId: string) => ({ $case: 'attach', value: { leaseId } }) as const;
export const release = (leaseNumber: number) =>
  ({ $case: 'release', value: { lease: { $case: 'leaseNumber', value: BigInt(leaseNumber) } } }) as const;
export const cancel = (commandId: number) =>
  ({ $case: 'cancel', value: { commandId: BigInt(commandId) } }) as const;
