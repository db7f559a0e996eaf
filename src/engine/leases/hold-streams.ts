import type { Call, StreamCall } from '../call';
import type { HoldfastError } from '../errors';
import { AcquireAttempt } from './acquire-attempt';
import { waitEnd } from './call-end';
import { hasOffsetPassed } from './expire-offset';
import { grantedLease, knownRequestId } from './granted-lease';
import { HeldLease, type HeldLeaseContext } from './held-lease';
import { requestKey, type HoldEvent, type LossCause, type Resource, type Service } from './lease';
import * as errors from './lease-errors';
import { parseLeaseId, type LeaseId } from './lease-id';
import type { PermitsContext } from './permits-context';
import type { CallRef, Granted } from './permits-store';
import { Renewals } from './renewals';
import type { AcquireRequest, HoldSink, HoldStart, LeaseOwner, OwnedLease } from './requests';
import { shownToClients } from './views';
import type { Waiter } from './waiter';

const POSITION_INTERVAL_MS = 2000;

interface KeptRef extends CallRef {
  readonly clientRequestId?: string;
  /** The `lease_id` that an attach has sent. */
  readonly leaseId?: string;
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
export class HoldStreams {
  private readonly held = new Map<string, HeldLease>();
  private readonly heldContext: HeldLeaseContext;
  private openCount = 0;

  constructor(
    private readonly context: PermitsContext,
    private readonly onClosed: () => void,
  ) {
    const { store, clock, timers, lateReleases, countedLeases, meters, observer, onDefect } = context;
    const renewals = new Renewals(store, onDefect);
    const forget = (lease: HeldLease): void => {
      renewals.delete(lease);
      if (this.held.get(lease.key) === lease) this.held.delete(lease.key);
    };
    const shared = { store, clock, timers, lateReleases, countedLeases, meters, observer, onDefect };
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
      await this.take(call, service, start, owner);
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
  async take(call: Call, service: Service, start: HoldStart, owner: LeaseOwner): Promise<void> {
    if (this.context.isDraining) throw errors.draining();
    if (start.kind === 'acquire') await this.acquire(call, service, start.request, owner);
    else await this.attach(call, service, start.leaseId, owner);
  }

  /** A call has asked for the release of the request's lease. */
  releaseAsked(resource: Resource, { requestId, secret }: LeaseId, identity: string): void {
    this.held.get(requestKey(resource, requestId))?.releaseAsked(secret, identity);
  }

  /** A command of this server was answered with the end of the request's lease. */
  learnEnd(resource: Resource, requestId: string, cause: LossCause | 'released'): void {
    this.held.get(requestKey(resource, requestId))?.learnEnd(cause);
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

  private async acquire(
    call: Call,
    service: Service,
    request: AcquireRequest & { requestId: string },
    owner: LeaseOwner,
  ): Promise<void> {
    const { context } = this;
    const resource = { service, name: request.name };
    const wanted = context.wanted(call, resource, request, true);
    const end = waitEnd(call, request, context.ageLimitAt(call, request.ttlMs));
    const onPosition = this.positionReporter(call, service, wanted.clientRequestId, owner);
    const granted = await new AcquireAttempt(context, call, resource, wanted, end, true, onPosition).run();
    this.keep(call, resource, wanted, granted, owner);
  }

  /** Sends a `queued` event when the position changes, but at most one event every two seconds. */
  private positionReporter(
    call: Call,
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

  private async attach(call: Call, service: Service, leaseId: string, owner: LeaseOwner): Promise<void> {
    const { context } = this;
    const { resource, requestId, secret } = parseLeaseId(service, leaseId);
    const attach = context.newAttach(call, true);
    const caller = call.connection;
    const { identity } = call;
    const stream = { attach, takeOver: true };
    const command = { requestId, secret, identity, ttlMs: undefined, stream, caller };
    const renewing = context.store.renew(resource, command);
    const reply = await errors.answerOf(renewing, resource, 'lease_id', knownRequestId(call, requestId));
    if (reply.kind === 'finished') throw errors.leaseNotHeld(resource, reply.cause);
    if (reply.kind === 'superseded') throw errors.superseded(resource);
    if (reply.kind !== 'granted') throw errors.leaseNotHeld(resource, undefined);
    // A lease is never reported after its offset has passed. The client may attach again.
    if (hasOffsetPassed(call, reply, context.clock.now())) {
      throw errors.notAnswered(resource, 'lease_id', knownRequestId(call, requestId));
    }
    // An acquire counts its lease itself.
    if (call.account) {
      context.countedLeases.lives(call.account, requestKey(resource, requestId), reply.remainingMs);
    }
    this.keep(call, resource, { requestId, attach, leaseId }, reply, owner);
  }

  private keep(
    call: Call,
    resource: Resource,
    { requestId, attach, clientRequestId, leaseId }: KeptRef,
    granted: Granted,
    owner: LeaseOwner,
  ): void {
    const { context } = this;
    if (call.cancelled) return;
    const lease = grantedLease(resource, { requestId, clientRequestId, leaseId }, granted);
    owner.send({ kind: 'granted', lease });
    context.observer?.granted(call, resource.service, call.receivedAt);
    const ageLimitAt = context.ageLimitAt(call, granted.ttlMs);
    const ref = { requestId, attach };
    const held = new HeldLease(
      { context: this.heldContext, owner, call, resource, ref, ageLimitAt },
      granted,
    );
    this.held.get(held.key)?.supersede();
    this.held.set(held.key, held);
    owner.hold(held);
    if (context.isDraining) held.drain();
    else if (context.queue.takeEarlyHint(resource, requestId)) held.recheck();
  }
}
