import { Agenda } from './agenda';
import type { AcquireRequest, Call, HoldSink, HoldStart, ReleaseResult } from './call';
import type { Clock } from './clock';
import { HoldfastError, StoreFailure } from './errors';
import { expireOffsetMs } from './expire-offset';
import { HeldLease } from './held-lease';
import type { Identities } from './identities';
import { type Lease, type Mode, type Resource, type ResourceView, type Service } from './lease';
import { decodeLeaseId, encodeLeaseId, type LeaseId } from './lease-id';
import { LOCK_LIMIT, type Limits } from './limits';
import * as outcomes from './outcomes';
import type { ClaimReply, Granted, PermitsStore, PermitsWanted, Waiting, WithdrawReply } from './store';
import { requestKey, Waiter, WaitQueue } from './wait-queue';

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
const GIVE_BACK_RETRY_MS = 500;
/** Past this many, what a lost reply may have granted is left to its ttl. */
const MAX_GIVING_BACK = 10_000;

/** When a wait ends by itself, and how that is said. */
interface EndOfWait {
  readonly at: number;
  readonly aged: boolean;
}

/** One acquire on its way to a grant. */
interface Quest {
  readonly call: Call;
  readonly resource: Resource;
  readonly wanted: PermitsWanted;
  readonly end: EndOfWait;
  /** A stream takes over what is held, is told its position, and goes on with REATTACH. */
  readonly stream: boolean;
  readonly onPosition: ((waiter: Waiter) => void) | undefined;
}

/**
 * Locks and semaphores: grants, waits, renewals and releases. It decides; the store carries out each step
 * atomically. A lock is a semaphore of one (see LOCK_LIMIT).
 */
export class Permits {
  private readonly agenda: Agenda;
  private readonly queue: WaitQueue;
  private readonly held = new Map<string, HeldLease>();
  private readonly waitingOn = new WeakMap<object, number>();
  private attachCount = 0;
  private givingBack = 0;
  private isDraining = false;
  private activeCount = 0;
  private onIdle: (() => void) | undefined;

  constructor(private readonly options: PermitsOptions) {
    this.agenda = new Agenda(options.clock);
    this.queue = new WaitQueue(options.store, options.clock, this.agenda, options.onDefect);
    options.store.listen({
      look: (resource, requestId) => this.look(resource, requestId),
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
    const end = this.endOfWait(call, request);
    const granted = await this.obtain({ call, resource, wanted, end, stream: false, onPosition: undefined });
    return this.lease(call, resource, wanted.requestId, request.permitCount, granted);
  }

  /** Moves a lease's end to `ttlMs` from now (undefined: as granted), never nearer; never puts it back. */
  async renew(call: Call, service: Service, leaseId: string, ttlMs: number | undefined): Promise<Lease> {
    const { resource, requestId, secret } = this.parse(service, leaseId);
    const reply = await this.options.store
      .renew(resource, { requestId, secret, ttlMs, stream: undefined })
      .catch((error) => this.fail(error, resource, requestId));
    switch (reply.kind) {
      case 'granted':
        return this.lease(call, resource, requestId, 1, reply);
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
    if (service === 'semaphore') return view;
    return { ...view, holders: view.holders.map(asLock), waiters: view.waiters.map(asLock) };
  }

  /**
   * Holds a lease for a stream: waits for it or attaches to it, then renews it until it ends. Resolves when
   * the lease was released or the client is gone; rejects with the status the stream ends with.
   */
  async hold(call: Call, service: Service, start: HoldStart, sink: HoldSink): Promise<void> {
    if (this.isDraining) throw outcomes.draining();
    this.activeCount += 1;
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
      this.checkIdle();
    }
  }

  /** Refuses new waits and streams, renews every streamed lease once more and ends what there is. */
  async drain(): Promise<void> {
    this.isDraining = true;
    for (const waiter of this.queue.all()) waiter.raise('draining');
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
      dueCount: this.agenda.size,
      givingBackCount: this.givingBack,
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
      const { waiterCount, holder } = waiter.outlook;
      const shown = holder && service === 'lock' ? asLock(holder) : holder;
      sink.send({
        kind: 'queued',
        requestId: wanted.requestId,
        position: waiter.position,
        waiterCount,
        holder: shown,
      });
    };
    const end = this.endOfWait(call, request);
    const granted = await this.obtain({ call, resource, wanted, end, stream: true, onPosition });
    return this.keep(call, resource, wanted, request.permitCount, granted, sink);
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
    return this.keep(call, resource, { requestId, attach }, 1, reply, sink);
  }

  private keep(
    call: Call,
    resource: Resource,
    { requestId, attach }: { requestId: string; attach: string },
    permitCount: number,
    granted: Granted,
    sink: HoldSink,
  ): HeldLease | undefined {
    const { store, clock, onDefect } = this.options;
    if (call.cancelled) return undefined;
    sink.send({ kind: 'granted', lease: this.lease(call, resource, requestId, permitCount, granted) });
    const agesAt = this.agesAt(call, granted.ttlMs);
    const { receivedAt } = call;
    const { agenda } = this;
    const held = new HeldLease({
      store,
      clock,
      agenda,
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
    else if (this.queue.takeEarly(resource, requestId)) held.look();
    return held;
  }

  // --- a grant ----------------------------------------------------------------------------------------------

  private async obtain(quest: Quest): Promise<Granted> {
    const { call, resource, wanted, end, stream, onPosition } = quest;
    if (this.isDraining) throw outcomes.draining();
    const mayWait = end.at > this.options.clock.now();
    const overCap =
      mayWait && !stream && this.waitingCalls(call) >= this.options.limits.maxWaitingCallsPerConnection;
    const command = {
      ...wanted,
      wait: mayWait && !overCap,
      takeOver: stream,
      maxWaiters: this.options.limits.maxWaitersPerName,
    };
    const reply = await this.options.store.acquire(resource, command).catch((error) => {
      if (error instanceof StoreFailure && error.carriedOut === 'unknown') this.giveBack(resource, wanted);
      return this.fail(error, resource, wanted.requestId);
    });
    switch (reply.kind) {
      case 'granted': {
        if (this.canBeDelivered(quest, reply)) return reply;
        // Too late to be of use. It goes back, and the wait goes on from the same place.
        await this.giveBackNow(quest);
        if (!command.wait) throw outcomes.notCarriedOut(resource);
        const ticket = String(reply.fencingToken); // both are the store's microseconds; only used if it forgets
        const outlook = {
          earliestEndMs: undefined,
          waiterCount: 0,
          holder: undefined,
          holderEndMs: undefined,
        };
        const waiter = new Waiter(
          resource,
          wanted,
          { ...reply, kind: 'waiting', ticket, position: 1, outlook },
          onPosition,
        );
        waiter.raise('look');
        return await this.wait(quest, waiter);
      }
      case 'waiting': {
        const waiter = new Waiter(resource, wanted, reply, onPosition);
        onPosition?.(waiter);
        return await this.wait(quest, waiter);
      }
      case 'refused':
        if (overCap) throw this.tooManyWaiting(resource);
        throw outcomes.contended(resource, reply.outlook, 0);
      case 'mismatch':
        throw new HoldfastError(
          'REQUEST_MISMATCH',
          `request ${wanted.requestId} on ${outcomes.described(resource)} was made with another ${reply.field}; use a new request_id`,
          { metadata: { field: reply.field } },
        );
      case 'queue-full':
        throw new HoldfastError(
          'QUEUE_FULL',
          `${reply.waiterCount} already wait for ${outcomes.described(resource)}, which is the most; try again later`,
          { metadata: { waiter_count: String(reply.waiterCount) }, retryAfterMs: 1000 },
        );
      default:
        throw this.refusal(resource, wanted, reply);
    }
  }

  /** Waits until the permits are granted or the wait ends, one signal after the other. */
  private async wait(quest: Quest, waiter: Waiter): Promise<Granted> {
    const { call, resource, wanted, end } = quest;
    const { store } = this.options;
    this.activeCount += 1;
    this.countWaiting(call, 1);
    this.queue.add(waiter);
    call.onCancelled(() => waiter.raise('cancelled'));
    const alarm = this.agenda.at(end.at, () => waiter.raise('ended'));
    if (this.isDraining) waiter.raise('draining');
    try {
      for (;;) {
        const signal = await waiter.next();
        switch (signal) {
          case 'cancelled':
            this.giveBack(resource, wanted);
            throw callIsGone();
          case 'superseded':
            throw outcomes.superseded(resource);
          case 'draining':
          case 'ended': {
            const reply = await store.withdraw(resource, { ...wanted, giveBack: false }).catch((error) => {
              this.giveBack(resource, wanted);
              throw error instanceof StoreFailure
                ? outcomes.outcomeUnknown(resource, wanted.requestId)
                : error;
            });
            return this.endWait(quest, signal, reply);
          }
          case 'look': {
            const granted = await this.claim(quest, waiter);
            if (granted) return granted;
          }
        }
      }
    } finally {
      alarm.cancel();
      this.queue.remove(waiter);
      this.countWaiting(call, -1);
      this.activeCount -= 1;
      this.checkIdle();
    }
  }

  /** Takes what was offered; undefined if the wait goes on. */
  private async claim(quest: Quest, waiter: Waiter): Promise<Granted | undefined> {
    const { resource, wanted } = quest;
    const { store, clock } = this.options;
    let reply: ClaimReply;
    try {
      reply = await store.claim(resource, { ...wanted, ticket: waiter.ticket });
    } catch (error) {
      if (!(error instanceof StoreFailure)) throw error;
      this.agenda.at(clock.now() + GIVE_BACK_RETRY_MS / 2, () => waiter.raise('look'));
      return undefined;
    }
    switch (reply.kind) {
      case 'granted':
        if (this.canBeDelivered(quest, reply)) return reply;
        await this.giveBackNow(quest);
        waiter.raise('look');
        return undefined;
      case 'waiting':
        waiter.ticket = reply.ticket;
        waiter.update(reply.position, reply.outlook);
        return undefined;
      default:
        throw this.refusal(resource, wanted, reply);
    }
  }

  private endWait(quest: Quest, signal: 'draining' | 'ended', reply: WithdrawReply): Granted {
    const { call, resource, wanted, end, stream } = quest;
    switch (reply.kind) {
      case 'granted':
        if (this.canBeDelivered(quest, reply)) return reply;
        this.giveBack(resource, wanted);
        throw outcomes.notCarriedOut(resource);
      case 'superseded':
        throw outcomes.superseded(resource);
      case 'finished':
        throw outcomes.requestFinished(resource, wanted.requestId);
      case 'kept':
        throw outcomes.outcomeUnknown(resource, wanted.requestId);
      case 'withdrawn':
        if (signal === 'draining') throw outcomes.draining();
        if (stream && end.aged) throw outcomes.reattach(resource);
        throw outcomes.contended(resource, reply.outlook, this.options.clock.now() - call.receivedAt);
    }
  }

  private canBeDelivered(quest: Quest, granted: Granted): boolean {
    const { call, resource, wanted } = quest;
    if (call.cancelled) {
      this.giveBack(resource, wanted);
      throw callIsGone();
    }
    const offset = expireOffsetMs(call.receivedAt, granted.sentAt, granted.remainingMs);
    return call.receivedAt + offset > this.options.clock.now();
  }

  private async giveBackNow({ resource, wanted }: Quest): Promise<void> {
    await this.options.store
      .withdraw(resource, { ...wanted, giveBack: true })
      .catch((error) => this.fail(error, resource, wanted.requestId));
  }

  /**
   * Returns, in the background, what a call may have been granted that nobody was told of. The store refuses
   * if another call was answered with the lease.
   */
  private giveBack(resource: Resource, wanted: PermitsWanted): void {
    if (this.givingBack >= MAX_GIVING_BACK) return;
    const { store, clock } = this.options;
    const until = clock.now() + wanted.ttlMs;
    this.givingBack += 1;
    const attempt = () => {
      store.withdraw(resource, { ...wanted, giveBack: true }).then(
        () => (this.givingBack -= 1),
        () => {
          const retryAt = clock.now() + GIVE_BACK_RETRY_MS;
          if (retryAt < until) this.agenda.at(retryAt, attempt);
          else this.givingBack -= 1;
        },
      );
    };
    attempt();
  }

  // --- details ----------------------------------------------------------------------------------------------

  private look(resource: Resource, requestId: string): void {
    if (this.queue.look(resource, requestId)) return;
    const held = this.held.get(requestKey(resource, requestId));
    if (held) held.look();
    else this.queue.lookLater(resource, requestId);
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
      initialLimit: lock ? LOCK_LIMIT : undefined,
    };
  }

  /** Unique among all calls of all servers; the scripts read the server and the trailing "s" of a stream. */
  private newAttach(stream: boolean): string {
    this.attachCount += 1;
    return `${this.options.serverId}.${this.attachCount}${stream ? 's' : ''}`;
  }

  private endOfWait(call: Call, request: AcquireRequest): EndOfWait {
    const agesAt = this.agesAt(call, request.ttlMs);
    const byRequest = call.receivedAt + (request.waitTimeoutMs ?? Infinity);
    const byDeadline = call.receivedAt + timeBeforeDeadline(call.timeoutMs);
    const at = Math.min(agesAt, byRequest, byDeadline);
    return { at, aged: at === agesAt };
  }

  /** Streams and waits end at an age, so that clock drift never adds up; with jitter, so that not all do at once. */
  private agesAt(call: Call, ttlMs: number): number {
    const age = Math.min(this.options.limits.maxStreamAgeMs, 200 * ttlMs);
    return call.receivedAt + age * (1 - 0.1 * this.options.identities.random());
  }

  private parse(service: Service, leaseId: string): LeaseId {
    const id = decodeLeaseId(service, leaseId);
    if (id) return id;
    const description = `is not a lease_id that this service gave out for a ${service}`;
    throw new HoldfastError('INVALID_FIELD', `lease_id ${description}`, {
      violations: [{ field: 'lease_id', description }],
    });
  }

  private lease(
    call: Call,
    resource: Resource,
    requestId: string,
    permitCount: number,
    granted: Granted,
  ): Lease {
    return {
      leaseId: encodeLeaseId({ resource, requestId, secret: granted.secret }),
      name: resource.name,
      requestId,
      fencingToken: granted.fencingToken,
      permitCount,
      ttlMs: granted.ttlMs,
      expireOffsetMs: expireOffsetMs(call.receivedAt, granted.sentAt, granted.remainingMs),
    };
  }

  private fail(error: unknown, resource: Resource, requestId: string): never {
    throw outcomes.storeFailed(error, resource, requestId);
  }

  private refusal(
    resource: Resource,
    wanted: PermitsWanted,
    reply: Exclude<ClaimReply, Granted | Waiting>,
  ): HoldfastError {
    switch (reply.kind) {
      case 'superseded':
        return outcomes.superseded(resource);
      case 'finished':
        return outcomes.requestFinished(resource, wanted.requestId);
      case 'never-fits':
        return outcomes.neverFits(resource, wanted.permits, reply.limit);
      case 'unknown-resource':
        return new HoldfastError('NO_SUCH_SEMAPHORE', `${outcomes.described(resource)} does not exist`);
    }
  }

  private waitingCalls(call: Call): number {
    return this.waitingOn.get(call.connection) ?? 0;
  }

  private countWaiting(call: Call, change: 1 | -1): void {
    this.waitingOn.set(call.connection, this.waitingCalls(call) + change);
  }

  private tooManyWaiting(resource: Resource): HoldfastError {
    const most = this.options.limits.maxWaitingCallsPerConnection;
    return new HoldfastError(
      'QUOTA_EXCEEDED',
      `${outcomes.described(resource)} is held, and ${most} calls of this connection wait already; use another connection, or HoldLock`,
      { retryAfterMs: 1000 },
    );
  }

  private checkIdle(): void {
    if (this.isDraining && this.activeCount === 0) this.onIdle?.();
  }
}

const MIN_MARGIN_MS = 20;
const MAX_MARGIN_MS = 250;

/**
 * How long a call may wait so that its answer still arrives before its deadline: a wait that ends with an
 * answer leaves no reset stream behind. Not positive: there is only time to try once.
 */
function timeBeforeDeadline(timeoutMs: number | undefined): number {
  if (timeoutMs === undefined) return Infinity;
  return timeoutMs - Math.min(Math.max(timeoutMs / 10, MIN_MARGIN_MS), MAX_MARGIN_MS);
}

function lockPermits(mode: Mode): number {
  return mode === 'shared' ? 1 : LOCK_LIMIT;
}

function asLock<T extends { readonly permitCount: number }>(view: T): T {
  return { ...view, permitCount: 1 };
}

/** Nobody reads this: the call it answers is over. */
function callIsGone(): HoldfastError {
  return new HoldfastError('OUTCOME_UNKNOWN', 'the call was cancelled');
}
