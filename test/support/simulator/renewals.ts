import type { LossCause, Micros } from '../history';
import type { IsBroken } from './loop';
import {
  COMMAND_TIMEOUT,
  expireOffset,
  type LeaseReply,
  type RenewReply,
  type StoreCommands,
  type Stream,
} from './messages';
import type { SimServer } from './server';
import type { SimStore } from './store';

const SECOND: Micros = 1_000_000;

/** Renews the leases of a server's streams, and reports `lost` at their last confirmed end. */
export class Renewals {
  constructor(
    private readonly server: SimServer,
    private readonly commands: StoreCommands,
    private readonly store: SimStore,
    private readonly isBroken: IsBroken,
  ) {}

  start(stream: Stream, lease: LeaseReply): void {
    this.renewAfter(stream, renewalInterval(lease));
    this.watchEnd(stream);
  }

  private renewAfter(stream: Stream, delay: Micros): void {
    this.server.after(delay, () => {
      const { lease } = stream;
      if (stream.state !== 'held' || lease === null) return;
      stream.unconfirmed = true;
      this.commands.send(
        () => this.store.renew(lease.leaseId, null, stream.attachment.attach),
        (reply, sentAt) => this.onRenewed(stream, lease, reply, sentAt),
        () => this.onRenewalFailed(stream, lease),
        Math.min(lease.ttlUs / 6, COMMAND_TIMEOUT),
      );
    });
  }

  private onRenewed(stream: Stream, lease: LeaseReply, reply: RenewReply, sentAt: Micros): void {
    if (stream.state !== 'held') return;
    if (reply.state === 'superseded') return this.server.end(stream, 'ABORTED', 'SUPERSEDED');
    if (reply.state === 'ended') {
      if (reply.cause === 'RELEASED') this.server.released(stream);
      else this.lost(stream, reply.cause ?? 'STORE_RESET');
      return;
    }
    const expireOffsetUs = expireOffset(stream.openedAt, sentAt, reply.remainingUs);
    stream.unconfirmed = false;
    stream.confirmedEnd = Math.max(stream.confirmedEnd, stream.openedAt + expireOffsetUs);
    const { leaseId } = lease;
    this.server.answer(stream.call, { type: 'renewed', lease: leaseId, ttlUs: reply.ttlUs, expireOffsetUs });
    this.renewAfter(stream, renewalInterval(lease));
  }

  /** Retries until the last confirmed end. A failed renewal is not a loss. See `docs/design/leases.md`, rule 2. */
  private onRenewalFailed(stream: Stream, { leaseId, ttlUs }: LeaseReply): void {
    if (stream.state !== 'held') return;
    if (this.isBroken('failed_renewal_is_loss')) return this.lost(stream, 'STORE_UNAVAILABLE');
    this.server.answer(stream.call, { type: 'renewal_failed', lease: leaseId, cause: 'STORE_UNAVAILABLE' });
    this.renewAfter(stream, Math.min(ttlUs / 20, SECOND / 5));
  }

  private watchEnd(stream: Stream): void {
    this.server.after(stream.confirmedEnd - this.server.now, () => {
      if (stream.state !== 'held') return;
      if (stream.confirmedEnd > this.server.now) return this.watchEnd(stream);
      this.lost(stream, stream.unconfirmed ? 'STORE_UNAVAILABLE' : 'EXPIRED');
    });
  }

  private lost(stream: Stream, cause: LossCause): void {
    if (this.isBroken('swallowed_lost')) {
      stream.state = 'over';
      return;
    }
    this.server.answer(stream.call, { type: 'lost', lease: stream.lease?.leaseId ?? '', cause });
    this.server.end(stream, 'ABORTED', 'LEASE_LOST');
  }
}

function renewalInterval(lease: LeaseReply): Micros {
  return Math.min(lease.ttlUs / 3, 10 * SECOND);
}

/** Touches each name with waiters at this server every second. See `docs/design/leases.md`, rule 6. */
export class Touches {
  private readonly touched = new Set<string>();

  constructor(
    private readonly server: SimServer,
    private readonly commands: StoreCommands,
    private readonly store: SimStore,
    private readonly isBroken: IsBroken,
  ) {}

  /** Starts the touches of a name, and adds a touch at the end of the name's earliest lease. */
  start(name: string, nextEndInUs: Micros): void {
    if (!this.touched.has(name)) {
      this.touched.add(name);
      this.touchEvery(name, this.isBroken('slow_expiry') ? 3.5 * SECOND : SECOND);
    }
    this.touchAtEnd(name, nextEndInUs);
  }

  private touchEvery(name: string, interval: Micros): void {
    this.server.after(interval, () => {
      // After a claim or a withdrawal in flight (`asking`), a stream may still wait. So the server goes on touching.
      if (this.streamsOf(name, ['waiting', 'asking']).length === 0) {
        this.touched.delete(name);
        return;
      }
      this.touch(name);
      this.touchEvery(name, interval);
    });
  }

  private touchAtEnd(name: string, nextEndInUs: Micros): void {
    if (nextEndInUs <= SECOND && !this.isBroken('slow_expiry')) {
      this.server.after(Math.max(0, nextEndInUs) + 1_000, () => this.touch(name));
    }
  }

  private touch(name: string): void {
    const waiting = this.streamsOf(name, ['waiting']);
    if (waiting.length === 0) return;
    const attaches = new Map(waiting.map(({ call, attachment }) => [call.requestId, attachment.attach]));
    this.commands.sendGranting(
      () => this.store.touch(name, this.server.name, attaches),
      (reply) => {
        for (const stream of waiting.filter(({ state }) => state === 'waiting')) {
          const { requestId } = stream.call;
          // Two calls of one request may wait here. The touch carried the attach value of the newer call.
          const isOlder = attaches.get(requestId) !== stream.attachment.attach;
          if (isOlder || reply.superseded.includes(requestId)) {
            this.server.end(stream, 'ABORTED', 'SUPERSEDED');
          } else if (reply.gone.includes(requestId)) this.server.acquire(stream);
          else if (reply.offers.includes(requestId) && !this.isBroken('pubsub_only_wake_up')) {
            this.server.claim(stream, this.server.now);
          }
        }
        this.touchAtEnd(name, reply.nextEndInUs);
      },
    );
  }

  private streamsOf(name: string, states: readonly Stream['state'][]): Stream[] {
    return [...this.server.streams.values()].filter(
      ({ call, state }) => call.name === name && states.includes(state),
    );
  }
}
