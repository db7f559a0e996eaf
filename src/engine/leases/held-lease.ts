import type { TimerQueue, TimerEntry } from './timer-queue';
import type { HoldSink } from './requests';
import type { Clock } from '../clock';
import { type HoldfastError, reportDefect } from '../errors';
import { confirmedEnd, expireOffsetMs } from './expire-offset';
import type { LossCause, Resource } from './lease';
import { draining, leaseLost, reattach, superseded } from './outcomes';
import type { Granted, PermitsStore, RenewReply } from './permits-store';

const LONGEST_RENEWAL_INTERVAL_MS = 10_000;
const LONGEST_RETRY_INTERVAL_MS = 1000;
const SHORTEST_RETRY_INTERVAL_MS = 20;

/** A renewal that was sent; `reported` once the client was told that it failed. */
interface Attempt {
  readonly sentAt: number;
  reported: boolean;
}

export interface HeldLeaseOptions {
  readonly store: PermitsStore;
  readonly clock: Clock;
  readonly timers: TimerQueue;
  readonly sink: HoldSink;
  readonly resource: Resource;
  readonly requestId: string;
  readonly attach: string;
  /** When the call that opened the stream was received: what its offsets are counted from. */
  readonly receivedAt: number;
  readonly granted: Granted;
  /** When the stream is old enough to be replaced. */
  readonly agesAt: number;
  readonly onDefect: (error: unknown) => void;
}

/**
 * A lease that a stream holds: renewed every third of its ttl (at most every 10 s) while the stream lives.
 *
 *     holding --released--> over (OK)          --superseded--> over (SUPERSEDED)
 *             --aged, draining--> renewed once more --> over (REATTACH, DRAINING)
 *             --the store says ended, or the last confirmed end comes--> lost, over (LEASE_LOST)
 *             --the stream breaks--> over; the lease lives on to its end
 *
 * A failed renewal is not a loss: it is retried until the last end that the store has confirmed, and an
 * unanswered one does not move that end. After `lost` nothing is renewed.
 */
export class HeldLease {
  private ttlMs: number;
  private confirmedEnd: number;
  private confirmedOffsetMs: number;
  private renewAt: number;
  private attempt: Attempt | undefined;
  private failing = false;
  private lookAgain = false;
  private closing: HoldfastError | undefined;
  private over = false;
  private entry: TimerEntry | undefined;
  private readonly settle: { resolve: () => void; reject: (error: HoldfastError) => void };
  /** Resolves when the lease was released or the stream broke; rejects with the stream's status. */
  readonly done: Promise<void>;

  constructor(private readonly options: HeldLeaseOptions) {
    const { granted } = options;
    this.ttlMs = granted.ttlMs;
    this.confirmedEnd = confirmedEnd(granted.sentAt, granted.remainingMs);
    this.confirmedOffsetMs = expireOffsetMs(options.receivedAt, granted.sentAt, granted.remainingMs);
    this.renewAt = granted.sentAt + Math.min(granted.remainingMs / 2, this.interval());
    let settle: typeof this.settle | undefined;
    this.done = new Promise((resolve, reject) => (settle = { resolve, reject }));
    this.settle = settle as unknown as typeof this.settle;
    this.schedule();
  }

  /** A hint that something happened to the lease: find out. */
  recheck(): void {
    if (this.attempt) this.lookAgain = true;
    else this.renewAt = this.options.clock.now();
    this.tick();
  }

  supersede(): void {
    this.end(superseded(this.options.resource));
  }

  /** Renews once more, then ends the stream. */
  drain(): void {
    this.close(draining());
  }

  /** The client is gone. That proves nothing about its work, so the lease stays until its end. */
  abandon(): void {
    this.end(undefined);
  }

  private close(reason: HoldfastError): void {
    if (this.closing) return;
    this.closing = reason;
    if (!this.attempt) this.renewAt = this.options.clock.now();
    this.tick();
  }

  private interval(): number {
    return Math.min(this.ttlMs / 3, LONGEST_RENEWAL_INTERVAL_MS);
  }

  private overdueAt(attempt: Attempt): number {
    return attempt.sentAt + this.ttlMs / 2;
  }

  private tick(): void {
    const now = this.options.clock.now();
    if (this.over) return;
    if (now >= this.confirmedEnd)
      return this.lose(this.failing || this.attempt ? 'store-unavailable' : 'expired');
    if (now >= this.options.agesAt && !this.closing) return this.close(reattach(this.options.resource));
    if (this.attempt && !this.attempt.reported && now >= this.overdueAt(this.attempt)) {
      this.attempt.reported = true;
      this.failed(now);
    }
    if (now >= this.renewAt) this.renew(now);
    this.schedule();
  }

  private schedule(): void {
    const { timers, agesAt } = this.options;
    this.entry?.cancel();
    const overdueAt = this.attempt && !this.attempt.reported ? this.overdueAt(this.attempt) : Infinity;
    const time = Math.min(this.confirmedEnd, this.renewAt, overdueAt, this.closing ? Infinity : agesAt);
    this.entry = timers.at(time, () => this.tick());
  }

  private renew(now: number): void {
    const { store, resource, requestId, attach, granted, onDefect } = this.options;
    const attempt: Attempt = { sentAt: now, reported: false };
    this.attempt = attempt;
    this.renewAt = Infinity;
    store
      .renew(resource, {
        requestId,
        secret: granted.secret,
        ttlMs: undefined,
        stream: { attach, takeOver: false },
      })
      .then(
        (reply) => this.answered(attempt, reply),
        (error) => {
          reportDefect(error, onDefect);
          this.unanswered(attempt);
        },
      )
      .catch(onDefect);
  }

  private answered(attempt: Attempt, reply: RenewReply): void {
    const now = this.options.clock.now();
    if (this.over) return;
    // A server that was stopped past the end must not come back with a renewal, answered or not.
    if (now >= this.confirmedEnd) return this.tick();
    if (this.attempt === attempt) this.attempt = undefined;
    switch (reply.kind) {
      case 'granted':
        return this.renewed(reply);
      case 'finished':
        return reply.cause === 'released' ? this.released() : this.lose(reply.cause, true);
      case 'superseded':
        return this.supersede();
      case 'gone':
        return this.lose('store-reset', true);
    }
  }

  private renewed(reply: Granted): void {
    const { receivedAt, sink } = this.options;
    this.ttlMs = reply.ttlMs;
    this.failing = false;
    const end = confirmedEnd(reply.sentAt, reply.remainingMs);
    if (end > this.confirmedEnd) {
      this.confirmedEnd = end;
      this.confirmedOffsetMs = expireOffsetMs(receivedAt, reply.sentAt, reply.remainingMs);
    }
    sink.send({ kind: 'renewed', expireOffsetMs: this.confirmedOffsetMs });
    if (this.closing) return this.end(this.closing);
    this.renewAt = this.lookAgain ? this.options.clock.now() : reply.sentAt + this.interval();
    this.lookAgain = false;
    this.tick();
  }

  private unanswered(attempt: Attempt): void {
    const now = this.options.clock.now();
    if (this.over || now >= this.confirmedEnd) return this.tick();
    if (this.attempt === attempt) this.attempt = undefined;
    if (!attempt.reported) this.failed(now);
    this.tick();
  }

  /** Tells the client, and tries again soon. */
  private failed(now: number): void {
    this.failing = true;
    const { sink } = this.options;
    sink.send({ kind: 'renewal-failed', expireOffsetMs: this.confirmedOffsetMs, cause: 'store-unavailable' });
    if (this.closing) return this.end(this.closing);
    const pause = Math.max(this.ttlMs / 10, SHORTEST_RETRY_INTERVAL_MS);
    this.renewAt = now + Math.min(pause, LONGEST_RETRY_INTERVAL_MS);
  }

  private released(): void {
    this.options.sink.send({ kind: 'released' });
    this.end(undefined);
  }

  private lose(cause: LossCause, storeSaidSo = false): void {
    this.options.sink.send({ kind: 'lost', cause });
    this.end(leaseLost(this.options.resource, cause));
    // An unanswered renewal may have moved the store's end: the holder has been told, so free it for the next.
    if (!storeSaidSo) this.releaseWhatIsLeft(this.options.clock.now() + this.ttlMs);
  }

  private releaseWhatIsLeft(until: number): void {
    const { store, clock, timers, resource, requestId, attach, granted, onDefect } = this.options;
    store.release(resource, { requestId, secret: granted.secret, afterLoss: { attach } }).catch((error) => {
      reportDefect(error, onDefect);
      const retryAt = clock.now() + LONGEST_RETRY_INTERVAL_MS;
      if (retryAt < until) timers.at(retryAt, () => this.releaseWhatIsLeft(until));
    });
  }

  private end(status: HoldfastError | undefined): void {
    if (this.over) return;
    this.over = true;
    this.entry?.cancel();
    if (status) this.settle.reject(status);
    else this.settle.resolve();
  }
}
