import type { LossCause, Micros } from '../history';
import { COMMAND_TIMEOUT, type StoreCommands } from './commands';
import type { IsBroken } from './mutations';
import type { SimServer } from './server';
import type { SimStore } from './store';
import type { LeaseReply, RenewReply } from './store-replies';
import { expireOffset, type Stream } from './stream';

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
