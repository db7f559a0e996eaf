import {
  Metadata,
  status,
  type CallOptions,
  type Client,
  type ClientReadableStream,
  type ClientUnaryCall,
  type ServiceError,
  type StatusObject,
} from '@grpc/grpc-js';
import { randomUUID } from 'node:crypto';
import type { HoldEvent, Lease, LossCause } from '../../../generated/typescript/holdfast/v1/lease';
import type { Duration } from '../../../generated/typescript/google/protobuf/duration';
import { duration, holdfastError } from '../../../clients/typescript';
import { durationToMs } from '../../../src/wire/times';

/** How a call ended, in the contract's words. */
export interface Ending {
  /** OK, ABORTED, … */
  readonly code: string;
  /** CONTENDED, …; undefined where no Holdfast server said one. */
  readonly reason: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  readonly retryAfterMs: number | undefined;
  readonly pushback: string | undefined;
  readonly text: string;
}

export function endingOf(error: unknown): Ending {
  if (!(error instanceof Error) || !('code' in error)) throw error;
  const { code, details, metadata } = error as ServiceError;
  const fault = holdfastError(error);
  return {
    code: status[code],
    reason: fault?.reason,
    metadata: Object.fromEntries(fault?.metadata ?? []),
    retryAfterMs: fault?.retryAfterMs,
    pushback: metadata.get('grpc-retry-pushback-ms')[0]?.toString(),
    text: details,
  };
}

/** What a call that must fail failed with. */
export async function refusal(call: Promise<unknown>): Promise<Ending> {
  const answer = await call.then(
    (value) => ({ value }),
    (error: unknown) => ({ error }),
  );
  if ('error' in answer) return endingOf(answer.error);
  throw new Error(`the call was to fail, and answered ${String(answer.value)}`);
}

/** An acquire as a test writes it; what is left out is unset in the request. */
export interface Wanted {
  readonly name: string;
  readonly ttlMs?: number;
  readonly waitMs?: number;
  readonly holderId?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly requestId?: string;
}

/** The fields that the requests of both services have in common. */
export function commonFields({ name, ttlMs, waitMs, holderId = '', metadata = {}, requestId = '' }: Wanted) {
  return {
    name,
    ttl: ttlMs === undefined ? undefined : duration(ttlMs),
    waitTimeout: waitMs === undefined ? undefined : duration(waitMs),
    holderId,
    metadata: new Map(Object.entries(metadata)),
    requestId,
  };
}

export interface CallSettings {
  readonly deadlineMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A connection of its own, on which nothing is retried. */
export const OWN_CONNECTION = { 'grpc.use_local_subchannel_pool': 1, 'grpc.enable_retries': 0 } as const;

export type Method<Request, Response> = (
  request: Request,
  metadata: Metadata,
  options: Partial<CallOptions>,
  callback: (error: ServiceError | null, response: Response) => void,
) => ClientUnaryCall;

interface LeaseAnswer {
  readonly lease?: Lease | undefined;
}
interface HoldAnswer {
  readonly holdEvent?: HoldEvent | undefined;
}
interface ReleaseAnswer {
  readonly released: boolean;
  readonly lossCause: LossCause;
}

/** What LockService and SemaphoreService have in common: their messages have the same shape. */
interface LeaseRpcs<Request> {
  readonly acquire: Method<Request, LeaseAnswer>;
  readonly renew: Method<{ leaseId: string; ttl: Duration | undefined }, LeaseAnswer>;
  readonly release: Method<{ leaseId: string }, ReleaseAnswer>;
  readonly hold: (request: {
    start: { $case: 'acquire'; value: Request } | { $case: 'leaseId'; value: string };
  }) => ClientReadableStream<HoldAnswer>;
}

/** A client over the generated stubs of one of the services of leases. */
export abstract class LeaseClient<Stub extends Client, Asked extends Wanted, Request> {
  constructor(
    readonly stub: Stub,
    private readonly rpcs: LeaseRpcs<Request>,
    private readonly toRequest: (wanted: Asked) => Request,
  ) {}

  async acquire(wanted: Asked, settings: CallSettings = {}): Promise<Lease> {
    const { lease } = await this.unary(this.rpcs.acquire, this.toRequest(wanted), settings);
    return present(lease);
  }

  async renew(leaseId: string, ttlMs?: number): Promise<Lease> {
    const ttl = ttlMs === undefined ? undefined : duration(ttlMs);
    const { lease } = await this.unary(this.rpcs.renew, { leaseId, ttl });
    return present(lease);
  }

  release(leaseId: string): Promise<ReleaseAnswer> {
    return this.unary(this.rpcs.release, { leaseId });
  }

  /** A stream that asks for a lease; it has a request id of its own unless one is given. */
  hold(wanted: Asked): HoldStream {
    const value = this.toRequest({ requestId: randomUUID(), ...wanted });
    return new HoldStream(this.rpcs.hold.call(this.stub, { start: { $case: 'acquire', value } }));
  }

  /** A stream that attaches to a held lease. */
  attach(leaseId: string): HoldStream {
    const start = { $case: 'leaseId', value: leaseId } as const;
    return new HoldStream(this.rpcs.hold.call(this.stub, { start }));
  }

  close(): void {
    this.stub.close();
  }

  protected unary<Message, Response>(
    method: Method<Message, Response>,
    request: Message,
    { deadlineMs, headers = {} }: CallSettings = {},
  ): Promise<Response> {
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
    const options = deadlineMs === undefined ? {} : { deadline: Date.now() + deadlineMs };
    return new Promise((resolve, reject) => {
      method.call(this.stub, request, metadata, options, (error, response) => {
        if (error === null) resolve(response);
        else reject(error);
      });
    });
  }
}

/** A Duration of an answer, in milliseconds; NaN if it is missing. */
export function ms(span: Duration | undefined): number {
  return (span && durationToMs(span)) ?? NaN;
}

/** A message that no good answer lacks. */
export function present<Value>(value: Value | undefined): Value {
  if (value === undefined) throw new Error('the answer lacks its message');
  return value;
}

type EventCase = NonNullable<HoldEvent['event']>;
type EventKind = EventCase['$case'];
type EventValue<Kind extends EventKind> = Extract<EventCase, { $case: Kind }>['value'];

export interface Received {
  /** `performance.now()` at its receipt. */
  readonly at: number;
  readonly event: EventCase;
}

/** A hold stream as a test looks at it: everything that came, in order, and how it ended. */
export class HoldStream {
  readonly received: Received[] = [];
  /** `performance.now()` when it was opened. */
  readonly openedAt = performance.now();
  readonly ending: Promise<Ending>;
  private waiting: (() => void)[] = [];
  private over = false;
  private taken = 0;

  constructor(private readonly call: ClientReadableStream<HoldAnswer>) {
    call.on('data', (response: HoldAnswer) => {
      const event = present(response.holdEvent?.event);
      this.received.push({ at: performance.now(), event });
      this.wake();
    });
    // Its status is told by an 'error' too, which nobody may leave unheard.
    call.on('error', () => undefined);
    const status = new Promise<StatusObject>((resolve) => call.on('status', resolve));
    const lastRead = new Promise<void>((resolve) => call.on('end', resolve));
    this.ending = Promise.all([status, lastRead]).then(([ended]) =>
      endingOf(Object.assign(new Error(), ended)),
    );
    void this.ending.then(() => {
      this.over = true;
      this.wake();
    });
  }

  /** The kinds of all events so far, in order; `renewed` ones as often as they came. */
  get kinds(): EventKind[] {
    return this.received.map(({ event }) => event.$case);
  }

  /** The next event in order, which must be of this kind. */
  async next<Kind extends EventKind>(kind: Kind): Promise<EventValue<Kind>> {
    const { event } = await this.take();
    if (event.$case !== kind) throw new Error(`${kind} was to come next, and ${event.$case} came`);
    return event.value as EventValue<Kind>;
  }

  /** The next event of this kind; those before it are passed over. */
  async until<Kind extends EventKind>(kind: Kind): Promise<EventValue<Kind>> {
    for (;;) {
      const { event } = await this.take();
      if (event.$case === kind) return event.value as EventValue<Kind>;
    }
  }

  cancel(): void {
    this.call.cancel();
  }

  private async take(): Promise<Received> {
    for (;;) {
      const next = this.received[this.taken];
      if (next !== undefined) {
        this.taken += 1;
        return next;
      }
      if (this.over) {
        const { code, reason } = await this.ending;
        throw new Error(
          `the stream ended with ${code}/${reason} after ${this.kinds.join(', ') || 'nothing'}`,
        );
      }
      await new Promise<void>((resolve) => this.waiting.push(resolve));
    }
  }

  private wake(): void {
    const waiting = this.waiting;
    this.waiting = [];
    for (const resolve of waiting) resolve();
  }
}
