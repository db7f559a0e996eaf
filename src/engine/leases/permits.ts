import { Acquisitions } from './acquisition';
import { TimerQueue } from './timer-queue';
import type { Call } from '../call';
import type { AcquireRequest, HoldSink, HoldStart, ReleaseResult } from './requests';
import type { Clock } from '../clock';
import { agesAt, endOfWait } from './deadlines';
import { HoldfastError, StoreFailure } from '../errors';
import { expireOffsetMs } from './expire-offset';
import { HeldLease } from './held-lease';
import type { Identities } from '../identities';
import type { HolderView, Lease, Mode, Resource, ResourceView, Service, WaiterView } from './lease';
import { decodeLeaseId, encodeLeaseId, type LeaseId } from './lease-id';
import { LOCK_LIMIT, type Limits } from './limits';
import * as outcomes from './outcomes';
import type { Granted, PermitsStore, PermitsWanted, RemoveCommand, SetLimitCommand } from './permits-store';
import { requestKey, type Waiter, WaitQueue } from './wait-queue';

export interface PermitsOptions {
  readonly store: PermitsStore;
  readonly clock: Clock;
  readonly identities: Identities;
  readonly limits: Limits;
  /** Names this process among the servers of the store; no dot. */
  readonly serverId: string;
  /** A defect in work that no call waits for. */
  readonly onDefect: (error: unknown) => void;
}

/** For health, GetServerInfo and leak tests. */
export interface PermitsStats {
  readonly waitingCount: number;
  readonly heldCount: number;
  readonly watchedCount: number;
  readonly dueCount: number;
  readonly givingBackCount: number;
}

const POSITION_INTERVAL_MS = 2000;
/**
 * Locks and semaphores: grants, waits, renewals and releases. It decides; the store carries out each step
 * atomically. A lock is a semaphore of one (see LOCK_LIMIT).
 */
export class Permits {
  private readonly timers: TimerQueue;
  private readonly queue: WaitQueue;
  private readonly held = new Map<string, HeldLease>();
  private readonly acquisitions: Acquisitions;
  private attachCount = 0;
  private isDraining = false;
  private activeCount = 0;
  private streamCount = 0;
  private onIdle: (() => void) | undefined;

  constructor(private readonly options: PermitsOptions) {
    this.timers = new TimerQueue(options.clock);
    this.queue = new WaitQueue(options.store, options.clock, this.timers, options.onDefect);
    const { timers, queue } = this;
    this.acquisitions = new Acquisitions({ ...options, timers, queue });
    options.store.listen({
      recheck: (resource, requestId) => this.recheck(resource, requestId),
      more: (resource) => this.queue.more(resource),
    });
  }

  /** Grants permits, waiting for them in the queue as long as the request and the call's deadline allow. */
  async acquire(call: Call, service: Service, request: AcquireRequest): Promise<Lease> {
    if (request.requestId === undefined && call.transportRetry) {
      throw new HoldfastError(
        'REQUEST_MISMATCH',
        `gRPC sent this request for ${outcomes.described({ service, name: request.name })} again, and it has no request_id: it would wait behind its own first try; set one`,
      );
    }
    const resource = { service, name: request.name };
    const wanted = this.wanted(resource, request, false);
    const end = endOfWait(call, request, this.agesAt(call, request.ttlMs));
    this.activeCount += 1;
    try {
      const quest = { call, resource, wanted, end, stream: false, onPosition: undefined };
      return this.lease(call, resource, wanted.requestId, await this.acquisitions.obtain(quest));
    } finally {
      this.activeCount -= 1;
      this.checkIdle();
    }
  }

  /** Moves a lease's end to `ttlMs` from now (undefined: as granted), never nearer; never puts it back. */
  async renew(call: Call, service: Service, leaseId: string, ttlMs: number | undefined): Promise<Lease> {
    const { resource, requestId, secret } = this.parse(service, leaseId);
    const reply = await this.options.store
      .renew(resource, { requestId, secret, ttlMs, stream: undefined })
      .catch((error) => this.fail(error, resource, requestId));
    switch (reply.kind) {
      case 'granted':
        return this.lease(call, resource, requestId, reply);
      case 'finished':
        throw outcomes.leaseNotHeld(resource, reply.cause);
      default:
        throw outcomes.leaseNotHeld(resource, undefined);
    }
  }

  /** Ends a lease. Asked again, it answers as the first time. */
  async release(_call: Call, service: Service, leaseId: string): Promise<ReleaseResult> {
    const { resource, requestId, secret } = this.parse(service, leaseId);
    const reply = await this.options.store
      .release(resource, { requestId, secret, afterLoss: undefined })
      .catch((error) => this.fail(error, resource, requestId));
    if (reply.kind === 'released') return { released: true, lossCause: undefined };
    if (reply.kind !== 'finished') return { released: false, lossCause: undefined };
    return reply.cause === 'released'
      ? { released: true, lossCause: undefined }
      : { released: false, lossCause: reply.cause };
  }

  async inspect(service: Service, name: string): Promise<ResourceView> {
    const resource = { service, name };
    const view = await this.options.store.inspect(resource).catch((error) => {
      throw error instanceof StoreFailure ? outcomes.notCarriedOut(resource) : error; // a read changes nothing
    });
    if (service === 'semaphore' && view.limit === undefined) {
      throw outcomes.noSuchSemaphore(
        resource,
        'setting its limit makes it, or an acquire with initial_limit',
      );
    }
    return shownView(service, view);
  }

  /** Creates a semaphore that then stays, or changes how many permits may be out; never takes any from a holder. */
  async setLimit(name: string, command: SetLimitCommand): Promise<ResourceView> {
    const resource = { service: 'semaphore', name } as const;
    const reply = await this.options.store
      .setLimit(resource, command)
      .catch((error) => this.failRepeatable(error, resource));
    switch (reply.kind) {
      case 'set':
        return shownView('semaphore', reply.view);
      case 'limit-mismatch':
        throw outcomes.limitMismatch(resource, reply.limit, command.expectedLimit);
      case 'unknown-resource':
        throw outcomes.noSuchSemaphore(resource, 'leave expected_limit unset to make it');
    }
  }

  /** Deletes a semaphore; by force also what is held of it, and what waits. */
  async remove(name: string, command: RemoveCommand): Promise<void> {
    const resource = { service: 'semaphore', name } as const;
    const reply = await this.options.store
      .remove(resource, command)
      .catch((error) => this.failRepeatable(error, resource));
    if (reply.kind === 'in-use') throw outcomes.semaphoreInUse(resource, reply);
    if (reply.kind === 'unknown-resource') {
      throw outcomes.noSuchSemaphore(resource, 'there is nothing to delete');
    }
  }

  /**
   * Holds a lease for a stream: waits for it or attaches to it, then renews it until it ends. Resolves when
   * the lease was released or the client is gone; rejects with the status the stream ends with.
   */
  async hold(call: Call, service: Service, start: HoldStart, sink: HoldSink): Promise<void> {
    if (this.isDraining) throw outcomes.draining();
    if (this.streamCount >= this.options.limits.maxStreams) throw outcomes.tooManyStreams(this.streamCount);
    this.activeCount += 1;
    this.streamCount += 1;
    try {
      const held =
        start.kind === 'acquire'
          ? this.open(call, service, start.request, sink)
          : this.attach(call, service, start.leaseId, sink);
      await (
        await held
      )?.done;
    } finally {
      this.activeCount -= 1;
      this.streamCount -= 1;
      this.checkIdle();
    }
  }

  /** Refuses new waits and streams, renews every streamed lease once more and ends what there is. */
  async drain(): Promise<void> {
    this.isDraining = true;
    this.acquisitions.drain();
    for (const held of [...this.held.values()]) held.drain();
    await new Promise<void>((resolve) => {
      this.onIdle = resolve;
      this.checkIdle();
    });
  }

  stats(): PermitsStats {
    return {
      waitingCount: this.queue.waiting,
      heldCount: this.held.size,
      watchedCount: this.queue.watched,
      dueCount: this.timers.size,
      givingBackCount: this.acquisitions.givingBack,
    };
  }

  // --- a stream ---------------------------------------------------------------------------------------------

  private async open(
    call: Call,
    service: Service,
    request: AcquireRequest & { requestId: string },
    sink: HoldSink,
  ): Promise<HeldLease | undefined> {
    const { clock } = this.options;
    const resource = { service, name: request.name };
    const wanted = this.wanted(resource, request, true);
    let told = { position: 0, at: -Infinity };
    const onPosition = (waiter: Waiter) => {
      const now = clock.now();
      if (waiter.position === told.position || now - told.at < POSITION_INTERVAL_MS) return;
      told = { position: waiter.position, at: now };
      const { waiterCount, holder } = waiter.snapshot;
      sink.send({
        kind: 'queued',
        requestId: wanted.requestId,
        position: waiter.position,
        waiterCount,
        holder: holder && shown(service, holder),
      });
    };
    const end = endOfWait(call, request, this.agesAt(call, request.ttlMs));
    const granted = await this.acquisitions.obtain({ call, resource, wanted, end, stream: true, onPosition });
    return this.keep(call, resource, wanted, granted, sink);
  }

  private async attach(
    call: Call,
    service: Service,
    leaseId: string,
    sink: HoldSink,
  ): Promise<HeldLease | undefined> {
    const { resource, requestId, secret } = this.parse(service, leaseId);
    const attach = this.newAttach(true);
    const reply = await this.options.store
      .renew(resource, { requestId, secret, ttlMs: undefined, stream: { attach, takeOver: true } })
      .catch((error) => this.fail(error, resource, requestId));
    if (reply.kind === 'finished') throw outcomes.leaseNotHeld(resource, reply.cause);
    if (reply.kind !== 'granted') throw outcomes.leaseNotHeld(resource, undefined);
    // As with a grant: what has passed by now is not told. The client may attach again.
    const end = call.receivedAt + expireOffsetMs(call.receivedAt, reply.sentAt, reply.remainingMs);
    if (end <= this.options.clock.now()) throw outcomes.outcomeUnknown(resource, requestId);
    return this.keep(call, resource, { requestId, attach }, reply, sink);
  }

  private keep(
    call: Call,
    resource: Resource,
    { requestId, attach }: { requestId: string; attach: string },
    granted: Granted,
    sink: HoldSink,
  ): HeldLease | undefined {
    const { store, clock, onDefect } = this.options;
    if (call.cancelled) return undefined;
    sink.send({ kind: 'granted', lease: this.lease(call, resource, requestId, granted) });
    const agesAt = this.agesAt(call, granted.ttlMs);
    const { receivedAt } = call;
    const { timers } = this;
    const held = new HeldLease({
      store,
      clock,
      timers,
      sink,
      resource,
      requestId,
      attach,
      receivedAt,
      granted,
      agesAt,
      onDefect,
    });
    const key = requestKey(resource, requestId);
    this.held.get(key)?.supersede();
    this.held.set(key, held);
    const forget = () => {
      if (this.held.get(key) === held) this.held.delete(key);
    };
    held.done.then(forget, forget);
    call.onCancelled(() => held.abandon());
    if (this.isDraining) held.drain();
    else if (this.queue.takeEarly(resource, requestId)) held.recheck();
    return held;
  }

  // --- details ----------------------------------------------------------------------------------------------

  private recheck(resource: Resource, requestId: string): void {
    if (this.queue.look(resource, requestId)) return;
    const held = this.held.get(requestKey(resource, requestId));
    if (held) held.recheck();
    else this.queue.recheckLater(resource, requestId);
  }

  private wanted(resource: Resource, request: AcquireRequest, stream: boolean): PermitsWanted {
    const { identities } = this.options;
    const lock = resource.service === 'lock';
    return {
      requestId: request.requestId ?? identities.requestId(),
      attach: this.newAttach(stream),
      secret: identities.secret(),
      permits: lock ? lockPermits(request.mode) : request.permitCount,
      mode: request.mode,
      holderId: request.holderId,
      metadata: request.metadata,
      ttlMs: request.ttlMs,
      initialLimit: lock ? LOCK_LIMIT : request.initialLimit,
    };
  }

  /** Unique among all calls of all servers; the scripts read the server and the trailing "s" of a stream. */
  private newAttach(stream: boolean): string {
    this.attachCount += 1;
    return `${this.options.serverId}.${this.attachCount}${stream ? 's' : ''}`;
  }

  private agesAt(call: Call, ttlMs: number): number {
    const { limits, identities } = this.options;
    return agesAt(call, ttlMs, limits.maxStreamAgeMs, identities.random());
  }

  private parse(service: Service, leaseId: string): LeaseId {
    const id = decodeLeaseId(service, leaseId);
    if (id) return id;
    const description = `is not a lease_id that this service gave out for a ${service}`;
    throw new HoldfastError('INVALID_FIELD', `lease_id ${description}`, {
      violations: [{ field: 'lease_id', description }],
    });
  }

  private lease(call: Call, resource: Resource, requestId: string, granted: Granted): Lease {
    return {
      leaseId: encodeLeaseId({ resource, requestId, secret: granted.secret }),
      name: resource.name,
      requestId,
      fencingToken: granted.fencingToken,
      permitCount: resource.service === 'lock' ? 1 : granted.permits,
      ttlMs: granted.ttlMs,
      expireOffsetMs: expireOffsetMs(call.receivedAt, granted.sentAt, granted.remainingMs),
    };
  }

  /** Of a call that has a lease_id. */
  private fail(error: unknown, resource: Resource, requestId: string): never {
    throw outcomes.storeFailed(error, resource, requestId, 'lease_id');
  }

  /** Of a call that only says how things shall be. */
  private failRepeatable(error: unknown, resource: Resource): never {
    throw outcomes.storeFailed(error, resource, undefined);
  }

  private checkIdle(): void {
    if (this.isDraining && this.activeCount === 0) this.onIdle?.();
  }
}

function lockPermits(mode: Mode): number {
  return mode === 'shared' ? 1 : LOCK_LIMIT;
}

/** Of a lock nobody is told how many permits an exclusive holder takes, of a semaphore no mode. */
function shown<T extends HolderView | WaiterView>(service: Service, view: T): T {
  return service === 'lock' ? { ...view, permitCount: 1 } : { ...view, mode: undefined };
}

function shownView(service: Service, view: ResourceView): ResourceView {
  return {
    ...view,
    holders: view.holders.map((holder) => shown(service, holder)),
    waiters: view.waiters.map((waiter) => shown(service, waiter)),
  };
}
