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
/** The longest time between two renewals. The server renews after a third of the ttl, and sends an event each time. */
const LONGEST_RENEWAL_MS = 10_000;

export interface LockHoldOptions {
  readonly servers: Servers;
  readonly name: string;
  readonly holderId: string;
  readonly ttlMs: number;
  readonly print: (text: string) => void;
}

/**
 * Requests one lock and holds it over a stream, on which the server renews the lease. If the stream breaks, the hold
 * continues at the next server. Before the grant, the new stream sends the same `request_id`, which keeps the place in
 * the queue. After the grant, the new stream sends the `lease_id`, which attaches to the same lease and never grants a
 * new lease. The work may continue until the deadline of the lease.
 */
export class LockHold {
  /** Resolves when the lock is granted. Rejects if the lock cannot be granted. */
  readonly granted: Promise<HeldLease>;
  private readonly servers: Servers;
  private requestId = randomUUID();
  private lease: HeldLease | undefined;
  private stream: ClientReadableStream<HoldLockResponse> | undefined;
  /** True: a broken stream was reported, and no new stream has been granted or attached yet. */
  private isBroken = false;
  private closed = false;

  constructor(private readonly options: LockHoldOptions) {
    this.servers = options.servers;
    this.granted = new Promise((resolve, reject) => {
      this.follow(resolve).catch((error: Error) => {
        this.lease?.end(
          error instanceof LeaseOver ? error : new LeaseOver(`lease given up: ${error.message}`),
        );
        reject(error);
      });
    });
  }

  /** Releases the lease, so that the next waiter does not wait for the expiry. Safe to repeat. */
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

  /** Closes the stream. A lease that is still held expires after its ttl. */
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

  /** Opens one stream after the other until the lease has ended. */
  private async follow(grant: (lease: HeldLease) => void): Promise<void> {
    for (let failures = 0; !this.closed;) {
      const { error, receivedEvent } = await this.read(grant);
      if (this.closed || this.lease?.isOver) return;
      failures = receivedEvent ? 1 : failures + 1;
      const pauseMs = this.pauseOrGiveUp(error, failures);
      this.servers.next();
      this.printBroken(error);
      // The end of the lease ends the pause.
      await sleep(pauseMs, undefined, this.lease && { signal: this.lease.over }).catch(() => undefined);
    }
  }

  /** Reads one stream to its end. The call has no deadline, because the stream stays open for as long as the lease. */
  private async read(
    grant: (lease: HeldLease) => void,
  ): Promise<{ error?: ServiceError; receivedEvent: boolean }> {
    // `t0` must be earlier than the receipt of the request by the server, because offsets count from this receipt.
    const t0 = performance.now();
    const stream = this.servers.client().holdLock(this.request());
    this.stream = stream;
    // A server that sends nothing for two renewal periods has failed. A third of the ttl is then left to attach at
    // another server. The timer acts only on a held lease, because a waiter receives few events.
    const silence = setTimeout(() => this.lease && stream.cancel(), this.longestSilenceMs());
    let receivedEvent = false;
    try {
      for await (const { holdEvent } of stream as AsyncIterable<HoldLockResponse>) {
        receivedEvent = true;
        silence.refresh();
        this.onEvent(t0, holdEvent?.event, grant);
      }
      return { receivedEvent };
    } catch (error) {
      return { error: error as ServiceError, receivedEvent };
    } finally {
      clearTimeout(silence);
    }
  }

  private request(): HoldLockRequest {
    if (this.lease) return { start: { $case: 'leaseId', value: this.lease.id } };
    const { name, holderId, ttlMs } = this.options;
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
    return 2 * Math.min(this.options.ttlMs / 3, LONGEST_RENEWAL_MS);
  }

  private onEvent(t0: number, event: HoldEvent['event'], grant: (lease: HeldLease) => void): void {
    const { print } = this.options;
    switch (event?.$case) {
      case 'queued': {
        const { position, waiterCount, holder } = event.value;
        print(`queued: place ${position} of ${waiterCount}${holder ? `, behind ${holder.holderId}` : ''}`);
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
        print(`renewal failed: ${causeText(event.value.cause)}; ${this.leftText()}`);
        return;
      case 'released':
        this.lease?.end(new LeaseOver('lease released'));
        return;
      case 'lost':
        this.lease?.end(new LeaseOver(`lease lost: ${causeText(event.value.cause)}`));
        return;
      case undefined: // an event kind of a newer server, which this client ignores
    }
  }

  private onGranted(t0: number, lease: Lease, grant: (lease: HeldLease) => void): void {
    if (this.lease === undefined) {
      this.lease = new HeldLease(t0, lease);
      grant(this.lease);
    } else if (lease.fencingToken !== this.lease.token) {
      // This cannot happen, because attaching never grants a new lease. Work must not continue with another token.
      this.lease.end(new LeaseOver(`lease lost: the lock came back under another token`));
    } else {
      this.lease.renewed(t0, lease.expireOffset);
      this.options.print(
        `attached at ${this.servers.address}, same token ${lease.fencingToken}; ${this.leftText()}`,
      );
    }
    this.isBroken = false;
  }

  /** The pause before the next stream (ms). Throws if no new stream can help. */
  private pauseOrGiveUp(error: ServiceError | undefined, failures: number): number {
    const fault = holdfastError(error);
    if (this.lease && fault?.reason === 'LEASE_NOT_HELD') {
      throw new LeaseOver(`lease lost: ${fault.metadata.get('cause') ?? 'cause unknown'}`);
    }
    if (!this.lease && fault?.reason === 'REQUEST_FINISHED') {
      // The lock was granted while no stream was open, and the lease has expired. No work was done under this lease.
      this.requestId = randomUUID();
      return 0;
    }
    const pauseMs = pauseAfter(error, failures);
    if (pauseMs === undefined) throw error ?? new Error('the stream ended');
    return pauseMs;
  }

  /** Prints a broken stream once, and not for each attempt to open a new stream. */
  private printBroken(error: ServiceError | undefined): void {
    if (this.isBroken) return;
    this.isBroken = true;
    const plan = this.lease ? `attaching by lease_id; ${this.leftText()}` : 'still waiting by request_id';
    this.options.print(`stream failed (${error?.details ?? 'ended without a reason'}); ${plan}`);
  }

  private leftText(): string {
    return `${spanText(Math.max(0, this.lease?.leftMs ?? 0))} left`;
  }
}
