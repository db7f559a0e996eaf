import type { LossCause, Micros } from '../history';
import type { IsBroken, ManualLoop } from './loop';
import { SimResource, type Attachment, type Publish, type SimHolder, type SimWaiter } from './resource';
import type { AcquireReply, AcquireRequest, LeaseReply, RenewReply, TouchReply } from './messages';

/** The permits store, with one method per script. A script reads the time once. */
export class SimStore {
  private readonly resources = new Map<string, SimResource>();
  private readonly leaseNames = new Map<string, string>();
  /** Redis TIME in the running script. No two scripts have the same time. */
  private timeUs: Micros = 0;

  constructor(
    private readonly loop: ManualLoop,
    private readonly wallClockUs: Micros,
    private readonly limits: Map<string, number>,
    private readonly publish: Publish,
    private readonly isBroken: IsBroken,
  ) {}

  /** Redis TIME between scripts. */
  get clockUs(): Micros {
    return this.wallClockUs + this.loop.now;
  }

  acquire(request: AcquireRequest): AcquireReply {
    const resource = this.open(request.name, request.attachment.server);
    const known = this.isBroken('resend_without_idempotence') ? null : this.known(request, resource);
    if (known !== null) return known;
    resource.grantNext(this.timeUs);
    const { requestId, permits, ttlUs, attachment } = request;
    const ticket = request.ticket ?? resource.nextTicket(this.timeUs);
    const waiter: SimWaiter = { requestId, permits, ttlUs, attachment, ticket, detachedAt: null };
    if (resource.fitsNow(permits, this.timeUs)) {
      return this.reply(resource.grant(waiter, 'held', this.timeUs), resource);
    }
    if (!request.queue) return { state: 'refused' };
    resource.enqueue(waiter);
    return this.queued(waiter, resource);
  }

  claim(name: string, requestId: string, attachment: Attachment): AcquireReply {
    const resource = this.open(name, attachment.server);
    const waiter = resource.waiter(requestId);
    if (waiter !== undefined) {
      if (waiter.attachment.attach !== attachment.attach) return { state: 'superseded' };
      waiter.detachedAt = null;
    }
    resource.grantNext(this.timeUs);
    const holder = resource.holderOf(requestId);
    if (holder === undefined) {
      if (waiter !== undefined) return this.queued(waiter, resource);
      return { state: resource.tombstone({ requestId }) === undefined ? 'gone' : 'finished' };
    }
    if (holder.attachment.attach !== attachment.attach) return { state: 'superseded' };
    return this.reply(resource.claim(holder, this.timeUs), resource);
  }

  /** Ends a wait, or grants an offer that was already made. See `docs/design/leases.md`, rule 5. */
  withdraw(name: string, requestId: string, { attach }: Attachment): AcquireReply {
    const resource = this.open(name);
    const holder = resource.holderOf(requestId);
    if (holder?.attachment.attach === attach)
      return this.reply(resource.claim(holder, this.timeUs), resource);
    const waiter = resource.waiter(requestId);
    if (waiter?.attachment.attach === attach) resource.dequeue(waiter);
    resource.grantNext(this.timeUs);
    return { state: 'refused' };
  }

  /** Detaches a waiter after its call has ended. An offer goes back to its ticket. */
  detach(name: string, requestId: string, { attach }: Attachment): void {
    const resource = this.open(name);
    const waiter = resource.waiter(requestId);
    if (waiter?.attachment.attach === attach) waiter.detachedAt = this.timeUs;
    const holder = resource.holderOf(requestId);
    if (holder?.attachment.attach === attach && holder.state === 'offered') {
      resource.requeue(holder, this.timeUs);
      if (this.isBroken('permit_leaked_on_cancel')) resource.used += holder.permits;
    }
    resource.grantNext(this.timeUs);
  }

  /** Returns an undelivered grant to the queue. `isCallOpen` is false if the call has ended. */
  giveBack(name: string, requestId: string, { attach }: Attachment, isCallOpen: boolean): void {
    const resource = this.open(name);
    const holder = resource.holderOf(requestId);
    if (holder?.attachment.attach === attach && !holder.isShared) {
      resource.requeue(holder, isCallOpen ? null : this.timeUs);
    }
    resource.grantNext(this.timeUs);
  }

  /** Marks a server's waiters of a name as alive. `waiting` maps their request ids to their attach values. */
  touch(name: string, server: string, waiting: ReadonlyMap<string, string>): TouchReply {
    const resource = this.open(name, server);
    const known = new Map<string, SimWaiter | SimHolder>();
    for (const requestId of waiting.keys()) {
      const found = resource.waiter(requestId) ?? resource.holderOf(requestId);
      if (found !== undefined) known.set(requestId, found);
    }
    const mine = [...known].filter(([id, { attachment }]) => attachment.attach === waiting.get(id));
    for (const [, entry] of mine) if ('detachedAt' in entry) entry.detachedAt = null;
    resource.grantNext(this.timeUs);
    return {
      offers: mine.map(([id]) => id).filter((id) => !resource.waiter(id) && resource.holderOf(id)),
      gone: [...waiting.keys()].filter((id) => !known.has(id)),
      superseded: [...known.keys()].filter((id) => !mine.some(([own]) => own === id)),
      nextEndInUs: resource.nextEnd() - this.timeUs,
    };
  }

  renew(leaseId: string, ttlUs: Micros | null, attach: string | null): RenewReply {
    const resource = this.byLease(leaseId);
    const holder = resource.holders.get(leaseId) ?? this.resurrected(resource, leaseId);
    if (holder === undefined) {
      return { state: 'ended', cause: resource.tombstone({ leaseId })?.cause ?? null };
    }
    if (attach !== null && holder.attachment.attach !== attach) return { state: 'superseded' };
    holder.ttlUs = Math.max(holder.ttlUs, ttlUs ?? 0);
    const end = this.timeUs + (ttlUs ?? holder.ttlUs);
    holder.endUs = this.isBroken('renewal_shortens') ? end : Math.max(holder.endUs, end);
    resource.grantNext(this.timeUs);
    return this.reply(holder, resource);
  }

  /** Attaches a newer stream to a lease. The older stream is superseded. */
  attach(leaseId: string, attachment: Attachment): RenewReply {
    const resource = this.byLease(leaseId);
    const holder = resource.holders.get(leaseId);
    if (holder !== undefined) holder.attachment = attachment;
    const renewed = this.renew(leaseId, null, null);
    return renewed.state === 'held' ? { ...renewed, known: true } : renewed;
  }

  release(leaseId: string): { readonly released: boolean; readonly cause: LossCause | null } {
    const resource = this.byLease(leaseId);
    const held = resource.holders.get(leaseId);
    const anyHolder = this.isBroken('no_owner_compare') ? [...resource.holders.values()][0] : undefined;
    const holder = held ?? anyHolder;
    if (holder === undefined) {
      const cause = resource.tombstone({ leaseId })?.cause ?? null;
      return cause === 'RELEASED' ? { released: true, cause: null } : { released: false, cause };
    }
    resource.end(holder, 'RELEASED', this.timeUs);
    if (held !== undefined) {
      this.publish(holder.attachment.server, { kind: 'ended', requestId: holder.requestId });
    }
    resource.grantNext(this.timeUs);
    return { released: true, cause: null };
  }

  setLimit(name: string, limit: number): void {
    const resource = this.open(name);
    const lowered = limit < (this.limits.get(name) ?? 0);
    if (lowered && this.isBroken('lowered_limit_ignored')) return;
    this.limits.set(name, limit);
    resource.setLimit(limit);
    resource.grantNext(this.timeUs);
  }

  /** Deletes all data except the limits. */
  flush(): void {
    this.resources.clear();
  }

  /** The live holders and offers of a name. A read without side effects. */
  holders(name: string): readonly SimHolder[] {
    const holders = [...(this.resources.get(name)?.holders.values() ?? [])];
    return holders.filter((holder) => holder.endUs > this.clockUs);
  }

  free(name: string): number {
    return this.open(name).free;
  }

  /** The keys of holders and waiters. The keys of the names themselves stay for their retention time. */
  keys(): string[] {
    return [...this.resources.keys()].flatMap((name) => {
      const { holders, waiters } = this.open(name);
      return [
        ...[...holders.values()].map((holder) => `holder:${name}:${holder.requestId}`),
        ...waiters.map((waiter) => `waiter:${name}:${waiter.requestId}`),
      ];
    });
  }

  private open(name: string, server: string | null = null): SimResource {
    let resource = this.resources.get(name);
    if (resource === undefined) {
      const limit = this.limits.get(name) ?? 0;
      resource = new SimResource(name, limit, this.publish, this.isBroken);
      this.resources.set(name, resource);
    }
    this.timeUs = Math.max(this.timeUs + 1, this.clockUs);
    resource.begin(this.timeUs, server);
    return resource;
  }

  private byLease(leaseId: string): SimResource {
    return this.open(this.leaseNames.get(leaseId) ?? '');
  }

  private known(request: AcquireRequest, resource: SimResource): AcquireReply | null {
    const { requestId } = request;
    const waiter = resource.waiter(requestId);
    if (waiter !== undefined) {
      waiter.attachment = request.attachment;
      waiter.detachedAt = null;
      resource.grantNext(this.timeUs);
    }
    const holder = resource.holderOf(requestId);
    if (holder !== undefined) {
      if (holder.state === 'held' && this.isBroken('double_grant_on_reconnect')) {
        resource.drop(holder);
        return null;
      }
      const known = holder.state === 'held';
      holder.isShared ||= known;
      if (!known || request.stream) holder.attachment = request.attachment;
      resource.claim(holder, this.timeUs);
      if (request.stream) holder.endUs = Math.max(holder.endUs, this.timeUs + holder.ttlUs);
      return this.reply(holder, resource, known);
    }
    if (waiter !== undefined) return this.queued(waiter, resource);
    const ended = resource.tombstone({ requestId }) !== undefined;
    return ended && !this.isBroken('finished_grants_again') ? { state: 'finished' } : null;
  }

  private queued(waiter: SimWaiter, resource: SimResource): AcquireReply {
    const position = resource.waiters.indexOf(waiter) + 1;
    return {
      state: 'queued',
      ticket: waiter.ticket,
      position,
      nextEndInUs: resource.nextEnd() - this.timeUs,
    };
  }

  private reply(holder: SimHolder, resource: SimResource, known = false): LeaseReply {
    const { requestId, leaseId, token, permits, ttlUs } = holder;
    this.leaseNames.set(leaseId, resource.name);
    const remainingUs = holder.endUs - this.timeUs;
    return { state: 'held', requestId, leaseId, token, permits, ttlUs, remainingUs, known };
  }

  private resurrected(resource: SimResource, leaseId: string): SimHolder | undefined {
    const ended = resource.tombstone({ leaseId });
    if (ended === undefined || !this.isBroken('renew_resurrects')) return undefined;
    resource.insert(ended.holder);
    return ended.holder;
  }
}
