import type { StreamCall } from '../base/call';
import { HoldfastError, StoreFailure } from '../base/errors';
import { acquire } from './attempt';
import {
  hasOffsetPassed,
  type HoldEvent,
  type LossCause,
  requestKey,
  type Resource,
  type Service,
  shownToClients,
} from './lease';
import { grantedLease, knownRequestId, type LeaseId, parseLeaseId } from './lease-id';
import { HeldLease, type HeldLeaseContext } from './held-lease';
import * as errors from './lease-errors';
import { speaksLater, type Waiter } from './wait-queue';
import type { LeaseContext } from './lease-context';
import type { Granted, RenewReply } from './lease-store';
import type { Life } from './life';
import { Renewals } from './renewals';
import type { AcquireRequest, HoldSink, HoldStart, LeaseOwner, OwnedLease } from './lease-requests';

const POSITION_INTERVAL_MS = 2000;

/** The lease that a call keeps. */
interface KeptRef {
  readonly requestId: string;
  /** Set by an acquire: the request id that the client has sent. */
  readonly clientRequestId?: string;
  /** Set by an attach: the `lease_id` that the client has sent. */
  readonly leaseId?: string;
}

/** A grant, with the moment of the command that has confirmed its speaker (wait-queue.ts). */
interface Confirmed {
  readonly granted: Granted;
  readonly confirmedAt: number;
}

/** The client of a hold stream as the owner of its lease. */
class StreamOwner implements LeaseOwner {
  /**
   * Resolves at the end of the lease. Rejects with the error that ends the stream. Undefined: the stream has no
   * lease.
   */
  done: Promise<void> | undefined;
  private settle: ((error: HoldfastError | undefined) => void) | undefined;

  constructor(
    private readonly call: StreamCall,
    private readonly sink: HoldSink,
  ) {}

  send(event: HoldEvent): void {
    this.sink.send(event);
  }

  hold(lease: OwnedLease): void {
    this.done = new Promise((resolve, reject) => {
      this.settle = (error) => (error === undefined ? resolve() : reject(error));
    });
    this.call.onCancelled(() => lease.abandon());
    this.call.onNotAllowed(() => lease.revokeHeld());
  }

  end(error: HoldfastError | undefined): void {
    this.settle?.(error);
  }
}

/**
 * The leases that streams and sessions of this server hold. An owner waits for a lease or attaches to a lease, then this
 * server renews the lease.
 */
export class Holdings {
  private readonly held = new Map<string, HeldLease>();
  private readonly heldContext: HeldLeaseContext;
  /** The number of calls that attach, or that are about to hold a lease, by request. */
  private readonly arriving = new Map<string, number>();
  private openCount = 0;

  constructor(
    private readonly context: LeaseContext,
    private readonly onClosed: () => void,
  ) {
    const { runtime, store, timers, lateReleases, countedLeases, meters, observer } = context;
    const renewals = new Renewals(store, runtime);
    const forget = (lease: HeldLease): void => {
      renewals.delete(lease);
      if (this.held.get(lease.key) === lease) this.held.delete(lease.key);
    };
    const shared = { runtime, store, timers, lateReleases, countedLeases, meters, observer };
    this.heldContext = { ...shared, renewals, forget };
  }

  get streamCount(): number {
    return this.openCount;
  }

  get heldCount(): number {
    return this.held.size;
  }

  /** Resolves when the lease was released, or when the client is gone. Rejects with the error that ends the stream. */
  async hold(call: StreamCall, service: Service, start: HoldStart, sink: HoldSink): Promise<void> {
    const { limits } = this.context;
    if (this.openCount >= limits.maxStreams) throw errors.tooManyStreams(this.openCount, 'hold');
    this.openCount += 1;
    try {
      const owner = new StreamOwner(call, sink);
      await this.take(this.context.lives.streamLife(call), service, start, owner);
      await owner.done;
    } finally {
      this.openCount -= 1;
      this.onClosed();
    }
  }

  /**
   * Gets a lease for an owner. Resolves when the owner holds the lease, or when the client is gone. Rejects with the
   * error for the owner if there is no lease for the owner.
   */
  async take(life: Life, service: Service, start: HoldStart, owner: LeaseOwner): Promise<void> {
    if (this.context.isDraining) throw errors.draining();
    if (start.kind === 'acquire') await this.acquire(life, service, start.request, owner);
    else await this.attach(life, service, start.leaseId, owner);
  }

  /** A call has asked for the release of the request's lease. */
  releaseAsked(resource: Resource, { requestId, secret }: LeaseId, identity: string): void {
    this.held.get(requestKey(resource, requestId))?.releaseAsked(secret, identity);
  }

  /** A command of this server was answered with the end of the lease. */
  learnEnd({ resource, requestId, secret }: LeaseId, cause: LossCause | 'released'): void {
    const held = this.held.get(requestKey(resource, requestId));
    // If the store has lost the lease since, the request may have another lease.
    if (held?.id.secret === secret) held.learnEnd(cause);
  }

  /** Renews every held lease once more, then ends its stream. */
  drain(): void {
    for (const held of [...this.held.values()]) held.drain();
  }

  /** Renews the request's lease now, to learn of its end. Returns false if no stream of this server holds the lease. */
  recheck(resource: Resource, requestId: string): boolean {
    const held = this.held.get(requestKey(resource, requestId));
    held?.recheck();
    return held !== undefined;
  }

  /** Whether a call is about to hold the request's lease. A hint then also waits for this call. */
  isArriving(resource: Resource, requestId: string): boolean {
    return this.arriving.has(requestKey(resource, requestId));
  }

  private async acquire(
    life: Life,
    service: Service,
    request: AcquireRequest & { requestId: string },
    owner: LeaseOwner,
  ): Promise<void> {
    const { context } = this;
    const onPosition = this.positionReporter(life, service, request.requestId, owner);
    const acquired = await acquire(context, life, service, request, onPosition);
    const { resource, wanted } = acquired;
    const giveBack = (): void => context.withdrawals.giveBackLater(resource, wanted);
    try {
      if (!(await this.keep(life, resource, wanted, acquired, owner))) giveBack();
    } catch (error) {
      if (error instanceof HoldfastError && error.reason === 'OUTCOME_UNKNOWN') giveBack();
      throw error;
    }
  }

  /** Sends a `queued` event when the position changes, but at most one event every two seconds. */
  private positionReporter(
    { call }: Life,
    service: Service,
    requestId: string,
    sink: HoldSink,
  ): (waiter: Waiter) => void {
    const { clock } = this.context;
    let lastPosition = 0;
    let lastSentAt = -Infinity;
    return ({ position, snapshot: { waiterCount, holder } }) => {
      const now = clock.now();
      if (position === lastPosition || now - lastSentAt < POSITION_INTERVAL_MS) return;
      lastPosition = position;
      lastSentAt = now;
      sink.send({
        kind: 'queued',
        requestId,
        position,
        waiterCount,
        holder: holder && !call.hidesHolders ? shownToClients(service, holder) : undefined,
      });
    };
  }

  private async attach(life: Life, service: Service, leaseId: string, owner: LeaseOwner): Promise<void> {
    const { context } = this;
    const { resource, requestId, secret } = parseLeaseId(service, leaseId);
    const ref = { requestId, leaseId };
    const arrived = this.arrive(requestKey(resource, requestId));
    try {
      const confirmed = await this.renew(life, resource, ref, secret, true);
      // An acquire counts its lease itself.
      context.countedLeases.lives(life.call, requestKey(resource, requestId), confirmed.granted.remainingMs);
      await this.keep(life, resource, ref, confirmed, owner);
    } finally {
      arrived();
    }
  }

  /** A call of the request arrives until the returned function is called. */
  private arrive(key: string): () => void {
    const { arriving } = this;
    arriving.set(key, (arriving.get(key) ?? 0) + 1);
    return () => {
      const left = (arriving.get(key) ?? 0) - 1;
      if (left > 0) arriving.set(key, left);
      else arriving.delete(key);
    };
  }

  /** Renews the lease for a call that takes the lease over, or that speaks for the lease already. */
  private async renew(
    life: Life,
    resource: Resource,
    ref: KeptRef,
    secret: string,
    takeOver: boolean,
  ): Promise<Confirmed> {
    const { store, clock, moments } = this.context;
    const { call, attach } = life;
    const { requestId, leaseId, clientRequestId = knownRequestId(call, requestId) } = ref;
    const stream = { attach, takeOver };
    const { identity, connection: caller } = call;
    const repeatedBy = leaseId === undefined ? 'request_id' : 'lease_id';
    const notAnswered = () => errors.notAnswered(resource, repeatedBy, clientRequestId);
    const confirmedAt = moments.next();
    const granted = await store
      .renew(resource, { requestId, secret, identity, ttlMs: undefined, stream, caller })
      .catch((error: unknown) => {
        // The store may hold the lease for this call, even if it was not asked who speaks.
        if (!takeOver && error instanceof StoreFailure) throw notAnswered();
        throw errors.translateStoreFailure(error, resource, repeatedBy, clientRequestId);
      });
    if (granted.kind !== 'granted') throw notHeld(resource, ref, granted);
    // A lease is never reported after its offset has passed. The client may ask again.
    if (hasOffsetPassed(life.offsetsFrom, granted, clock.now())) throw notAnswered();
    return { granted, confirmedAt };
  }

  /**
   * Reports the grant, and holds the lease for the owner. Another call of the request may hold the lease here. Then the call
   * that the store made the speaker last continues: if this call's grant may be older, the call asks the store before the
   * client is told anything. Returns false if the client is gone.
   */
  private async keep(
    life: Life,
    resource: Resource,
    ref: KeptRef,
    confirmed: Confirmed,
    owner: LeaseOwner,
  ): Promise<boolean> {
    const key = requestKey(resource, ref.requestId);
    const { call } = life;
    let { granted, confirmedAt } = confirmed;
    const arrived = this.arrive(key);
    try {
      while (!call.cancelled && !speaksLater(confirmedAt, this.held.get(key))) {
        ({ granted, confirmedAt } = await this.renew(life, resource, ref, granted.secret, false));
      }
      if (call.cancelled) return false;
      this.begin(life, resource, ref, granted, owner);
      return true;
    } finally {
      arrived();
    }
  }

  private begin(
    life: Life,
    resource: Resource,
    { requestId, clientRequestId, leaseId }: KeptRef,
    granted: Granted,
    owner: LeaseOwner,
  ): void {
    const { context } = this;
    const lease = grantedLease(resource, { requestId, clientRequestId, leaseId }, granted);
    owner.send({ kind: 'granted', lease });
    context.observer?.granted(life.call, resource.service, life.call.receivedAt);
    const since = context.moments.next();
    const held = new HeldLease(
      { context: this.heldContext, owner, life, resource, requestId, since },
      granted,
    );
    this.held.get(held.key)?.supersede();
    this.held.set(held.key, held);
    owner.hold(held);
    if (context.isDraining) held.drain();
    else if (context.queue.takeEarlyHint(resource, requestId)) held.recheck();
  }
}

/** The error for a call without a lease. */
function notHeld(
  resource: Resource,
  { requestId, clientRequestId = requestId, leaseId }: KeptRef,
  reply: Exclude<RenewReply, Granted>,
): HoldfastError {
  if (reply.kind === 'superseded') return errors.superseded(resource);
  const cause = reply.kind === 'finished' ? reply.cause : undefined;
  if (leaseId !== undefined) return errors.leaseNotHeld(resource, cause);
  // A lease that the store has forgotten is no end of its request.
  return cause === undefined
    ? errors.notAnswered(resource, 'request_id', clientRequestId)
    : errors.requestFinished(resource, clientRequestId);
}
