import { Metadata, type ChannelCredentials, type ChannelOptions, type Client } from '@grpc/grpc-js';
import { randomUUID } from 'node:crypto';
import { duration } from '../../../clients/typescript';
import type { Duration } from '../../../generated/typescript/google/protobuf/duration';
import type {
  Holder,
  Lease,
  LossCause,
  MetadataUpdate,
} from '../../../generated/typescript/holdfast/v1/lease';
import { durationToMs } from '../../../src/rpc/wire';
import { HoldStream, type HoldCall } from './hold-stream';
import { present, promised, type Method } from './unary-call';

/** The fields of an acquire. A field that a test leaves out is unset in the request. */
export interface Wanted {
  readonly name: string;
  readonly ttlMs?: number;
  readonly waitMs?: number;
  readonly holderId?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly requestId?: string;
}

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

export interface ClientOptions {
  /** More options for the gRPC channel. The client never shares its connection with another client. */
  readonly channel?: ChannelOptions;
  /** Default: no TLS. */
  readonly credentials?: ChannelCredentials;
  /** The time from a unary call's wait timeout to its deadline (ms). Default: no deadline. */
  readonly patienceMs?: number;
}

export interface CallSettings {
  readonly deadlineMs?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The first message of a hold stream: an acquire, or the lease to attach to. */
export type HoldStart<Asked> =
  | { readonly $case: 'acquire'; readonly value: Asked }
  | { readonly $case: 'leaseId'; readonly value: string };

/** The fields that both services show of a name. */
export interface LeaseView {
  readonly holders: readonly Holder[];
  readonly holderCount: number;
  readonly waiterCount: number;
  /** The limit, which is 1 for a lock. */
  readonly limit: number;
}

interface LeaseAnswer {
  readonly lease?: Lease | undefined;
}
interface ReleaseAnswer {
  readonly released: boolean;
  readonly lossCause: LossCause;
}

/** The methods of LockService and SemaphoreService that have messages of the same shape. */
interface LeaseRpcs<Request> {
  readonly acquire: Method<Request, LeaseAnswer>;
  readonly renew: Method<
    { leaseId: string; ttl: Duration | undefined; metadataUpdate: MetadataUpdate | undefined },
    LeaseAnswer
  >;
  readonly release: Method<{ leaseId: string }, ReleaseAnswer>;
  readonly hold: (request: {
    start: { $case: 'acquire'; value: Request } | { $case: 'leaseId'; value: string };
  }) => HoldCall;
}

/**
 * A client over the generated stubs of one of the lease services, with a connection of its own, for tests, the fault
 * suite and the benchmarks. The client never retries. A failed call rejects with the error that gRPC reports.
 */
export abstract class LeaseClient<Stub extends Client, Asked extends Wanted, Request> {
  constructor(
    readonly stub: Stub,
    private readonly rpcs: LeaseRpcs<Request>,
    private readonly toRequest: (wanted: Asked) => Request,
    private readonly options: ClientOptions = {},
  ) {}

  async acquire(wanted: Asked, settings: CallSettings = {}): Promise<Lease> {
    const { lease } = await this.unary(this.rpcs.acquire, this.toRequest(wanted), settings, wanted.waitMs);
    return present(lease);
  }

  async renew(leaseId: string, ttlMs?: number, metadataUpdate?: MetadataUpdate): Promise<Lease> {
    const ttl = ttlMs === undefined ? undefined : duration(ttlMs);
    const { lease } = await this.unary(this.rpcs.renew, { leaseId, ttl, metadataUpdate });
    return present(lease);
  }

  release(leaseId: string): Promise<ReleaseAnswer> {
    return this.unary(this.rpcs.release, { leaseId });
  }

  /** Opens a stream that acquires a lease, with a new request id unless the caller gives an id. */
  hold(wanted: Asked): HoldStream {
    const value = { requestId: randomUUID(), ...wanted };
    return new HoldStream(this.openHold({ $case: 'acquire', value }));
  }

  /** Opens a stream that attaches to a held lease. */
  attach(leaseId: string): HoldStream {
    return new HoldStream(this.openHold({ $case: 'leaseId', value: leaseId }));
  }

  /** Opens a hold stream and returns the call of the generated stub. */
  openHold(start: HoldStart<Asked>): HoldCall {
    const value = start.$case === 'acquire' ? { ...start, value: this.toRequest(start.value) } : start;
    return this.rpcs.hold.call(this.stub, { start: value });
  }

  /** The state of a name in the view of its service. */
  abstract view(name: string): Promise<LeaseView>;

  close(): void {
    this.stub.close();
  }

  protected unary<Message, Response>(
    method: Method<Message, Response>,
    request: Message,
    { deadlineMs, headers = {} }: CallSettings = {},
    waitMs = 0,
  ): Promise<Response> {
    const metadata = new Metadata();
    for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
    const { patienceMs } = this.options;
    const timeoutMs = deadlineMs ?? (patienceMs === undefined ? undefined : waitMs + patienceMs);
    const options = timeoutMs === undefined ? {} : { deadline: Date.now() + timeoutMs };
    return promised((done) => method.call(this.stub, request, metadata, options, done));
  }
}

/** A Duration of an answer in milliseconds. NaN if the Duration is missing. */
export function ms(span: Duration | undefined): number {
  return (span && durationToMs(span)) ?? NaN;
}
