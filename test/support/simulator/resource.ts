import { WHOLE_LOCK } from '../checkers/timeline-types';
import type { LossCause, Micros } from '../history';
import type { IsBroken } from './mutations';

const SECOND: Micros = 1_000_000;
const CLAIM: Micros = 3 * SECOND;
const SEEN_FOR: Micros = 4 * SECOND;
const KEPT_FOR: Micros = 10 * SECOND;
const STALL: Micros = 3 * SECOND;
const REMEMBERED: Micros = 60 * SECOND;

/** Whose claim or touch counts: the call that waits or holds, and the server it is on. */
export interface Speaker {
  readonly attach: string;
  readonly server: string;
}

/** Someone in the queue of a name. */
export interface SimWaiter {
  readonly requestId: string;
  readonly permits: number;
  readonly ticket: number;
  readonly ttlUs: Micros;
  speaker: Speaker;
  /** Its call ended, or its offer lapsed: skipped until its server speaks for it again. */
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
  speaker: Speaker;
  /** A second call of the request was told of it, so the first one may not give it back any more. */
  told: boolean;
}

export interface Tombstone {
  readonly holder: SimHolder;
  readonly cause: LossCause | 'RELEASED';
  readonly at: Micros;
}

/** Tells a server that one of its requests was offered permits, or that one of its leases has ended. */
export type Publish = (server: string, message: { kind: 'offer' | 'ended'; requestId: string }) => void;

/**
 * All that the store keeps about one name. Every script reads the time once and hands it over; `used` is a
 * counter of its own, as in a store of flat keys.
 */
export class SimResource {
  used = 0;
  readonly holders = new Map<string, SimHolder>();
  readonly waiters: SimWaiter[] = [];
  private readonly tombstones = new Map<string, Tombstone>();
  private readonly seen = new Map<string, Micros>();
  private lastToken = 0;
  private lastTicket = 0;
  private lastScriptAt: Micros = 0;
  /** Before this nobody is judged dead: the store had stalled, and heartbeats may lie in the sockets. */
  private judgeFrom: Micros = 0;

  constructor(
    readonly name: string,
    private limit: number,
    private readonly publish: Publish,
    private readonly isBroken: IsBroken,
  ) {}

  /** How every script begins. */
  begin(time: Micros, server: string | null): void {
    if (time - this.lastScriptAt > STALL && !this.isBroken('newcomer_passes_after_stall')) {
      this.judgeFrom = time + STALL;
      for (const holder of this.holders.values()) {
        // An idle name looks like a stalled one; past its ticket an offer is over in either case.
        const offered = holder.state === 'offered' && time - holder.endUs <= KEPT_FOR;
        if (offered) holder.endUs = Math.max(holder.endUs, time + STALL);
      }
    }
    this.lastScriptAt = time;
    if (server !== null) this.seen.set(server, time);
    this.purge(time);
  }

  /** How every script ends: while the head of the queue fits, it is offered its permits. */
  promote(time: Micros): void {
    for (;;) {
      const alive = this.waiters.filter((waiter) => this.isAlive(waiter, time));
      const head = this.headOf(alive);
      if (head === undefined || !this.fits(head.permits)) return;
      this.dequeue(head);
      this.take(head, this.isBroken('offset_from_pubsub') ? 'held' : 'offered', time);
      this.publish(head.speaker.server, { kind: 'offer', requestId: head.requestId });
    }
  }

  /** Whether a newcomer is served at once: it never passes anybody who waits and is alive. */
  fitsAtOnce(permits: number, time: Micros): boolean {
    const queued = this.waiters.some((waiter) => this.isAlive(waiter, time));
    return !queued && this.fits(permits);
  }

  /** Lowered below what is out, what was offered and not yet claimed goes back to its own place. */
  setLimit(limit: number): void {
    this.limit = limit;
    if (this.used <= limit || this.isBroken('offer_kept_when_lowered')) return;
    for (const holder of [...this.holders.values()]) {
      if (holder.state === 'offered') this.putBack(holder, null);
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
    const place = this.waiters.findIndex((other) => other.ticket > waiter.ticket);
    this.waiters.splice(place === -1 ? this.waiters.length : place, 0, waiter);
  }

  dequeue(waiter: SimWaiter): void {
    const place = this.waiters.indexOf(waiter);
    if (place !== -1) this.waiters.splice(place, 1);
  }

  take(waiter: SimWaiter, state: SimHolder['state'], time: Micros): SimHolder {
    const counted = this.lastToken + 1;
    this.lastToken = this.isBroken('counter_only_token') ? counted : Math.max(counted, time);
    const { requestId, permits, ticket, ttlUs, speaker } = waiter;
    const holder: SimHolder = {
      ...{ requestId, permits, ticket, ttlUs, speaker, state },
      leaseId: JSON.stringify([this.name, requestId, this.lastToken]),
      token: this.lastToken,
      told: false,
      endUs: time + (state === 'held' ? ttlUs : CLAIM),
    };
    this.insert(holder);
    return holder;
  }

  insert(holder: SimHolder): void {
    this.holders.set(holder.leaseId, holder);
    this.used += this.counted(holder);
  }

  hold(holder: SimHolder, time: Micros): SimHolder {
    if (holder.state === 'offered') holder.endUs = time + holder.ttlUs;
    holder.state = 'held';
    return holder;
  }

  /** A holder that nobody was told of goes back to its own place in the queue. */
  putBack(holder: SimHolder, detachedAt: Micros | null): void {
    this.drop(holder);
    const { requestId, permits, ticket, ttlUs, speaker } = holder;
    this.enqueue({ requestId, permits, ticket, ttlUs, speaker, detachedAt });
  }

  end(holder: SimHolder, cause: LossCause | 'RELEASED', time: Micros): void {
    this.drop(holder);
    this.tombstones.set(holder.requestId, { holder, cause, at: time });
  }

  drop(holder: SimHolder): void {
    this.holders.delete(holder.leaseId);
    this.used -= this.counted(holder);
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

  private counted({ permits }: SimHolder): number {
    return this.isBroken('weights_not_counted') ? 1 : permits;
  }

  private isAlive(waiter: SimWaiter, time: Micros): boolean {
    if (this.isBroken('no_liveness_check')) return true;
    if (waiter.detachedAt !== null) return false;
    return time < this.judgeFrom || this.unseenFor(waiter, time) <= SEEN_FOR;
  }

  private unseenFor(waiter: SimWaiter, time: Micros): Micros {
    return time - (this.seen.get(waiter.speaker.server) ?? 0);
  }

  private purge(time: Micros): void {
    for (const holder of [...this.holders.values()]) {
      if (holder.endUs > time) continue;
      if (holder.state === 'offered') this.putBack(holder, time);
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
