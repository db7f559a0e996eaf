/**
 * Workers that repeatedly acquire, hold and release a lock or a semaphore. Each worker records the time spans in which it
 * believed in a grant. over-issue.ts judges these records, independently of the contender.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import type { Contender, Permit } from '../chapter/contender';
import { makeContender, type ContenderName } from '../chapter/contenders';
import { interruptions, within, type Pauses, type Range } from '../chapter/interruptions';
import type { Believed } from '../chapter/over-issue';
import { monotonicMs } from '../support/monotonic';
import { serveTasks } from './serve-tasks';

const WARM_UP_MS = 2000;

export interface Habits {
  readonly ttlMs: number;
  readonly holdMs: Range;
  /** The time between a release and the next acquire. */
  readonly idleMs: Range;
  /** One hold in `oneIn` is long. */
  readonly longHold?: { readonly oneIn: number; readonly ms: Range };
  /** The lead of the machine's clock over the true time. */
  readonly clockAheadMs: number;
  readonly pauses?: Pauses;
  /** One holder in this many dies, and a new worker takes its place. */
  readonly deathOneIn?: number;
}

export interface Play {
  readonly contender: ContenderName;
  readonly limit: number;
  /** Each name has `workers` workers in this process. */
  readonly names: readonly string[];
  readonly workers: number;
  readonly habits: Habits;
  readonly redisPort: number;
  readonly address: string;
}

export interface Account {
  readonly grants: Believed[];
  /** The times from the first acquire to the grant (ms). A wait without a grant counts until the end of the run. */
  readonly waits: number[];
}

class Worker {
  private readonly redis: Redis;
  private readonly contender: Contender;
  private readonly pause: () => Promise<void>;

  constructor(
    private readonly play: Play,
    private readonly name: string,
    private readonly account: Account,
  ) {
    const { habits, address, limit, contender, redisPort } = play;
    this.redis = new Redis(redisPort, '127.0.0.1', { lazyConnect: true });
    this.pause = interruptions(habits.pauses);
    this.contender = makeContender(contender, {
      redis: this.redis,
      address,
      limit,
      clock: () => performance.timeOrigin + performance.now() + habits.clockAheadMs,
      pause: this.pause,
    });
  }

  /** Connects, and makes a first acquire and release, which cost more than later calls. */
  async warmUp(): Promise<void> {
    const permit = await this.contender.acquire(
      `warm-up-${randomUUID()}`,
      this.play.habits.ttlMs,
      WARM_UP_MS,
    );
    await permit?.release();
  }

  async work(end: number): Promise<void> {
    const { idleMs } = this.play.habits;
    for (;;) {
      const permit = await this.wait(end);
      if (permit === undefined) return;
      await this.holdAndReturn(permit);
      if (monotonicMs() >= end) return;
      if (idleMs[1] > 0) await sleep(within(idleMs));
    }
  }

  close(): void {
    this.contender.close?.();
    this.redis.disconnect();
  }

  private async wait(end: number): Promise<Permit | undefined> {
    const askedAt = monotonicMs();
    let permit: Permit | undefined;
    while (permit === undefined && monotonicMs() < end) {
      permit = await this.contender.acquire(this.name, this.play.habits.ttlMs, end - monotonicMs());
    }
    this.account.waits.push(monotonicMs() - askedAt);
    return permit;
  }

  private async holdAndReturn(permit: Permit): Promise<void> {
    const { deathOneIn } = this.play.habits;
    await this.pause();
    const from = monotonicMs();
    const lostAt = await this.hold(permit);
    const dies = deathOneIn !== undefined && Math.random() < 1 / deathOneIn;
    if (!dies) await this.pause();
    const to = Math.min(monotonicMs(), lostAt, permit.until);
    this.account.grants.push({ name: this.name, from, to });
    if (dies) permit.abandon?.();
    else await permit.release();
  }

  /** Holds the permit. Resolves to the time at which the holder learned of its loss, or to Infinity without a loss. */
  private async hold(permit: Permit): Promise<number> {
    const { holdMs, longHold, ttlMs } = this.play.habits;
    const isLong = longHold !== undefined && Math.random() < 1 / longHold.oneIn;
    const end = monotonicMs() + within(isLong ? longHold.ms : holdMs);
    for (let left = end - monotonicMs(); left > 0; left = end - monotonicMs()) {
      await sleep(Math.min(left, ttlMs / 3));
      if (monotonicMs() >= end || permit.refresh === undefined) continue;
      if (!(await permit.refresh())) return monotonicMs();
    }
    return Infinity;
  }
}

const trueNow = Date.now;
let workers: Worker[] = [];
let account: Account = { grants: [], waits: [] };

const tasks = {
  prepare: async (play: Play) => {
    // The npm packages read Date.now themselves.
    Date.now = () => trueNow() + play.habits.clockAheadMs;
    account = { grants: [], waits: [] };
    workers = play.names.flatMap((name) =>
      Array.from({ length: play.workers }, () => new Worker(play, name, account)),
    );
    await Promise.all(workers.map((worker) => worker.warmUp()));
  },
  play: async ({ forMs }: { forMs: number }) => {
    const end = monotonicMs() + forMs;
    await Promise.all(workers.map((worker) => worker.work(end)));
  },
  account: async () => {
    for (const worker of workers) worker.close();
    return Promise.resolve(account);
  },
};

export type ChapterTasks = typeof tasks;

serveTasks(tasks);
