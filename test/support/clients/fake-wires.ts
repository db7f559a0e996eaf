import { Metadata, status as codes, type ServiceError } from '@grpc/grpc-js';
import { duration } from '../../../clients/typescript';
import type { OpenWire, WireReader } from '../../../clients/typescript/sessions/grpc-wire';
import {
  CommandFailed,
  OpenSessionResponse,
  SessionStarted,
  type OpenSessionRequest,
  type SessionCommand,
  type SessionEvent,
} from '../../../generated/typescript/holdfast/v1/session_service';
import type { Lease } from '../../../generated/typescript/holdfast/v1/lease';

type Command = NonNullable<SessionCommand['command']>;
type Kind = Command['$case'];
type Event = NonNullable<SessionEvent['event']>;

/** A stream that the test answers. */
export class FakeWire {
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

  grant(id: number, leaseId: string, fields: Partial<Lease> = {}): void {
    const lease: Lease = {
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
