import { randomUUID } from 'node:crypto';
import {
  type ChannelCredentials,
  type ChannelOptions,
  type Client,
  credentials,
  Metadata,
} from '@grpc/grpc-js';
import { duration } from '../../../clients/typescript';
import type { Duration } from '../../../generated/typescript/google/protobuf/duration';
import {
  type Holder,
  type Lease,
  type LossCause,
  type MetadataUpdate,
  LockMode as ProtoLockMode,
} from '../../../generated/typescript/holdfast/v1/lease';
import {
  AcquireLockRequest,
  ListLocksRequest,
  type ListLocksResponse,
  type Lock,
  LockServiceClient,
  RevokeLockRequest,
  type RevokeLockResponse,
  type WatchLockResponse,
} from '../../../generated/typescript/holdfast/v1/lock_service';
import {
  AcquirePermitsRequest,
  ListSemaphoresRequest,
  type ListSemaphoresResponse,
  type RevokePermitsResponse,
  type Semaphore,
  SemaphoreServiceClient,
  type WatchSemaphoreResponse,
} from '../../../generated/typescript/holdfast/v1/semaphore_service';
import type { Service } from '../../../src/leases/lease';
import { durationToMs } from '../../../src/rpc/wire';
import type { LockMode } from '../history';
import { type Method, OWN_CONNECTION, present, promised } from './calls';
import { type HoldCall, HoldStream, WatchStream } from './streams';

/** The fields of an acquire. A field that a test leaves out is unset in the request. */
interface Wanted {
  readonly name: string;
  readonly ttlMs?: number;
  readonly waitMs?: number;
  readonly holderId?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly requestId?: string;
}

function commonFields({ name, ttlMs, waitMs, holderId = '', metadata = {}, requestId = '' }: Wanted) {
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
abstract class LeaseClient<Stub extends Client, Asked extends Wanted, Request> {
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

export interface LockWanted extends Wanted {
  readonly mode?: ProtoLockMode;
}

/** The fields of a revocation. A field that a test leaves out is unset in the request. */
export type RevokeWanted = Partial<RevokeLockRequest> & Pick<RevokeLockRequest, 'name' | 'target'>;

/** A request of both services. */
function revokeRequest(wanted: RevokeWanted): RevokeLockRequest {
  return { ...RevokeLockRequest.create(), ...wanted };
}

export function acquireRequest(wanted: LockWanted): AcquireLockRequest {
  const { mode } = wanted;
  return { ...AcquireLockRequest.create(mode === undefined ? {} : { mode }), ...commonFields(wanted) };
}

/** A client of LockService with a connection of its own. */
export class LockClient<Asked extends Wanted = LockWanted> extends LeaseClient<
  LockServiceClient,
  Asked,
  AcquireLockRequest
> {
  constructor(
    address: string,
    options: ClientOptions = {},
    toRequest: (wanted: Asked) => AcquireLockRequest = acquireRequest,
  ) {
    const channel = { ...OWN_CONNECTION, ...options.channel };
    const security = options.credentials ?? credentials.createInsecure();
    const stub = new LockServiceClient(address, security, channel);
    const rpcs = {
      acquire: stub.acquireLock,
      renew: stub.renewLock,
      release: stub.releaseLock,
      hold: stub.holdLock,
    };
    super(stub, rpcs, toRequest, options);
  }

  async get(name: string): Promise<Lock> {
    const { lock } = await this.unary(this.stub.getLock, { name });
    return present(lock);
  }

  list(fields: Partial<ListLocksRequest> = {}): Promise<ListLocksResponse> {
    return this.unary(this.stub.listLocks, { ...ListLocksRequest.create(), ...fields });
  }

  watch(name: string): WatchStream<Lock, WatchLockResponse> {
    return new WatchStream(this.stub.watchLock({ name }), (message) => message.lock);
  }

  revoke(wanted: RevokeWanted): Promise<RevokeLockResponse> {
    return this.unary(this.stub.revokeLock, revokeRequest(wanted));
  }

  async view(name: string): Promise<LeaseView> {
    return { ...(await this.get(name)), limit: 1 };
  }
}

export interface LeaseWanted extends Wanted {
  readonly permitCount?: number;
  readonly initialLimit?: number;
}

function acquirePermitsRequest(wanted: LeaseWanted): AcquirePermitsRequest {
  const { permitCount, initialLimit } = wanted;
  return { ...AcquirePermitsRequest.create(), permitCount, initialLimit, ...commonFields(wanted) };
}

/** A client of SemaphoreService with a connection of its own. */
export class SemaphoreClient<Asked extends Wanted = LeaseWanted> extends LeaseClient<
  SemaphoreServiceClient,
  Asked,
  AcquirePermitsRequest
> {
  constructor(
    address: string,
    options: ClientOptions = {},
    toRequest: (wanted: Asked) => AcquirePermitsRequest = acquirePermitsRequest,
  ) {
    const channel = { ...OWN_CONNECTION, ...options.channel };
    const stub = new SemaphoreServiceClient(address, credentials.createInsecure(), channel);
    const rpcs = {
      acquire: stub.acquirePermits,
      renew: stub.renewPermits,
      release: stub.releasePermits,
      hold: stub.holdPermits,
    };
    super(stub, rpcs, toRequest, options);
  }

  async get(name: string): Promise<Semaphore> {
    const { semaphore } = await this.unary(this.stub.getSemaphore, { name });
    return present(semaphore);
  }

  list(fields: Partial<ListSemaphoresRequest> = {}): Promise<ListSemaphoresResponse> {
    return this.unary(this.stub.listSemaphores, { ...ListSemaphoresRequest.create(), ...fields });
  }

  watch(name: string): WatchStream<Semaphore, WatchSemaphoreResponse> {
    return new WatchStream(this.stub.watchSemaphore({ name }), (message) => message.semaphore);
  }

  view(name: string): Promise<Semaphore> {
    return this.get(name);
  }

  async setLimit(name: string, limit: number, expectedLimit?: number): Promise<Semaphore> {
    const request = { name, limit, expectedLimit };
    const { semaphore } = await this.unary(this.stub.setSemaphoreLimit, request);
    return present(semaphore);
  }

  async setPaused(name: string, paused: boolean, expectedLimit?: number): Promise<Semaphore> {
    const request = { name, limit: undefined, expectedLimit, paused };
    const { semaphore } = await this.unary(this.stub.setSemaphoreLimit, request);
    return present(semaphore);
  }

  revoke(wanted: RevokeWanted): Promise<RevokePermitsResponse> {
    return this.unary(this.stub.revokePermits, revokeRequest(wanted));
  }

  async delete(name: string, force = false): Promise<void> {
    await this.unary(this.stub.deleteSemaphore, { name, force });
  }
}

/** An acquire of either service. A lock has a mode. A semaphore has permits and a limit. */
export interface EitherWanted extends Wanted {
  readonly mode?: LockMode;
  readonly permits?: number;
  readonly initialLimit?: number;
}

/** A client of one of the two lease services, for tests that run over both. */
export type EitherClient = LockClient<EitherWanted> | SemaphoreClient<EitherWanted>;

export function eitherClient(service: Service, address: string, options: ClientOptions = {}): EitherClient {
  return service === 'lock'
    ? new LockClient(address, options, lockRequest)
    : new SemaphoreClient(address, options, permitsRequest);
}

export function lockRequest({ mode, ...wanted }: EitherWanted) {
  return acquireRequest({
    ...wanted,
    mode: mode === 'shared' ? ProtoLockMode.LOCK_MODE_SHARED : ProtoLockMode.LOCK_MODE_UNSPECIFIED,
  });
}

export function permitsRequest({ permits, ...wanted }: EitherWanted) {
  return acquirePermitsRequest({ ...wanted, ...(permits !== undefined && { permitCount: permits }) });
}
