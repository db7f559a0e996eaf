import { setTimeout as sleep } from 'node:timers/promises';
import { randomUUID } from 'node:crypto';
import { between, oneOf } from '../../../support/random';
import { CallEnded } from '../../held';
import { SessionClient, type SessionClientOptions } from '../../sessions/session-client';
import type { SessionLease } from '../../sessions/session-lease';
import type { SessionWanted } from '../../sessions/session-record';
import type { SessionRequest } from '../../sessions/session-request';
import { pickUse } from './session-uses';
import type { Resource } from './traffic';

export interface SessionUserOptions extends SessionClientOptions {
  /** The number of leases that the user wants at the same time. */
  readonly leaseCount: number;
  readonly resources: readonly Resource[];
}

/** From this number of leases on, a user wants mostly wide resources, and holds its leases for longer. */
const LARGE = 30;
const WIDE_PERCENT = 95;
const SHORT_TTL_PERCENT = 10;
const SHORT_TTL_MS = [600, 1200] as const;
const TTL_MS = [1500, 4000] as const;
const LARGE_TTL_MS = [3500, 4000] as const;
const WAIT_MS = [200, 4000] as const;
const PAUSE_MS = [20, 200] as const;
const MOVE_EVERY_MS = [3000, 15_000] as const;
/** The percentage of moves to another session at the same server. */
const STAY_PERCENT = 40;
/** The time after a move at which the older session gets late attaches (ms), and their number. */
const LATE_ATTACH_MS = 300;
const LATE_ATTACHES = 5;
/** The time by which the answer to a request may be late (ms). */
const LATENESS_MS = 6000;
const CLOSE_MS = 12_000;

/** The user of one session at a time: many leases beside each other, and a move to the next session now and then. */
export class SessionUser {
  readonly client: SessionClient;
  private readonly wide: readonly Resource[];

  constructor(private readonly options: SessionUserOptions) {
    this.client = new SessionClient(options);
    this.wide = options.resources.filter(({ isWide }) => isWide);
  }

  get isLarge(): boolean {
    return this.options.leaseCount > LARGE;
  }

  async run(until: number): Promise<void> {
    const lanes = Array.from({ length: this.options.leaseCount }, () => this.useLeases(until));
    await Promise.all([...lanes, this.move(until)]);
    await this.client.close(CLOSE_MS);
  }

  between([least, most]: readonly [number, number]): number {
    return between(this.options.random, least, most);
  }

  happens(percent: number): boolean {
    return this.options.random() * 100 < percent;
  }

  get random(): () => number {
    return this.options.random;
  }

  /** Waits for a lease. Rejects with CallEnded without a lease. */
  async acquire(wanted: SessionWanted): Promise<SessionLease> {
    return this.granted(this.client.acquire(wanted), (wanted.waitMs ?? 0) + LATENESS_MS);
  }

  /** Waits for the outcome of a request. Cancels a request that has no outcome in time. */
  private async granted(request: SessionRequest, timeoutMs: number): Promise<SessionLease> {
    const timer = setTimeout(() => this.client.cancel(request), timeoutMs);
    try {
      return await request.outcome;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Works until the time is over, or until the lease is over. */
  async work(lease: SessionLease, forMs: number): Promise<void> {
    const until = performance.now() + forMs;
    while (lease.isBelieved && performance.now() < until)
      await sleep(Math.min(50, Math.max(0, until - performance.now())));
  }

  private async useLeases(until: number): Promise<void> {
    await sleep(this.between(PAUSE_MS));
    while (performance.now() < until) {
      try {
        await pickUse(this)(this, this.wanted(until));
      } catch (error) {
        // The checkers judge the answers of the service. Every other error is a defect of this program.
        if (!(error instanceof CallEnded)) throw error;
        await sleep(this.between(PAUSE_MS));
      }
    }
  }

  private async move(until: number): Promise<void> {
    for (;;) {
      const pauseMs = this.between(MOVE_EVERY_MS);
      if (performance.now() + pauseMs > until) return;
      await sleep(pauseMs);
      this.client.move(this.happens(STAY_PERCENT));
      await sleep(LATE_ATTACH_MS);
      this.client.attachLate(LATE_ATTACHES);
    }
  }

  private wanted(until: number): SessionWanted {
    const { random, options, wide } = this;
    const isWide = this.isLarge && wide.length > 0 && this.happens(WIDE_PERCENT);
    const { service, name, mostPermits, sharedPercent } = oneOf(random, isWide ? wide : options.resources);
    const ttlMs = this.isLarge ? LARGE_TTL_MS : this.happens(SHORT_TTL_PERCENT) ? SHORT_TTL_MS : TTL_MS;
    return {
      service,
      name,
      requestId: randomUUID(),
      ttlMs: this.between(ttlMs),
      // At the end of the traffic, waits are short, so that the user ends in time.
      waitMs: Math.min(this.between(WAIT_MS), WAIT_MS[0] + Math.max(0, Math.ceil(until - performance.now()))),
      permits: service === 'lock' ? 1 : 1 + Math.floor(random() ** 2 * mostPermits),
      mode: service === 'lock' && (isWide || this.happens(sharedPercent)) ? 'shared' : 'exclusive',
    };
  }
}
