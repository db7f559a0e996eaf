import { WHOLE_LOCK } from '../checkers/timeline-types';
import type { LossCause, Micros } from '../history';
import type { IsBroken } from './loop';

const SECOND: Micros = 1_000_000;
/** The duration of an offer. */
const OFFER: Micros = 3 * SECOND;
/** A server without a script for this time is dead. */
const SEEN_FOR: Micros = 4 * SECOND;
/** The time for which a detached waiter keeps its place. */
const KEPT_FOR: Micros = 10 * SECOND;
/** A name without a script for this time is stalled. */
const STALL: Micros = 3 * SECOND;
/** The time for which a tombstone is kept. */
const REMEMBERED: Micros = 60 * SECOND;

/** The only call that may claim, touch or withdraw a request, and the server of that call. */
export interface Attachment {
  readonly attach: string;
  readonly server: string;
}

/** A request in the queue of a name. */
export interface SimWaiter {
  readonly requestId: string;
  readonly permits: number;
  readonly ticket: number;
  readonly ttlUs: Micros;
  attachment: Attachment;
  /** The end of the call or of the offer. The queue skips the waiter until its server claims or touches the waiter. */
  detachedAt: Micros | null;
}

export interface SimHolder {
  readonly requestId: string;
  readonly leaseId: string;
  readonly token: number;
  readonly permits: number;
  readonly ticket: number;
  state: 'offered' | 'held';
  ttlUs: Micros;
  endUs: Micros;
  attachment: Attachment;
  /** True if another call of the request was granted the same lease. Then no call may give the lease back. */
  isShared: boolean;
}

export interface Tombstone {
  readonly holder: SimHolder;
  readonly cause: LossCause | 'RELEASED';
  readonly at: Micros;
}

/** A pub/sub message: a request was offered permits, or its lease has ended. */
export interface StoreMessage {
  readonly kind: 'offer' | 'ended';
  readonly requestId: string;
}

export type Publish = (server: string, message: StoreMessage) => void;

/** The state of one name. Every script reads the time once and passes it on. */
export class SimResource {
  /** The permits in use. Redis has the same counter, so that a mutation can leak permits. */
  used = 0;
  readonly holders = new Map<string, SimHolder>();
  readonly waiters: SimWaiter[] = [];
  private readonly tombstones = new Map<string, Tombstone>();
  private readonly seen = new Map<string, Micros>();
  private lastToken = 0;
  private lastTicket = 0;
  private lastScriptAt: Micros = 0;
  /** Before this time no server counts as dead, because after a stall its touches may still be in the socket. */
  private judgeFrom: Micros = 0;

  constructor(
    readonly name: string,
    private limit: number,
    private readonly publish: Publish,
    private readonly isBroken: IsBroken,
  ) {}

  /** The start of every script. It detects a stall, and removes all expired data. */
  begin(time: Micros, server: string | null): void {
    if (time - this.lastScriptAt > STALL && !this.isBroken('newcomer_passes_after_stall')) {
      this.judgeFrom = time + STALL;
      for (const holder of this.holders.values()) {
        // An idle name looks like a stalled name. An offer older than its ticket is over in both cases.
        const isOffered = holder.state === 'offered' && time - holder.endUs <= KEPT_FOR;
        if (isOffered) holder.endUs = Math.max(holder.endUs, time + STALL);
      }
    }
    this.lastScriptAt = time;
    if (server !== null) this.seen.set(server, time);
    this.purge(time);
  }

  /** The end of every script. It offers permits to the head of the queue while the head fits. */
  grantNext(time: Micros): void {
    for (;;) {
      const alive = this.waiters.filter((waiter) => this.isAlive(waiter, time));
      const head = this.headOf(alive);
      if (head === undefined || !this.fits(head.permits)) return;
      this.dequeue(head);
      this.grant(head, this.isBroken('offset_from_pubsub') ? 'held' : 'offered', time);
      this.publish(head.attachment.server, { kind: 'offer', requestId: head.requestId });
    }
  }

  /** True if a new request is granted immediately. A new request never overtakes a live waiter. */
  fitsNow(permits: number, time: Micros): boolean {
    const hasWaiter = this.waiters.some((waiter) => this.isAlive(waiter, time));
    return !hasWaiter && this.fits(permits);
  }

  /** Takes back all unclaimed offers if the new limit is below the taken permits. */
  setLimit(limit: number): void {
    this.limit = limit;
    if (this.used <= limit || this.isBroken('offer_kept_when_lowered')) return;
    for (const holder of [...this.holders.values()]) {
      if (holder.state === 'offered') this.requeue(holder, null);
    }
  }

  waiter(requestId: string): SimWaiter | undefined {
    return this.waiters.find((waiter) => waiter.requestId === requestId);
  }

  holderOf(requestId: string): SimHolder | undefined {
    return [...this.holders.values()].find((holder) => holder.requestId === requestId);
  }

  tombstone(id: { requestId: string } | { leaseId: string }): Tombstone | undefined {
    if ('requestId' in id) return this.tombstones.get(id.requestId);
    return [...this.tombstones.values()].find(({ holder }) => holder.leaseId === id.leaseId);
  }

  nextTicket(time: Micros): number {
    this.lastTicket = Math.max(this.lastTicket + 1, time);
    return this.lastTicket;
  }

  enqueue(waiter: SimWaiter): void {
    const index = this.waiters.findIndex((other) => other.ticket > waiter.ticket);
    this.waiters.splice(index === -1 ? this.waiters.length : index, 0, waiter);
  }

  dequeue(waiter: SimWaiter): void {
    const index = this.waiters.indexOf(waiter);
    if (index !== -1) this.waiters.splice(index, 1);
  }

  grant(waiter: SimWaiter, state: SimHolder['state'], time: Micros): SimHolder {
    const next = this.lastToken + 1;
    this.lastToken = this.isBroken('counter_only_token') ? next : Math.max(next, time);
    const { requestId, permits, ticket, ttlUs, attachment } = waiter;
    const holder: SimHolder = {
      ...{ requestId, permits, ticket, ttlUs, attachment, state },
      leaseId: JSON.stringify([this.name, requestId, this.lastToken]),
      token: this.lastToken,
      isShared: false,
      endUs: time + (state === 'held' ? ttlUs : OFFER),
    };
    this.insert(holder);
    return holder;
  }

  insert(holder: SimHolder): void {
    this.holders.set(holder.leaseId, holder);
    this.used += this.weightOf(holder);
  }

  claim(holder: SimHolder, time: Micros): SimHolder {
    if (holder.state === 'offered') holder.endUs = time + holder.ttlUs;
    holder.state = 'held';
    return holder;
  }

  /** Returns an undelivered grant or an unclaimed offer to the queue, at its own ticket. */
  requeue(holder: SimHolder, detachedAt: Micros | null): void {
    this.drop(holder);
    const { requestId, permits, ticket, ttlUs, attachment } = holder;
    this.enqueue({ requestId, permits, ticket, ttlUs, attachment, detachedAt });
  }

  end(holder: SimHolder, cause: LossCause | 'RELEASED', time: Micros): void {
    this.drop(holder);
    this.tombstones.set(holder.requestId, { holder, cause, at: time });
  }

  drop(holder: SimHolder): void {
    this.holders.delete(holder.leaseId);
    this.used -= this.weightOf(holder);
  }

  get free(): number {
    return Math.max(0, this.limit - this.used);
  }

  nextEnd(): Micros {
    return Math.min(Infinity, ...[...this.holders.values()].map((holder) => holder.endUs));
  }

  private headOf(alive: readonly SimWaiter[]): SimWaiter | undefined {
    if (this.isBroken('lifo')) return alive.at(-1);
    const small = this.isBroken('small_overtakes_head') && alive.find(({ permits }) => this.fits(permits));
    return small || alive[0];
  }

  private fits(permits: number): boolean {
    const [least, ...others] = [...this.holders.values()]
      .map((holder) => holder.permits)
      .sort((a, b) => a - b);
    if (permits === 1 && least === WHOLE_LOCK && this.isBroken('reader_beside_writer')) return true;
    if (permits === WHOLE_LOCK && least === 1 && this.isBroken('writer_beside_readers')) {
      return others.at(-1) !== WHOLE_LOCK;
    }
    return this.used + permits <= this.limit;
  }

  private weightOf({ permits }: SimHolder): number {
    return this.isBroken('weights_not_counted') ? 1 : permits;
  }

  private isAlive(waiter: SimWaiter, time: Micros): boolean {
    if (this.isBroken('no_liveness_check')) return true;
    if (waiter.detachedAt !== null) return false;
    return time < this.judgeFrom || this.unseenFor(waiter, time) <= SEEN_FOR;
  }

  private unseenFor(waiter: SimWaiter, time: Micros): Micros {
    return time - (this.seen.get(waiter.attachment.server) ?? 0);
  }

  private purge(time: Micros): void {
    for (const holder of [...this.holders.values()]) {
      if (holder.endUs > time) continue;
      if (holder.state === 'offered') this.requeue(holder, time);
      else this.end(holder, 'EXPIRED', time);
    }
    for (const waiter of [...this.waiters]) {
      const unseen = time < this.judgeFrom ? 0 : this.unseenFor(waiter, time);
      const detached = waiter.detachedAt === null ? 0 : time - waiter.detachedAt;
      if (Math.max(unseen, detached) > KEPT_FOR) this.dequeue(waiter);
    }
    for (const [requestId, tombstone] of this.tombstones) {
      if (time - tombstone.at > REMEMBERED) this.tombstones.delete(requestId);
    }
  }
}
