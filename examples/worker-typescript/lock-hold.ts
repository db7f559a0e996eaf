import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Metadata, type ClientReadableStream, type ServiceError } from '@grpc/grpc-js';
import { LockMode, type HoldEvent, type Lease } from '../../generated/typescript/holdfast/v1/lease';
import type {
  HoldLockRequest,
  HoldLockResponse,
  ReleaseLockResponse,
} from '../../generated/typescript/holdfast/v1/lock_service';
import { duration, holdfastError } from '../../clients/typescript';
import { HeldLease, LeaseOver } from './held-lease';
import { pauseAfter } from './retry';
import type { Servers } from './servers';
import { causeText, spanText } from './words';

const RELEASE_TIMEOUT_MS = 2000;
/** The server renews every third of the ttl, at least every 10 s, and says so each time. */
const LONGEST_RENEWAL_MS = 10_000;

export interface Wish {
  readonly servers: Servers;
  readonly name: string;
  readonly holderId: string;
  readonly ttlMs: number;
  readonly say: (text: string) => void;
}

/**
 * One lock, asked for once and held over a stream that the server keeps renewed. When the stream breaks and the
 * lease does not, it goes on at the next server: before the grant with the same `request_id`, which keeps the place
 * in the queue, and after it with the `lease_id`, which attaches to the same lease and never grants. Work goes on
 * meanwhile: the deadline decides about that, not the connection.
 */
export class LockHold {
  /** Resolves when the lock is held. Rejects when it cannot be had. */
  readonly granted: Promise<HeldLease>;
  private readonly servers: Servers;
  private requestId = randomUUID();
  private lease: HeldLease | undefined;
  private stream: ClientReadableStream<HoldLockResponse> | undefined;
  private troubled = false;
  private closed = false;

  constructor(private readonly wish: Wish) {
    this.servers = wish.servers;
    this.granted = new Promise((resolve, reject) => {
      this.follow(resolve).catch((error: Error) => {
        this.lease?.end(
          error instanceof LeaseOver ? error : new LeaseOver(`lease given up: ${error.message}`),
        );
        reject(error);
      });
    });
  }

  /** Gives the lease back, so that the next in the queue need not wait for its end. Harmless to repeat. */
  async release(lease: HeldLease): Promise<ReleaseLockResponse> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.sendRelease(lease.id);
      } catch (error) {
        const pauseMs = pauseAfter(error as ServiceError, attempt);
        if (pauseMs === undefined || attempt > this.servers.count) throw error;
        this.servers.next();
        await sleep(pauseMs);
      }
    }
  }

  /** Lets go of the stream. What is still held lives on to its ttl. */
  close(): void {
    this.closed = true;
    this.stream?.cancel();
  }

  private sendRelease(leaseId: string): Promise<ReleaseLockResponse> {
    return new Promise((resolve, reject) => {
      const options = { deadline: Date.now() + RELEASE_TIMEOUT_MS };
      this.servers.client().releaseLock({ leaseId }, new Metadata(), options, (error, response) => {
        if (error) reject(error);
        else resolve(response);
      });
    });
  }

  /** Opens one stream after the other until the lease is over. */
  private async follow(grant: (lease: HeldLease) => void): Promise<void> {
    for (let failures = 0; !this.closed;) {
      const { error, heard } = await this.read(grant);
      if (this.closed || this.lease?.isOver) return;
      failures = heard ? 1 : failures + 1;
      const pauseMs = this.pauseOrGiveUp(error, failures);
      this.servers.next();
      this.sayBroken(error);
      // Cut short by the end of the lease.
      await sleep(pauseMs, undefined, this.lease && { signal: this.lease.over }).catch(() => undefined);
    }
  }

  /** Reads one stream to its end. Without a deadline: a stream is no call that should be answered by some time. */
  private async read(grant: (lease: HeldLease) => void): Promise<{ error?: ServiceError; heard: boolean }> {
    // Before anything is sent: all offsets of this stream count from the server's receipt, which is later.
    const t0 = performance.now();
    const stream = this.servers.client().holdLock(this.request());
    this.stream = stream;
    // A server that says nothing for two renewals is stuck: there is time to find another one. While waiting there
    // may be nothing to say.
    const silence = setTimeout(() => this.lease && stream.cancel(), this.longestSilenceMs());
    let heard = false;
    try {
      for await (const { holdEvent } of stream as AsyncIterable<HoldLockResponse>) {
        heard = true;
        silence.refresh();
        this.onEvent(t0, holdEvent?.event, grant);
      }
      return { heard };
    } catch (error) {
      return { error: error as ServiceError, heard };
    } finally {
      clearTimeout(silence);
    }
  }

  private request(): HoldLockRequest {
    if (this.lease) return { start: { $case: 'leaseId', value: this.lease.id } };
    const { name, holderId, ttlMs } = this.wish;
    const value = {
      name,
      holderId,
      ttl: duration(ttlMs),
      waitTimeout: undefined,
      metadata: new Map<string, string>(),
      requestId: this.requestId,
      mode: LockMode.LOCK_MODE_EXCLUSIVE,
    };
    return { start: { $case: 'acquire', value } };
  }

  private longestSilenceMs(): number {
    return 2 * Math.min(this.wish.ttlMs / 3, LONGEST_RENEWAL_MS);
  }

  private onEvent(t0: number, event: HoldEvent['event'], grant: (lease: HeldLease) => void): void {
    const { say } = this.wish;
    switch (event?.$case) {
      case 'queued': {
        const { position, waiterCount, holder } = event.value;
        say(`queued: place ${position} of ${waiterCount}${holder ? `, behind ${holder.holderId}` : ''}`);
        return;
      }
      case 'granted':
        if (event.value.lease) this.onGranted(t0, event.value.lease, grant);
        return;
      case 'renewed':
        this.lease?.renewed(t0, event.value.expireOffset);
        return;
      case 'renewalFailed':
        this.lease?.renewed(t0, event.value.expireOffset);
        say(`renewal failed: ${causeText(event.value.cause)}; ${this.leftText()}`);
        return;
      case 'released':
        this.lease?.end(new LeaseOver('lease released'));
        return;
      case 'lost':
        this.lease?.end(new LeaseOver(`lease lost: ${causeText(event.value.cause)}`));
        return;
      case undefined: // a kind of event that a later server has: nothing to do with us
    }
  }

  private onGranted(t0: number, lease: Lease, grant: (lease: HeldLease) => void): void {
    if (this.lease === undefined) {
      this.lease = new HeldLease(t0, lease);
      grant(this.lease);
    } else if (lease.fencingToken !== this.lease.token) {
      // Cannot happen: attaching never grants. Under another token this would not be the work that was begun.
      this.lease.end(new LeaseOver(`lease lost: the lock came back under another token`));
    } else {
      this.lease.renewed(t0, lease.expireOffset);
      this.wish.say(
        `attached at ${this.servers.address}, same token ${lease.fencingToken}; ${this.leftText()}`,
      );
    }
    this.troubled = false;
  }

  /** Answers how long to pause before the next stream; throws where there is to be none. */
  private pauseOrGiveUp(error: ServiceError | undefined, failures: number): number {
    const fault = holdfastError(error);
    if (this.lease && fault?.reason === 'LEASE_NOT_HELD') {
      throw new LeaseOver(`lease lost: ${fault.metadata.get('cause') ?? 'cause unknown'}`);
    }
    if (!this.lease && fault?.reason === 'REQUEST_FINISHED') {
      // The grant came when no stream of ours was there to bring it, and it is over. Nothing was done under it.
      this.requestId = randomUUID();
      return 0;
    }
    const pauseMs = pauseAfter(error, failures);
    if (pauseMs === undefined) throw error ?? new Error('the stream ended');
    return pauseMs;
  }

  /** Once for each time of trouble, not for each try. */
  private sayBroken(error: ServiceError | undefined): void {
    if (this.troubled) return;
    this.troubled = true;
    const plan = this.lease ? `attaching by lease_id; ${this.leftText()}` : 'waiting on by request_id';
    this.wish.say(`stream failed (${error?.details ?? 'ended without a reason'}); ${plan}`);
  }

  private leftText(): string {
    return `${spanText(Math.max(0, this.lease?.leftMs ?? 0))} left`;
  }
}
