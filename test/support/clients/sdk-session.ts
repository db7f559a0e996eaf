import { status as codes, Metadata, type ServiceError } from '@grpc/grpc-js';
import {
  duration,
  LeaseLostError,
  type LossCause,
  type Lease as PublicLease,
} from '../../../clients/typescript';
import type { Acquire } from '../../../clients/typescript/sessions/acquire-intent';
import { grpcWires, type OpenWire, type WireReader } from '../../../clients/typescript/sessions/grpc-wire';
import type { Lease } from '../../../clients/typescript/sessions/lease';
import { SessionClient, type SessionSettings } from '../../../clients/typescript/sessions/session-client';
import {
  type Lease as ProtoLease,
  LossCause as ProtoLossCause,
} from '../../../generated/typescript/holdfast/v1/lease';
import {
  CommandFailed,
  type OpenSessionRequest,
  OpenSessionResponse,
  type SessionCommand,
  type SessionEndCause,
  type SessionEvent,
  SessionStarted,
} from '../../../generated/typescript/holdfast/v1/session_service';

type Options = Omit<Acquire, 'kind' | 'name'>;

/** The sessions of the SDK, without TLS. */
export function openSession(settings: Omit<SessionSettings, 'openWire'>): SessionClient {
  return new SessionClient({ openWire: grpcWires(undefined), ...settings });
}

export function lock(client: SessionClient, name: string, options: Options = {}): Promise<Lease> {
  return client.acquire({ kind: 'lock', name, ...options });
}

export function permits(client: SessionClient, name: string, options: Options = {}): Promise<Lease> {
  return client.acquire({ kind: 'permits', name, ...options });
}

/** Why the lease is over. Undefined: this process may still rely on the lease. */
export function causeOf(lease: PublicLease): LossCause | undefined {
  if (!lease.isOver) return undefined;
  const reason: unknown = lease.signal.reason;
  return reason instanceof LeaseLostError ? reason.lossCause : undefined;
}

type Command = NonNullable<SessionCommand['command']>;
type Kind = Command['$case'];
type Event = NonNullable<SessionEvent['event']>;

/** A stream that the test answers. */
class FakeWire {
  readonly requests: OpenSessionRequest[] = [];
  isHalfClosed = false;
  isDestroyed = false;

  constructor(
    readonly address: string,
    readonly token: string | undefined,
    private readonly reader: WireReader,
  ) {}

  get heartbeatId(): bigint {
    return this.requests.reduce((latest, one) => (one.heartbeatId > latest ? one.heartbeatId : latest), 0n);
  }

  get heartbeatCount(): number {
    return this.requests.filter((one) => one.heartbeatId > 0n).length;
  }

  /** All commands, or those of a kind. */
  commands(kind?: Kind): { readonly id: number; readonly command: Command }[] {
    return this.requests
      .flatMap(({ commands }) => commands)
      .flatMap(({ commandId, command }) => (command ? [{ id: Number(commandId), command }] : []))
      .filter(({ command }) => kind === undefined || command.$case === kind);
  }

  kinds(): Kind[] {
    return this.commands().map(({ command }) => command.$case);
  }

  id(kind: Kind, index = 0): number {
    const found = this.commands(kind).at(index);
    if (found === undefined) throw new Error(`no ${kind} was sent`);
    return found.id;
  }

  respond(response: Partial<OpenSessionResponse> = {}): void {
    if (!this.isDestroyed)
      this.reader.response(OpenSessionResponse.create({ heartbeatId: this.heartbeatId, ...response }));
  }

  start(started: Partial<SessionStarted> = {}, heartbeatIntervalMs = 5000): void {
    this.respond({
      started: SessionStarted.create({ heartbeatTimeout: duration(15_000), ...started }),
      heartbeatInterval: duration(heartbeatIntervalMs),
    });
  }

  event(id: number, event: Event, rest: Partial<OpenSessionResponse> = {}): void {
    this.respond({ events: [{ commandId: BigInt(id), event }], ...rest });
  }

  grant(id: number, leaseId: string, fields: Partial<ProtoLease> = {}): void {
    const lease: ProtoLease = {
      leaseId,
      name: 'report',
      requestId: '',
      fencingToken: 7n,
      permitCount: 1,
      ttl: duration(30_000),
      expireOffset: duration(30_000),
      ...fields,
    };
    this.event(id, { $case: 'granted', value: { lease } });
  }

  fail(id: number, reasonText: string): void {
    this.event(id, { $case: 'failed', value: CommandFailed.create({ reasonText, message: reasonText }) });
  }

  renew(leaseNumber: number, offsetMs: number, heartbeatId = this.heartbeatId): void {
    const renewal = { leaseNumber: BigInt(leaseNumber), expireOffset: duration(offsetMs), ttl: undefined };
    this.respond({ renewals: [renewal], heartbeatId });
  }

  /** Ends the stream, with the reason of the server. */
  end(reason?: string, code = codes.UNAVAILABLE): void {
    const metadata = new Metadata();
    if (reason !== undefined) metadata.set('holdfast-reason', reason);
    const error: ServiceError = Object.assign(new Error(), { code, details: reason ?? 'broken', metadata });
    this.isDestroyed = true;
    this.reader.ended(error);
  }

  close(): void {
    this.isDestroyed = true;
    this.reader.ended(undefined);
  }
}

/** The streams of a session client, in the order in which they were opened. */
export class FakeWires {
  readonly all: FakeWire[] = [];

  readonly open: OpenWire = ({ given }, token, reader) => {
    const wire = new FakeWire(given, token, reader);
    this.all.push(wire);
    return {
      write: (request, sent) => {
        wire.requests.push(request);
        void Promise.resolve().then(sent);
      },
      halfClose: () => {
        wire.isHalfClosed = true;
      },
      destroy: () => {
        wire.isDestroyed = true;
      },
    };
  };

  get last(): FakeWire {
    const wire = this.all.at(-1);
    if (wire === undefined) throw new Error('no session was opened');
    return wire;
  }
}

/** Lets time pass on the fake timers of jest. */
export const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

export const released = {
  $case: 'released',
  value: { released: true, lossCause: ProtoLossCause.LOSS_CAUSE_UNSPECIFIED },
} as const;
export const ended = (cause: SessionEndCause) => ({ $case: 'ended', value: { cause } }) as const;

/** A client with a session that has started. */
export async function opened(options: Partial<SessionSettings> = {}) {
  const wires = new FakeWires();
  const client = new SessionClient({
    addresses: ['a', 'b'],
    openWire: wires.open,
    holderId: 'worker',
    ...options,
  });
  await pass(0);
  wires.last.start();
  return { client, wires, wire: wires.last };
}

/** A client that holds leases in its first session. */
export async function holding(
  leaseIds: readonly string[] = ['lease'],
  ttlMs = 30_000,
  options: Partial<SessionSettings> = {},
) {
  const { client, wires, wire } = await opened(options);
  const leases: Lease[] = [];
  for (const leaseId of leaseIds) {
    const granted = lock(client, leaseId, { ttlMs });
    await pass(0);
    wire.grant(wire.id('acquireLock', -1), leaseId, { ttl: duration(ttlMs), expireOffset: duration(ttlMs) });
    leases.push(await granted);
  }
  return { client, wires, wire, leases, lease: leases[0] as Lease };
}

/** The next session after a break, before its first response. */
export async function afterBreak(wires: FakeWires, reason?: string): Promise<FakeWire> {
  const count = wires.all.length;
  wires.last.end(reason);
  await pass(1000);
  expect(wires.all.length).toBe(count + 1);
  return wires.last;
}
