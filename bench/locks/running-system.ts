import { setTimeout as sleep } from 'node:timers/promises';
import type { Program } from '../../test/support/toolchains';
import { readVersion } from '../../src/base/redis-address';
import { cpuDuring } from '../support/cpu';
import { LoadProcess } from '../support/load-process';
import { timesOf, type Times } from '../support/statistics';
import { handOversOf, shareInOrder } from './contest';
import type { DriverTasks } from './driver';
import { PAUSED_TTL_MS, pauseHolder, type Driver, type LateWrites } from './pauses';
import type { Store } from './stores';
import { systems, type LockSystem, type SystemName } from './systems';

const PROCESSES = 2;
/** Longer than a run, except for ZooKeeper, which allows 20 ticks. */
const TTL_MS = 60_000;
const HOLD_MS = 2;

export const PARTS = ['clients', 'server', 'redis'] as const;

/** CPU of a grant with its release in each part of a system (µs). 0: the system has no such process. */
export type PartCost = Readonly<Record<(typeof PARTS)[number], number>>;

export interface Queue {
  readonly cost: PartCost;
  /** The times from a release to the next grant. */
  readonly handOver: Times;
  /** The times from the begin of a wait to its grant. */
  readonly wait: Times;
  readonly inOrder: number;
}

/** A system with its store and its two processes of clients. */
export class RunningSystem {
  readonly system: LockSystem;
  private contests = 0;

  private constructor(
    readonly name: SystemName,
    readonly version: string,
    private readonly program: Program,
    private readonly store: Store,
    private readonly drivers: readonly Driver[],
  ) {
    this.system = systems[name];
  }

  static async start(name: SystemName, program: Program, store: Store): Promise<RunningSystem> {
    const { drivers, version } = await startDrivers(name, program, store, TTL_MS);
    return new RunningSystem(name, version, program, store, drivers);
  }

  /** The time of an acquire with one client (ms). */
  async latency(forMs: number): Promise<Times> {
    return timesOf((await this.drivers[0]?.process.ask('alone', { clients: 1, forMs })) ?? []);
  }

  /** Clients with locks of their own. */
  async alone(clients: number, forMs: number): Promise<PartCost> {
    const share = { clients: clients / PROCESSES, forMs };
    return (await this.measured(({ process }) => process.ask('alone', share))).cost;
  }

  /** Waiters for one lock, which is held for this time. The waiters are shared out to the processes. */
  async queue(waiters: number, forMs: number, holdMs = HOLD_MS): Promise<Queue> {
    const name = `contest-${this.name}-${(this.contests += 1)}`;
    const shares = [Math.ceil(waiters / 2), Math.floor(waiters / 2)];
    const { grants, cost } = await this.measured(async ({ process }, index) => {
      const share = shares[index] ?? 0;
      const contest = { name, waiters: share, forMs: forMs + share * holdMs, holdMs };
      return (await process.ask('contend', contest)).map((grant) => ({ ...grant, process: index }));
    });
    const wait = timesOf(grants.map(({ askedAt, grantedAt }) => grantedAt - askedAt));
    return { cost, handOver: timesOf(handOversOf(grants, waiters)), wait, inOrder: shareInOrder(grants) };
  }

  /** Pauses a holder for longer than its TTL, in processes of their own. */
  async pause(): Promise<LateWrites> {
    const { drivers } = await startDrivers(this.name, this.program, this.store, PAUSED_TTL_MS);
    const [holder, waiter] = drivers;
    try {
      if (holder === undefined || waiter === undefined) throw new Error('two drivers are needed');
      const settling = { clients: 1, forMs: PAUSED_TTL_MS / 2 };
      await Promise.all(drivers.map(({ process }) => process.ask('alone', settling)));
      return await pauseHolder(holder, waiter, `paused-${(this.contests += 1)}`);
    } finally {
      for (const { process } of drivers) process.end();
      // The locks of the ended processes expire, so that their end does not disturb the next measurement.
      await sleep(PAUSED_TTL_MS);
    }
  }

  end(): void {
    for (const { process } of this.drivers) process.end();
  }

  /** Both processes work at the same time. Divides the CPU by the number of grants. */
  private async measured<T>(work: (driver: Driver, index: number) => Promise<readonly T[]>) {
    const pids = { clients: this.drivers.map(({ pid }) => pid), ...this.store.pids };
    const all = PARTS.flatMap((part) => pids[part].map((pid) => ({ part, pid })));
    const { result, spentMs } = await cpuDuring(
      all.map(({ pid }) => pid),
      () => Promise.all(this.drivers.map(work)),
    );
    const grants = result.flat();
    const cost = { clients: 0, server: 0, redis: 0 };
    all.forEach(({ part }, index) => (cost[part] += ((spentMs[index] ?? NaN) * 1000) / grants.length));
    return { grants, cost: cost as PartCost };
  }
}

/** The drivers start one after the other, because several Java machines at once disturb each other for long. */
async function startDrivers(system: SystemName, program: Program, { address }: Store, ttlMs: number) {
  const drivers: Driver[] = [];
  let version = '';
  while (drivers.length < PROCESSES) {
    const process = new LoadProcess<DriverTasks>(program);
    const opened = await process.ask('open', { system, address, ttlMs });
    drivers.push({ process, pid: opened.pid });
    // The drivers in other languages do not know the version of this tree.
    version = systems[system].store === 'holdfast' ? readVersion() : opened.version;
  }
  return { drivers, version };
}
