import type { LossCause, Micros } from '../history';
import type { ManualLoop } from './loop';
import type { IsBroken } from './mutations';
import { SimResource, type Publish, type SimHolder, type SimWaiter, type Speaker } from './resource';

export interface AcquireAsk {
  readonly name: string;
  readonly requestId: string;
  readonly speaker: Speaker;
  readonly permits: number;
  readonly ttlUs: Micros;
  /** false: try once. */
  readonly queue: boolean;
  /** A stream: it takes over a lease that its request holds already, and renews it. */
  readonly stream: boolean;
  /** The place it had, where its server remembers one. */
  readonly ticket: number | null;
}

export interface LeaseReply {
  readonly state: 'held';
  readonly requestId: string;
  readonly leaseId: string;
  readonly token: number;
  readonly permits: number;
  readonly ttlUs: Micros;
  readonly remainingUs: Micros;
  /** An earlier call of the request may have delivered it: then no other call may give it back. */
  readonly known: boolean;
}

export type AcquireReply =
  | LeaseReply
  | { readonly state: 'queued'; readonly ticket: number; readonly position: number; readonly inUs: Micros }
  | { readonly state: 'refused' | 'finished' | 'superseded' | 'gone' };

export type RenewReply =
  | LeaseReply
  | { readonly state: 'superseded' }
  | { readonly state: 'ended'; readonly cause: LossCause | 'RELEASED' | null };

export interface TouchReply {
  /** The requests whose permits are offered, or held already. */
  readonly offers: readonly string[];
  readonly gone: readonly string[];
  /** Requests that wait by another call now. */
  readonly superseded: readonly string[];
  /** In how long the earliest lease of the name ends. */
  readonly inUs: Micros;
}

/** The permits store, one method per script; each runs at once and reads the time once. */
export class SimStore {
  private readonly resources = new Map<string, SimResource>();
  private readonly leaseNames = new Map<string, string>();
  /** Redis TIME as the running script has read it: no two scripts run in the same microsecond. */
  private timeUs: Micros = 0;

  constructor(
    private readonly loop: ManualLoop,
    private readonly wallClockUs: Micros,
    private readonly limits: Map<string, number>,
    private readonly publish: Publish,
    private readonly isBroken: IsBroken,
  ) {}

  /** Redis TIME outside of a script. */
  get clockUs(): Micros {
    return this.wallClockUs + this.loop.now;
  }

  acquire(ask: AcquireAsk): AcquireReply {
    const resource = this.open(ask.name, ask.speaker.server);
    const known = this.isBroken('resend_without_idempotence') ? null : this.known(ask, resource);
    if (known !== null) return known;
    resource.promote(this.timeUs);
    const { requestId, permits, ttlUs, speaker } = ask;
    const ticket = ask.ticket ?? resource.nextTicket(this.timeUs);
    const waiter: SimWaiter = { requestId, permits, ttlUs, speaker, ticket, detachedAt: null };
    if (resource.fitsAtOnce(permits, this.timeUs)) {
      return this.reply(resource.take(waiter, 'held', this.timeUs), resource);
    }
    if (!ask.queue) return { state: 'refused' };
    resource.enqueue(waiter);
    return this.queued(waiter, resource);
  }

  claim(name: string, requestId: string, speaker: Speaker): AcquireReply {
    const resource = this.open(name, speaker.server);
    const waiter = resource.waiter(requestId);
    if (waiter !== undefined) {
      if (waiter.speaker.attach !== speaker.attach) return { state: 'superseded' };
      waiter.detachedAt = null;
    }
    resource.promote(this.timeUs);
    const holder = resource.holderOf(requestId);
    if (holder === undefined) {
      if (waiter !== undefined) return this.queued(waiter, resource);
      return { state: resource.tombstone({ requestId }) === undefined ? 'gone' : 'finished' };
    }
    if (holder.speaker.attach !== speaker.attach) return { state: 'superseded' };
    return this.reply(resource.hold(holder, this.timeUs), resource);
  }

  /** The end of a wait is asked for: what was offered meanwhile is granted instead. */
  withdraw(name: string, requestId: string, { attach }: Speaker): AcquireReply {
    const resource = this.open(name);
    const holder = resource.holderOf(requestId);
    if (holder?.speaker.attach === attach) return this.reply(resource.hold(holder, this.timeUs), resource);
    const waiter = resource.waiter(requestId);
    if (waiter?.speaker.attach === attach) resource.dequeue(waiter);
    resource.promote(this.timeUs);
    return { state: 'refused' };
  }

  /** The call that waited has ended; an offer goes back to its place in the queue. */
  detach(name: string, requestId: string, { attach }: Speaker): void {
    const resource = this.open(name);
    const waiter = resource.waiter(requestId);
    if (waiter?.speaker.attach === attach) waiter.detachedAt = this.timeUs;
    const holder = resource.holderOf(requestId);
    if (holder?.speaker.attach === attach && holder.state === 'offered') {
      resource.putBack(holder, this.timeUs);
      if (this.isBroken('permit_leaked_on_cancel')) resource.used += holder.permits;
    }
    resource.promote(this.timeUs);
  }

  /** A claimed grant that could not be delivered goes back to the queue, with or without its call. */
  giveBack(name: string, requestId: string, { attach }: Speaker, callLives: boolean): void {
    const resource = this.open(name);
    const holder = resource.holderOf(requestId);
    if (holder?.speaker.attach === attach && !holder.told) {
      resource.putBack(holder, callLives ? null : this.timeUs);
    }
    resource.promote(this.timeUs);
  }

  /** A server's heartbeat for a name, with the requests that wait there and their attach values. */
  touch(name: string, server: string, waiting: ReadonlyMap<string, string>): TouchReply {
    const resource = this.open(name, server);
    const known = new Map<string, SimWaiter | SimHolder>();
    for (const requestId of waiting.keys()) {
      const one = resource.waiter(requestId) ?? resource.holderOf(requestId);
      if (one !== undefined) known.set(requestId, one);
    }
    const mine = [...known].filter(([id, { speaker }]) => speaker.attach === waiting.get(id));
    for (const [, one] of mine) if ('detachedAt' in one) one.detachedAt = null;
    resource.promote(this.timeUs);
    return {
      offers: mine.map(([id]) => id).filter((id) => !resource.waiter(id) && resource.holderOf(id)),
      gone: [...waiting.keys()].filter((id) => !known.has(id)),
      superseded: [...known.keys()].filter((id) => !mine.some(([own]) => own === id)),
      inUs: resource.nextEnd() - this.timeUs,
    };
  }

  renew(leaseId: string, ttlUs: Micros | null, attach: string | null): RenewReply {
    const resource = this.byLease(leaseId);
    const holder = resource.holders.get(leaseId) ?? this.resurrected(resource, leaseId);
    if (holder === undefined) {
      return { state: 'ended', cause: resource.tombstone({ leaseId })?.cause ?? null };
    }
    if (attach !== null && holder.speaker.attach !== attach) return { state: 'superseded' };
    holder.ttlUs = Math.max(holder.ttlUs, ttlUs ?? 0);
    const end = this.timeUs + (ttlUs ?? holder.ttlUs);
    holder.endUs = this.isBroken('renewal_shortens') ? end : Math.max(holder.endUs, end);
    resource.promote(this.timeUs);
    return this.reply(holder, resource);
  }

  /** A newer stream takes the lease over: from now on only its attach value counts. */
  attach(leaseId: string, speaker: Speaker): RenewReply {
    const resource = this.byLease(leaseId);
    const holder = resource.holders.get(leaseId);
    if (holder !== undefined) holder.speaker = speaker;
    const renewed = this.renew(leaseId, null, null);
    return renewed.state === 'held' ? { ...renewed, known: true } : renewed;
  }

  release(leaseId: string): { readonly released: boolean; readonly cause: LossCause | null } {
    const resource = this.byLease(leaseId);
    const held = resource.holders.get(leaseId);
    const anybody = this.isBroken('no_owner_compare') ? [...resource.holders.values()][0] : undefined;
    const holder = held ?? anybody;
    if (holder === undefined) {
      const cause = resource.tombstone({ leaseId })?.cause ?? null;
      return cause === 'RELEASED' ? { released: true, cause: null } : { released: false, cause };
    }
    resource.end(holder, 'RELEASED', this.timeUs);
    if (held !== undefined) {
      this.publish(holder.speaker.server, { kind: 'ended', requestId: holder.requestId });
    }
    resource.promote(this.timeUs);
    return { released: true, cause: null };
  }

  setLimit(name: string, limit: number): void {
    const resource = this.open(name);
    const lowered = limit < (this.limits.get(name) ?? 0);
    if (lowered && this.isBroken('lowered_limit_ignored')) return;
    this.limits.set(name, limit);
    resource.setLimit(limit);
    resource.promote(this.timeUs);
  }

  /** All data is gone; who sets limits sets them again. */
  flush(): void {
    this.resources.clear();
  }

  /** Who holds or is offered permits of a name, with the ends as the store has them; changes nothing. */
  holders(name: string): readonly SimHolder[] {
    const holders = [...(this.resources.get(name)?.holders.values() ?? [])];
    return holders.filter((holder) => holder.endUs > this.clockUs);
  }

  /** How many permits could be had now. */
  free(name: string): number {
    return this.open(name).free;
  }

  /** What is kept of a name for somebody: not the name itself, which stays for its retention time. */
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

  private known(ask: AcquireAsk, resource: SimResource): AcquireReply | null {
    const { requestId } = ask;
    const waiter = resource.waiter(requestId);
    if (waiter !== undefined) {
      waiter.speaker = ask.speaker;
      waiter.detachedAt = null;
      resource.promote(this.timeUs);
    }
    const holder = resource.holderOf(requestId);
    if (holder !== undefined) {
      if (holder.state === 'held' && this.isBroken('double_grant_on_reconnect')) {
        resource.drop(holder);
        return null;
      }
      const known = holder.state === 'held';
      holder.told ||= known;
      if (!known || ask.stream) holder.speaker = ask.speaker;
      resource.hold(holder, this.timeUs);
      if (ask.stream) holder.endUs = Math.max(holder.endUs, this.timeUs + holder.ttlUs);
      return this.reply(holder, resource, known);
    }
    if (waiter !== undefined) return this.queued(waiter, resource);
    const ended = resource.tombstone({ requestId }) !== undefined;
    return ended && !this.isBroken('finished_grants_again') ? { state: 'finished' } : null;
  }

  private queued(waiter: SimWaiter, resource: SimResource): AcquireReply {
    const position = resource.waiters.indexOf(waiter) + 1;
    return { state: 'queued', ticket: waiter.ticket, position, inUs: resource.nextEnd() - this.timeUs };
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
