import type { Call } from '../call';
import { AcquireAttempt } from './acquire-attempt';
import { waitEnd } from './call-end';
import { hasOffsetPassed } from './expire-offset';
import { grantedLease, knownRequestId } from './granted-lease';
import { HeldLease } from './held-lease';
import { requestKey, type LossCause, type Resource, type Service } from './lease';
import * as errors from './lease-errors';
import { parseLeaseId, type LeaseId } from './lease-id';
import type { PermitsContext } from './permits-context';
import type { CallRef, Granted } from './permits-store';
import { revokeLease } from './revocation';
import type { AcquireRequest, HoldSink, HoldStart } from './requests';
import { shownToClients } from './views';
import type { Waiter } from './waiter';

const POSITION_INTERVAL_MS = 2000;

/** The hold streams of this server. A stream waits for a lease or attaches to a lease, then renews the lease. */
export class HoldStreams {
  private readonly held = new Map<string, HeldLease>();
  private openCount = 0;

  constructor(
    private readonly context: PermitsContext,
    private readonly onClosed: () => void,
  ) {}

  get streamCount(): number {
    return this.openCount;
  }

  get heldCount(): number {
    return this.held.size;
  }

  /** Resolves when the lease was released, or when the client is gone. Rejects with the error that ends the stream. */
  async hold(call: Call, service: Service, start: HoldStart, sink: HoldSink): Promise<void> {
    const { limits } = this.context;
    if (this.openCount >= limits.maxStreams) throw errors.tooManyStreams(this.openCount, 'hold');
    this.openCount += 1;
    try {
      await this.holdInSession(call, service, start, sink);
    } finally {
      this.openCount -= 1;
      this.onClosed();
    }
  }

  /** As `hold`, for a command of a session. A session counts as one stream with all its leases. */
  async holdInSession(call: Call, service: Service, start: HoldStart, sink: HoldSink): Promise<void> {
    if (this.context.isDraining) throw errors.draining();
    const held = await (start.kind === 'acquire'
      ? this.acquire(call, service, start.request, sink)
      : this.attach(call, service, start.leaseId, sink));
    await held?.done;
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
    sink: HoldSink,
  ): Promise<HeldLease | undefined> {
    const { context } = this;
    const resource = { service, name: request.name };
    const wanted = context.wanted(call, resource, request, true);
    const end = waitEnd(call, request, context.ageLimitAt(call, request.ttlMs));
    const onPosition = this.positionReporter(call, service, wanted.clientRequestId, sink);
    const granted = await new AcquireAttempt(context, call, resource, wanted, end, true, onPosition).run();
    return this.keep(call, resource, wanted, granted, sink);
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

  private async attach(
    call: Call,
    service: Service,
    leaseId: string,
    sink: HoldSink,
  ): Promise<HeldLease | undefined> {
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
    if (hasOffsetPassed(call.receivedAt, reply, context.clock.now())) {
      throw errors.notAnswered(resource, 'lease_id', knownRequestId(call, requestId));
    }
    // An acquire counts its lease itself.
    if (call.account) {
      context.countedLeases.lives(call.account, requestKey(resource, requestId), reply.remainingMs);
    }
    return this.keep(call, resource, { requestId, attach }, reply, sink);
  }

  private keep(
    call: Call,
    resource: Resource,
    { requestId, attach, clientRequestId }: CallRef & { readonly clientRequestId?: string },
    granted: Granted,
    sink: HoldSink,
  ): HeldLease | undefined {
    const { context } = this;
    const key = requestKey(resource, requestId);
    const count = call.account && context.countedLeases.of(call.account, key);
    if (call.cancelled) return undefined;
    sink.send({
      kind: 'granted',
      lease: grantedLease(resource, { requestId, clientRequestId }, granted),
    });
    const held = new HeldLease({
      store: context.store,
      clock: context.clock,
      timers: context.timers,
      lateReleases: context.lateReleases,
      sink,
      resource,
      requestId,
      attach,
      identity: call.identity,
      caller: call.connection,
      granted,
      signs: call.session?.signs,
      count,
      ageLimitAt: call.session === undefined ? context.ageLimitAt(call, granted.ttlMs) : Infinity,
      onDefect: context.onDefect,
    });
    this.remember(held, key);
    call.onCancelled(() => held.abandon());
    call.onNotAllowed(() => {
      held.revokeHeld();
      const { fencingToken } = granted;
      const revoking = () => revokeLease(context, resource, requestId, fencingToken, call.connection);
      context.lateReleases.run(revoking, context.clock.now() + granted.ttlMs);
    });
    if (context.isDraining) held.drain();
    else if (context.queue.takeEarlyHint(resource, requestId)) held.recheck();
    return held;
  }

  private remember(held: HeldLease, key: string): void {
    this.held.get(key)?.supersede();
    this.held.set(key, held);
    const forget = () => {
      if (this.held.get(key) === held) this.held.delete(key);
    };
    held.done.then(forget, forget);
  }
}
