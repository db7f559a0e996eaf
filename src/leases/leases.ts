import type { Call, StreamCall } from '../base/call';
import { StoreFailure } from '../base/errors';
import type { ReadableNames } from '../base/names';
import { acquire } from './attempt';
import { Holdings } from './holdings';
import {
  type Lease,
  requestKey,
  type Resource,
  resourceShownToClients,
  type ResourceView,
  type Service,
} from './lease';
import { LeaseContext, type LeaseOptions } from './lease-context';
import * as errors from './lease-errors';
import { grantedLease, knownRequestId, type LeaseId, parseLeaseId } from './lease-id';
import type { LeaseMeters } from './lease-meters';
import type {
  AcquireRequest,
  HoldSink,
  HoldStart,
  LeaseOwner,
  ListRequest,
  ReleaseResult,
  Renewal,
  ResourcePage,
  RevokeRequest,
  RevokeResult,
  WatchSink,
} from './lease-requests';
import type { RemoveCommand, RevokeCursor, RevokeReply, SetLimitCommand } from './lease-store';
import type { SessionCall } from './life';
import { ResourceLists } from './resource-lists';
import { Watches } from './watches';

/**
 * The engine's interface for the service, which has checked all fields. A rejection with another error than a
 * HoldfastError is a defect.
 */
export interface LeaseEngine {
  acquire(call: Call, service: Service, request: AcquireRequest): Promise<Lease>;
  renew(call: Call, service: Service, leaseId: string, renewal: Renewal): Promise<Lease>;
  release(call: Call, service: Service, leaseId: string): Promise<ReleaseResult>;
  hold(call: StreamCall, service: Service, start: HoldStart, sink: HoldSink): Promise<void>;
  inspect(call: Call, service: Service, name: string): Promise<ResourceView>;
  watch(call: Call, service: Service, name: string, sink: WatchSink): Promise<void>;
  /** Lists the names that the caller may read. Default: all names. */
  list(call: Call, service: Service, request: ListRequest, names?: ReadableNames): Promise<ResourcePage>;
  setLimit(name: string, command: SetLimitCommand): Promise<ResourceView>;
  remove(name: string, command: RemoveCommand): Promise<void>;
  revoke(call: Call, service: Service, request: RevokeRequest): Promise<RevokeResult>;
}

/** The longest time of one revocation. A step visits 64 leases in about a millisecond. */
const MAX_DURATION_MS = 60_000;

/**
 * Revokes leases, or takes a waiter out of the queue, in bounded steps. A failure after a step that has revoked leases gives
 * OUTCOME_UNKNOWN: the caller repeats the call.
 */
async function revoke(
  { store, clock, meters }: LeaseContext,
  call: Call,
  resource: Resource,
  { target, force }: RevokeRequest,
): Promise<RevokeResult> {
  const giveUpAt = clock.now() + MAX_DURATION_MS;
  let revokedCount = 0;
  let freeTimeMs: number | undefined;
  let after: RevokeCursor | undefined;
  do {
    const command = { target, force, after, caller: call.connection };
    const reply: RevokeReply = await store.revoke(resource, command).catch((error: unknown) => {
      throw failureOf(error, resource, revokedCount);
    });
    if (reply.kind === 'unknown-resource') {
      if (resource.service === 'lock' || revokedCount > 0) break;
      throw errors.noSuchSemaphore(resource, 'there is nothing to revoke');
    }
    revokedCount += reply.count;
    meters[resource.service].revokedCount += reply.count;
    if (reply.latestEndMs !== undefined) freeTimeMs = Math.max(freeTimeMs ?? 0, reply.latestEndMs);
    after = reply.next;
    if (after && (call.cancelled || clock.now() > giveUpAt)) throw errors.notAnswered(resource, 'same call');
  } while (after);
  return { revokedCount, freeTimeMs };
}

function failureOf(error: unknown, resource: Resource, revokedCount: number): unknown {
  const isPartlyDone = revokedCount > 0 && error instanceof StoreFailure;
  return isPartlyDone
    ? errors.notAnswered(resource, 'same call')
    : errors.translateStoreFailure(error, resource, 'same call');
}

export type { LeaseOptions } from './lease-context';

/** Counts for GetServerInfo, health checks and leak tests. */
export interface LeaseStats {
  readonly waitingCount: number;
  readonly heldCount: number;
  readonly waitedNameCount: number;
  /** Without the timers that look at the ends of counted leases, which are no open operations. */
  readonly timerCount: number;
  readonly givingBackCount: number;
  readonly watchStreamCount: number;
  /** The resources that this server reads for watch streams. */
  readonly watchReaderCount: number;
}

/**
 * The engine of locks and semaphores. The engine decides, and the store carries out each step atomically. A lock is a
 * semaphore with LOCK_LIMIT permits.
 */
export class Leases implements LeaseEngine {
  private readonly context: LeaseContext;
  private readonly holdings: Holdings;
  private readonly watches: Watches;
  private readonly lists: ResourceLists;
  private acquireCount = 0;
  private onIdle: (() => void) | undefined;

  constructor(options: LeaseOptions) {
    this.context = new LeaseContext(options);
    this.holdings = new Holdings(this.context, () => this.checkIdle());
    this.watches = new Watches(this.context, () => this.checkIdle());
    this.lists = new ResourceLists(options.store, options.runtime);
    options.store.listen({
      recheck: (resource, requestId) => this.recheck(resource, requestId),
      granted: (resource, call, grant) => this.context.granted(resource, call, grant),
      changed: (resource) => this.watches.recheck(resource),
      mayHaveMissedNews: (resource) => {
        this.context.queue.askAboutAll(resource);
        this.watches.recheck(resource);
      },
      workLeft: (resource) => this.context.steps.run(resource),
    });
  }

  /** Grants permits. Waits in the queue for as long as the request and the call's deadline allow. */
  async acquire(call: Call, service: Service, request: AcquireRequest): Promise<Lease> {
    if (request.requestId === undefined && call.transportRetry) {
      throw errors.transportRetryWithoutId({ service, name: request.name });
    }
    const life = this.context.lives.callLife(call);
    this.acquireCount += 1;
    try {
      const { resource, wanted, granted } = await acquire(this.context, life, service, request);
      return grantedLease(resource, wanted, granted);
    } finally {
      this.acquireCount -= 1;
      this.checkIdle();
    }
  }

  /**
   * Moves a lease's end to `ttlMs` from now. Never brings the end nearer, and never recreates a lease that has ended.
   */
  async renew(call: Call, service: Service, leaseId: string, renewal: Renewal): Promise<Lease> {
    return this.renewLease(call, parseLeaseId(service, leaseId), renewal);
  }

  /** As `renew`, for callers that have parsed the `lease_id`. */
  async renewLease(call: Call, { resource, requestId, secret }: LeaseId, renewal: Renewal): Promise<Lease> {
    const renewing = this.context.store.renew(resource, {
      requestId,
      secret,
      identity: call.identity,
      ttlMs: renewal.ttlMs,
      metadata: renewal.metadata,
      stream: undefined,
      caller: call.connection,
    });
    const reply = await errors.answerOf(renewing, resource, 'lease_id', knownRequestId(call, requestId));
    const { countedLeases } = this.context;
    const key = requestKey(resource, requestId);
    if (reply.kind === 'granted') {
      countedLeases.lives(call, key, reply.remainingMs);
      return grantedLease(resource, { requestId }, reply);
    }
    if (reply.kind !== 'finished') throw errors.leaseNotHeld(resource, undefined);
    countedLeases.ended(key);
    throw errors.leaseNotHeld(resource, reply.cause);
  }

  /** Ends a lease. A repeated release gets the answer of the first release. */
  async release(call: Call, service: Service, leaseId: string): Promise<ReleaseResult> {
    return this.releaseLease(call, parseLeaseId(service, leaseId));
  }

  /** As `release`, for callers that have parsed the `lease_id`. */
  async releaseLease(call: Call, id: LeaseId): Promise<ReleaseResult> {
    const { resource, requestId, secret } = id;
    this.holdings.releaseAsked(resource, id, call.identity);
    const releasing = this.context.store.release(resource, {
      requestId,
      secret,
      identity: call.identity,
      afterLoss: undefined,
      caller: call.connection,
    });
    const reply = await errors.answerOf(releasing, resource, 'lease_id', knownRequestId(call, requestId));
    // Only the holder of the secret gets one of these replies. A forged lease_id must not end the count of a lease.
    if (reply.kind === 'released' || reply.kind === 'finished') {
      this.context.countedLeases.ended(requestKey(resource, requestId));
      this.holdings.learnEnd(id, reply.kind === 'released' ? 'released' : reply.cause);
    }
    if (reply.kind === 'released') return { released: true, lossCause: undefined };
    if (reply.kind !== 'finished') return { released: false, lossCause: undefined };
    return reply.cause === 'released'
      ? { released: true, lossCause: undefined }
      : { released: false, lossCause: reply.cause };
  }

  /**
   * Serves a hold stream. Resolves when the lease was released, or when the client is gone. Rejects with the error that
   * ends the stream.
   */
  hold(call: StreamCall, service: Service, start: HoldStart, sink: HoldSink): Promise<void> {
    return this.holdings.hold(call, service, start, sink);
  }

  /**
   * Gets a lease for a command of a session. Resolves when the owner holds the lease, or when the client is gone. Rejects
   * with the error of the command. A session counts as one stream with all its leases.
   */
  take(call: SessionCall, service: Service, start: HoldStart, owner: LeaseOwner): Promise<void> {
    return this.holdings.take(this.context.lives.sessionLife(call), service, start, owner);
  }

  async inspect(call: Call, service: Service, name: string): Promise<ResourceView> {
    const resource = { service, name };
    const inspecting = this.context.store.inspect(resource, call.connection);
    const view = await errors.answerOf(inspecting, resource, 'read');
    if (service === 'semaphore' && view.limit === undefined) throw errors.noSuchSemaphore(resource);
    return resourceShownToClients(service, view);
  }

  /**
   * Sends the state of a lock or semaphore now, and after each change. Resolves when the client is gone. Rejects with the
   * error that ends the stream.
   */
  watch(call: Call, service: Service, name: string, sink: WatchSink): Promise<void> {
    return this.watches.watch(call, { service, name }, sink);
  }

  /** Lists the locks with a holder or a waiter, or all semaphores. */
  list(call: Call, service: Service, request: ListRequest, names?: ReadableNames): Promise<ResourcePage> {
    return this.lists.page(call, service, request, names);
  }

  /** Creates a semaphore, changes its limit, or pauses or resumes it. Never takes permits from a holder. */
  async setLimit(name: string, command: SetLimitCommand): Promise<ResourceView> {
    const resource = { service: 'semaphore', name } as const;
    const setting = this.context.store.setLimit(resource, command);
    const reply = await errors.answerOf(setting, resource, 'same call');
    switch (reply.kind) {
      case 'set':
        return resourceShownToClients('semaphore', reply.view);
      case 'limit-mismatch':
        throw errors.limitMismatch(resource, reply.limit, command.expectedLimit);
      case 'no-kept-limit':
        throw errors.noKeptLimit(resource, command.limit === 'pause');
      case 'unknown-resource':
        throw typeof command.limit === 'number'
          ? errors.noSuchSemaphore(resource, 'leave expected_limit unset to create it')
          : errors.noSuchSemaphore(resource);
    }
  }

  /** Deletes a semaphore. With `force`, its leases and waits end too. */
  async remove(name: string, command: RemoveCommand): Promise<void> {
    const resource = { service: 'semaphore', name } as const;
    const removing = this.context.store.remove(resource, command);
    const reply = await errors.answerOf(removing, resource, 'same call');
    if (reply.kind === 'in-use') throw errors.semaphoreInUse(resource, reply);
    if (reply.kind === 'unknown-resource') {
      throw errors.noSuchSemaphore(resource, 'there is nothing to delete');
    }
  }

  /** Takes leases away from their holders, or a waiter out of the queue. */
  revoke(call: Call, service: Service, request: RevokeRequest): Promise<RevokeResult> {
    return revoke(this.context, call, { service, name: request.name }, request);
  }

  /** Refuses new waits and streams, renews every streamed lease once more, then ends all waits and streams. */
  async drain(): Promise<void> {
    this.context.isDraining = true;
    for (const waiter of this.context.queue.all()) waiter.raise('draining');
    this.holdings.drain();
    this.watches.drain();
    await new Promise<void>((resolve) => {
      this.onIdle = resolve;
      this.checkIdle();
    });
  }

  /** Ends the work in the background. Call this after `drain`, before the store is closed. */
  close(): void {
    this.context.close();
  }

  /** What happened to leases on this server since the start. */
  get meters(): LeaseMeters {
    return this.context.meters;
  }

  /** The calls and commands that wait in the queue on this server. */
  waiterCountOf(service: Service): number {
    return this.context.queue.waiterCountOf(service);
  }

  stats(): LeaseStats {
    const { queue, timers, withdrawals, countedLeases } = this.context;
    return {
      waitingCount: queue.waiterCount,
      heldCount: this.holdings.heldCount,
      waitedNameCount: queue.waitedNameCount,
      timerCount: timers.size - countedLeases.size,
      givingBackCount: withdrawals.givingBackCount,
      watchStreamCount: this.watches.streamCount,
      watchReaderCount: this.watches.readerCount,
    };
  }

  /**
   * Wakes the request's wait and stream, which may be two calls. A hint may come before the reply that makes the request
   * known here.
   */
  private recheck(resource: Resource, requestId: string): void {
    const { holdings } = this;
    const { queue } = this.context;
    const isWaiting = queue.recheck(resource, requestId);
    const isHeld = holdings.recheck(resource, requestId);
    if ((isWaiting || isHeld) && !holdings.isArriving(resource, requestId)) return;
    queue.keepEarlyHint(resource, requestId);
  }

  private checkIdle(): void {
    const openCount = this.acquireCount + this.holdings.streamCount + this.watches.streamCount;
    if (this.context.isDraining && openCount === 0) this.onIdle?.();
  }
}
