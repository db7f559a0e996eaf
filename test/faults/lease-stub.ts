import {
  credentials,
  Metadata,
  type CallOptions,
  type ChannelOptions,
  type ClientReadableStream,
  type ServiceError,
} from '@grpc/grpc-js';
import type { Duration } from '../../generated/typescript/google/protobuf/duration';
import {
  LockMode as ProtoLockMode,
  type HoldEvent,
  type Holder,
  type Lease,
  type LossCause,
} from '../../generated/typescript/holdfast/v1/lease';
import { LockServiceClient } from '../../generated/typescript/holdfast/v1/lock_service';
import { SemaphoreServiceClient } from '../../generated/typescript/holdfast/v1/semaphore_service';
import type { Service } from '../../src/engine/leases/lease';
import type { LockMode } from '../support/history';
import { OWN_CONNECTION, present, type Wanted } from '../support/clients/lease-client';
import { acquireRequest } from '../support/clients/lock-client';
import { acquirePermitsRequest } from '../support/clients/semaphore-client';

/** An acquire of either service: a mode is a lock's, the permits are a semaphore's. */
export interface Asking extends Wanted {
  readonly mode?: LockMode;
  readonly permits?: number;
  readonly initialLimit?: number;
}

export type Start =
  | { readonly $case: 'acquire'; readonly value: Asking }
  | { readonly $case: 'leaseId'; readonly value: string };

export type HoldCall = ClientReadableStream<{ holdEvent?: HoldEvent | undefined }>;

/** What both services show of a name. */
export interface Seen {
  readonly holders: readonly Holder[];
  readonly holderCount: number;
  readonly waiterCount: number;
  /** Of a lock 1. */
  readonly limit: number;
}

/** The calls that both services have, over the generated stubs; they reject with what gRPC says. */
export interface LeaseStub {
  acquire(asking: Asking): Promise<{ lease?: Lease | undefined }>;
  renew(request: { leaseId: string; ttl: Duration | undefined }): Promise<{ lease?: Lease | undefined }>;
  release(request: { leaseId: string }): Promise<{ released: boolean; lossCause: LossCause }>;
  hold(start: Start): HoldCall;
  look(name: string): Promise<Seen>;
  close(): void;
}

export interface StubOptions {
  /** More of the connection's. */
  readonly channel?: ChannelOptions;
  /** Unary calls end DEADLINE_EXCEEDED so long after they may have ended by themselves; default: never. */
  readonly patienceMs?: number;
}

export function leaseStub(service: Service, address: string, options: StubOptions = {}): LeaseStub {
  return service === 'lock' ? lockStub(address, options) : semaphoreStub(address, options);
}

/** Of one unary call that the server may let wait for so long. */
function deadlineOf({ patienceMs }: StubOptions, waitMs = 0): Partial<CallOptions> {
  return patienceMs === undefined ? {} : { deadline: Date.now() + waitMs + patienceMs };
}

function lockStub(address: string, options: StubOptions): LeaseStub {
  const channel = { ...OWN_CONNECTION, ...options.channel };
  const stub = new LockServiceClient(address, credentials.createInsecure(), channel);
  return {
    acquire: (asking) =>
      answerOf((done) =>
        stub.acquireLock(lockRequest(asking), new Metadata(), deadlineOf(options, asking.waitMs), done),
      ),
    renew: (request) =>
      answerOf((done) => stub.renewLock(request, new Metadata(), deadlineOf(options), done)),
    release: (request) =>
      answerOf((done) => stub.releaseLock(request, new Metadata(), deadlineOf(options), done)),
    hold: (start) =>
      stub.holdLock({
        start: start.$case === 'leaseId' ? start : { $case: 'acquire', value: lockRequest(start.value) },
      }),
    look: async (name) => {
      const { lock } = await answerOf<{ lock?: Omit<Seen, 'limit'> | undefined }>((done) =>
        stub.getLock({ name }, new Metadata(), deadlineOf(options), done),
      );
      return { ...present(lock), limit: 1 };
    },
    close: () => stub.close(),
  };
}

function semaphoreStub(address: string, options: StubOptions): LeaseStub {
  const channel = { ...OWN_CONNECTION, ...options.channel };
  const stub = new SemaphoreServiceClient(address, credentials.createInsecure(), channel);
  return {
    acquire: (asking) =>
      answerOf((done) =>
        stub.acquirePermits(permitsRequest(asking), new Metadata(), deadlineOf(options, asking.waitMs), done),
      ),
    renew: (request) =>
      answerOf((done) => stub.renewPermits(request, new Metadata(), deadlineOf(options), done)),
    release: (request) =>
      answerOf((done) => stub.releasePermits(request, new Metadata(), deadlineOf(options), done)),
    hold: (start) =>
      stub.holdPermits({
        start: start.$case === 'leaseId' ? start : { $case: 'acquire', value: permitsRequest(start.value) },
      }),
    look: async (name) => {
      const { semaphore } = await answerOf<{ semaphore?: Seen | undefined }>((done) =>
        stub.getSemaphore({ name }, new Metadata(), deadlineOf(options), done),
      );
      return present(semaphore);
    },
    close: () => stub.close(),
  };
}

function lockRequest({ mode, ...wanted }: Asking) {
  return acquireRequest({
    ...wanted,
    mode: mode === 'shared' ? ProtoLockMode.LOCK_MODE_SHARED : ProtoLockMode.LOCK_MODE_UNSPECIFIED,
  });
}

function permitsRequest({ permits, ...wanted }: Asking) {
  return acquirePermitsRequest({ ...wanted, ...(permits !== undefined && { permitCount: permits }) });
}

/** A unary call of a generated stub as a promise. */
export function answerOf<Answer>(
  send: (done: (error: ServiceError | null, answer: Answer) => void) => unknown,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    send((error, answer) => (error === null ? resolve(answer) : reject(error)));
  });
}
