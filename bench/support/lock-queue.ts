import { setTimeout as sleep } from 'node:timers/promises';
import { LockClient } from '../../test/support/clients/lease-client';
import type { HandOverTasks } from '../load/hand-over';
import { releaseHeld } from '../load/release-held';
import { LoadGroup } from './load-process';
import { costOf, growthOf, type FullCost, type Stage } from './stage';
import { sum } from './statistics';

const PROCESSES = 2;
/** For waiters in unary calls, of which a server allows a bounded number on a connection. */
const WAITERS_PER_CONNECTION = 250;
const JOINING = 200;
const SETTLING_MS = 200;

/** Two processes with a constant number of waiters for one lock. */
export class LockQueue {
  private readonly group = new LoadGroup<HandOverTasks>('hand-over', PROCESSES);

  private constructor(
    private readonly stage: Stage,
    private readonly waiters: number,
  ) {}

  /** Fills the queue behind a held lock, for the first work. The holder then releases, for the second work. */
  static async during<T>(
    stage: Stage,
    waiters: number,
    work: (queue: LockQueue) => Promise<T>,
    full: () => Promise<void> = () => Promise.resolve(),
  ): Promise<T> {
    const queue = new LockQueue(stage, waiters);
    const holder = new LockClient(stage.server.listen);
    try {
      const name = `bench-${waiters}`;
      const { leaseId } = await holder.acquire({ name, ttlMs: 120_000, waitMs: 0 });
      await queue.join(name, holder);
      await full();
      await releaseHeld(holder, leaseId);
      const result = await work(queue);
      await queue.group.ask('leave', undefined);
      return result;
    } finally {
      holder.close();
      queue.group.end();
    }
  }

  /** The cost of a hand-over with the next place in the queue, if each client holds the lock for this time. */
  async cost(forMs: number, holdMs = 0): Promise<FullCost> {
    await this.group.ask('pace', { pauseMs: holdMs, yardstick: false });
    await sleep(SETTLING_MS);
    const count = async () => sum(await this.group.ask('count', undefined));
    return costOf(this.stage, () => growthOf(count, forMs));
  }

  /** The grants of the lock with this pause before a release, and the times of uncontended acquires in between (ms). */
  async grants(pauseMs: number, forMs: number) {
    await this.group.ask('pace', { pauseMs, yardstick: true });
    await sleep(SETTLING_MS);
    await this.group.ask('take', undefined);
    await sleep(forMs);
    const taken = await this.group.ask('take', undefined);
    return {
      grants: taken.flatMap(({ grants }) => grants),
      uncontended: taken.flatMap(({ uncontended }) => uncontended),
    };
  }

  /** The waiters join some at a time, because a server refuses calls that it cannot answer in time. */
  private async join(name: string, watcher: LockClient): Promise<void> {
    const { listen: address } = this.stage.server;
    const connections = Math.max(2, Math.ceil(this.waiters / PROCESSES / WAITERS_PER_CONNECTION));
    await this.group.askEach('connect', (index) => ({ address, label: `bench-${index}`, connections }));
    for (let joined = 0; joined < this.waiters;) {
      const step = Math.min(JOINING, this.waiters - joined);
      await this.group.askEach('join', (index) => ({
        name,
        waiters: Math.floor((step + index) / PROCESSES),
      }));
      joined += step;
      while ((await watcher.get(name)).waiterCount < joined) await sleep(20);
    }
  }
}
