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

export interface WorkerSettings {
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

export interface WorkerGroup {
  readonly contender: ContenderName;
  readonly limit: number;
  /** Each name has `workers` workers in this process. */
  readonly names: readonly string[];
  readonly workers: number;
  readonly settings: WorkerSettings;
  readonly redisPort: number;
  readonly address: string;
}

export interface WorkerRecords {
  readonly grants: Believed[];
  /** The times from the first acquire to the grant (ms). A wait without a grant counts until the end of the run. */
  readonly waits: number[];
}

class Worker {
  private readonly redis: Redis;
  private readonly contender: Contender;
  private readonly pause: () => Promise<void>;

  constructor(
    private readonly group: WorkerGroup,
    private readonly name: string,
    private readonly records: WorkerRecords,
  ) {
    const { settings, address, limit, contender, redisPort } = group;
    this.redis = new Redis(redisPort, '127.0.0.1', { lazyConnect: true });
    this.pause = interruptions(settings.pauses);
    this.contender = makeContender(contender, {
      redis: this.redis,
      address,
      limit,
      clock: () => performance.timeOrigin + performance.now() + settings.clockAheadMs,
      pause: this.pause,
    });
  }

  /** Connects, and makes a first acquire and release, which cost more than later calls. */
  async warmUp(): Promise<void> {
    const permit = await this.contender.acquire(
      `warm-up-${randomUUID()}`,
      this.group.settings.ttlMs,
      WARM_UP_MS,
    );
    await permit?.release();
  }

  async work(end: number): Promise<void> {
    const { idleMs } = this.group.settings;
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
      permit = await this.contender.acquire(this.name, this.group.settings.ttlMs, end - monotonicMs());
    }
    this.records.waits.push(monotonicMs() - askedAt);
    return permit;
  }

  private async holdAndReturn(permit: Permit): Promise<void> {
    const { deathOneIn } = this.group.settings;
    await this.pause();
    const from = monotonicMs();
    const lostAt = await this.hold(permit);
    const dies = deathOneIn !== undefined && Math.random() < 1 / deathOneIn;
    if (!dies) await this.pause();
    const to = Math.min(monotonicMs(), lostAt, permit.until);
    this.records.grants.push({ name: this.name, from, to });
    if (dies) permit.abandon?.();
    else await permit.release();
  }

  /** Holds the permit. Resolves to the time at which the holder learned of its loss, or to Infinity without a loss. */
  private async hold(permit: Permit): Promise<number> {
    const { holdMs, longHold, ttlMs } = this.group.settings;
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
let records: WorkerRecords = { grants: [], waits: [] };

const tasks = {
  prepare: async (group: WorkerGroup) => {
    // The npm packages call Date.now directly, so only a replaced Date.now gives the packages this machine's clock.
    Date.now = () => trueNow() + group.settings.clockAheadMs;
    records = { grants: [], waits: [] };
    workers = group.names.flatMap((name) =>
      Array.from({ length: group.workers }, () => new Worker(group, name, records)),
    );
    await Promise.all(workers.map((worker) => worker.warmUp()));
  },
  /** Resolves to the records of all workers. */
  run: async ({ forMs }: { forMs: number }) => {
    const end = monotonicMs() + forMs;
    await Promise.all(workers.map((worker) => worker.work(end)));
    for (const worker of workers) worker.close();
    return records;
  },
};

export type ChapterTasks = typeof tasks;

serveTasks(tasks);
